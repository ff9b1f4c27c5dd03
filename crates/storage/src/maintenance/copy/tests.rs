//! Tests copies between both databases: complete, interrupted and refused ones.

use std::panic::{AssertUnwindSafe, catch_unwind};

use database::connection::with_inner;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use stored_document::JsonText;
use test_support::{Kind, all_kinds, kinds};

use super::verify::DifferenceKind;
use super::*;
use crate::schema::{providers, replies, request_totals, schools, trainees};
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, counts, empty, filled};

/// The number of trainees of a register that takes more than two batches.
const MANY: usize = 1_203;

/// All pairs of databases whose second one is the database of this run.
fn pairs() -> Vec<(Kind, Kind)> {
    all_kinds()
        .into_iter()
        .flat_map(|from| kinds().into_iter().map(move |to| (from, to)))
        .collect()
}

/// Copies, and checks that there are no differences.
fn copied(from: &str, to: &str) -> CopyReport {
    let report = copy(from, to, None, |_| {}).unwrap();
    assert_eq!(report.differences, []);
    report
}

/// Copies, and panics when the third batch of trainees is in the target.
fn interrupted(from: &str, to: &str) {
    let mut rows = 0;
    let torn = catch_unwind(AssertUnwindSafe(|| {
        copy(from, to, None, |step| {
            if let Step::Copied(more) = step {
                rows += more;
                assert!(
                    rows < 2 * BATCH as u64,
                    "the copy was not interrupted in time"
                );
            }
        })
    }));
    assert!(torn.is_err());
}

fn last_keys(url: &str) -> Vec<Option<i64>> {
    let mut connection = connect(url);
    let others = [
        "placement_schools",
        "provider_positions",
        "replies",
        "token_reminders",
        "register_settings",
    ];
    let keyed = tables::copied().filter(|table| !others.contains(table));
    keyed
        .map(|table| sequences::last_key(&mut connection, table).unwrap())
        .collect()
}

#[test]
fn register_is_same_after_copying_back() {
    for (one, other) in pairs() {
        let source = filled(one, MANY);
        let between = empty(other);
        let back = empty(one);
        copied(source.url(), between.url());
        let report = copied(between.url(), back.url());
        let copied = counts(&mut connect(source.url()));
        assert_eq!(
            report.rows,
            copied
                .iter()
                .map(|(table, rows)| (*table, *rows as u64))
                .collect::<Vec<_>>()
        );
        assert_eq!(
            counts(&mut connect(back.url())),
            copied,
            "{one:?} {other:?}"
        );
        let differences = verify::compare(
            &mut connect(source.url()),
            &mut connect(back.url()),
            &mut |_| {},
        )
        .unwrap();
        assert_eq!(differences.differences, []);
    }
}

#[test]
fn assigned_keys_are_not_reused_after_copy() {
    for (one, other) in pairs() {
        let source = filled(one, 3);
        let target = empty(other);
        copied(source.url(), target.url());
        assert_eq!(
            last_keys(target.url()),
            last_keys(source.url()),
            "{one:?} {other:?}"
        );
        let mut connection = connect(target.url());
        // The last total was removed from the source; the next row must get a new key.
        let insert = "INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at,
                          first_request_id, last_at, last_request_id)
                      VALUES ('2026-03-05', 1, 'v1', '', 200, 'request', '', 1, '2026-03-05 12:00:00', 'a', '2026-03-05 12:00:00', 'b')";
        connection.batch_execute(insert).unwrap();
        let key = request_totals::table.select(diesel::dsl::max(request_totals::id));
        assert_eq!(key.first::<Option<i64>>(&mut connection).unwrap(), Some(3));
    }
}

#[test]
fn target_of_interrupted_copy_cannot_be_opened() {
    for (one, other) in pairs() {
        let source = filled(one, MANY);
        let target = empty(other);
        interrupted(source.url(), target.url());
        let there = catalog::count(&mut connect(target.url()), "trainees").unwrap();
        assert!(0 < there && there < MANY as i64, "{there}");
        let refused = Store::open(target.url(), StoreOptions::default())
            .unwrap()
            .migrate()
            .unwrap_err();
        assert!(
            matches!(refused, StorageError::UnfinishedCopy),
            "{refused:?}"
        );
        let refused = copy(target.url(), empty(one).url(), None, |_| {}).unwrap_err();
        assert!(
            matches!(refused, CopyError::Source(StorageError::UnfinishedCopy)),
            "{refused:?}"
        );

        let refused = copy(source.url(), target.url(), None, |_| {}).unwrap_err();
        assert!(
            matches!(refused, CopyError::Target(StorageError::UnfinishedCopy)),
            "{refused:?}"
        );
    }
}

#[test]
fn writes_during_copy_are_reported_as_differences() {
    for (one, other) in pairs() {
        let source = filled(one, 3);
        let target = empty(other);
        let mut writer = connect(source.url());
        let mut is_first = true;
        let report = copy(source.url(), target.url(), None, |step| {
            if std::mem::take(&mut is_first) {
                assert!(matches!(step, Step::Begun { .. }));
                writer
                    .batch_execute(
                        "UPDATE providers SET name = 'Another' WHERE id = 1;
                         DELETE FROM placement_schools WHERE trainee_key = 4;
                         INSERT INTO schools (urn, name, open) VALUES ('100009', 'Fir', TRUE);",
                    )
                    .unwrap();
            }
        })
        .unwrap();
        let differences: Vec<_> = report
            .differences
            .iter()
            .map(|found| (found.table, found.key.as_str(), found.kind))
            .collect();
        assert_eq!(
            differences,
            [
                ("providers", "1", DifferenceKind::Unequal),
                ("schools", "3", DifferenceKind::Missing),
                ("placement_schools", "1/4", DifferenceKind::Extra),
            ]
        );
        let refused = Store::open(target.url(), StoreOptions::default())
            .unwrap()
            .migrate()
            .unwrap_err();
        assert!(
            matches!(refused, StorageError::UnfinishedCopy),
            "{refused:?}"
        );
    }
}

