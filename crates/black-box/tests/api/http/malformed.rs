//! Bodies that cannot be read, or not in that form.

use domain::{Kind, RecordField as _, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Request, can_set, every_version};

/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 1_048_576;
/// The deepest nesting, in levels.
const MAX_DEPTH: usize = 32;

/// The example, followed by as much white space as makes it this long.
fn padded(api: &Api<'_>, bytes: usize) -> Vec<u8> {
    let mut body = Value::from(api.example()).to_string().into_bytes();
    body.resize(bytes, b' ');
    body
}

fn creating<'a>(api: &Api<'a>, body: impl Into<Vec<u8>>) -> Request<'a> {
    api.request("POST", "/trainees").bytes(body)
}

/// A body whose deepest array or object stands at this level.
fn nested(levels: usize) -> String {
    let arrays = levels - 2;
    format!(
        r#"{{"data":{{"colour":{}{}}}}}"#,
        "[".repeat(arrays),
        "]".repeat(arrays)
    )
}

#[test]
fn body_of_one_mebibyte_is_read_and_longer_is_rejected() {
    every_version(|api| {
        let json = |request: Request<'_>| request.header("Content-Type", "application/json").send();
        json(creating(api, padded(api, MAX_BODY_BYTES + 1))).error(413, "PayloadTooLarge");
        json(creating(api, padded(api, 3 * MAX_BODY_BYTES))).error(413, "PayloadTooLarge");
        json(creating(api, padded(api, MAX_BODY_BYTES))).is(201);
    });
}

#[test]
fn body_is_json_under_any_json_media_type_or_none() {
    every_version(|api| {
        let media_types = [
            Some("application/json"),
            Some("application/json; charset=utf-8"),
            Some("Application/JSON"),
            Some("application/vnd.register.v1+json"),
            Some("application/problem+json;charset=UTF-8"),
            None,
        ];
        for (number, media_type) in media_types.into_iter().enumerate() {
            let body: Value = api
                .example()
                .with(F::last_name, format!("Person {number}"))
                .into();
            let request = creating(api, body.to_string());
            let request = match media_type {
                Some(media_type) => request.header("Content-Type", media_type),
                None => request.without("Content-Type"),
            };
            request.send().is(201);
        }
    });
}

#[test]
fn body_of_another_media_type_is_rejected_naming_the_header() {
    every_version(|api| {
        let body = Value::from(api.example()).to_string();
        for media_type in [
            "text/plain",
            "text/json",
            "application/x-www-form-urlencoded",
            "application/xml",
            "application/jsonp",
            "json",
        ] {
            let reply = creating(api, body.clone())
                .header("Content-Type", media_type)
                .send();
            let message = reply.error(415, "UnsupportedMediaType");
            assert!(
                message.contains("Content-Type: application/json"),
                "{message}"
            );
        }
        api.create(api.example());
    });
}

#[test]
fn a_body_that_is_no_json_is_refused() {
    every_version(|api| {
        let created = api.create(api.example());
        let bodies: [&[u8]; 12] = [
            b"{",
            b"nothing",
            b" ",
            b"{\"data\":{\"email\":\"a@b.cd\"}} more",
            b"{'data':{}}",
            b"{\"data\":{\"email\":\"a@b.cd\",}}",
            b"{\"data\":{\"email\":}}",
            b"{\"data\":{\"email\":NaN}}",
            b"{\"data\":{\"email\":\"\xff\xfe\"}}",
            b"{\"data\":{\"\xc3\x28\":1}}",
            b"{\"data\":{\"email\":\"\\ud800\"}}",
            b"\xef\xbb\xbf\xef\xbb\xbf{\"data\":{}}",
        ];
        for (method, path) in [
            ("POST", "/trainees".to_owned()),
            ("PUT", created.path()),
            ("POST", format!("{}/withdraw", created.path())),
        ] {
            for body in bodies {
                let reply = api.request(method, &path).bytes(body).send();
                assert_eq!(
                    reply.status,
                    400,
                    "{method} {}",
                    String::from_utf8_lossy(body)
                );
                reply.error(400, "BadRequest");
            }
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn body_is_nested_at_most_32_levels_deep() {
    every_version(|api| {
        let created = api.create(api.example());
        let send = |body: String| api.request("PATCH", &created.path()).bytes(body).send();
        send(nested(MAX_DEPTH)).is(200);
        for levels in [MAX_DEPTH + 1, 100, 1_000, 100_000] {
            send(nested(levels)).error(400, "BadRequest");
        }
        send("[".repeat(100_000)).error(400, "BadRequest");
        send(r#"{"data":"#.repeat(20_000)).error(400, "BadRequest");
    });
}

#[test]
fn values_in_nested_records_count_towards_the_levels() {
    every_version(|api| {
        for list in [F::placements, F::degrees] {
            let list = api.version.inputs.trainee.name_of(list).unwrap();
            for key in ["name", "subject", "colour"] {
                let body = |levels: usize| {
                    let arrays = levels - 4;
                    let value = format!("{}{}", "[".repeat(arrays), "]".repeat(arrays));
                    format!(r#"{{"data":{{"{list}":[{{"{key}":{value}}}]}}}}"#)
                };
                assert_eq!(creating(api, body(MAX_DEPTH)).send().status, 422);
                creating(api, body(MAX_DEPTH + 1))
                    .send()
                    .error(400, "BadRequest");
            }
        }
    });
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    every_version(|api| {
        let created = api.create(api.example());
        let send = |body: &str| api.request("PATCH", &created.path()).bytes(body).send();
        send(r#"{"data":{"email":"a@b.cd","last_name":"A","email":"c@d.ef"}}"#)
            .problems(&["email"]);
        send(r#"{"data":{"colour":1,"email":"a@b.cd","colour":2}}"#).problems(&["colour"]);
        send(r#"{"data":{"email":"a@b.cd"},"data":{"last_name":"A"}}"#).problems(&["data"]);
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn a_key_that_stands_many_times_is_one_problem() {
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
fn control_characters_are_refused_in_text() {
    every_version(|api| {
        let created = api.create(api.example());
        for text in ["a\0b", "a\u{1}b", "a\u{7f}b", "a\u{85}b"] {
            let body = json!({ "data": { "first_names": text } });
            api.send("PATCH", &created.path(), body)
                .problems(&["first_names"]);
        }
        if can_set(api.version, F::previous_last_name) {
            let broken = Body::new(api.version).with(F::previous_last_name, "a\tb\r\nc");
            let reply = api.send("PATCH", &created.path(), broken).is(200);
            api.shown(&reply)
                .has(&[(F::previous_last_name, json!("a\tb\r\nc"))]);
        }
    });
}

#[test]
fn value_of_the_wrong_type_is_rejected_in_every_field() {
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
fn nested_list_is_an_array_of_at_most_100_objects() {
    every_version(|api| {
        let name = |list| api.version.inputs.trainee.name_of(list).unwrap();
        for list in [F::placements, F::degrees] {
            for wrong in [
                json!({}),
                json!("text"),
                json!(7),
                json!(vec![json!({ "name": "x" }); 101]),
            ] {
                api.send("POST", "/trainees", api.example().with(list, wrong))
                    .problems(&[name(list)]);
            }
            let reply = api.send("POST", "/trainees", api.example().with(list, json!([7])));
            reply.problems(&[format!("{} 1", name(list)).as_str()]);
        }
        let hundred = json!(vec![json!({ "urn": "990001" }); 100]);
        let created = api.create(api.example().with(F::placements, hundred));
        assert_eq!(created.value(F::placements).as_array().unwrap().len(), 100);
    });
}
