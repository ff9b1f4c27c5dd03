//! The history by month: counted, written to a file, removed.
//!
//! It is walked by the keys of its entries, which on one server follow the dates roughly. So an index of the dates, which every
//! write would pay for, is not needed; what is found is right whatever the order is.

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use diesel::dsl::min;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use super::file::Draft;
use super::line::HistoryLine;
use super::{Archive, ArchiveError, ArchivedMonth, Kind, Month, manifest};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::history::partitions::{self, partitions};
use crate::schema::{ChangeRow, changes, providers, tokens, trainees};

/// Keys that are counted in one query.
const COUNTED: i64 = 20_000;
/// Keys whose entries are read in one query.
const READ: i64 = 2_000;
/// Keys whose entries are removed in one transaction.
const REMOVED: i64 = 500;

/// For how long those who hold a partition are waited for, a fraction of a second at a time.
const PARTITION_WAIT: Duration = Duration::from_secs(60);
/// How long others go on before the next attempt.
const PARTITION_PAUSE: Duration = Duration::from_secs(1);

/// How many entries a month has, and their first and last keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) entries: i64,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) characters: i64,
}

impl Count {
    /// That of a month without entries.
    pub(super) const NONE: Self = Self { entries: 0, first: 0, last: 0, characters: 0 };
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = Text)]
    month: String,
    #[diesel(sql_type = BigInt)]
    entries: i64,
    #[diesel(sql_type = BigInt)]
    first: i64,
    #[diesel(sql_type = BigInt)]
    last: i64,
    #[diesel(sql_type = BigInt)]
    characters: i64,
}

#[derive(QueryableByName)]
struct PartitionCount {
    #[diesel(sql_type = BigInt)]
    entries: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    first: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    last: Option<i64>,
}

/// The first key behind another one.
fn first_behind(connection: &mut DatabaseConnection, key: i64) -> Result<Option<i64>, StorageError> {
    Ok(changes::table.filter(changes::id.gt(key)).select(min(changes::id)).first::<Option<i64>>(connection)?)
}

/// The entries of each month that are dated before an end.
pub(super) fn counts(
    connection: &mut DatabaseConnection,
    end: NaiveDateTime,
) -> Result<BTreeMap<Month, Count>, StorageError> {
    let month = connection.either("to_char(changed_at, 'YYYY-MM')", "substr(changed_at, 1, 7)");
    let query = format!(
        "SELECT {month} AS month, count(*) AS entries, min(id) AS first, max(id) AS last, \
         CAST(sum(length(fields)) AS BIGINT) AS characters FROM changes \
         WHERE id >= $1 AND id < $2 AND changed_at < $3 GROUP BY 1"
    );
    let mut counts = BTreeMap::<Month, Count>::new();
    let mut last = i64::MIN;
    while let Some(first) = first_behind(connection, last)? {
        let rows = diesel::sql_query(&query)
            .bind::<BigInt, _>(first)
            .bind::<BigInt, _>(first + COUNTED)
            .bind::<Timestamp, _>(end)
            .load::<CountRow>(connection)?;
        for CountRow { month, entries, first, last, characters } in rows {
            // A year of more digits belongs to a clock that was wrong.
            let Ok(month) = month.parse() else { continue };
            let count = counts.entry(month).or_insert(Count { entries: 0, first, last, characters: 0 });
            count.entries += entries;
            count.characters += characters;
            (count.first, count.last) = (count.first.min(first), count.last.max(last));
        }
        last = first + COUNTED - 1;
    }
    Ok(counts)
}

