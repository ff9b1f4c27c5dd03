//! The partitions of the history on PostgreSQL: one for each month, made ahead of time.
//!
//! The first one has the months from before the register was made, and the default one what belongs
//! to no other: no write fails because a partition is missing. SQLite has no partitions.

use chrono::NaiveDateTime;
use database::connection::{DatabaseConnection, with_inner};
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text, Timestamp};

use super::month::Month;
use crate::error::StorageError;
use crate::schema::changes;
use crate::session::Session;

/// For so many months behind the present one there are partitions.
const MONTHS_AHEAD: u32 = 3;

/// For so long a partition is waited for that is made or removed: those who write wait behind it.
const LOCK_TIMEOUT_MS: u32 = 300;
/// For so long others may have to wait while the default partition is searched for rows of the new
/// one.
const STATEMENT_TIMEOUT_MS: u32 = 2_000;

/// The partitions with their bounds. PostgreSQL writes a bound as text, with dates in the
/// `DateStyle` of the session, and reads it so. `MINVALUE`, and the default partition, have no date
/// there.
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
    /// From when on, where there is a bound.
    #[diesel(sql_type = Nullable<Timestamp>)]
    begins_at: Option<NaiveDateTime>,
    /// Before when; nothing for the default partition.
    #[diesel(sql_type = Nullable<Timestamp>)]
    ends_at: Option<NaiveDateTime>,
}

impl Partition {
    /// Whether it holds nothing but entries from before that month.
    pub(super) fn is_before(&self, month: Month) -> bool {
        self.ends_at.is_some_and(|end| end <= month.begin())
    }

    /// Whether entries of that month, or a part of them, belong into it.
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

/// The months from the present one on for which a partition is to be made. A month of which the
/// default partition has entries already stays there: they were written with a clock that is ahead.
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
    for month in months.filter(|month| {
        !partitions
            .iter()
            .any(|partition| partition.overlaps(*month))
    }) {
        if !has_entries(connection, month)? {
            missing.push(month);
        }
    }
    Ok(missing)
}

fn has_entries(connection: &mut DatabaseConnection, month: Month) -> Result<bool, StorageError> {
    let of_month = changes::changed_at
        .ge(month.begin())
        .and(changes::changed_at.lt(month.next().begin()));
    let found = diesel::select(diesel::dsl::exists(changes::table.filter(of_month)));
    Ok(with_inner!(connection, |inner| found.get_result(inner))?)
}

/// Makes the partitions that are missing, in the transaction that is open.
pub(crate) fn make_ahead(
    connection: &mut DatabaseConnection,
    present: Month,
) -> Result<Vec<Month>, StorageError> {
    if missing(connection, present)?.is_empty() {
        return Ok(Vec::new());
    }
    lock(connection)?;
    // Another server may have made them meanwhile.
    let months = missing(connection, present)?;
    months
        .iter()
        .try_for_each(|month| make(connection, *month))?;
    Ok(months)
}

/// Keeps others from making or removing partitions until the transaction ends. A new partition
/// refers to trainees and tokens, which nobody changes meanwhile; they are locked first, as by
/// those who write.
pub(crate) fn lock(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    Ok(connection.batch_execute(&format!(
        "SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}; SET LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS}; \
         LOCK TABLE tokens, trainees IN SHARE ROW EXCLUSIVE MODE; \
         LOCK TABLE changes IN SHARE UPDATE EXCLUSIVE MODE"
    ))?)
}

/// Removes a partition with all its entries. Until the transaction ends, no other connection reads
/// or writes the history.
pub(super) fn drop_partition(
    connection: &mut DatabaseConnection,
    name: &str,
) -> Result<(), StorageError> {
    Ok(connection.batch_execute(&format!(
        "SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}; DROP TABLE IF EXISTS {name}"
    ))?)
}

fn make(connection: &mut DatabaseConnection, month: Month) -> Result<(), StorageError> {
    let (from, to) = (month.first_day(), month.next().first_day());
    let name = from.format("changes_%Y_%m");
    connection.batch_execute(&format!(
        "CREATE TABLE {name} (LIKE changes); \
         ALTER TABLE changes ATTACH PARTITION {name} FOR VALUES FROM ('{from}') TO ('{to}')"
    ))?;
    Ok(())
}

impl Session<'_> {
    /// The months for which the history has no partition yet, from the present one on; none on
    /// SQLite.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn missing_partitions(&mut self) -> Result<Vec<Month>, StorageError> {
        let present = Month::from_day(self.today());
        missing(self.connection, present)
    }

    /// Makes the partitions of the present month and of those to come, and returns the months that
    /// have got one. Those who write may wait for it, a fraction of a second.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Busy`] when another transaction locks the history for long; otherwise when the database does not answer.
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

    /// How many entries each partition has that has any.
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
    fn entries_at_the_turn_of_a_month_and_far_in_the_future_have_a_place() {
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
        // A month of which the default partition has entries stays there.
        register.clock.set("2125-01-01");
        let made = register.write(|session| session.make_partitions()).unwrap();
        assert_eq!(made, ["2125-04".parse().unwrap()]);
        assert_eq!(
            register
                .read(|session| session.missing_partitions())
                .unwrap(),
            [],
            "nobody is locked out for it again"
        );
        assert_eq!(entries(&register).len(), 4);
    }

    #[test]
    fn bounds_are_read_whatever_form_of_dates_the_server_writes() {
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
                    .filter(|one| has(one))
                    .map(|one| one.name.as_str())
                    .collect::<Vec<_>>()
            };
            let is_november = |one: &Partition| one.is_before(december) && !one.is_before(november);
            assert_eq!(names(&is_november), ["changes_2124_11"], "{style}");
            assert_eq!(
                names(&|one| one.overlaps(december)),
                ["changes_2124_12"],
                "{style}"
            );
            assert_eq!(names(&|one| one.overlaps(next_year)), [""; 0], "{style}");
            assert_eq!(
                names(&|one| one.overlaps("2001-01".parse().unwrap())),
                ["changes_earlier"],
                "{style}"
            );
            assert_eq!(
                names(&|one| one.ends_at.is_none()),
                ["changes_other"],
                "{style}"
            );
            let present = Month::from_day("2124-11-30".parse().unwrap());
            assert_eq!(missing(&mut connection, present).unwrap(), [], "{style}");
        }
    }
}
