//! The first subject of a primary course, in its three variants.

use domain::TraineeField as F;
use serde_json::{Value, json};

use super::{early_years, subjects_in, subjects_of, three, with_subjects};
use crate::api::support::{Body, Register, version};

/// Five to eleven, and three to seven.
const PRIMARY_RANGES: [&str; 2] = ["13914", "13909"];
/// Seven to fourteen.
const MIDDLE_RANGE: &str = "13916";

#[test]
fn v2025_0_puts_primary_teaching_before_the_other_subjects() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    for (number, (sent, shown)) in [
        (
            vec!["100403"],
            [json!("100511"), json!("100403"), Value::Null],
        ),
        (vec!["100511"], [json!("100511"), Value::Null, Value::Null]),
        (
            vec!["100403", "100425"],
            three("100511", "100403", Some("100425")),
        ),
        (vec!["100403", "100511"], three("100511", "100403", None)),
        (
            vec!["100403", "100425", "100511"],
            three("100511", "100403", Some("100425")),
        ),
        (
            vec!["100511", "100403", "100425"],
            three("100511", "100403", Some("100425")),
        ),
        (
            vec!["100403", "100425", "100417"],
            three("100511", "100403", Some("100425")),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        for range in PRIMARY_RANGES {
            let body = with_subjects(&api, range, &sent)
                .with(F::last_name, format!("Person {number} of {range}"));
            let created = api.create(body);
            assert_eq!(subjects_of(&created), shown, "{sent:?}");
            created.has(&[(F::course_education_phase, json!("primary"))]);
        }
    }
    let secondary = api.create(with_subjects(&api, MIDDLE_RANGE, &["100403", "100425"]));
    assert_eq!(subjects_of(&secondary), three("100403", "100425", None));
}

#[test]
fn v2025_0_keeps_a_primary_course_when_subjects_are_resent() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    for (number, (sent, shown)) in [
        (vec!["100403"], three("100511", "100403", None)),
        (
            vec!["100403", "100425"],
            three("100511", "100403", Some("100425")),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let body =
            with_subjects(&api, "13914", &sent).with(F::last_name, format!("Person {number}"));
        let created = api.create(body.clone());
        let reply = api
            .send(
                "PUT",
                &created.path(),
                body.without(F::placements).without(F::degrees),
            )
            .is(200);
        assert_eq!(reply.warnings(), Vec::<&str>::new());
        assert_eq!(subjects_of(&api.shown(&reply)), shown);
        assert_eq!(*reply.data(), created.data);
    }
}

#[test]
fn v2025_0_names_a_repeated_subject_as_it_was_sent() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    let reply = api
        .send(
            "POST",
            "/trainees",
            with_subjects(&api, "13914", &["100403", "100403"]),
        )
        .is(422);
    assert_eq!(reply.errors().len(), 1);
    assert!(
        reply.errors()[0].1.starts_with("course_subject_two "),
        "{:?}",
        reply.errors()
    );
}

#[test]
fn v2025_0_warns_of_the_subject_dropped_by_becoming_primary() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    let created = api.create(with_subjects(
        &api,
        "13918",
        &["100403", "100425", "100417"],
    ));
    let body = Body::new(api.version).with(F::course_age_range, "13914");
    let reply = api.send("PATCH", &created.path(), body).is(200);
    let warnings = reply.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("299 - \"") && warnings[0].contains("100417"),
        "{warnings:?}"
    );
    let updated = api.shown(&reply);
    assert_eq!(
        subjects_of(&updated),
        three("100511", "100403", Some("100425"))
    );
    updated.has(&[(F::course_education_phase, json!("primary"))]);
}

#[test]
fn v2025_0_orders_subjects_only_in_updates_that_have_them() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    let created = api.create(with_subjects(&api, "13914", &["100511", "100403"]));

    let unrelated = api.update(
        created.id(),
        Body::new(api.version).with(F::middle_names, "Maria"),
    );
    assert_eq!(subjects_of(&unrelated), three("100511", "100403", None));

    let reply = api
        .send(
            "PUT",
            &created.path(),
            subjects_in(Body::new(api.version), &["100425"]),
        )
        .is(200);
    assert_eq!(reply.warnings(), Vec::<&str>::new());
    assert_eq!(
        subjects_of(&api.shown(&reply)),
        three("100511", "100425", Some("100403"))
    );

    let reply = api
        .send(
            "PUT",
            &created.path(),
            subjects_in(Body::new(api.version), &["100417"]),
        )
        .is(200);
    assert_eq!(reply.warnings().len(), 1);
    assert_eq!(
        subjects_of(&api.shown(&reply)),
        three("100511", "100417", Some("100425"))
    );
}

#[test]
fn v2025_0_requires_a_first_subject_on_primary_courses() {
    let register = Register::start();
    let api = register.api(version("v2025.0"));
    let body = api
        .example()
        .with(F::course_age_range, "13914")
        .without(F::course_subject_1);
    api.send("POST", "/trainees", body)
        .problems(&["course_subject_one"]);
}

#[test]
fn v2025_0_leaves_early_years_course_subjects_unchanged() {
    let register = Register::start();
    let newest = register.api(version("v2026.1"));
    let created = newest.create(early_years(&newest, "19"));
    let api = register.api(version("v2025.0"));
    let updated = api.update(
        created.id(),
        Body::new(api.version).with(F::course_subject_2, "100403"),
    );
    assert_eq!(subjects_of(&updated), three("100510", "100403", None));
}

#[test]
fn v2026_x_rejects_an_update_replacing_the_first_primary_subject() {
    for label in ["v2026.0", "v2026.1"] {
        let register = Register::start();
        let api = register.api(version(label));
        let created = api.create(with_subjects(
            &api,
            "13914",
            &["100511", "100425", "100403"],
        ));
        assert_eq!(
            subjects_of(&created),
            three("100511", "100425", Some("100403"))
        );
        let secondary = api
            .create(with_subjects(&api, MIDDLE_RANGE, &["100403"]).with(F::last_name, "Secondary"));

        let body = Body::new(api.version).with(F::course_age_range, "13914");
        api.send("PATCH", &secondary.path(), body)
            .problems(&["course_subject_1"]);
        let body = Body::new(api.version).with(F::course_subject_1, "100417");
        api.send("PATCH", &created.path(), body)
            .problems(&["course_subject_1"]);
    }
}