/// Writes the entries of a month, in the order of their keys.
pub(super) fn write(
    connection: &mut DatabaseConnection,
    month: Month,
    count: Count,
    draft: &mut Draft,
) -> Result<(), ArchiveError> {
    let names: HashMap<i64, String> = tokens::table
        .select((tokens::id, tokens::name))
        .load(connection)
        .map_err(StorageError::from)?
        .into_iter()
        .collect();
    let mut first = count.first;
    while first <= count.last {
        let rows = changes::table
            .filter(changes::id.ge(first).and(changes::id.lt(first + READ)))
            .filter(changes::changed_at.ge(month.begin()).and(changes::changed_at.lt(month.next().begin())))
            .order(changes::id)
            .load::<ChangeRow>(connection)
            .map_err(StorageError::from)?;
        let keys: Vec<i64> = rows.iter().map(|row| row.trainee_key).collect();
        let owners: HashMap<i64, (String, String)> = trainees::table
            .inner_join(providers::table)
            .filter(trainees::id.eq_any(keys))
            .select((trainees::id, (trainees::trainee_id, providers::ukprn)))
            .load(connection)
            .map_err(StorageError::from)?
            .into_iter()
            .collect();
        for row in rows {
            let id = row.id;
            // Whose trainee was deleted meanwhile is gone with it.
            let Some((trainee_id, ukprn)) = owners.get(&row.trainee_key) else { continue };
            let name = row.token_id.and_then(|token| names.get(&token)).map(String::as_str);
            let line = HistoryLine::of(row, trainee_id, ukprn, name);
            draft.add(&line.ok_or(StorageError::CorruptRow { table: "changes", id })?)?;
            draft.set_key(id);
        }
        first += READ;
        if first <= count.last {
            first = first_behind(connection, first - 1)?.unwrap_or(i64::MAX);
        }
    }
    Ok(())
}

impl Archive<'_> {
    /// Removes a month of the history whose file is verified.
    pub(super) fn remove_history(&mut self, month: &mut ArchivedMonth) -> Result<(), ArchiveError> {
        let found = partitions(&mut self.connection)?;
        let own = found.into_iter().find(|partition| partition.is_of(month.month)).map(|partition| partition.name);
        if month.removal_begun_at.is_none() {
            if let Some(name) = own {
                return self.drop_partition(&name, month);
            }
            let counts = counts(&mut self.connection, month.month.next().begin())?;
            if !month.has_count(counts.get(&month.month).copied().unwrap_or(Count::NONE)) {
                return Err(ArchiveError::Changed { kind: Kind::History, month: month.month });
            }
            let now = self.now();
            self.write_transaction(|connection| manifest::begin_removal(connection, month, now))?;
        }
        let (first, last) = (month.first_entry, month.last_entry);
        let (from, to) = (month.month.begin(), month.month.next().begin());
        self.remove_in_batches(|connection, done| {
            let Some(first) = first_behind(connection, done.unwrap_or(first - 1))?.filter(|first| *first <= last)
            else {
                return Ok(None);
            };
            let end = last.min(first + REMOVED - 1);
            // What was added after the month was archived has a later key, and stays.
            diesel::delete(
                changes::table
                    .filter(changes::id.ge(first).and(changes::id.le(end)))
                    .filter(changes::changed_at.ge(from).and(changes::changed_at.lt(to))),
            )
            .execute(connection)?;
            Ok(Some(end))
        })?;
        let now = self.now();
        self.write_transaction(|connection| manifest::end_removal(connection, month, now))
    }

    /// Removes the partition of a month, and records it, in one transaction. Nobody can add to the month while its entries are
    /// counted; others wait for the short time in which the partition goes.
    fn drop_partition(&mut self, name: &str, month: &mut ArchivedMonth) -> Result<(), ArchiveError> {
        let begun = Instant::now();
        loop {
            let now = self.now();
            let outcome = self.write_transaction(|connection| {
                let mut removed = month.clone();
                partitions::lock_partition(connection, name)?;
                let count = diesel::sql_query(format!(
                    "SELECT count(*) AS entries, min(id) AS first, max(id) AS last FROM {name}"
                ))
                .get_result::<PartitionCount>(connection)
                .map_err(StorageError::from)?;
                let (entries, first, last) = (count.entries, count.first.unwrap_or(0), count.last.unwrap_or(0));
                if !month.has_count(Count { entries, first, last, characters: 0 }) {
                    return Err(ArchiveError::Changed { kind: Kind::History, month: month.month });
                }
                manifest::begin_removal(connection, &mut removed, now)?;
                manifest::end_removal(connection, &mut removed, now)?;
                partitions::drop_partition(connection, name)?;
                Ok(removed)
            });
            match outcome {
                Ok(removed) => {
                    *month = removed;
                    return Ok(());
                }
                Err(ArchiveError::Storage(StorageError::Busy | StorageError::Collided))
                    if begun.elapsed() < PARTITION_WAIT =>
                {
                    thread::sleep(PARTITION_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
