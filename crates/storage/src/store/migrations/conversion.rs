//! Registers that go from the tables of before to documents, and back, on both databases.

use chrono::{DateTime, TimeDelta};
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use domain::value::Document;
use domain::{Degree, Placement, State, Trainee};
use fixtures::example;
use test_support::{Database, Kind, kinds};

use super::*;
use crate::connection::with_inner;
use crate::history::Cause;
use crate::session::Session;
use crate::store::migrations::document_conversion::Conversion;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::connect;

const UKPRN: &str = "10000001";
/// The last migration without documents.
const BEFORE: Goal<'_> = Goal::Migration("2026-11-22-000008_changes_by");

/// Trainees of every sort: with everything, with nothing, withdrawn, imported, and with texts that need escapes.
fn trainees() -> Vec<Trainee> {
    let moment = DateTime::from_timestamp_millis(1_772_452_800_123);
    let bare = |id: &str| Trainee {
        trainee_id: Some(id.to_owned()),
        ukprn: Some(UKPRN.to_owned()),
        state: Some(State::SubmittedForTrn),
        created_at: moment,
        updated_at: moment,
        ..Trainee::default()
    };
    let placement = |number: i64, school_id: Option<i64>| Placement {
        placement_id: Some(format!("placement {number}")),
        urn: school_id.map(|_| "990001".to_owned()),
        // The older program showed what the register of schools says.
        name: Some(school_id.map_or(format!("School \"{number}\""), |_| "Barley Mow Junior School".to_owned())),
        postcode: school_id.map(|_| "ZZ1 1AA".to_owned()),
        school_id,
        created_at: moment.map(|moment| moment + TimeDelta::milliseconds(number)),
        updated_at: moment,
    };
    let degree = |number: i64, year: Option<i64>| Degree {
        degree_id: Some(format!("degree {number}")),
        graduation_year: year.map(domain::value::Year),
        subject: Some("100485".to_owned()),
        created_at: moment,
        updated_at: moment,
        ..Degree::default()
    };
    vec![
        Trainee { trainee_id: Some("example".to_owned()), ukprn: Some(UKPRN.to_owned()), ..example::trainee() },
        bare("bare"),
        Trainee {
            first_names: Some("Zoë \"Q\" \\ \u{1}\n\t\u{2028}".to_owned()),
            disability1: Some("58".to_owned()),
            disability9: Some("57".to_owned()),
            placements: vec![placement(1, None), placement(2, Some(1))],
            degrees: vec![degree(1, None), degree(2, Some(1999)), degree(3, Some(2021))],
            ..bare("nested")
        },
        Trainee {
            state: Some(State::Withdrawn),
            withdrawal_date: chrono::NaiveDate::from_ymd_opt(2026, 3, 1),
            withdrawal_trigger: Some("provider".to_owned()),
            withdrawal_reasons: Some(vec!["had_to_withdraw".to_owned(), "other".to_owned()]),
            withdrawal_another_reason: Some("a, b".to_owned()),
            ..bare("withdrawn")
        },
        Trainee { state: Some(State::Withdrawn), withdrawal_reasons: Some(Vec::new()), ..bare("without reasons") },
        Trainee {
            course_min_age: Some(11),
            ebacc: Some(true),
            created_from_legacy: Some(false),
            agency_updated_at: DateTime::from_timestamp_millis(1_700_000_000_007),
            additional_legacy_data: Some(Document("{ \"a\": [1.50, \"\\u00e9\"] }".to_owned())),
            discarded_at: moment,
            ..bare("imported")
        },
    ]
}

