//! The committed contract of each version, in the folder `snapshots` at the top.
//!
//! A snapshot of a released version changes only together with a line in the change log.

use adapter_kit::ApiVersion;
use domain::State;
use domain::TraineeField as F;
use domain::lifecycle::{Action, next_state};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, Response, Shown, every_version};
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

/// A trainee with a value in every field that is shown only then.
fn with_nine_disabilities(api: &Api<'_>) -> Shown {
    let more = [
        F::disability2,
        F::disability3,
        F::disability4,
        F::disability5,
        F::disability6,
        F::disability7,
    ];
    let more = more.into_iter().chain([F::disability8, F::disability9]);
    let codes = ["51", "53", "54", "55", "56", "57", "59", "96"];
    api.create(
        more.zip(codes)
            .fold(api.example(), |body, (field, code)| body.with(field, code)),
    )
}

#[test]
fn the_fields_of_a_trainee_are_those_of_the_contract() {
    every_version(|api| {
        let created = api.create(api.example());
        assert_eq!(api.read(created.id()).keys(), created.keys());
        let nested = |field| {
            created.value(field)[0]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .join("\n")
        };
        let text = format!(
            "{} fields of a trainee\n{}\n\nof a placement in it\n{}\n\nof a degree in it\n{}\n",
            created.keys().len(),
            created.keys().join("\n"),
            nested(F::placements),
            nested(F::degrees)
        );
        version_matches(api.version, "fields", &text);
    });
}

#[test]
fn every_reply_has_the_fields_of_the_contract() {
    every_version(|api| {
        let keys = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
                .join("\n")
        };
        let trainee = api.create(api.example());
        let path = trainee.path();
        let placement = json!({ "data": { "urn": "990001" } });
        let degree = json!({ "data": { "subject": "100485", "country": "FR", "non_uk_degree": "083", "graduation_year": 2019 } });
        let placement = api
            .send("POST", &format!("{path}/placements"), placement)
            .is(201);
        let degree = api.send("POST", &format!("{path}/degrees"), degree).is(201);
        let text = format!(
            "of a placement by itself\n{}\n\nof a degree by itself\n{}\n\nof a list\n{}\n",
            keys(placement.data()),
            keys(&degree.data()[0]),
            keys(&api.get("/trainees").is(200).body)
        );
        version_matches(api.version, "parts", &text);

        let one_placement = format!(
            "{path}/placements/{}",
            placement.data()["placement_id"].as_str().unwrap()
        );
        let one_degree = format!(
            "{path}/degrees/{}",
            degree.data()[0]["degree_id"].as_str().unwrap()
        );
        for reply in [
            api.send(
                "PATCH",
                &one_placement,
                json!({ "data": { "urn": "990002" } }),
            ),
            api.get(&one_placement),
        ] {
            assert_eq!(keys(reply.is(200).data()), keys(placement.data()));
        }
        for reply in [
            api.send(
                "PUT",
                &one_degree,
                json!({ "data": { "graduation_year": 2018 } }),
            ),
            api.get(&one_degree),
        ] {
            assert_eq!(keys(reply.is(200).data()), keys(&degree.data()[0]));
        }
        assert_eq!(
            keys(&api.get(&format!("{path}/placements")).is(200).data()[1]),
            keys(placement.data())
        );
        assert_eq!(
            keys(&api.get(&format!("{path}/degrees")).is(200).data()[0]),
            keys(&degree.data()[0])
        );
        for reply in [
            api.request("DELETE", &one_placement).send(),
            api.request("DELETE", &one_degree).send(),
            api.send(
                "POST",
                &format!("{path}/defer"),
                json!({ "data": { "defer_date": "2026-10-01", "defer_reason": "Illness" } }),
            ),
            api.send(
                "POST",
                &format!("{path}/withdraw"),
                Body::withdrawal(api.version),
            ),
        ] {
            assert_eq!(keys(reply.is(200).data()), trainee.keys().join("\n"));
        }
        let conflict = api.send("POST", "/trainees", api.example()).is(409);
        assert_eq!(keys(&conflict.data()[0]), trainee.keys().join("\n"));
    });
}

#[test]
fn a_trainee_has_as_many_fields_as_the_contract_says() {
    for (label, count) in [("v2025.0", 92), ("v2026.0", 88), ("v2026.1", 89)] {
        // A version that was removed has none; its removal runs this test.
        let Some(version) = SERVED
            .iter()
            .copied()
            .find(|version| version.label.to_string() == label)
        else {
            continue;
        };
        let register = Register::start();
        let api = register.api(version);
        let created = api.create(api.example());
        assert_eq!(created.keys().len(), count, "{label}");
        assert_eq!(api.read(created.id()).keys().len(), count, "{label}");
        let register = Register::start();
        let api = register.api(version);
        let disabled = with_nine_disabilities(&api);
        let more: Vec<String> = (3..=9)
            .map(|number| format!("disability{number}"))
            .collect();
        assert_eq!(disabled.keys().len(), count + more.len(), "{label}");
        assert!(
            more.iter()
                .all(|name| disabled.keys().contains(&name.as_str())),
            "{label}"
        );
    }
}

#[test]
fn the_sample_of_a_create_reply_is_the_committed_one() {
    every_version(|api| {
        version_matches(
            api.version,
            "create",
            &reported(&api.send("POST", "/trainees", api.example()).is(201)),
        );
    });
}

#[test]
fn the_sample_of_a_withdrawal_is_the_committed_one() {
    every_version(|api| {
        let created = api.create(api.example());
        let body = Body::withdrawal(api.version);
        let reply = api
            .send("POST", &format!("{}/withdraw", created.path()), body)
            .is(200);
        version_matches(api.version, "withdraw", &reported(&reply));
    });
}

#[test]
fn the_conflict_is_the_committed_one() {
    every_version(|api| {
        api.create(api.example());
        version_matches(
            api.version,
            "conflict",
            &reported(&api.send("POST", "/trainees", api.example()).is(409)),
        );
    });
}

#[test]
fn the_ten_mistakes_are_answered_as_committed() {
    every_version(|api| {
        let (body, _) = ten_mistakes::body_and_places(api);
        version_matches(
            api.version,
            "ten-mistakes",
            &reported(&api.send("POST", "/trainees", body).is(422)),
        );
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
