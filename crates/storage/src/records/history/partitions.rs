//! The partitions of the history on PostgreSQL: one for each month, created in advance.
//!
//! The first partition has the months from before the register was created. The default partition
//! takes entries without another partition, so a missing partition does not fail writes. SQLite has
//! no partitions.

use chrono::NaiveDateTime;
use database::connection::{DatabaseConnection, with_inner};
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text, Timestamp};

use super::month::Month;
use crate::error::StorageError;
use crate::schema::changes;
use crate::session::Session;

/// The number of months after the present one with a partition.
const MONTHS_AHEAD: u32 = 3;

/// The lock timeout for creating or dropping a partition, in milliseconds. Writes queue behind the
/// lock.
const LOCK_TIMEOUT_MS: u32 = 300;
/// The statement timeout for creating a partition, in milliseconds. PostgreSQL searches the default
/// partition for rows of the new one and blocks writes during the search.
const STATEMENT_TIMEOUT_MS: u32 = 2_000;

/// Selects the partitions with their bounds. PostgreSQL returns a bound as text, with dates in the
/// `DateStyle` of the session, and the cast reads the same style. `MINVALUE` and the default
/// partition have no date.
const PARTITIONS_SQL: &str = "SELECT name, substring(bound FROM 'FROM \\(''([^'']+)''\\)')::timestamp AS begins_at, \
         substring(bound FROM 'TO \\(''([^'']+)''\\)')::timestamp AS ends_at \
     FROM (SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound \
           FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
           WHERE i.inhparent = to_regclass('changes') AND c.relispartition) AS partitions";

/// A partition with its bounds.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct Partition {
    #[diesel(sql_type = Text)]
    pub(crate) name: String,
    /// The inclusive lower bound; `None` for the first and the default partition.
    #[diesel(sql_type = Nullable<Timestamp>)]
    begins_at: Option<NaiveDateTime>,
    /// The exclusive upper bound; `None` for the default partition.
    #[diesel(sql_type = Nullable<Timestamp>)]
    ends_at: Option<NaiveDateTime>,
}

impl Partition {
    /// Whether the partition ends before the month.
    pub(super) fn is_before(&self, month: Month) -> bool {
        self.ends_at.is_some_and(|end| end <= month.begin())
    }

    /// Whether the partition covers at least a part of the month.
    fn overlaps(&self, month: Month) -> bool {
        self.ends_at.is_some_and(|end| end > month.begin())
            && self
                .begins_at
                .is_none_or(|begin| begin < month.next().begin())
    }
}

/// The partitions of the history; none on SQLite.
pub(crate) fn partitions(
    connection: &mut DatabaseConnection,
) -> Result<Vec<Partition>, StorageError> {
    let DatabaseConnection::Postgres(inner) = connection else {
        return Ok(Vec::new());
    };
    Ok(diesel::sql_query(PARTITIONS_SQL).load(inner)?)
}

/// The present and following months that need a partition. Skips months with entries in the default
/// partition, written with a clock that was ahead: these entries stay there.
pub(crate) fn missing(
    connection: &mut DatabaseConnection,
    present: Month,
) -> Result<Vec<Month>, StorageError> {
    let partitions = partitions(connection)?;
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    let months = (0..=MONTHS_AHEAD).map(|ahead| present.later(ahead));
    let mut missing = Vec::new();
    for month in months {
        let is_covered = partitions.iter().any(|partition| partition.overlaps(month));
        if !is_covered && !has_entries(connection, month)? {
            missing.push(month);
        }
    }
    Ok(missing)
}

/// Whether the history has entries of the month, in any partition.
fn has_entries(connection: &mut DatabaseConnection, month: Month) -> Result<bool, StorageError> {
    let of_month = changes::changed_at
        .ge(month.begin())
        .and(changes::changed_at.lt(month.next().begin()));
    let found = diesel::select(diesel::dsl::exists(changes::table.filter(of_month)));
    Ok(with_inner!(connection, |inner| found.get_result(inner))?)
}

/// Creates the missing partitions in the open transaction, and returns their months.
pub(crate) fn make_ahead(
    connection: &mut DatabaseConnection,
    present: Month,
) -> Result<Vec<Month>, StorageError> {
    if missing(connection, present)?.is_empty() {
        return Ok(Vec::new());
    }
    lock(connection)?;
    // Another server may have created partitions before the lock was acquired.
    let months = missing(connection, present)?;
    months
        .iter()
        .try_for_each(|month| create_partition(connection, *month))?;
    Ok(months)
}

/// Prevents other transactions from creating or dropping partitions until this transaction ends.
///
/// A new partition has foreign keys to trainees and tokens, and adding the keys locks these tables.
/// Both are locked before the history, in the same order as by writes of trainees.
pub(crate) fn lock(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    Ok(connection.batch_execute(&format!(
        "SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}; SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS}; \
         LOCK TABLE tokens, trainees IN SHARE ROW EXCLUSIVE MODE; \
         LOCK TABLE changes IN SHARE UPDATE EXCLUSIVE MODE"
    ))?)
}

/// Drops a partition with all its entries. Blocks all reads and writes of the history until the
/// transaction ends.
pub(super) fn drop_partition(
    connection: &mut DatabaseConnection,
    name: &str,
) -> Result<(), StorageError> {
    Ok(connection.batch_execute(&format!(
        "SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}; DROP TABLE IF EXISTS {name}"
    ))?)
}

