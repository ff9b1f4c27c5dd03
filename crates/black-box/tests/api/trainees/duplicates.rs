//! Duplicates: a person registered twice.

mod race;

use domain::TraineeField as F;
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, Shown, every_version};

/// Checks that a body is refused because these records are there already, as the version shows
/// them.
#[track_caller]
fn is_duplicate(api: &Api<'_>, body: Body, of: &[&Shown]) {
    let reply = api.send("POST", "/trainees", body);
    let message = reply.error(409, "Conflict");
    assert!(message.contains("trainee"), "{message}");
    let existing: Vec<Value> = of.iter().map(|shown| api.read(shown.id()).data).collect();
    assert_eq!(*reply.data(), Value::from(existing));
}

#[test]
fn same_person_is_a_conflict_showing_the_existing_record() {
    every_version(|api| {
        let created = api.create(api.example());
        is_duplicate(api, api.example(), &[&created]);
        is_duplicate(api, api.example(), &[&created]);
    });
}

#[test]
fn name_matches_in_any_case_with_any_punctuation() {
    every_version(|api| {
        let body = api
            .example()
            .with(F::first_names, "Zoë O'Neil Mary-Ann")
            .with(F::last_name, "Example-Jones");
        let created = api.create(body.clone());
        let elsewhere = body.with(F::email, "elsewhere@example.com");
        for first_names in [
            "Zoë O'Neil Mary-Ann",
            "zoe oneil maryann",
            "ZOE ONEIL MARYANN",
            "Zoe\u{308} O\u{2019}Neil  Mary.Ann",
            "(Zoë) O`Neil; Mary-Ann!",
        ] {
            is_duplicate(
                api,
                elsewhere.clone().with(F::first_names, first_names),
                &[&created],
            );
        }
        for last_name in ["EXAMPLE-JONES", "example-jones"] {
            is_duplicate(
                api,
                elsewhere.clone().with(F::last_name, last_name),
                &[&created],
            );
        }
    });
}

#[test]
fn last_name_matches_in_each_unicode_and_apostrophe_form() {
    every_version(|api| {
        let body = |last_name: &str| api.example().with(F::last_name, last_name);
        for spellings in [
            ["Nuñez", "NUN\u{303}EZ", "Ｎｕñｅｚ"],
            ["O'Neil", "O\u{2019}NEIL", "O\u{2bc}Neil"],
            ["Weiß", "WEIẞ", "weiss"],
            ["ﬁsher\u{ad}", "Fi\u{200b}sher", "FISHER"],
        ] {
            let created = api.create(body(spellings[0]));
            for spelling in spellings {
                is_duplicate(api, body(spelling), &[&created]);
            }
        }
    });
}

#[test]
fn modifier_letters_as_apostrophes_do_not_change_first_names() {
    every_version(|api| {
        let body = |first_names: &str| api.example().with(F::first_names, first_names);
        let created = api.create(body("Ka\u{2bb}iulani"));
        for first_names in ["Kaiulani", "ka\u{2bc}iulani", "Ka'iulani"] {
            is_duplicate(
                api,
                body(first_names).with(F::email, "elsewhere@example.com"),
                &[&created],
            );
        }
    });
}

#[test]
fn email_address_matches_in_any_case_with_any_first_names() {
    every_version(|api| {
        let created = api.create(api.example());
        for email in [
            "trainee@example.com",
            "TRAINEE@Example.Com",
            "  trainee@example.com ",
        ] {
            let body = api
                .example()
                .with(F::first_names, "Another Person")
                .with(F::email, email);
            is_duplicate(api, body, &[&created]);
        }
    });
}

#[test]
fn who_differs_in_first_names_and_address_is_somebody_else() {
    every_version(|api| {
        api.create(api.example());
        let address = "elsewhere@example.com";
        for (number, first_names) in ["Trainees", "Train Ee", "Trainee Maria", "李", "王"]
            .into_iter()
            .enumerate()
        {
            let body = api.example().with(F::first_names, first_names);
            api.create(body.with(F::email, format!("{number}{address}")));
        }
    });
}

