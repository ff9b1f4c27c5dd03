//! What each field of a trainee can hold.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Body, every_version};

/// Checks which values a field takes on an update, and that it shows them as they were sent.
fn takes(field: F, accepted: &[Value], refused: &[Value]) {
    every_version(|api| {
        let created = api.create(api.example());
        let name = api.version.inputs.trainee.name_of(field).unwrap();
        for value in refused {
            let reply = api.send("PATCH", &created.path(), Body::new(api.version).with(field, value.clone()));
            assert_eq!(reply.status, 422, "{name} takes {value}");
            reply.problems(&[name]);
        }
        for value in accepted {
            let reply = api.send("PATCH", &created.path(), Body::new(api.version).with(field, value.clone()));
            assert_eq!(reply.status, 200, "{name} does not take {value}: {:#}", reply.body);
            let shown = if let Value::Number(number) = value { json!(number.to_string()) } else { value.clone() };
            api.shown(&reply).has(&[(field, shown)]);
        }
    });
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<Value> {
    texts.into_iter().map(Value::from).collect()
}

#[test]
fn codes_are_compared_exactly_and_a_number_is_its_decimal_text() {
    takes(F::study_mode, &texts(["31", "63", "02"]), &[json!(1), json!("1"), json!(" 01"), json!("001"), json!(-31)]);
    takes(F::sex, &[json!("11"), json!(12), json!("96"), json!(99)], &[json!("1"), json!(100), json!("female")]);
    takes(F::itt_aim, &[json!(201), json!("202")], &[json!("203"), json!(0)]);
    takes(F::nationality, &texts(["FR", "GB"]), &texts(["fr", "XX", "French"]));
}

#[test]
fn an_agency_id_has_13_or_17_characters() {
    let accepted = texts(["0310261553102", "HESA-ID-00013", "03102615531010001", "é310261553101"]);
    takes(
        F::agency_id,
        &accepted,
        &texts(["031026155310", "03102615531010", "0310261553101000", "031026155310100011"]),
    );
}

#[test]
fn an_application_id_has_at_most_seven_digits() {
    takes(
        F::application_id,
        &[json!("1"), json!(7_654_321), json!("0000001")],
        &[json!("12345678"), json!(12_345_678), json!("12A"), json!("-1"), json!(-1), json!("1.5"), json!("１２")],
    );
}

#[test]
fn an_address_has_the_form_of_one() {
    let long_part = format!("a@{}.uk", "b".repeat(63));
    let accepted =
        texts(["a@b.uk", "o'neil+it@x-y.example.museum", "!#$%&'*+/=?^_{}~-|`@example.com", long_part.as_str()]);
    let too_long_part = format!("a@{}.uk", "b".repeat(64));
    let too_long = format!("{}@example.com", "a".repeat(244));
    let refused = texts([
        "example.com",
        "a@b",
        "@example.com",
        "a@@example.com",
        "a@b@example.com",
        "a b@example.com",
        "a..b@example.com",
        "a@example..com",
        "a@.example.com",
        "a@-example.com",
        "a@example-.com",
        "a@ex--ample.com",
        "a@exa_mple.com",
        "a@example.c",
        "a@example.c0m",
        "\u{e9}@example.com",
        too_long_part.as_str(),
        too_long.as_str(),
    ]);
    takes(F::email, &accepted, &refused);
}

#[test]
fn texts_have_their_longest_lengths_in_characters() {
    for (field, max) in [
        (F::last_name, 60),
        (F::middle_names, 60),
        (F::previous_last_name, 60),
        (F::provider_trainee_id, 50),
        (F::course_year, 4),
    ] {
        let digits = |count: usize| json!("1".repeat(count));
        takes(field, &[digits(max)], &[digits(max + 1)]);
    }
    takes(F::last_name, &[json!("李".repeat(60))], &[json!("李".repeat(61))]);
    takes(F::ni_number, &[json!("9".repeat(300))], &[]);
}

#[test]
fn a_trainee_is_at_least_16_and_at_most_100_years_old() {
    takes(
        F::date_of_birth,
        &texts(["2010-10-05", "1926-10-05", "2000-02-29"]),
        &texts([
            "2010-10-06",
            "2026-10-06",
            "1926-10-04",
            "2001-02-29",
            "2000-13-01",
            "05/10/2000",
            "20001005",
            "2000",
        ]),
    );
}

#[test]
fn the_start_is_next_year_at_the_latest_and_a_start_that_was_made_is_not_ahead() {
    takes(F::itt_start_date, &texts(["2026-12-31", "2020-09-01"]), &texts(["2028-01-01"]));
    takes(F::trainee_start_date, &texts(["2026-10-05", "2016-10-05"]), &texts(["2026-10-06", "2016-10-04", "soon"]));
}

#[test]
fn an_aim_without_an_award_needs_no_qualification() {
    every_version(|api| {
        let body = api.example().without(F::itt_qualification_aim);
        api.send("POST", "/trainees", body.clone()).problems(&["itt_qualification_aim"]);
        let created = api.create(body.with(F::itt_aim, "201"));
        created.has(&[(F::itt_qualification_aim, Value::Null)]);
        let aim = Body::new(api.version).with(F::itt_aim, 202);
        api.send("PATCH", &created.path(), aim).problems(&["itt_qualification_aim"]);
    });
}
