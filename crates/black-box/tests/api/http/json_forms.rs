//! Bodies as programs write them: with a byte order mark, with numbers of any length, and with
//! times behind dates.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, Request, Response, every_version};

const MARK: &str = "\u{feff}";

fn send(request: Request<'_>, body: impl Into<Vec<u8>>, content_type: &str) -> Response {
    request
        .bytes(body)
        .header("Content-Type", content_type)
        .send()
}

fn post(api: &Api<'_>, body: String) -> Response {
    send(api.request("POST", "/trainees"), body, "application/json")
}

fn text_of(body: Body) -> String {
    Value::from(body).to_string()
}

fn name(api: &Api<'_>, field: F) -> &'static str {
    input::<domain::Trainee>(api.version, field)
}

#[test]
fn byte_order_mark_before_body_is_skipped() {
    every_version(|api| {
        let body = format!("{MARK}{}", text_of(api.example()));
        let keyed = |key: &str| {
            send(
                api.request("POST", "/trainees")
                    .header("Idempotency-Key", key),
                body.clone(),
                "application/json",
            )
        };
        let first = keyed("marked").is(201);
        let again = keyed("marked").is(201);
        assert_eq!(
            (again.header("idempotent-replayed"), &again.body),
            (Some("true"), &first.body)
        );
        let path = api.shown(&first).path();
        for method in ["PUT", "PATCH"] {
            let update = format!(
                "{MARK}{}",
                text_of(Body::new(api.version).with(F::last_name, method))
            );
            let updated = send(api.request(method, &path), update, "application/json").is(200);
            api.shown(&updated).has(&[(F::last_name, json!(method))]);
        }
        post(api, MARK.to_owned()).is(422);
        for twice in [
            format!("{MARK}{body}"),
            format!("{{{MARK}\"data\":{{}}}}"),
            format!("{{\"data\":{{}}}}{MARK}"),
        ] {
            post(api, twice).is(400);
        }
    });
}

#[test]
fn byte_order_mark_before_line_is_skipped() {
    every_version(|api| {
        let item = |key: &str| {
            let data = Value::from(api.example().with(F::last_name, key))["data"].take();
            json!({ "idempotency_key": key, "data": data }).to_string()
        };
        let batch = |body: String, content_type: &str| {
            send(api.request("POST", "/trainees/batch"), body, content_type)
        };
        let statuses = |reply: &Response| -> Vec<Value> {
            reply
                .data()
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["status"].clone())
                .collect()
        };
        let array = batch(
            format!("{MARK}[{},{}]", item("a"), item("b")),
            "application/json",
        )
        .is(200);
        assert_eq!(statuses(&array), [201, 201]);
        let lines = format!("{MARK}{}\r\n{MARK}{}\n", item("c"), item("d"));
        assert_eq!(
            statuses(&batch(lines, "application/x-ndjson").is(200)),
            [201, 201]
        );
        for twice in [format!("{MARK}{MARK}[]"), format!("[{MARK}{}]", item("e"))] {
            batch(twice, "application/json").is(400);
        }
        batch(format!("{MARK}{MARK}{}", item("f")), "application/x-ndjson").is(400);
    });
}

#[test]
fn whole_numbers_in_texts_become_digits() {
    every_version(|api| {
        let texts = [
            F::provider_trainee_id,
            F::ni_number,
            F::first_names,
            F::middle_names,
            F::last_name,
        ];
        for (number, digits) in [
            "9".repeat(19),
            "18446744073709551616".to_owned(),
            "1".repeat(21),
            "7".repeat(50),
        ]
        .into_iter()
        .enumerate()
        {
            let (mut body, key) = (api.example(), format!("long-{number}"));
            for field in texts {
                body = body.with(field, "PLACEHOLDER");
            }
            let body = text_of(body).replace("\"PLACEHOLDER\"", &digits);
            let request = || {
                api.request("POST", "/trainees")
                    .header("Idempotency-Key", &key)
            };
            let reply = send(request(), body.clone(), "application/json").is(201);
            assert_eq!(reply.warnings(), Vec::<&str>::new());
            api.shown(&reply)
                .has(&texts.map(|field| (field, json!(digits))));
            assert_eq!(send(request(), body, "application/json").body, reply.body);
        }
        for malformed in [
            "1".repeat(21) + ".0",
            "1".repeat(21) + "e1",
            "1e21".to_owned(),
        ] {
            let body = text_of(api.example().with(F::ni_number, "PLACEHOLDER"))
                .replace("\"PLACEHOLDER\"", &malformed);
            post(api, body).problems(&[name(api, F::ni_number)]);
        }
        let long = "1".repeat(30);
        for field in [F::date_of_birth, F::sex, F::course_subject_1] {
            let body =
                text_of(api.example().with(field, "PLACEHOLDER")).replace("\"PLACEHOLDER\"", &long);
            post(api, body).problems(&[name(api, field)]);
        }
    });
}

#[test]
fn long_numbers_are_read_in_batch_items() {
    every_version(|api| {
        let long = "3".repeat(25);
        let data = Value::from(api.example().with(F::ni_number, "PLACEHOLDER"))["data"].to_string();
        let item = format!(
            "{{\"idempotency_key\":{long},\"data\":{}}}",
            data.replace("\"PLACEHOLDER\"", &long)
        );
        let reply = send(
            api.request("POST", "/trainees/batch"),
            format!("[{item}]"),
            "application/json",
        )
        .is(200);
        let result = &reply.data()[0];
        assert_eq!(
            (&result["idempotency_key"], &result["status"]),
            (&json!(long), &json!(201)),
            "{:#}",
            reply.body
        );
        assert_eq!(result["data"]["ni_number"], json!(long));
    });
}
