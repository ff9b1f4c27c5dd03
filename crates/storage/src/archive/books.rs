//! What the database records of archived months.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::file::Done;
use super::history::Count;
use super::{Kind, Month};
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

/// Records that a month was archived, in the place of what was recorded of it before.
pub(super) fn record(
    connection: &mut DatabaseConnection,
    kind: Kind,
    month: Month,
    done: &Done,
    now: DateTime<Utc>,
) -> Result<ArchivedMonth, StorageError> {
    let of_month = archived_months::kind.eq(kind.name()).and(archived_months::month.eq(month.first_day()));
    diesel::delete(archived_months::table.filter(of_month)).execute(connection)?;
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
        .execute(connection)?;
    ArchivedMonth::of(archived_months::table.filter(of_month).first(connection)?)
}

/// Records that the file of a month is to be another one, with fewer entries.
pub(super) fn replace(
    connection: &mut DatabaseConnection,
    month: &ArchivedMonth,
    done: &Done,
) -> Result<(), StorageError> {
    diesel::update(archived_months::table.find(month.id))
        .set((
            archived_months::entries.eq(done.entries),
            archived_months::first_entry.eq(done.first_entry),
            archived_months::last_entry.eq(done.last_entry),
            archived_months::bytes.eq(done.bytes),
            archived_months::digest.eq(&done.digest),
        ))
        .execute(connection)?;
    Ok(())
}

/// Records that the removal of a month has begun.
pub(super) fn begin_removal(
    connection: &mut DatabaseConnection,
    month: &mut ArchivedMonth,
    now: DateTime<Utc>,
) -> Result<(), StorageError> {
    diesel::update(archived_months::table.find(month.id))
        .set(archived_months::removal_begun_at.eq(now.naive_utc()))
        .execute(connection)?;
    month.removal_begun_at = Some(now);
    Ok(())
}

/// Records that a month was removed.
pub(super) fn end_removal(
    connection: &mut DatabaseConnection,
    month: &mut ArchivedMonth,
    now: DateTime<Utc>,
) -> Result<(), StorageError> {
    diesel::update(archived_months::table.find(month.id))
        .set(archived_months::removed_at.eq(now.naive_utc()))
        .execute(connection)?;
    month.removed_at = Some(now);
    Ok(())
}
