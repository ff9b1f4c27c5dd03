//! What the database records of archived months.

use chrono::{DateTime, Utc};
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;

use super::file::Done;
use super::history::Count;
use super::{ArchiveError, Kind, Month};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::schema::{ArchivedMonthRow, archived_months};
use crate::session::Session;

/// A month that was written to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedMonth {
    pub(super) id: i64,
    /// Of what.
    pub kind: Kind,
    /// The month.
    pub month: Month,
    /// How many entries the file has.
    pub entries: i64,
    pub(super) first_entry: i64,
    pub(super) last_entry: i64,
    /// How long the file is.
    pub bytes: i64,
    /// The SHA-256 of the file, in hex.
    pub digest: String,
    /// When it was archived.
    pub archived_at: DateTime<Utc>,
    /// When its removal began. From then on the file may be the only place of its entries.
    pub removal_begun_at: Option<DateTime<Utc>>,
    /// When it was removed from the database.
    pub removed_at: Option<DateTime<Utc>>,
}

impl ArchivedMonth {
    fn of(row: ArchivedMonthRow) -> Result<Self, StorageError> {
        let kind = Kind::of_name(&row.kind).ok_or(StorageError::CorruptRow { table: "archived_months", id: row.id })?;
        Ok(Self {
            id: row.id,
            kind,
            month: Month::of(row.month),
            entries: row.entries,
            first_entry: row.first_entry,
            last_entry: row.last_entry,
            bytes: row.bytes,
            digest: row.digest,
            archived_at: row.archived_at.and_utc(),
            removal_begun_at: row.removal_begun_at.map(|at| at.and_utc()),
            removed_at: row.removed_at.map(|at| at.and_utc()),
        })
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.kind.file_name(self.month)
    }

    /// Whether the database has as many entries of the month as the file, with the same first and last key.
    pub(super) fn has_count(&self, count: Count) -> bool {
        (self.entries, self.first_entry, self.last_entry) == (count.entries, count.first, count.last)
    }
}

impl Session<'_> {
    /// The months of the history whose removal has begun, oldest first: only their files have all their entries.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn removed_history(&mut self) -> Result<Vec<ArchivedMonth>, StorageError> {
        removed_history(self.connection)
    }
}

pub(crate) fn removed_history(connection: &mut DatabaseConnection) -> Result<Vec<ArchivedMonth>, StorageError> {
    let mut months = of_kind(connection, Kind::History)?;
    months.retain(|month| month.removal_begun_at.is_some());
    Ok(months)
}

/// The archived months of a kind, oldest first.
pub(super) fn of_kind(connection: &mut DatabaseConnection, kind: Kind) -> Result<Vec<ArchivedMonth>, StorageError> {
    let rows = archived_months::table
        .filter(archived_months::kind.eq(kind.name()))
        .order(archived_months::month)
        .load::<ArchivedMonthRow>(connection)?;
    rows.into_iter().map(ArchivedMonth::of).collect()
}

/// The archived months of the history, oldest first, when all those are committed that others are recording. Runs in a
/// transaction that writes: on SQLite it begins when no other one is open.
pub(super) fn history_when_recorded(connection: &mut DatabaseConnection) -> Result<Vec<ArchivedMonth>, StorageError> {
    if let DatabaseConnection::Postgres(inner) = connection {
        inner.batch_execute("LOCK TABLE archived_months IN SHARE MODE")?;
    }
    of_kind(connection, Kind::History)
}

/// Records that a month was archived, in the place of what was known of it.
///
/// Fails when something else is recorded of the month by now, or when its removal has begun: another command is at work.
pub(super) fn record(
    connection: &mut DatabaseConnection,
    (kind, month): (Kind, Month),
    known: Option<&ArchivedMonth>,
    done: &Done,
    now: DateTime<Utc>,
) -> Result<ArchivedMonth, ArchiveError> {
    if let Some(known) = known {
        let as_known = archived_months::table.find(known.id).filter(archived_months::digest.eq(&known.digest));
        diesel::delete(as_known.filter(archived_months::removal_begun_at.is_null()))
            .execute(connection)
            .map_err(StorageError::from)?;
    }
    let of_month = archived_months::kind.eq(kind.name()).and(archived_months::month.eq(month.first_day()));
    let others = archived_months::table.filter(of_month).count().get_result::<i64>(connection);
    if others.map_err(StorageError::from)? > 0 {
        return Err(ArchiveError::Changed { kind, month });
    }
    diesel::insert_into(archived_months::table)
        .values((
            archived_months::kind.eq(kind.name()),
            archived_months::month.eq(month.first_day()),
            archived_months::entries.eq(done.entries),
            archived_months::first_entry.eq(done.first_entry),
            archived_months::last_entry.eq(done.last_entry),
            archived_months::bytes.eq(done.bytes),
            archived_months::digest.eq(&done.digest),
            archived_months::archived_at.eq(now.naive_utc()),
        ))
        .execute(connection)
        .map_err(StorageError::from)?;
    let row = archived_months::table.filter(of_month).first(connection).map_err(StorageError::from)?;
    Ok(ArchivedMonth::of(row)?)
}

/// Changes what is recorded of a month; fails when that is not what was read.
macro_rules! update {
    ($connection:ident, $month:ident, $changes:expr) => {{
        let as_read = archived_months::table.find($month.id).filter(archived_months::digest.eq(&$month.digest));
        let updated = diesel::update(as_read).set($changes).execute($connection).map_err(StorageError::from)?;
        if updated != 1 {
            return Err(ArchiveError::Changed { kind: $month.kind, month: $month.month });
        }
    }};
}

/// Records that the file of a month is to be another one, with fewer entries.
pub(super) fn replace(
    connection: &mut DatabaseConnection,
    month: &ArchivedMonth,
    done: &Done,
) -> Result<(), ArchiveError> {
    let replaced = (
        archived_months::entries.eq(done.entries),
        archived_months::first_entry.eq(done.first_entry),
        archived_months::last_entry.eq(done.last_entry),
        archived_months::bytes.eq(done.bytes),
        archived_months::digest.eq(&done.digest),
    );
    update!(connection, month, replaced);
    Ok(())
}

/// Records that the removal of a month has begun.
pub(super) fn begin_removal(
    connection: &mut DatabaseConnection,
    month: &mut ArchivedMonth,
    now: DateTime<Utc>,
) -> Result<(), ArchiveError> {
    update!(connection, month, archived_months::removal_begun_at.eq(now.naive_utc()));
    month.removal_begun_at = Some(now);
    Ok(())
}

/// Records that a month was removed.
pub(super) fn end_removal(
    connection: &mut DatabaseConnection,
    month: &mut ArchivedMonth,
    now: DateTime<Utc>,
) -> Result<(), ArchiveError> {
    update!(connection, month, archived_months::removed_at.eq(now.naive_utc()));
    month.removed_at = Some(now);
    Ok(())
}
