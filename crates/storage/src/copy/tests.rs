//! Copies between both databases, whole, interrupted and refused.

use std::panic::{AssertUnwindSafe, catch_unwind};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use test_support::{Kind, all_kinds, kinds};

use super::verify::DifferenceKind;
use super::*;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, counts, empty, filled};

/// Trainees of a register that takes more than two batches.
const MANY: usize = 1_203;

/// All pairs of databases of which the second is of this run.
fn pairs() -> Vec<(Kind, Kind)> {
    all_kinds().into_iter().flat_map(|from| kinds().into_iter().map(move |to| (from, to))).collect()
}

/// Copies, and asks for the whole copy to be good.
fn copied(from: &str, to: &str) -> CopyReport {
    let report = copy(from, to, None, |_| {}).unwrap();
    assert_eq!(report.differences, []);
    report
}

/// Copies, and is torn away when the third batch of trainees is in the target.
fn interrupted(from: &str, to: &str) {
    let mut rows = 0;
    let torn = catch_unwind(AssertUnwindSafe(|| {
        copy(from, to, None, |step| {
            if let Step::Copied(more) = step {
                rows += more;
                assert!(rows < 2 * BATCH as u64, "as the test wants");
            }
        })
    }));
    assert!(torn.is_err());
}

fn last_keys(url: &str) -> Vec<Option<i64>> {
    let mut connection = connect(url);
    let keyed = tables::copied().filter(|table| !["placement_schools", "replies", "register_settings"].contains(table));
    keyed.map(|table| sequences::last_key(&mut connection, table).unwrap()).collect()
}

#[test]
fn a_register_comes_back_the_same_by_way_of_the_other_database() {
    for (one, other) in pairs() {
        let (source, between, back) = (filled(one, MANY), empty(other), empty(one));
        copied(source.url(), between.url());
        let report = copied(between.url(), back.url());
        let copied = counts(&mut connect(source.url()));
        assert_eq!(report.rows, copied.iter().map(|(table, rows)| (*table, *rows as u64)).collect::<Vec<_>>());
        assert_eq!(counts(&mut connect(back.url())), copied, "{one:?} {other:?}");
        let differences = verify::compare(&mut connect(source.url()), &mut connect(back.url()), &mut |_| {}).unwrap();
        assert_eq!(differences.differences, []);
    }
}

#[test]
fn keys_that_were_given_once_are_not_given_again() {
    for (one, other) in pairs() {
        let (source, target) = (filled(one, 3), empty(other));
        copied(source.url(), target.url());
        assert_eq!(last_keys(target.url()), last_keys(source.url()), "{one:?} {other:?}");
        let mut connection = connect(target.url());
        // The last usage of the source was removed, the next gets a key of its own.
        let insert = "INSERT INTO shadow_checks (day, token_id, version, against, checked, valid) \
                      VALUES ('2026-03-05', 1, 'v1', 'v2', 1, 1)";
        connection.batch_execute(insert).unwrap();
        let key = crate::schema::shadow_checks::table.select(diesel::dsl::max(crate::schema::shadow_checks::id));
        assert_eq!(key.first::<Option<i64>>(&mut connection).unwrap(), Some(3));
    }
}

#[test]
fn a_copy_that_was_interrupted_goes_on_where_it_stopped_and_nothing_else_opens_its_target() {
    for (one, other) in pairs() {
        let (source, target) = (filled(one, MANY), empty(other));
        interrupted(source.url(), target.url());
        let there = catalog::count(&mut connect(target.url()), "trainees").unwrap();
        assert!(0 < there && there < MANY as i64, "{there}");
        let refused = Store::open(target.url(), StoreOptions::default()).unwrap().migrate().unwrap_err();
        assert!(matches!(refused, StorageError::UnfinishedCopy), "{refused:?}");
        let refused = copy(target.url(), empty(one).url(), None, |_| {}).unwrap_err();
        assert!(matches!(refused, CopyError::Source(StorageError::UnfinishedCopy)), "{refused:?}");

        let mut steps = Vec::new();
        let report = copy(source.url(), target.url(), None, |step| steps.push(step)).unwrap();
        assert_eq!(report.differences, []);
        assert!(steps.contains(&Step::Copied(there as u64)), "what was there was not counted at once");
        Store::open(target.url(), StoreOptions::default()).unwrap().migrate().unwrap();
        assert_eq!(last_keys(target.url()), last_keys(source.url()));
    }
}