/// Creates the partition of a month. Fails if the partition exists.
fn create_partition(connection: &mut DatabaseConnection, month: Month) -> Result<(), StorageError> {
    let from = month.first_day();
    let to = month.next().first_day();
    let name = from.format("changes_%Y_%m");
    connection.batch_execute(&format!(
        "CREATE TABLE {name} (LIKE changes); \
         ALTER TABLE changes ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}')"
    ))?;
    Ok(())
}

impl Session<'_> {
    /// The present and following months that need a partition of the history; empty on SQLite.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn missing_partitions(&mut self) -> Result<Vec<Month>, StorageError> {
        let present = Month::from_day(self.today());
        missing(self.connection, present)
    }

    /// Creates the missing partitions of the present and following months, and returns their
    /// months. Writes may wait a fraction of a second.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Busy`](crate::error::DatabaseError::Busy) after a lock timeout. Otherwise
    /// when the database does not answer.
    pub fn make_partitions(&mut self) -> Result<Vec<Month>, StorageError> {
        let present = Month::from_day(self.today());
        make_ahead(self.connection, present)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use diesel::sql_types::BigInt;
    use test_support::Kind;

    use super::*;
    use crate::testing::Register;

    /// The names of the partitions with entries, and the number of entries in each.
    fn entries(register: &Register) -> Vec<(String, i64)> {
        #[derive(QueryableByName)]
        struct Found {
            #[diesel(sql_type = Text)]
            name: String,
            #[diesel(sql_type = BigInt)]
            rows: i64,
        }
        let query = "SELECT tableoid::regclass::text AS name, count(*) AS rows FROM changes GROUP BY 1 ORDER BY 1";
        let found = diesel::sql_query(query)
            .load::<Found>(&mut register.second_connection())
            .unwrap();
        found
            .into_iter()
            .map(|found| (found.name, found.rows))
            .collect()
    }

    #[test]
    fn entries_of_every_date_have_a_partition() {
        if Kind::from_environment() == Kind::Sqlite {
            let missing = Register::new()
                .read(|session| session.missing_partitions())
                .unwrap();
            assert_eq!(missing, [], "SQLite has no partitions");
            return;
        }
        let register = Register::with_provider();
        register.clock.set("2124-11-30");
        let made = thread::scope(|scope| {
            let make = || {
                register
                    .write(|session| session.make_partitions())
                    .unwrap()
                    .len()
            };
            let servers = [scope.spawn(make), scope.spawn(make)];
            servers
                .map(|server| server.join().unwrap())
                .into_iter()
                .sum::<usize>()
        });
        assert_eq!(made, 4, "each partition is made once");
        let insert = "INSERT INTO trainees (provider_id, trainee_id, revision, academic_cycle, last_name_folded, \
             first_names_folded, email_folded, state, created_at, updated_at, record) \
             VALUES (1, 't', 1, 2026, '', '', '', 'draft', '2026-03-02', '2026-03-02', '{}'); \
             INSERT INTO changes (trainee_key, changed_at, operation, fields) SELECT id, date::timestamp, 'update', '{}' \
             FROM trainees, unnest(ARRAY['1999-01-01', '2124-11-30 23:59:59.999', '2124-12-01', '2125-03-01', '2999-01-01']) \
             AS date";
        register.second_connection().batch_execute(insert).unwrap();
        let expected = [
            ("changes_2124_11", 1),
            ("changes_2124_12", 1),
            ("changes_earlier", 1),
            ("changes_other", 2),
        ];
        assert_eq!(
            entries(&register),
            expected.map(|(name, rows)| (name.to_owned(), rows))
        );
        // January to March 2125 get no partition: the default one has an entry of March.
        register.clock.set("2125-01-01");
        let made = register.write(|session| session.make_partitions()).unwrap();
        assert_eq!(made, ["2125-04".parse().unwrap()]);
        assert_eq!(
            register
                .read(|session| session.missing_partitions())
                .unwrap(),
            [],
            "the next call does not lock the history"
        );
        assert_eq!(entries(&register).len(), 4);
    }

    #[test]
    fn partition_bounds_are_read_in_every_date_style() {
        if Kind::from_environment() == Kind::Sqlite {
            return;
        }
        let register = Register::new();
        register.clock.set("2124-11-30");
        register.write(|session| session.make_partitions()).unwrap();
        let [november, december, next_year] =
            ["2124-11", "2124-12", "2125-12"].map(|month| month.parse::<Month>().unwrap());
        for style in [
            "ISO, MDY",
            "German",
            "SQL, MDY",
            "SQL, DMY",
            "Postgres, DMY",
        ] {
            let mut connection = register.second_connection();
            connection
                .batch_execute(&format!("SET DateStyle = '{style}'"))
                .unwrap();
            let found = partitions(&mut connection).unwrap();
            let names = |has: &dyn Fn(&Partition) -> bool| {
                found
                    .iter()
                    .filter(|partition| has(partition))
                    .map(|partition| partition.name.as_str())
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                names(&|found| found.is_before(december) && !found.is_before(november)),
                ["changes_2124_11"],
                "{style}"
            );
            assert_eq!(
                names(&|found| found.overlaps(december)),
                ["changes_2124_12"],
                "{style}"
            );
            assert_eq!(
                names(&|found| found.overlaps(next_year)),
                [""; 0],
                "{style}"
            );
            assert_eq!(
                names(&|found| found.overlaps("2001-01".parse().unwrap())),
                ["changes_earlier"],
                "{style}"
            );
            assert_eq!(
                names(&|found| found.ends_at.is_none()),
                ["changes_other"],
                "{style}"
            );
            let present = Month::from_day("2124-11-30".parse().unwrap());
            assert_eq!(missing(&mut connection, present).unwrap(), [], "{style}");
        }
    }
}
