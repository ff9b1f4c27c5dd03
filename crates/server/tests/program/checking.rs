//! The data is looked through: when it is sound, and when it was damaged behind the program's back.

use serde_json::{Value, json};
use test_support::{Database, Kind};

use super::support::{Workplace, agent, execute, kinds, texts};

const TRAINEES: &str = "700";

/// A database with seeded trainees.
fn seeded(place: &Workplace, kind: Kind) -> Database {
    let database = Database::fresh_on(kind);
    let on = ["--database-url", database.url()];
    for command in [
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ][..],
        &[
            "sandbox",
            "seed",
            "--provider",
            "10000001",
            "--trainees",
            TRAINEES,
        ],
    ] {
        let ended = place.run(&[command, &on[..]].concat(), None);
        assert_eq!(ended.status(), 0, "{}", ended.stderr());
    }
    database
}

/// What sets a field of the stored record of a trainee to a text, without the columns that follow
/// from it.
fn edited(kind: Kind, field: &str, text: &str) -> String {
    match kind {
        Kind::Sqlite => format!("record = json_set(record, '$.{field}', '{text}')"),
        Kind::Postgres => format!(
            "record = jsonb_set(record::jsonb, '{{{field}}}', to_jsonb('{text}'::text))::json"
        ),
    }
}

#[test]
fn a_register_in_all_states_is_clean_beside_its_server() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = seeded(&place, kind);
        let on = ["--database-url", database.url()];
        let _server = place.serve(&on, None);
        let checked = place.run(&[&["check"], &on[..]].concat(), None);
        assert_eq!(
            checked.status(),
            0,
            "{kind:?}: {}{}",
            checked.stdout(),
            checked.stderr()
        );
        assert!(
            checked.stdout().ends_with("no problems found\n"),
            "{}",
            checked.stdout()
        );
        // The demo adds its own.
        let counted = texts(
            database.url(),
            "SELECT CAST(count(*) AS TEXT) AS text FROM trainees",
        );
        let line = checked
            .stdout()
            .lines()
            .find(|line| line.starts_with("trainees "))
            .unwrap();
        assert!(line.ends_with(&format!(" {}", counted[0])), "{line}");
    }
}

#[test]
fn each_damage_is_one_line_without_personal_data() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = seeded(&place, kind);
        let url = database.url();
        let ids = texts(
            url,
            "SELECT trainee_id AS text FROM trainees WHERE state = 'submitted_for_trn' ORDER BY id",
        );
        let unshown = format!(
            "cannot be shown in {}",
            versions::all().iter().next().unwrap().version.label
        );
        let damages = [
            (
                edited(kind, "sex", "Secret"),
                "sex holds a code that is not in its list",
            ),
            (
                edited(kind, "state", "withdrawn"),
                "state is withdrawn, but withdrawal_date is missing",
            ),
            (edited(kind, "state", "Secret"), "cannot be read: row"),
            ("record = '{\"trn\": 7}'".to_owned(), "cannot be read: row"),
            (edited(kind, "additional_legacy_data", "{Secret"), &unshown),
            (
                edited(kind, "email", "secret@example.com"),
                "cannot be found by its values",
            ),
            (
                "last_name_folded = 'secret'".to_owned(),
                "cannot be found by its values",
            ),
            (
                "academic_cycle = 1999".to_owned(),
                "cannot be found by its values",
            ),
            (
                edited(kind, "course_year", "12345"),
                "course_year is longer than 4 characters",
            ),
            (
                edited(kind, "updated_at", "1999-01-01T00:00:00.000Z"),
                "updated_at is not later than created_at",
            ),
        ];
        for ((set, _), id) in damages.iter().zip(&ids) {
            execute(
                url,
                &format!("UPDATE trainees SET {set} WHERE trainee_id = '{id}'"),
            );
        }
        let checked = place.run(&["check", "--database-url", url], None);
        assert_eq!(checked.status(), 1, "{kind:?}");
        for ((set, told), id) in damages.iter().zip(&ids) {
            let line = format!("trainee {id}: {told}");
            assert!(
                checked
                    .stdout()
                    .lines()
                    .any(|found| found.starts_with(&line)),
                "{kind:?}, {set}: {}",
                checked.stdout()
            );
        }
        assert!(
            !checked.stdout().to_lowercase().contains("secret"),
            "{}",
            checked.stdout()
        );
        let problems = checked
            .stdout()
            .lines()
            .filter(|line| line.starts_with("trainee "))
            .count();
        assert!(
            checked
                .stderr()
                .contains(&format!("problems found: {problems}\n")),
            "{}",
            checked.stderr()
        );
    }
}

