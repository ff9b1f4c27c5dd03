//! The rows of an upload, with their results and problems.

use database::connection::DatabaseConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::UploadRecord;
use super::problems::{NumbersByLine, ROWS_PER_STATEMENT, write_numbers};
use crate::error::StorageError;
use crate::schema::upload_rows;
use crate::session::Session;

/// What happens, or has happened, to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowStatus {
    /// Not checked yet.
    Waiting,
    /// Registers a trainee when it is sent.
    Register,
    /// Changes a trainee when it is sent.
    Change,
    /// Equals the register; nothing to send.
    Equal,
    /// Refused by the check.
    Refused,
    /// Registered a trainee.
    Registered,
    /// Changed a trainee.
    Changed,
    /// Not sent, because the trainee was changed after the check.
    ChangedMeanwhile,
    /// Refused when it was sent.
    RefusedWhenSent,
}

impl RowStatus {
    const ALL: [Self; 9] = [
        Self::Waiting,
        Self::Register,
        Self::Change,
        Self::Equal,
        Self::Refused,
        Self::Registered,
        Self::Changed,
        Self::ChangedMeanwhile,
        Self::RefusedWhenSent,
    ];
    /// The rows to send.
    pub const TO_SEND: [Self; 2] = [Self::Register, Self::Change];
    /// The rows that have not reached the register.
    pub const FAILED: [Self; 3] = [Self::Refused, Self::ChangedMeanwhile, Self::RefusedWhenSent];

    /// The name of the status in the table and in addresses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Register => "register",
            Self::Change => "change",
            Self::Equal => "equal",
            Self::Refused => "refused",
            Self::Registered => "registered",
            Self::Changed => "changed",
            Self::ChangedMeanwhile => "changed_meanwhile",
            Self::RefusedWhenSent => "refused_when_sent",
        }
    }

    /// The status with this name; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Reads a stored name. `Err` with the number of the upload if there is no such status.
    pub(super) fn stored(name: &str, id: i64) -> Result<Self, StorageError> {
        Self::named(name).ok_or(StorageError::CorruptRow {
            table: "upload_rows",
            id,
        })
    }
}

/// A row of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRow {
    /// The first line of the row in the file, from 1.
    pub line: i64,
    /// The status.
    pub status: RowStatus,
    /// The provider's key of the trainee.
    pub record_key: Option<String>,
    /// The identifier of the trainee.
    pub trainee_id: Option<String>,
    /// The cells; blank after the row was sent.
    pub cells: String,
    /// What else is known of the row.
    pub details: String,
}

/// What identifies the trainee of a row.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct RowKey {
    /// The line.
    pub line: i64,
    /// The provider's key of the trainee.
    pub record_key: Option<String>,
    /// The identifier of the trainee.
    pub trainee_id: Option<String>,
}

/// Which rows are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFilter<'a> {
    /// Rows with one of these statuses.
    Statuses(&'a [RowStatus]),
    /// Rows with this problem, by its number in [`super::ProblemCount`].
    Problem(i64),
}

#[derive(Insertable)]
#[diesel(table_name = upload_rows, treat_none_as_default_value = false)]
struct StoredRow<'a> {
    upload_id: i64,
    line: i64,
    status: &'static str,
    record_key: Option<&'a str>,
    trainee_id: Option<&'a str>,
    cells: &'a str,
    details: &'a str,
    problems: String,
}

/// Adds rows, or replaces those with the same lines.
macro_rules! put_rows {
    ($rows:expr, $connection:expr) => {
        diesel::insert_into(upload_rows::table)
            .values($rows)
            .on_conflict((upload_rows::upload_id, upload_rows::line))
            .do_update()
            .set((
                upload_rows::status.eq(excluded(upload_rows::status)),
                upload_rows::record_key.eq(excluded(upload_rows::record_key)),
                upload_rows::trainee_id.eq(excluded(upload_rows::trainee_id)),
                upload_rows::cells.eq(excluded(upload_rows::cells)),
                upload_rows::details.eq(excluded(upload_rows::details)),
                upload_rows::problems.eq(excluded(upload_rows::problems)),
            ))
            .execute($connection)?
    };
}

