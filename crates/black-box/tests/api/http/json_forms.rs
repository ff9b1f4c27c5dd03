//! Bodies as programs write them: with a byte order mark, with numbers of any length, and with
//! times behind dates.

use domain::{TraineeField as F, WithdrawalField};
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
fn one_byte_order_mark_before_a_body_is_skipped() {
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
fn one_byte_order_mark_per_batch_or_line_is_skipped() {
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
fn whole_numbers_in_text_fields_are_read_as_digits() {
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
fn long_numbers_are_read_in_batch_items_and_their_keys() {
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

const DATES: [F; 5] = [
    F::date_of_birth,
    F::itt_start_date,
    F::itt_end_date,
    F::trainee_start_date,
    F::pg_apprenticeship_start_date,
];

fn with_times(api: &Api<'_>, time: &str) -> Body {
    let days = [
        "1999-04-12",
        "2026-09-01",
        "2027-07-16",
        "2026-09-02",
        "2026-09-03",
    ];
    DATES
        .into_iter()
        .zip(days)
        .fold(api.example(), |body, (field, day)| {
            body.with(field, format!("{day}{time}"))
        })
}

#[test]
fn discarded_time_of_day_is_named_and_rejected_when_strict() {
    every_version(|api| {
        let strict = |body: Body| {
            api.request("POST", "/trainees")
                .header("Prefer", "handling=strict")
                .json(body)
                .send()
        };
        for (number, midnight) in ["", "T00:00:00Z", "T00:00:00.000+00:00", " 00:00"]
            .into_iter()
            .enumerate()
        {
            let body = with_times(api, midnight).with(F::last_name, format!("Midnight {number}"));
            assert_eq!(
                strict(body).is(201).warnings(),
                Vec::<&str>::new(),
                "{midnight}"
            );
        }
        for (number, time) in ["T23:00:00Z", "T00:00:00+01:00", "T12:30", "T00:00:00.001Z"]
            .into_iter()
            .enumerate()
        {
            let body = with_times(api, time).with(F::last_name, format!("Other {number}"));
            let refused = strict(body.clone());
            let messages = refused.problems(&DATES.map(|field| name(api, field)));
            assert!(
                messages
                    .iter()
                    .all(|message| message.contains("YYYY-MM-DD")),
                "{time}"
            );
            let reply = api.send("POST", "/trainees", body).is(201);
            let warnings = reply.warnings();
            assert_eq!(warnings.len(), DATES.len(), "{time}: {warnings:?}");
            for field in DATES {
                assert!(
                    warnings
                        .iter()
                        .any(|text| text.starts_with(&format!("299 - \"{} ", name(api, field))))
                );
            }
            api.shown(&reply).has(&[
                (F::date_of_birth, json!("1999-04-12")),
                (F::itt_start_date, json!("2026-09-01")),
            ]);
        }
    });
}

#[test]
fn discarded_time_of_day_is_named_in_updates_and_transitions() {
    every_version(|api| {
        let created = api.create(api.example());
        let path = created.path();
        let date_of_birth = name(api, F::date_of_birth);
        let withdrawal_date =
            input::<domain::Withdrawal>(api.version, WithdrawalField::withdrawal_date);
        let time = "2026-10-01T08:00:00Z";
        let requests = [
            (
                "PATCH",
                path.clone(),
                json!({ "data": { date_of_birth: "1998-04-12T01:00:00Z" } }),
                date_of_birth,
            ),
            (
                "POST",
                format!("{path}/defer"),
                json!({ "data": { "defer_date": time } }),
                "defer_date",
            ),
            (
                "POST",
                format!("{path}/withdraw"),
                Body::withdrawal(api.version)
                    .with_withdrawal(WithdrawalField::withdrawal_date, time)
                    .into(),
                withdrawal_date,
            ),
        ];
        for (method, path, body, field) in requests {
            let request = || api.request(method, &path).json(body.clone());
            request()
                .header("Prefer", "handling=strict")
                .send()
                .problems(&[field]);
            let reply = request().send().is(200);
            let warnings = reply.warnings();
            assert!(
                warnings.len() == 1 && warnings[0].contains(field),
                "{warnings:?}"
            );
        }
        let fresh = api.create(api.example().with(F::last_name, "Other"));
        let recommend = format!(
            "{}/{}",
            fresh.path(),
            crate::api::support::versions::recommendation(api.version)
        );
        let body = json!({ "data": { "qts_standards_met_date": time } });
        let reply = api
            .request("POST", &recommend)
            .header("Prefer", "validate-only")
            .json(body)
            .send();
        assert!(
            reply.status == 422 || reply.warnings()[0].contains("qts_standards_met_date"),
            "{:?}",
            reply.warnings()
        );
    });
}
