//! The rows of an upload, with their results and problems.

use std::collections::{BTreeSet, HashMap};

use database::connection::DatabaseConnection;
use diesel::dsl::{count_star, max};
use diesel::prelude::*;
use diesel::upsert::excluded;
use sha2::{Digest as _, Sha256};

use super::UploadRecord;
use crate::error::StorageError;
use crate::schema::{upload_problems, upload_rows};
use crate::session::Session;

/// The most rows in one statement on PostgreSQL, and the most numbers in a condition.
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
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct ProblemCount {
    /// The number of the problem within the upload, from 1.
    pub number: i64,
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
    problems: &'a str,
}

#[derive(Insertable)]
#[diesel(table_name = upload_problems, treat_none_as_default_value = false)]
struct StoredProblem<'a> {
    upload_id: i64,
    number: i64,
    digest: i64,
    heading: &'a str,
    words: &'a str,
    rows: i64,
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

/// Adds problems, or adds to the numbers of their rows.
macro_rules! put_problems {
    ($problems:expr, $connection:expr) => {
        diesel::insert_into(upload_problems::table)
            .values($problems)
            .on_conflict((upload_problems::upload_id, upload_problems::number))
            .do_update()
            .set(upload_problems::rows.eq(upload_problems::rows + excluded(upload_problems::rows)))
            .execute($connection)?
    };
}

type Columns = (i64, String, Option<String>, Option<String>, String, String);

impl Session<'_> {
    /// Adds rows to an upload, or replaces those with the same lines. `problems` has the numbers of
    /// problems by line.
    pub(super) fn put_upload_rows(
        &mut self,
        id: i64,
        rows: &[UploadRow],
        problems: &HashMap<i64, String>,
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
                    problems: problems.get(&row.line).map_or("", String::as_str),
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

    /// Adds the problems of rows. Returns the numbers of the problems by line, as rows store them.
    ///
    /// The lease of the upload is held, so that no other server numbers its problems.
    pub(super) fn number_problems(
        &mut self,
        id: i64,
        problems: &[UploadProblem],
    ) -> Result<HashMap<i64, String>, StorageError> {
        let mut numbers_by_line = HashMap::new();
        if problems.is_empty() {
            return Ok(numbers_by_line);
        }
        let of_upload = upload_problems::table.filter(upload_problems::upload_id.eq(id));
        let digests: Vec<_> = problems.iter().map(digest_problem).collect();
        let mut numbers: HashMap<i64, i64> = HashMap::new();
        for digests in digests.chunks(ROWS_PER_STATEMENT) {
            let known = of_upload
                .filter(upload_problems::digest.eq_any(digests))
                .select((upload_problems::digest, upload_problems::number))
                .load::<(i64, i64)>(self.connection)?;
            numbers.extend(known);
        }
        let last = of_upload
            .select(max(upload_problems::number))
            .first::<Option<i64>>(self.connection)?;
        let mut next = last.unwrap_or(0) + 1;
        let mut stored: Vec<StoredProblem<'_>> = Vec::new();
        let mut positions = HashMap::new();
        for (problem, digest) in problems.iter().zip(digests) {
            let number = *numbers.entry(digest).or_insert_with(|| {
                next += 1;
                next - 1
            });
            let of_line: &mut String = numbers_by_line.entry(problem.line).or_default();
            if read_numbers(of_line).any(|other| other == number) {
                continue;
            }
            if !of_line.is_empty() {
                of_line.push(',');
            }
            of_line.push_str(&number.to_string());
            let position = *positions.entry(number).or_insert_with(|| {
                stored.push(StoredProblem {
                    upload_id: id,
                    number,
                    digest,
                    heading: &problem.heading,
                    words: &problem.words,
                    rows: 0,
                });
                stored.len() - 1
            });
            if let Some(problem) = stored.get_mut(position) {
                problem.rows += 1;
            }
        }
        for stored in stored.chunks(ROWS_PER_STATEMENT) {
            match self.connection {
                DatabaseConnection::Postgres(inner) => {
                    put_problems!(stored, inner);
                }
                DatabaseConnection::Sqlite(inner) => {
                    for problem in stored {
                        put_problems!(problem, inner);
                    }
                }
            }
        }
        Ok(numbers_by_line)
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
        let rows = upload_rows::table
            .filter(upload_rows::upload_id.eq(id))
            .filter(upload_rows::problems.ne(""))
            .select((upload_rows::line, upload_rows::problems))
            .load::<(i64, String)>(self.connection)?;
        let mut with_problem = rows;
        with_problem.retain(|(_, numbers)| read_numbers(numbers).any(|number| number == problem));
        Ok(with_problem.into_iter().map(|(line, _)| line).collect())
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
            .order((upload_problems::rows.desc(), upload_problems::number))
            .limit(most)
            .select((
                upload_problems::number,
                upload_problems::heading,
                upload_problems::words,
                upload_problems::rows,
            ));
        Ok(counted.load(self.connection)?)
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
        let rows = upload_rows::table
            .filter(upload_rows::upload_id.eq(upload.id))
            .filter(upload_rows::line.between(from, to))
            .filter(upload_rows::problems.ne(""))
            .order(upload_rows::line)
            .select((upload_rows::line, upload_rows::problems))
            .load::<(i64, String)>(self.connection)?;
        let wanted: BTreeSet<i64> = rows
            .iter()
            .flat_map(|(_, numbers)| read_numbers(numbers))
            .collect();
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let mut described: HashMap<i64, (String, String)> = HashMap::new();
        for numbers in wanted.chunks(ROWS_PER_STATEMENT) {
            let found = upload_problems::table
                .filter(upload_problems::upload_id.eq(upload.id))
                .filter(upload_problems::number.eq_any(numbers))
                .select((
                    upload_problems::number,
                    (upload_problems::heading, upload_problems::words),
                ))
                .load::<(i64, (String, String))>(self.connection)?;
            described.extend(found);
        }
        let mut problems = Vec::new();
        for (line, numbers) in rows {
            for (heading, words) in read_numbers(&numbers).filter_map(|one| described.get(&one)) {
                problems.push(UploadProblem {
                    line,
                    heading: heading.clone(),
                    words: words.clone(),
                });
            }
        }
        Ok(problems)
    }
}

/// The digest of a problem. The problems of one upload differ in its first 8 bytes.
fn digest_problem(problem: &UploadProblem) -> i64 {
    let digest = Sha256::new()
        .chain_update(&problem.heading)
        .chain_update("\u{1f}")
        .chain_update(&problem.words)
        .finalize();
    let mut first = [0; 8];
    for (byte, of_digest) in first.iter_mut().zip(digest) {
        *byte = of_digest;
    }
    i64::from_be_bytes(first)
}

/// Reads the numbers of the problems of a row.
fn read_numbers(stored: &str) -> impl Iterator<Item = i64> {
    stored.split(',').filter_map(|number| number.parse().ok())
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