type Columns = (i64, String, Option<String>, Option<String>, String, String);

impl Session<'_> {
    /// Adds rows to an upload, or replaces those with the same lines. `problems` has the numbers of
    /// their problems.
    pub(super) fn put_upload_rows(
        &mut self,
        id: i64,
        rows: &[UploadRow],
        problems: &NumbersByLine,
    ) -> Result<(), StorageError> {
        for rows in rows.chunks(ROWS_PER_STATEMENT) {
            let mut stored = Vec::with_capacity(rows.len());
            for row in rows {
                stored.push(StoredRow {
                    upload_id: id,
                    line: row.line,
                    status: row.status.name(),
                    record_key: row.record_key.as_deref(),
                    trainee_id: row.trainee_id.as_deref(),
                    cells: &row.cells,
                    details: &row.details,
                    problems: problems
                        .get(&row.line)
                        .map_or_else(String::new, |all| write_numbers(all)),
                });
            }
            match self.connection {
                DatabaseConnection::Postgres(inner) => {
                    put_rows!(&stored, inner);
                }
                DatabaseConnection::Sqlite(inner) => {
                    // A statement for each row takes no round trip on SQLite.
                    for row in &stored {
                        put_rows!(row, inner);
                    }
                }
            }
        }
        Ok(())
    }

    /// The numbers of rows by status. Statuses without rows are left out.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_upload_rows(
        &mut self,
        upload: &UploadRecord,
    ) -> Result<Vec<(RowStatus, i64)>, StorageError> {
        count_rows(self.connection, upload.id)
    }

    /// Up to `most` rows after a line, in the order of the lines.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_upload_rows(
        &mut self,
        upload: &UploadRecord,
        filter: RowFilter<'_>,
        after: i64,
        most: i64,
    ) -> Result<Vec<UploadRow>, StorageError> {
        let page = upload_rows::table
            .filter(upload_rows::upload_id.eq(upload.id))
            .filter(upload_rows::line.gt(after))
            .order(upload_rows::line)
            .limit(most)
            .select((
                upload_rows::line,
                upload_rows::status,
                upload_rows::record_key,
                upload_rows::trainee_id,
                upload_rows::cells,
                upload_rows::details,
            ));
        let found = match filter {
            RowFilter::Statuses(statuses) => {
                let names: Vec<_> = statuses.iter().map(|status| status.name()).collect();
                page.filter(upload_rows::status.eq_any(names))
                    .load::<Columns>(self.connection)?
            }
            RowFilter::Problem(problem) => {
                let lines = self.lines_with_problem(upload.id, problem)?;
                page.filter(upload_rows::line.eq_any(lines))
                    .load::<Columns>(self.connection)?
            }
        };
        let mut rows = Vec::with_capacity(found.len());
        for (line, status, record_key, trainee_id, cells, details) in found {
            rows.push(UploadRow {
                line,
                status: RowStatus::stored(&status, upload.id)?,
                record_key,
                trainee_id,
                cells,
                details,
            });
        }
        Ok(rows)
    }

    /// The keys of all rows, in the order of the lines.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_upload_keys(&mut self, upload: &UploadRecord) -> Result<Vec<RowKey>, StorageError> {
        Ok(upload_rows::table
            .filter(upload_rows::upload_id.eq(upload.id))
            .order(upload_rows::line)
            .select((
                upload_rows::line,
                upload_rows::record_key,
                upload_rows::trainee_id,
            ))
            .load(self.connection)?)
    }
}

/// The numbers of rows of an upload by status.
pub(super) fn count_rows(
    connection: &mut DatabaseConnection,
    id: i64,
) -> Result<Vec<(RowStatus, i64)>, StorageError> {
    let counted = upload_rows::table
        .filter(upload_rows::upload_id.eq(id))
        .group_by(upload_rows::status)
        .select((upload_rows::status, count_star()))
        .load::<(String, i64)>(connection)?;
    let mut counts = Vec::with_capacity(counted.len());
    for (status, rows) in counted {
        counts.push((RowStatus::stored(&status, id)?, rows));
    }
    Ok(counts)
}