#[test]
fn birth_date_route_last_name_and_year_distinguish_people() {
    every_version(|api| {
        api.create(api.example());
        api.create(api.example().with(F::date_of_birth, "1999-04-13"));
        api.create(api.example().with(F::training_route, "12"));
        for last_name in ["Exampl", "Exampl_", "%", "Ex%", "Exàmple"] {
            api.create(api.example().with(F::last_name, last_name));
        }
        let in_year = |start: &str, end: &str| {
            api.example()
                .with(F::itt_start_date, start)
                .with(F::itt_end_date, end)
        };
        api.create(in_year("2026-07-31", "2027-07-16"));
        api.create(in_year("2027-08-01", "2028-07-16"));
    });
}

#[test]
fn academic_year_is_from_august_to_july() {
    every_version(|api| {
        let created = api.create(api.example());
        for start in ["2026-08-01", "2027-07-31"] {
            let body = api
                .example()
                .with(F::itt_start_date, start)
                .with(F::itt_end_date, "2028-07-16");
            is_duplicate(api, body, &[&created]);
        }
    });
}

#[test]
fn the_start_that_was_sent_decides_the_academic_year() {
    every_version(|api| {
        let created = api.create(api.example());
        let planned_before = api.example().with(F::itt_start_date, "2026-07-01");
        is_duplicate(
            api,
            planned_before
                .clone()
                .with(F::trainee_start_date, "2026-09-14"),
            &[&created],
        );
        api.create(planned_before);
    });
}

#[test]
fn duplicate_check_compares_the_record_after_its_changes() {
    every_version(|api| {
        let created = api.create(api.example());
        api.update(
            created.id(),
            Body::new(api.version).with(F::last_name, "Married"),
        );
        is_duplicate(
            api,
            api.example().with(F::last_name, "MARRIED"),
            &[&created],
        );
        let second = api.create(api.example());
        // An update is never compared with other records.
        api.update(
            second.id(),
            Body::new(api.version).with(F::last_name, "Married"),
        );
    });
}

#[test]
fn all_records_that_match_are_shown_oldest_first() {
    every_version(|api| {
        let by_name = api.create(api.example().with(F::email, "one@example.com"));
        let body = api
            .example()
            .with(F::first_names, "Another Person")
            .with(F::email, "two@example.com");
        let by_address = api.create(body);
        api.update(
            by_name.id(),
            Body::new(api.version).with(F::middle_names, "Changed last"),
        );
        is_duplicate(
            api,
            api.example().with(F::email, "two@example.com"),
            &[&by_name, &by_address],
        );
    });
}

#[test]
fn a_withdrawn_trainee_still_counts() {
    every_version(|api| {
        let created = api.create(api.example());
        api.withdraw(created.id());
        is_duplicate(api, api.example(), &[&created]);
    });
}

#[test]
fn another_providers_trainee_does_not_count() {
    every_version(|api| {
        api.create(api.example());
        let other = api.register.other_provider(api.version);
        let theirs = other.create(other.example());
        is_duplicate(&other, other.example(), &[&theirs]);
    });
}

#[test]
fn duplicate_is_found_and_shown_in_every_versions_names() {
    for writing in SERVED {
        let register = Register::start();
        let writer = register.api(writing);
        let created = writer.create(writer.example().with(F::course_subject_2, "100425"));
        for asking in SERVED {
            let api = writer.in_version(asking);
            is_duplicate(&api, api.example(), &[&created]);
        }
    }
}

#[test]
fn a_refused_duplicate_leaves_nothing_behind() {
    every_version(|api| {
        let created = api.create(api.example());
        let body = api.example().with(F::email, "second@example.com");
        is_duplicate(api, body.clone(), &[&created]);
        // Had the refused one been stored, this one would match it by its address.
        let third = body.with(F::first_names, "Another Person");
        api.shown(&api.send("POST", "/trainees", third).is(201))
            .has(&[(F::email, json!("second@example.com"))]);
    });
}