#[test]
fn trainee_that_school_imports_would_skip_is_named() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = seeded(&place, kind);
        let url = database.url();
        let ids = texts(
            url,
            "SELECT DISTINCT trainee_id AS text FROM trainees JOIN placement_schools ON trainee_key = trainees.id",
        );
        let of =
            |id: &str| format!("trainee_key = (SELECT id FROM trainees WHERE trainee_id = '{id}')");
        execute(
            url,
            &format!("DELETE FROM placement_schools WHERE {}", of(&ids[0])),
        );
        let checked = place.run(&["check", "--database-url", url], None);
        assert_eq!(checked.status(), 1, "{kind:?}: {}", checked.stdout());
        let faults: Vec<_> = checked
            .stdout()
            .lines()
            .filter(|line| line.starts_with("trainee "))
            .collect();
        assert_eq!(
            faults,
            [format!("trainee {}: cannot be found by its values", ids[0])],
            "{kind:?}"
        );
    }
}

#[test]
fn reserved_urns_and_shared_ukprns_of_earlier_imports_are_named() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = seeded(&place, kind);
        let url = database.url();
        execute(
            url,
            "INSERT INTO schools (urn, name, postcode, open) VALUES ('900020', 'None', NULL, TRUE)",
        );
        execute(
            url,
            "INSERT INTO training_partners (urn, ukprn, name) VALUES ('000000', '10000008', 'None')",
        );
        execute(
            url,
            "INSERT INTO training_partners (urn, ukprn, name) VALUES ('100008', '10000008', 'Ash')",
        );
        let checked = place.run(&["check", "--database-url", url], None);
        assert_eq!(checked.status(), 1, "{kind:?}: {}", checked.stdout());
        for problem in [
            "schools: URN 900020 is reserved",
            "training_partners: URN 000000 is reserved",
            "training_partners: 2 have the UKPRN 10000008",
        ] {
            assert!(
                checked.stdout().lines().any(|line| line == problem),
                "{kind:?}: {}",
                checked.stdout()
            );
        }
    }
}

#[test]
fn degree_between_kinds_is_named_and_completed_by_next_change() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = Database::fresh_on(kind);
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let newest = versions::all().newest().unwrap().version.label;
        let (value, degrees) = match kind {
            Kind::Sqlite => ("degree.value", "json_each(record, '$.degrees') AS degree"),
            Kind::Postgres => (
                "degree",
                "json_array_elements(record -> 'degrees') AS degree",
            ),
        };
        let rows = texts(
            database.url(),
            &format!(
                "SELECT trainee_id || '/degrees/' || ({value} ->> 'degree_id') AS text FROM trainees, {degrees} \
                 WHERE {value} ->> 'country' IS NOT NULL AND state IN ('submitted_for_trn', 'trn_received') \
                 ORDER BY trainees.id"
            ),
        );
        let (trainee, degree) = rows[0].split_once("/degrees/").unwrap();
        let without_country = match kind {
            Kind::Sqlite => format!(
                "json_remove(record, (SELECT fullkey || '.country' FROM json_each(record, '$.degrees') \
                 WHERE value ->> 'degree_id' = '{degree}'))"
            ),
            Kind::Postgres => format!(
                "(record::jsonb #- ARRAY['degrees', (SELECT (place - 1)::text FROM json_array_elements(record -> 'degrees') \
                 WITH ORDINALITY AS each (one, place) WHERE one ->> 'degree_id' = '{degree}'), 'country'])::json"
            ),
        };
        let edit = format!(
            "UPDATE trainees SET record = {without_country} WHERE trainee_id = '{trainee}'"
        );
        execute(database.url(), &edit);
        let faults = || {
            let checked = place.run(&[&["check"], &on[..]].concat(), None);
            let lines = checked
                .stdout()
                .lines()
                .filter(|line| line.contains(": degree "))
                .map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        let found = faults();
        assert_eq!(found.len(), 1, "{kind:?}: {found:?}");
        assert!(
            found[0].starts_with(&format!("trainee {trainee}: degree ")),
            "{found:?}"
        );
        assert!(
            found[0].ends_with(": country is missing on a degree of another country"),
            "{found:?}"
        );

        let path = format!("/api/{newest}/trainees/{}", rows[0]);
        let change =
            |data: Value| server.send(&agent(), "PATCH", &path, Some(&json!({ "data": data })));
        let (status, reply) = change(json!({ "graduation_year": 1999 }));
        assert_eq!(
            (status, &reply["errors"][0]["field"]),
            (422, &json!("country")),
            "{kind:?}"
        );
        assert_eq!(
            change(json!({ "graduation_year": 1999, "country": "FR" })).0,
            200,
            "{kind:?}"
        );
        assert_eq!(faults(), [""; 0], "{kind:?}");
    }
}

