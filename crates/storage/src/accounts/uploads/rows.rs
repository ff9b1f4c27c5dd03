//! The rows of an upload, with their results and problems.

use database::connection::DatabaseConnection;
use diesel::dsl::{count_star, max, min};
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::UploadRecord;
use crate::error::StorageError;
use crate::schema::{upload_problems, upload_rows};
use crate::session::Session;

/// The most rows in one statement on PostgreSQL.
const ROWS_PER_STATEMENT: usize = 500;

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

/// A problem of a refused row.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct UploadProblem {
    /// The line.
    pub line: i64,
    /// The heading of the column; blank for a problem of the whole row.
    pub heading: String,
    /// The problem.
    pub words: String,
}

/// Rows with equal problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemCount {
    /// A number that identifies the problem within the upload.
    pub id: i64,
    /// The heading of the column; blank for a problem of the whole row.
    pub heading: String,
    /// The problem.
    pub words: String,
    /// The number of rows, at least 1.
    pub rows: i64,
}

/// Which rows are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFilter<'a> {
    /// Rows with one of these statuses.
    Statuses(&'a [RowStatus]),
    /// Rows with this problem, by its number in [`ProblemCount`].
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
}

#[derive(Insertable)]
#[diesel(table_name = upload_problems, treat_none_as_default_value = false)]
struct StoredProblem<'a> {
    upload_id: i64,
    line: i64,
    heading: &'a str,
    words: &'a str,
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
            ))
            .execute($connection)?
    };
}

type Columns = (i64, String, Option<String>, Option<String>, String, String);

impl Session<'_> {
    /// Adds rows to an upload, or replaces those with the same lines.
    pub(super) fn put_upload_rows(
        &mut self,
        id: i64,
        rows: &[UploadRow],
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

    /// Adds problems of rows.
    pub(super) fn add_upload_problems(
        &mut self,
        id: i64,
        problems: &[UploadProblem],
    ) -> Result<(), StorageError> {
        for problems in problems.chunks(ROWS_PER_STATEMENT) {
            let mut stored = Vec::with_capacity(problems.len());
            for problem in problems {
                stored.push(StoredProblem {
                    upload_id: id,
                    line: problem.line,
                    heading: &problem.heading,
                    words: &problem.words,
                });
            }
            match self.connection {
                DatabaseConnection::Postgres(inner) => {
                    diesel::insert_into(upload_problems::table)
                        .values(&stored)
                        .execute(inner)?;
                }
                DatabaseConnection::Sqlite(inner) => {
                    for problem in &stored {
                        diesel::insert_into(upload_problems::table)
                            .values(problem)
                            .execute(inner)?;
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

    /// The lines of the rows that have the problem with this number.
    fn lines_with_problem(&mut self, id: i64, problem: i64) -> Result<Vec<i64>, StorageError> {
        let wanted = upload_problems::table
            .find(problem)
            .filter(upload_problems::upload_id.eq(id))
            .select((upload_problems::heading, upload_problems::words))
            .first::<(String, String)>(self.connection)
            .optional()?;
        let Some((heading, words)) = wanted else {
            return Ok(Vec::new());
        };
        Ok(upload_problems::table
            .filter(upload_problems::upload_id.eq(id))
            .filter(upload_problems::heading.eq(heading))
            .filter(upload_problems::words.eq(words))
            .select(upload_problems::line)
            .load(self.connection)?)
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

    /// Up to `most` different problems with the numbers of their rows, the most frequent first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_upload_problems(
        &mut self,
        upload: &UploadRecord,
        most: i64,
    ) -> Result<Vec<ProblemCount>, StorageError> {
        let counted = upload_problems::table
            .filter(upload_problems::upload_id.eq(upload.id))
            .group_by((upload_problems::heading, upload_problems::words))
            .order((count_star().desc(), min(upload_problems::id)))
            .limit(most)
            .select((
                max(upload_problems::id),
                upload_problems::heading,
                upload_problems::words,
                count_star(),
            ))
            .load::<(Option<i64>, String, String, i64)>(self.connection)?;
        let counts = counted
            .into_iter()
            .map(|(id, heading, words, rows)| ProblemCount {
                id: id.unwrap_or_default(),
                heading,
                words,
                rows,
            });
        Ok(counts.collect())
    }

    /// The problems of rows from one line to another, in the order of the lines.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_upload_problems(
        &mut self,
        upload: &UploadRecord,
        from: i64,
        to: i64,
    ) -> Result<Vec<UploadProblem>, StorageError> {
        Ok(upload_problems::table
            .filter(upload_problems::upload_id.eq(upload.id))
            .filter(upload_problems::line.between(from, to))
            .order((upload_problems::line, upload_problems::id))
            .select((
                upload_problems::line,
                upload_problems::heading,
                upload_problems::words,
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