#[test]
fn missing_source_is_not_created() {
    let absent = test_support::Database::fresh_on(Kind::Sqlite);
    let target = empty(Kind::Sqlite);
    let refused = copy(absent.url(), target.url(), None, |_| {}).unwrap_err();
    let CopyError::Absent(file) = refused else {
        panic!("{refused:?}")
    };
    assert!(!file.exists());
    assert_eq!(
        Store::open(target.url(), StoreOptions::default())
            .unwrap()
            .migrate()
            .unwrap(),
        0
    );
}

#[test]
fn each_table_is_copied_or_excepted() {
    for kind in kinds() {
        let database = empty(kind);
        let mut connection = connect(database.url());
        let not_copied = tables::OF_UPLOADS.iter().copied();
        let mut known: Vec<&str> = tables::copied().chain(not_copied).collect();
        known.push("__diesel_schema_migrations");
        known.sort_unstable();
        assert_eq!(catalog::tables(&mut connection).unwrap(), known, "{kind:?}");
    }
}

#[test]
fn copied_tables_have_same_columns_everywhere() {
    let databases: Vec<_> = all_kinds().into_iter().map(empty).collect();
    for table in tables::copied() {
        let columns = databases.iter().map(|database| {
            let columns = catalog::columns(&mut connect(database.url()), table).unwrap();
            let described: Vec<_> = columns
                .into_iter()
                .map(|column| (column.is_timestamp(), column.name))
                .collect();
            described
        });
        let columns: Vec<_> = columns.collect();
        assert!(
            !columns[0].is_empty() && columns.windows(2).all(|pair| pair[0] == pair[1]),
            "{table}: {columns:?}"
        );
    }
}

#[test]
fn values_of_any_kind_are_copied_exactly() {
    // Only SQLite can store U+0000.
    for (one, other) in pairs() {
        let source = filled(one, 3);
        let target = empty(other);
        let both_sqlite = [one, other] == [Kind::Sqlite; 2];
        let zero = if both_sqlite { "\0" } else { "" };
        let text =
            format!("\u{1}\t\n\r\u{7f}\"\\'{{}}[],\\u0041 null é \u{2028}\u{ffff}\u{1f600}{zero} ");
        let document = format!(
            "{{\"b\" : 1.50,\"a\":\"\\u0041\\n\", \"a\":[]}}{}",
            " ".repeat(3)
        );
        let mut connection = connect(source.url());
        let time = chrono::NaiveDate::from_ymd_opt(9999, 12, 31)
            .unwrap()
            .and_hms_micro_opt(23, 59, 59, 1)
            .unwrap();
        diesel::update(providers::table.find(1))
            .set((providers::name.eq(&text), providers::closed_at.eq(time)))
            .execute(&mut connection)
            .unwrap();
        let changes = (
            trainees::revision.eq(i64::MAX),
            trainees::record.eq(JsonText(document.clone())),
        );
        let update = diesel::update(trainees::table.find(2)).set(changes);
        with_inner!(&mut connection, |inner| update.execute(inner)).unwrap();
        diesel::update(replies::table.filter(replies::provider_id.eq(1)))
            .set((replies::status.eq(i32::MIN), replies::body.eq("")))
            .execute(&mut connection)
            .unwrap();
        copied(source.url(), target.url());
        let mut connection = connect(target.url());
        let provider = providers::table.find(1).select((
            providers::name,
            providers::created_at,
            providers::closed_at,
        ));
        let provider: (String, chrono::NaiveDateTime, Option<chrono::NaiveDateTime>) =
            provider.first(&mut connection).unwrap();
        assert_eq!(
            (provider.0, provider.1.to_string(), provider.2),
            (text, "2026-01-05 09:00:00".to_owned(), Some(time))
        );
        let trainee = trainees::table.find(2).select((
            trainees::revision,
            trainees::record,
            trainees::date_of_birth,
        ));
        let birth = chrono::NaiveDate::from_ymd_opt(1999, 4, 12);
        let trainee = with_inner!(&mut connection, |inner| trainee
            .first::<(i64, JsonText, _)>(inner))
        .unwrap();
        assert_eq!(trainee, (i64::MAX, JsonText(document), birth));
        let reply = replies::table
            .select((replies::status, replies::body))
            .order(replies::status);
        assert_eq!(
            reply.first::<(i32, String)>(&mut connection).unwrap(),
            (i32::MIN, String::new())
        );
        let open = schools::table
            .select((schools::open, schools::postcode))
            .order(schools::id);
        let open: Vec<(bool, Option<String>)> = open.load(&mut connection).unwrap();
        assert_eq!(open, [(true, Some("ZZ1 1AA".to_owned())), (false, None)]);
    }
}

#[test]
fn tables_are_listed_after_referenced_ones() {
    for kind in kinds() {
        let database = empty(kind);
        let references = catalog::references(&mut connect(database.url())).unwrap();
        assert!(!references.is_empty());
        let place = |name: &str| tables::copied().position(|table| table == name);
        for reference in references {
            if let Some(place_of_child) = place(&reference.table) {
                assert!(
                    place(&reference.owner).unwrap() < place_of_child,
                    "{kind:?}: {reference:?}"
                );
            }
        }
    }
}
