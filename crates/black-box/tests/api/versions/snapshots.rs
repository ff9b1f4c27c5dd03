//! The committed contract of each version, in the folder `snapshots` at the top.
//!
//! A snapshot of a released version changes only together with a line in the change log.

use adapter_kit::ApiVersion;
use domain::State;
use domain::TraineeField as F;
use domain::lifecycle::{Action, next_state};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Body, Register, Response, every_version};
use crate::api::trainees::ten_mistakes;

/// Where the snapshots are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots");

/// Compares a text with the snapshot of this name in a folder below that of all snapshots.
pub(crate) fn matches(folder: &str, name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => format!("{FOLDER}/{folder}"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Compares a text with a snapshot of the version.
fn version_matches(version: &ApiVersion, name: &str, text: &str) {
    matches(&version.label.to_string(), name, text);
}

/// A reply as a snapshot holds it: status, content type and body, without what differs from run to
/// run.
pub(crate) fn reported(response: &Response) -> String {
    let content_type = response.header("content-type").unwrap_or("no content type");
    format!(
        "{} {content_type}\n{:#}\n",
        response.status,
        redacted(response.written.clone())
    )
}

/// Removes identifiers and times.
fn redacted(json: Value) -> Value {
    match json {
        Value::String(ref text) if is_identifier(text) => "[identifier]".into(),
        Value::String(ref text) if is_timestamp(text) => "[moment]".into(),
        Value::String(ref text) if text.starts_with("/api/") && text.contains("/trainees/") => {
            "[address]".into()
        }
        Value::Array(values) => values.into_iter().map(redacted).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, redacted(value)))
            .collect(),
        Value::String(text) => without_link_versions(&text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => json,
    }
}

/// The text without the versions in its links to code lists: where the lists are published is no
/// property of a version.
pub(crate) fn without_link_versions(text: &str) -> String {
    SERVED.iter().fold(text.to_owned(), |text, version| {
        text.replace(
            &format!("/api/{}/reference-data", version.label),
            "/api/[version]/reference-data",
        )
    })
}

/// 24 letters and digits of both sorts; no other text in a reply looks like that.
fn is_identifier(text: &str) -> bool {
    text.len() == 24
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().any(|byte| byte.is_ascii_uppercase())
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// A date and time with milliseconds, in UTC.
fn is_timestamp(text: &str) -> bool {
    text.len() == 24
        && chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.3fZ").is_ok()
}

#[test]
fn fields_of_replies_are_the_committed_ones() {
    every_version(|api| {
        let keys = |value: &Value| {
            let keys: Vec<&str> = value
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            keys.join("\n")
        };
        let created = api.create(api.example());
        assert_eq!(api.read(created.id()).keys(), created.keys());
        let text = format!(
            "{} fields of a trainee\n{}\n\nof a placement in it\n{}\n\nof a degree in it\n{}\n",
            created.keys().len(),
            keys(&created.data),
            keys(&created.value(F::placements)[0]),
            keys(&created.value(F::degrees)[0])
        );
        version_matches(api.version, "fields", &text);
        let placement = json!({ "data": { "urn": "990001" } });
        let degree = json!({ "data": { "subject": "100485", "country": "FR", "non_uk_degree": "083", "graduation_year": 2019 } });
        let add = |list: &str, body: Value| {
            let path = format!("{}/{list}", created.path());
            api.send("POST", &path, body).is(201)
        };
        let text = format!(
            "of a placement by itself\n{}\n\nof a degree by itself\n{}\n\nof a list\n{}\n",
            keys(add("placements", placement).data()),
            keys(&add("degrees", degree).data()[0]),
            keys(&api.get("/trainees").is(200).body)
        );
        version_matches(api.version, "parts", &text);
    });
}

#[test]
fn samples_of_replies_are_the_committed_ones() {
    every_version(|api| {
        let (mistakes, _) = ten_mistakes::body_and_places(api);
        let created = api.send("POST", "/trainees", api.example()).is(201);
        let withdraw = format!("{}/withdraw", api.shown(&created).path());
        let withdrawal = Body::withdrawal(api.version);
        for (name, reply) in [
            ("create", created),
            (
                "conflict",
                api.send("POST", "/trainees", api.example()).is(409),
            ),
            (
                "ten-mistakes",
                api.send("POST", "/trainees", mistakes).is(422),
            ),
            ("withdraw", api.send("POST", &withdraw, withdrawal).is(200)),
        ] {
            version_matches(api.version, name, &reported(&reply));
        }
    });
}

#[test]
fn every_error_is_worded_as_committed() {
    every_version(|api| {
        let created = api.create(api.example());
        let withdraw = format!("{}/withdraw", created.path());
        api.withdraw(created.id());
        let creating = || api.request("POST", "/trainees");
        let foreign = &api.served().other_names.withdrawal.refused;
        let foreign = foreign
            .iter()
            .map(|(name, _)| ((*name).to_owned(), Value::from("2026-10-01")))
            .collect::<Value>();
        let samples = [
            (
                "no token",
                api.request("GET", "/info").without("Authorization").send(),
            ),
            ("unknown path", api.get("/nothing")),
            ("unknown trainee", api.get("/trainees/x")),
            ("wrong method", api.request("DELETE", "/info").send()),
            ("too long", creating().bytes(vec![b' '; 1_048_577]).send()),
            (
                "wrong media type",
                creating()
                    .bytes("{}")
                    .header("Content-Type", "text/plain")
                    .send(),
            ),
            ("no JSON", creating().bytes("{\"data\":").send()),
            ("no data", creating().json(json!({})).send()),
            (
                "withdrawn twice",
                api.send("POST", &withdraw, Body::withdrawal(api.version)),
            ),
            (
                "another version's name",
                api.send("POST", &withdraw, json!({ "data": foreign })),
            ),
        ];
        let texts: Vec<String> = samples
            .iter()
            .map(|(name, reply)| format!("{name}\n{}", reported(reply)))
            .collect();
        version_matches(api.version, "errors", &texts.join("\n"));
    });
}

#[test]
fn a_removed_version_is_answered_as_committed() {
    let register = Register::start();
    let replies = versions::REMOVED.iter().map(|removed| {
        let reply = register
            .request("GET", &format!("/api/{}/info", removed.label))
            .send()
            .is(410);
        format!(
            "{}link: {}\n",
            reported(&reply),
            reply.header("link").unwrap()
        )
    });
    matches("", "gone", &replies.collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_states_follow_each_other_as_committed() {
    matches("", "lifecycle", &transition_table());
}

/// The table of states and actions, in Markdown.
fn transition_table() -> String {
    use std::fmt::Write as _;
    let mut table = String::from("| action | TRN |");
    for state in State::ALL {
        let _ = write!(table, " {state} |");
    }
    table.push_str("\n|---|---|");
    table.push_str(&"---|".repeat(State::ALL.len()));
    for action in Action::ALL {
        for has_trn in [false, true] {
            let name = match action {
                Action::UndoWithdrawal { previous } => {
                    format!("{} (from {})", action.verb(), previous.state())
                }
                Action::Update
                | Action::Defer
                | Action::Recommend
                | Action::Withdraw
                | Action::IssueTrn
                | Action::Award
                | Action::Reinstate
                | Action::ReturnRecommendation
                | Action::Discard
                | Action::Reset => action.verb().to_owned(),
            };
            let _ = write!(
                table,
                "\n| {name} | {} |",
                if has_trn { "yes" } else { "no" }
            );
            for state in State::ALL {
                match next_state(*state, action, has_trn) {
                    Ok(after) => {
                        let _ = write!(table, " {after} |");
                    }
                    Err(_) => table.push_str(" - |"),
                }
            }
        }
    }
    table.push('\n');
    table
}
