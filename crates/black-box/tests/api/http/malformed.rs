//! Bodies that cannot be read, or not in that form.

use domain::{Kind, RecordField as _, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Request, every_version, run_cases};

/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 1_048_576;

/// The example, followed by as much white space as makes it this long.
fn padded(api: &Api<'_>, bytes: usize) -> Vec<u8> {
    let mut body = Value::from(api.example()).to_string().into_bytes();
    body.resize(bytes, b' ');
    body
}

fn creating<'a>(api: &Api<'a>, body: impl Into<Vec<u8>>) -> Request<'a> {
    api.request("POST", "/trainees").bytes(body)
}

#[test]
fn malformed_body_is_refused() {
    run_cases(include_str!("malformed.txt"));
}

#[test]
fn body_of_one_mebibyte_is_longest() {
    every_version(|api| {
        let json = |request: Request<'_>| request.header("Content-Type", "application/json").send();
        json(creating(api, padded(api, MAX_BODY_BYTES + 1))).error(413, "PayloadTooLarge");
        json(creating(api, padded(api, 3 * MAX_BODY_BYTES))).error(413, "PayloadTooLarge");
        json(creating(api, padded(api, MAX_BODY_BYTES))).is(201);
    });
}

#[test]
fn key_repeated_many_times_is_one_problem() {
    every_version(|api| {
        let created = api.create(api.example());
        let served = versions::all().find(api.version.label).unwrap();
        let others = served
            .other_names
            .trainee
            .refused
            .iter()
            .map(|(name, _)| *name);
        for key in ["email", "colour", "state"].into_iter().chain(others) {
            let pairs = vec![format!("\"{key}\":7"); 20_000].join(",");
            let reply = api
                .request("PATCH", &created.path())
                .bytes(format!("{{\"data\":{{{pairs}}}}}"))
                .send()
                .is(422);
            assert!(
                reply.errors().len() <= 3,
                "{key}: {} problems",
                reply.errors().len()
            );
        }
        let pairs = vec![r#""data":{"email":"a@b.cd"}"#; 20_000].join(",");
        api.request("PATCH", &created.path())
            .bytes(format!("{{{pairs}}}"))
            .send()
            .problems(&["data"]);
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn wrong_type_is_rejected_in_every_field() {
    every_version(|api| {
        let created = api.create(api.example());
        for input in api.version.inputs.trainee.entries {
            if input.field.info().kind == Kind::Records {
                continue;
            }
            for value in ["true", "{\"a\":1}", "[\"a\"]", "1.5", "1e2"] {
                let body = format!(r#"{{"data":{{"{}":{value}}}}}"#, input.name);
                let reply = api.request("PATCH", &created.path()).bytes(body).send();
                let message = reply.problems(&[input.name])[0];
                assert!(
                    message.contains("invalid"),
                    "{} {value}: {message}",
                    input.field.info().name
                );
            }
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn nested_list_has_at_most_100_records() {
    every_version(|api| {
        let name = |list| api.version.inputs.trainee.name_of(list).unwrap();
        for list in [F::placements, F::degrees] {
            let many = json!(vec![json!({ "name": "x" }); 101]);
            let reply = api.send("POST", "/trainees", api.example().with(list, many));
            reply.problems(&[name(list)]);
            assert_eq!(reply.body["errors"][0]["code"], "too_many");
        }
        let hundred = json!(vec![json!({ "urn": "990001" }); 100]);
        let created = api.create(api.example().with(F::placements, hundred));
        assert_eq!(created.value(F::placements).as_array().unwrap().len(), 100);
    });
}
