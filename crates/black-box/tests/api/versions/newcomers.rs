//! The mistakes of newcomers are answered as the documentation shows them.

use adapter_kit::ApiVersion;
use serde_json::{Map, Value, json};

use crate::api::support::{Register, Response, TextChecks as _};
use crate::api::versions::snapshots::without_link_versions;

/// The guide to integration, with the commonest mistakes.
const GUIDE: &str = include_str!("../../../../../docs/integration.md");

/// The first body of the guide, as it stands there.
fn documented_body() -> Value {
    let (_, rest) = GUIDE.split_once("-d '\n").unwrap();
    serde_json::from_str(
        rest.split_once("}}'")
            .map(|(body, _)| format!("{body}}}}}"))
            .unwrap()
            .as_str(),
    )
    .unwrap()
}

/// The version of the address that it is sent to.
fn documented_version() -> &'static ApiVersion {
    let (before, _) = GUIDE.split_once("-d '\n").unwrap();
    let (_, address) = before.rsplit_once("/api/").unwrap();
    let label: String = address
        .chars()
        .take_while(|part| part.is_ascii_alphanumeric() || *part == '.')
        .collect();
    versions::all()
        .find(label.parse().unwrap())
        .unwrap()
        .version
}

/// The reply as the documentation shows it: of a record that comes with an error, only the
/// beginning.
fn shown(reply: &Response) -> String {
    if reply.body.get("data").is_none() {
        return reply.body.to_string();
    }
    assert!(reply.data()[0]["trainee_id"].is_string());
    format!(
        r#"{{"errors":{},"data":[{{"trainee_id":"Fs4G74pwBJ1WWa15FMzZsQKn", ...}}]}}"#,
        reply.body["errors"]
    )
}

#[test]
fn the_commonest_mistakes_are_answered_as_documented() {
    let register = Register::start();
    let api = register.api(documented_version());
    let changed = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut body = documented_body();
        change(body["data"].as_object_mut().unwrap());
        api.send("POST", "/trainees", body)
    };
    let replies = [
        changed(&|data| drop(data.shift_remove("email"))).is(422),
        changed(&|data| data["itt_start_date"] = json!("01/09/2026")).is(422),
        changed(&|data| data["study_mode"] = json!("1")).is(422),
        changed(&|data| {
            let subject = data.shift_remove("course_subject_1").unwrap();
            data.insert("course_subject_one".to_owned(), subject);
        })
        .is(422),
        {
            changed(&|_| ()).is(201);
            changed(&|_| ()).is(409)
        },
    ];
    let guide = without_link_versions(GUIDE);
    for shown in replies
        .iter()
        .map(|reply| without_link_versions(&shown(reply)))
    {
        guide.shows(&[&format!("\n{shown}\n")]);
    }
}