#[test]
fn rows_without_those_that_they_refer_to_are_reported() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = seeded(&place, kind);
        let url = database.url();
        let lift = match kind {
            Kind::Sqlite => "PRAGMA foreign_keys = OFF",
            Kind::Postgres => "SET session_replication_role = replica",
        };
        execute(
            url,
            &format!(
                "{lift}; UPDATE placement_schools SET trainee_key = 999999 \
                 WHERE trainee_key = (SELECT min(trainee_key) FROM placement_schools)"
            ),
        );
        execute(url, &format!("{lift}; UPDATE tokens SET provider_id = 77"));
        let checked = place.run(&["check", "--database-url", url], None);
        assert_eq!(checked.status(), 1, "{kind:?}");
        let line = "table placement_schools: trainee_key is 999999 in ";
        assert!(
            checked.stdout().starts_with(line),
            "{kind:?}: {}",
            checked.stdout()
        );
    }
}

#[test]
fn data_only_sqlite_accepts_is_reported_without_ending_the_check() {
    let place = Workplace::on_sqlite();
    let database = seeded(&place, Kind::Sqlite);
    let ids = texts(
        database.url(),
        "SELECT trainee_id AS text FROM trainees ORDER BY id",
    );
    let (first, last) = (&ids[0], ids.last().unwrap());
    execute(
        database.url(),
        &format!("UPDATE trainees SET date_of_birth = 'Secret' WHERE trainee_id = '{first}'"),
    );
    let ends_at_once = "json_set(record, '$.itt_end_date', record ->> '$.itt_start_date')";
    execute(
        database.url(),
        &format!("UPDATE trainees SET record = {ends_at_once} WHERE trainee_id = '{last}'"),
    );
    let checked = place.run(&["check", "--database-url", database.url()], None);
    assert_eq!(checked.status(), 1);
    let told: Vec<_> = checked
        .stdout()
        .lines()
        .filter(|line| line.starts_with("trainee "))
        .collect();
    assert!(
        told[0].starts_with(&format!("trainee {first}: cannot be read: ")),
        "{told:?}"
    );
    assert_eq!(
        told[1..],
        [format!(
            "trainee {last}: itt_end_date is not later than itt_start_date"
        )]
    );
    assert!(!checked.stdout().contains("Secret"));
}

#[test]
fn mismatched_record_history_and_list_counts_are_reported() {
    for kind in kinds() {
        let place = Workplace::on_sqlite();
        let database = seeded(&place, kind);
        let ids = texts(
            database.url(),
            "SELECT trainee_id AS text FROM trainees ORDER BY id",
        );
        // The history has an entry for what changes after the creation.
        let discarded = place.apply(
            "discard",
            &format!("trainee_id\n{}\n", ids[0]),
            &["--database-url", database.url()],
        );
        assert_eq!(discarded.status(), 0, "{}", discarded.stderr());
        let edit = edited(kind, "discarded_at", "2026-01-01T00:00:00.000Z");
        execute(
            database.url(),
            &format!(
                "UPDATE trainees SET {edit}, discarded_at = '2026-01-01 00:00:00' WHERE trainee_id = '{}'",
                ids[0]
            ),
        );
        execute(database.url(), "UPDATE provider_positions SET position = 0");
        let checked = place.run(&["check", "--database-url", database.url()], None);
        assert_eq!(checked.status(), 1, "{kind:?}");
        let told: Vec<_> = checked.stdout().lines().collect();
        assert!(
            told[0].starts_with("provider ")
                && told[0].ends_with(": position is before a trainee's"),
            "{told:?}"
        );
        assert_eq!(
            told[1],
            format!("trainee {}: does not match its history", ids[0]),
            "{kind:?}"
        );
        assert!(!told[2].starts_with("trainee "), "{told:?}");
    }
}

#[test]
fn a_page_that_was_overwritten_is_reported() {
    let place = Workplace::on_sqlite();
    let database = seeded(&place, Kind::Sqlite);
    let file = database.url().strip_prefix("sqlite://").unwrap();
    execute(database.url(), "PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = std::fs::read(file).unwrap();
    // The index that lists walk along begins on this page.
    let page = texts(
        database.url(),
        "SELECT CAST(rootpage AS TEXT) AS text FROM sqlite_master WHERE name = 'trainees_by_change'",
    );
    let page: usize = page[0].parse().unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0x55);
    std::fs::write(file, bytes).unwrap();
    let checked = place.run(&["check", "--database-url", database.url()], None);
    assert_eq!(checked.status(), 1, "{}", checked.stdout());
}