/// A register with these trainees, one of which was withdrawn and is back.
fn register(kind: Kind) -> (Database, DatabaseConnection) {
    let database = Database::fresh_on(kind);
    let store = Store::open(database.url(), StoreOptions::default()).unwrap();
    store.migrate().unwrap();
    let fill = |session: &mut Session<'_>| {
        session.ensure_sandbox_organisations()?;
        session.add_provider(UKPRN, "Ashdown University")?;
        let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
        for trainee in trainees() {
            provider.insert_trainee(&trainee)?;
        }
        let stored = provider.find_trainee("withdrawn")?.unwrap();
        let back = Trainee {
            state: Some(State::SubmittedForTrn),
            withdrawal_date: None,
            withdrawal_trigger: None,
            withdrawal_reasons: None,
            withdrawal_another_reason: None,
            ..stored.record.clone()
        };
        provider.update_trainee(&stored, &back)?;
        let stored = provider.find_trainee("withdrawn")?.unwrap();
        let again =
            Trainee { state: Some(State::Withdrawn), withdrawal_reasons: Some(vec!["other".to_owned()]), ..back };
        provider.update_trainee(&stored, &again)
    };
    store.write_blocking(fill).unwrap();
    drop(store);
    let connection = connect(database.url());
    (database, connection)
}

/// The documents, by the order of the keys, and the schools of placements.
fn documents(connection: &mut DatabaseConnection) -> (Vec<String>, Vec<(i64, i64)>) {
    use crate::schema::{placement_schools, trainees};
    let rows = with_inner!(connection, |inner| trainees::table
        .order(trainees::id)
        .select(trainees::record)
        .load::<crate::document::JsonText>(inner))
    .unwrap();
    let links = placement_schools::table
        .order((placement_schools::school_id, placement_schools::trainee_key))
        .load(connection)
        .unwrap();
    (rows.into_iter().map(|document| document.0).collect(), links)
}

#[test]
fn a_register_that_goes_back_and_forth_holds_what_it_held() {
    for kind in kinds() {
        let (_database, mut connection) = register(kind);
        assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::Finished);
        let before = documents(&mut connection);
        // Once from a register that is finished, and once from one that keeps the tables of before.
        for _ in 0..2 {
            bring_to(&mut connection, BEFORE).unwrap();
            assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::NotBegun);
            bring_to(&mut connection, Goal::Newest).unwrap();
            assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::Converted);
            // A position is that of an entry in the history, and a conversion writes none.
            if kind == Kind::Sqlite {
                use crate::schema::trainees;
                let moved = trainees::table.filter(trainees::changed_in.ne(0)).count();
                assert_eq!(moved.get_result::<i64>(&mut connection).unwrap(), 0);
            }
            let after = documents(&mut connection);
            for (one, other) in before.0.iter().zip(&after.0) {
                assert_eq!(one, other, "{kind:?}");
            }
            assert_eq!(before, after, "{kind:?}");
        }
        finish(&mut connection).unwrap();
        assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::Finished);
        assert_eq!(documents(&mut connection), before, "{kind:?}");
    }
}

#[test]
fn what_is_written_after_the_conversion_goes_back_too() {
    for kind in kinds() {
        let (database, mut connection) = register(kind);
        bring_to(&mut connection, BEFORE).unwrap();
        bring_to(&mut connection, Goal::Newest).unwrap();
        let store = Store::open(database.url(), StoreOptions::default()).unwrap();
        let change = |session: &mut Session<'_>| {
            let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
            let stored = provider.find_trainee("nested")?.unwrap();
            let mut changed = stored.record.clone();
            changed.placements.retain(|placement| placement.placement_id.as_deref() != Some("placement 1"));
            provider.update_trainee(&stored, &changed)?;
            let stored = provider.find_trainee("bare")?.unwrap();
            provider
                .update_trainee(&stored, &Trainee { email: Some("a@example.com".to_owned()), ..stored.record.clone() })
        };
        store.write_blocking(change).unwrap();
        drop(store);
        bring_to(&mut connection, BEFORE).unwrap();
        let count = |connection: &mut DatabaseConnection, table| catalog::count(connection, table).unwrap();
        assert_eq!(count(&mut connection, "placements"), 1 + example::trainee().placements.len() as i64, "{kind:?}");
        assert_eq!(count(&mut connection, "withdrawals"), 3, "{kind:?}");
        connection.batch_execute("DELETE FROM trainees WHERE email IS NULL OR email <> 'a@example.com'").unwrap();
        assert_eq!(count(&mut connection, "trainees"), 1, "{kind:?}");
    }
}

