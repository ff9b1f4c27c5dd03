//! The data is looked through: when it is sound, and when it was damaged behind the program's back.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use test_support::Kind;

use super::erasing::erase;
use super::support::{Workplace, kinds, path};

const UKPRN: &str = "10000001";

/// A place with seeded trainees.
fn seeded(kind: Kind) -> Workplace {
    let place = Workplace::on(kind);
    place.done(format!("provider add --ukprn {UKPRN} --name Ashdown"));
    place.done(format!("sandbox seed --provider {UKPRN} --trainees 700"));
    place
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
fn sound_register_is_clean_beside_its_server() {
    for kind in kinds() {
        let place = seeded(kind);
        let _server = place.serve("");
        let checked = place.run("check");
        assert!(checked.stdout().ends_with("no problems found\n"));
        checked.ends(0, &[]);
        // The demo adds its own.
        let counted = place.texts("SELECT CAST(count(*) AS TEXT) AS text FROM trainees");
        let mut lines = checked.stdout().lines();
        let line = lines.find(|line| line.starts_with("trainees ")).unwrap();
        assert!(line.ends_with(&format!(" {}", counted[0])), "{line}");
    }
}

/// What is set in the row of a trainee, and what the check says about the trainee then.
fn damages(kind: Kind) -> Vec<(String, String)> {
    let unshown = format!("cannot be shown in {}", versions::SERVED[0].label);
    let set = |field: &str, text: &str| edited(kind, field, text);
    let mut damages = vec![
        (
            set("sex", "Secret"),
            "sex holds a code that is not in its list",
        ),
        (
            set("state", "withdrawn"),
            "state is withdrawn, but withdrawal_date is missing",
        ),
        (set("state", "Secret"), "cannot be read: row"),
        ("record = '{\"trn\": 7}'".to_owned(), "cannot be read: row"),
        (set("additional_legacy_data", "{Secret"), unshown.as_str()),
        (
            set("email", "secret@example.com"),
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
            set("course_year", "12345"),
            "course_year is longer than 4 characters",
        ),
        (
            set("updated_at", "1999-01-01T00:00:00.000Z"),
            "updated_at is not later than created_at",
        ),
    ];
    if kind == Kind::Sqlite {
        let ends_at_once =
            "record = json_set(record, '$.itt_end_date', record ->> '$.itt_start_date')";
        damages.extend([
            ("date_of_birth = 'Secret'".to_owned(), "cannot be read: "),
            (
                ends_at_once.to_owned(),
                "itt_end_date is not later than itt_start_date",
            ),
        ]);
    }
    let owned = damages
        .into_iter()
        .map(|(set, told)| (set, told.to_owned()));
    owned.collect()
}

/// Damages erased trainees and their records. Returns what the check says about them then.
fn damage_erased(place: &Workplace, kind: Kind, ids: &[String]) -> Vec<(String, &'static str)> {
    let [first, second, third, fourth] = ids else {
        panic!("{ids:?}")
    };
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    place.done(erase(UKPRN, &all));
    place.done("check");
    let of = |id: &str| format!("(SELECT id FROM trainees WHERE trainee_id = '{id}')");
    let set = edited(kind, "extra", "x");
    for sql in [
        format!("UPDATE trainees SET {set} WHERE trainee_id = '{first}'"),
        format!(
            "UPDATE changes SET fields = '{{\"email\":[\"x\",null]}}' WHERE trainee_key = {}",
            of(second)
        ),
        format!("DELETE FROM erasures WHERE trainee_id = '{third}'"),
        format!("UPDATE trainees SET email_folded = 'x' WHERE trainee_id = '{fourth}'"),
    ] {
        place.execute(&sql);
    }
    let other_data = "was erased, but still has other data than its identifier";
    vec![
        (first.clone(), other_data),
        (second.clone(), other_data),
        (third.clone(), "is blank, but has no recorded erasure"),
        (fourth.clone(), "cannot be found by its values"),
    ]
}

/// Damages a discarded trainee, so that the record does not match its history.
fn damage_discarded(place: &Workplace, kind: Kind, id: &str) -> (String, &'static str) {
    place
        .apply("discard", &format!("trainee_id\n{id}\n"), "")
        .done();
    let edit = edited(kind, "discarded_at", "2026-01-01T00:00:00.000Z");
    place.execute(&format!(
        "UPDATE trainees SET {edit}, discarded_at = '2026-01-01 00:00:00' WHERE trainee_id = '{id}'"
    ));
    (id.to_owned(), "does not match its history")
}

/// Damage outside of trainees, and what the check says then.
const OTHER_DAMAGE: &str = "
INSERT INTO schools (urn, name, postcode, open) VALUES ('900020', 'None', NULL, TRUE) | schools: URN 900020 is reserved
INSERT INTO training_partners (urn, ukprn, name) VALUES ('000000', '10000008', 'None') | training_partners: URN 000000 is reserved
INSERT INTO training_partners (urn, ukprn, name) VALUES ('100008', '10000008', 'Ash') | training_partners: 2 have the UKPRN 10000008
UPDATE provider_positions SET position = 0 WHERE provider_id > 0 | provider 10000001: position is before a trainee's
";

#[test]
fn each_damage_is_reported_without_personal_data() {
    for kind in kinds() {
        let place = seeded(kind);
        let ids = place.texts(
            "SELECT trainee_id AS text FROM trainees WHERE state = 'submitted_for_trn' \
             AND id NOT IN (SELECT trainee_key FROM placement_schools) ORDER BY id",
        );
        let mut expected = damage_erased(&place, kind, &ids[..4]);
        expected.push(damage_discarded(&place, kind, &ids[4]));
        let damages = damages(kind);
        for ((set, told), id) in damages.iter().zip(&ids[5..]) {
            place.execute(&format!(
                "UPDATE trainees SET {set} WHERE trainee_id = '{id}'"
            ));
            expected.push((id.clone(), told));
        }
        // School imports would skip this trainee.
        let unlinked = place.texts(
            "SELECT trainee_id AS text FROM trainees JOIN placement_schools ON trainee_key = trainees.id \
             ORDER BY trainees.id",
        );
        place.execute(&format!(
            "DELETE FROM placement_schools \
             WHERE trainee_key = (SELECT id FROM trainees WHERE trainee_id = '{}')",
            unlinked[0]
        ));
        expected.push((unlinked[0].clone(), "cannot be found by its values"));
        let others = OTHER_DAMAGE.trim().lines();
        let others: Vec<_> = others.map(|line| line.split_once(" | ").unwrap()).collect();
        others.iter().for_each(|(sql, _)| place.execute(sql));

        let checked = place.run("check");
        let printed = checked.stdout();
        for (id, told) in &expected {
            let line = format!("trainee {id}: {told}");
            let is_told = printed.lines().any(|found| found.starts_with(&line));
            assert!(is_told, "{kind:?}: {line} is not in {printed}");
        }
        for (_, line) in &others {
            assert!(
                printed.lines().any(|found| found == *line),
                "{kind:?}: {line} is not in {printed}"
            );
        }
        let found = printed
            .lines()
            .filter_map(|line| line.strip_prefix("trainee "));
        let found: BTreeSet<_> = found.map(|line| &line[..24]).collect();
        assert_eq!(found, expected.iter().map(|(id, _)| id.as_str()).collect());
        assert!(!printed.to_lowercase().contains("secret"), "{printed}");
        let problems = printed.lines().filter(|line| line.contains(": ")).count();
        checked.ends(1, &[&format!("problems found: {problems}\n")]);
    }
}

#[test]
fn incomplete_degree_is_named_until_completed() {
    for kind in kinds() {
        let place = Workplace::on(kind);
        let server = place.serve("");
        let (value, degrees) = match kind {
            Kind::Sqlite => ("degree.value", "json_each(record, '$.degrees') AS degree"),
            Kind::Postgres => (
                "degree",
                "json_array_elements(record -> 'degrees') AS degree",
            ),
        };
        let rows = place.texts(&format!(
            "SELECT trainee_id || '/degrees/' || ({value} ->> 'degree_id') AS text FROM trainees, {degrees} \
             WHERE {value} ->> 'country' IS NOT NULL AND state IN ('submitted_for_trn', 'trn_received') \
             ORDER BY trainees.id"
        ));
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
        place.execute(&format!(
            "UPDATE trainees SET record = {without_country} WHERE trainee_id = '{trainee}'"
        ));
        let faults = || {
            let checked = place.run("check");
            let lines = checked.stdout().lines();
            let lines = lines.filter(|line| line.contains(": degree "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let found = faults();
        assert_eq!(found.len(), 1, "{kind:?}: {found:?}");
        let (begin, end) = (
            format!("trainee {trainee}: degree "),
            ": country is missing on a degree of another country",
        );
        assert!(
            found[0].starts_with(&begin) && found[0].ends_with(end),
            "{found:?}"
        );

        let path = path(&format!("/trainees/{}", rows[0]));
        let change = |data: Value| server.send("PATCH", &path, Some(&json!({ "data": data })));
        let (status, reply) = change(json!({ "graduation_year": 1999 }));
        let field = &reply["errors"][0]["field"];
        assert_eq!((status, field), (422, &json!("country")), "{kind:?}");
        let complete = json!({ "graduation_year": 1999, "country": "FR" });
        assert_eq!(change(complete).0, 200, "{kind:?}");
        assert_eq!(faults(), [""; 0], "{kind:?}");
    }
}

#[test]
fn orphaned_rows_are_reported() {
    for kind in kinds() {
        let place = seeded(kind);
        let lift = match kind {
            Kind::Sqlite => "PRAGMA foreign_keys = OFF",
            Kind::Postgres => "SET session_replication_role = replica",
        };
        place.execute(&format!(
            "{lift}; UPDATE placement_schools SET trainee_key = 999999 \
             WHERE trainee_key = (SELECT min(trainee_key) FROM placement_schools)"
        ));
        let checked = place.run("check");
        let line = "table placement_schools: trainee_key is 999999 in ";
        let printed = checked.stdout();
        assert!(
            checked.status() == 1 && printed.starts_with(line),
            "{kind:?}: {printed}"
        );
    }
}

#[test]
fn page_that_was_overwritten_is_reported() {
    let place = seeded(Kind::Sqlite);
    let url = place.url();
    let file = url.strip_prefix("sqlite://").unwrap();
    place.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    let mut bytes = std::fs::read(file).unwrap();
    // The index that lists walk along begins on this page.
    let page = place.texts(
        "SELECT CAST(rootpage AS TEXT) AS text FROM sqlite_master WHERE name = 'trainees_by_change'",
    );
    let page: usize = page[0].parse().unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0x55);
    std::fs::write(file, bytes).unwrap();
    place.run("check").ends(1, &[]);
}