#[test]
fn a_target_with_a_register_of_its_own_is_refused_and_left_alone() {
    for (one, other) in pairs() {
        let (source, target) = (filled(one, 3), filled(other, 2));
        let refused = copy(source.url(), target.url(), None, |_| {}).unwrap_err();
        assert!(matches!(refused, CopyError::NotEmpty { table: "providers", rows: 2 }), "{refused:?}");
        assert_eq!(Store::open(target.url(), StoreOptions::default()).unwrap().migrate().unwrap(), 0);
        assert_eq!(catalog::count(&mut connect(target.url()), "trainees").unwrap(), 2);
    }
}

#[test]
fn a_part_of_another_copy_is_not_gone_on_with() {
    for (one, other) in pairs() {
        let (source, target) = (filled(one, MANY), empty(other));
        interrupted(source.url(), target.url());
        connect(source.url()).batch_execute("UPDATE providers SET name = 'Another' WHERE id = 2").unwrap();
        let refused = copy(source.url(), target.url(), None, |_| {}).unwrap_err();
        assert!(matches!(&refused, CopyError::AnotherCopy { table: "providers", key } if key == "2"), "{refused:?}");
    }
}

#[test]
fn what_is_written_to_the_source_meanwhile_is_reported_as_a_difference() {
    for (one, other) in pairs() {
        let (source, target) = (filled(one, 3), empty(other));
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
        let differences: Vec<_> =
            report.differences.iter().map(|found| (found.table, found.key.as_str(), found.kind)).collect();
        assert_eq!(
            differences,
            [
                ("providers", "1", DifferenceKind::Unequal),
                ("schools", "3", DifferenceKind::Missing),
                ("placement_schools", "1/4", DifferenceKind::Extra),
            ]
        );
        let refused = Store::open(target.url(), StoreOptions::default()).unwrap().migrate().unwrap_err();
        assert!(matches!(refused, StorageError::UnfinishedCopy), "{refused:?}");
    }
}

#[test]
fn a_source_that_is_not_there_is_not_made() {
    let (absent, target) = (test_support::Database::fresh_on(Kind::Sqlite), empty(Kind::Sqlite));
    let refused = copy(absent.url(), target.url(), None, |_| {}).unwrap_err();
    let CopyError::Absent(file) = refused else { panic!("{refused:?}") };
    assert!(!file.exists());
    assert_eq!(Store::open(target.url(), StoreOptions::default()).unwrap().migrate().unwrap(), 0);
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

/// The columns of a table as the database has them.
fn columns(connection: &mut DatabaseConnection, table: &str) -> Vec<String> {
    let query = connection.either(
        format!("SELECT column_name::text AS name FROM information_schema.columns WHERE table_name = '{table}'"),
        format!("SELECT name FROM pragma_table_info('{table}')"),
    );
    let found = diesel::sql_query(query).load::<Name>(connection).unwrap();
    let mut names: Vec<_> = found.into_iter().map(|found| found.name).collect();
    names.sort_unstable();
    names
}

struct Declared(Vec<(&'static str, Vec<&'static str>)>);

impl Visitor for Declared {
    type Error = CopyError;

    fn visit<R: Copied>(&mut self) -> Result<(), CopyError> {
        let mut columns = R::COLUMNS.to_vec();
        columns.sort_unstable();
        self.0.push((R::TABLE, columns));
        Ok(())
    }
}

#[test]
fn every_table_of_the_schema_is_copied_with_every_column_or_known_not_to_be() {
    let mut declared = Declared(Vec::new());
    visit_all(&mut declared).unwrap();
    for kind in kinds() {
        let database = empty(kind);
        let mut connection = connect(database.url());
        let not_copied = tables::DERIVED.iter().chain(tables::LOCKS).copied();
        let mut known: Vec<&str> = tables::copied().chain(not_copied).collect();
        // The table of an older program, which nothing reads.
        known.extend(["__diesel_schema_migrations", "archived_months"]);
        known.sort_unstable();
        assert_eq!(catalog::tables(&mut connection).unwrap(), known, "{kind:?}");
        for (table, names) in &declared.0 {
            assert_eq!(&columns(&mut connection, table), names, "{kind:?}, {table}");
        }
    }
}

#[test]
fn tables_stand_behind_those_that_they_refer_to() {
    for kind in kinds() {
        let database = empty(kind);
        let references = catalog::references(&mut connect(database.url())).unwrap();
        assert!(!references.is_empty());
        let place = |name: &str| tables::copied().position(|table| table == name);
        for reference in references {
            if let Some(place_of_child) = place(&reference.table) {
                assert!(place(&reference.owner).unwrap() < place_of_child, "{kind:?}: {reference:?}");
            }
        }
    }
}