#[test]
fn a_large_register_is_refused_by_what_starts_and_converted_in_batches_that_can_be_interrupted() {
    for kind in kinds() {
        let (database, mut connection) = register(kind);
        // Not all at once: a transaction that counts thousands of trainees passes by the versions of its counts more and more.
        for first in (1..=10_500).step_by(1_500) {
            let json = if kind == Kind::Postgres { "::json" } else { "" };
            let insert = format!(
                "INSERT INTO trainees (provider_id, trainee_id, revision, academic_cycle, last_name_folded, \
                 first_names_folded, email_folded, state, created_at, updated_at, record) \
                 WITH RECURSIVE numbers AS \
                     (SELECT {first} AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < {first} + 1499) \
                 SELECT 1, 'many ' || n, 1, 2026, '', '', '', 'deferred', '2026-03-01', '2026-03-01', \
                 '{{\"state\":\"deferred\",\"created_at\":\"2026-03-01T00:00:00.000Z\",\
                 \"updated_at\":\"2026-03-01T00:00:00.000Z\"}}'{json} FROM numbers"
            );
            connection.batch_execute(&insert).unwrap();
        }
        bring_to(&mut connection, BEFORE).unwrap();
        let refused = bring_to(&mut connection, Goal::Newest).unwrap_err();
        assert!(matches!(refused, StorageError::NotConverted { trainees: 10_506 }), "{refused:?}");
        assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::NotBegun, "nothing was changed");

        bring_to(&mut connection, Goal::NewestUnconverted).unwrap();
        let refused = Store::open_existing(database.url(), StoreOptions::default()).unwrap_err();
        assert!(matches!(refused, StorageError::NotConverted { trainees: 10_506 }), "{refused:?}");
        assert!(matches!(finish(&mut connection).unwrap_err(), StorageError::NotConverted { .. }));
        let torn = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            convert(&mut connect(database.url()), |step| assert!(matches!(step, Progress::Begun { .. }), "torn"))
        }));
        assert!(torn.is_err());
        let Conversion::Begun { left } = document_conversion::state(&mut connection).unwrap() else {
            panic!("not begun")
        };
        assert!(0 < left && left < 10_506, "{left}");
        let mut converted = 0;
        let count = |step: Progress| {
            if let Progress::Converted(more) = step {
                converted += more;
            }
        };
        convert(&mut connection, count).unwrap();
        assert_eq!(converted, left, "{kind:?}");
        assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::Converted);
        Store::open_existing(database.url(), StoreOptions::default()).unwrap();
    }
}

/// Keeps the trainee "bare" from being changed, without an error.
fn hold_one(connection: &mut DatabaseConnection) {
    let trigger = connection.either(
        "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER hold BEFORE UPDATE ON trainees FOR EACH ROW WHEN (OLD.trainee_id = 'bare') EXECUTE FUNCTION hold()",
        "CREATE TRIGGER hold BEFORE UPDATE ON trainees WHEN OLD.trainee_id = 'bare' BEGIN SELECT RAISE(IGNORE); END",
    );
    connection.batch_execute(trigger).unwrap();
}

#[test]
fn a_trainee_that_is_not_converted_is_left_behind_neither_forth_nor_back() {
    for kind in kinds() {
        let (_database, mut connection) = register(kind);
        bring_to(&mut connection, BEFORE).unwrap();
        hold_one(&mut connection);
        let refused = bring_to(&mut connection, Goal::Newest).unwrap_err();
        assert!(matches!(refused, StorageError::NotConverted { trainees: 1 }), "{kind:?}: {refused:?}");
        assert_eq!(
            document_conversion::state(&mut connection).unwrap(),
            Conversion::NotBegun,
            "{kind:?}: nothing was changed"
        );

        let (_database, mut connection) = register(kind);
        bring_to(&mut connection, BEFORE).unwrap();
        bring_to(&mut connection, Goal::Newest).unwrap();
        connection.batch_execute("UPDATE trainees SET record = NULL WHERE trainee_id = 'bare'").unwrap();
        hold_one(&mut connection);
        let refused = bring_to(&mut connection, BEFORE).unwrap_err();
        assert!(matches!(refused, StorageError::NotConverted { trainees: 1 }), "{kind:?}: {refused:?}");
        assert_eq!(document_conversion::state(&mut connection).unwrap(), Conversion::Begun { left: 1 }, "{kind:?}");
    }
}
