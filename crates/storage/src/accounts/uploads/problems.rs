//! The problems of the rows of an upload. Each different problem is stored once, and rows list the
//! numbers of their problems.

use std::collections::{BTreeMap, HashMap};

use database::connection::DatabaseConnection;
use diesel::dsl::max;
use diesel::prelude::*;
use diesel::upsert::excluded;
use sha2::{Digest as _, Sha256};

use super::UploadRecord;
use crate::error::StorageError;
use crate::schema::{upload_problems, upload_rows};
use crate::session::Session;

/// The most rows in one statement on PostgreSQL, and the most numbers in a condition.
pub(super) const ROWS_PER_STATEMENT: usize = 500;

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

/// The numbers of the problems of each line, in the order of the problems.
pub(super) type NumbersByLine = HashMap<i64, Vec<i64>>;

impl Session<'_> {
    /// Adds the problems of rows, and returns their numbers. A repeated problem of a row counts once.
    ///
    /// The lease of the upload must be held, so that no other server numbers its problems.
    pub(super) fn number_problems(
        &mut self,
        id: i64,
        problems: &[UploadProblem],
    ) -> Result<NumbersByLine, StorageError> {
        if problems.is_empty() {
            return Ok(NumbersByLine::new());
        }
        let digests: Vec<i64> = problems.iter().map(digest_problem).collect();
        let mut numbers = self.find_problem_numbers(id, &digests)?;
        let mut last = upload_problems::table
            .filter(upload_problems::upload_id.eq(id))
            .select(max(upload_problems::number))
            .first::<Option<i64>>(self.connection)?
            .unwrap_or_default();
        let mut by_line = NumbersByLine::new();
        let mut stored = BTreeMap::new();
        for (problem, digest) in problems.iter().zip(digests) {
            let number = *numbers.entry(digest).or_insert_with(|| {
                last += 1;
                last
            });
            let of_line = by_line.entry(problem.line).or_default();
            if of_line.contains(&number) {
                continue;
            }
            of_line.push(number);
            let stored = stored.entry(number).or_insert(StoredProblem {
                upload_id: id,
                number,
                digest,
                heading: &problem.heading,
                words: &problem.words,
                rows: 0,
            });
            stored.rows += 1;
        }
        let stored: Vec<_> = stored.into_values().collect();
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
        Ok(by_line)
    }

    /// The numbers of the stored problems with these digests, by digest.
    fn find_problem_numbers(
        &mut self,
        id: i64,
        digests: &[i64],
    ) -> Result<HashMap<i64, i64>, StorageError> {
        let mut numbers = HashMap::new();
        for digests in digests.chunks(ROWS_PER_STATEMENT) {
            let found = upload_problems::table
                .filter(upload_problems::upload_id.eq(id))
                .filter(upload_problems::digest.eq_any(digests))
                .select((upload_problems::digest, upload_problems::number))
                .load::<(i64, i64)>(self.connection)?;
            numbers.extend(found);
        }
        Ok(numbers)
    }

    /// The lines of the rows that have the problem with this number.
    pub(super) fn lines_with_problem(
        &mut self,
        id: i64,
        problem: i64,
    ) -> Result<Vec<i64>, StorageError> {
        let mut rows = upload_rows::table
            .filter(upload_rows::upload_id.eq(id))
            .filter(upload_rows::problems.ne(""))
            .select((upload_rows::line, upload_rows::problems))
            .load::<(i64, String)>(self.connection)?;
        rows.retain(|(_, numbers)| read_numbers(numbers).any(|number| number == problem));
        Ok(rows.into_iter().map(|(line, _)| line).collect())
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
        let numbers = rows.iter().flat_map(|(_, numbers)| read_numbers(numbers));
        let mut wanted: Vec<i64> = numbers.collect();
        wanted.sort_unstable();
        wanted.dedup();
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

/// The first 8 bytes of the SHA-256 digest of a problem, which tell the problems of an upload apart.
#[expect(clippy::many_single_char_names, reason = "the bytes of a number")]
fn digest_problem(problem: &UploadProblem) -> i64 {
    let digest = Sha256::new()
        .chain_update(&problem.heading)
        .chain_update("\u{1f}")
        .chain_update(&problem.words)
        .finalize();
    let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(digest);
    i64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Writes the numbers of the problems of a row.
pub(super) fn write_numbers(numbers: &[i64]) -> String {
    let written: Vec<_> = numbers.iter().map(i64::to_string).collect();
    written.join(",")
}

/// Reads the numbers of the problems of a row.
fn read_numbers(stored: &str) -> impl Iterator<Item = i64> {
    stored.split(',').filter_map(|number| number.parse().ok())
}
