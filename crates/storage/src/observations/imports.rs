//! Imports of files: kind, time, actor, counts of rows, and refused rows.
//!
//! A problem is stored with its line and its text, which contains no value of a record. Imports are
//! kept as long as entries of the activity log.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use crate::accounts::users::{ACTIVITY_KEPT, ActivityKind, Actor, Subject};
use crate::error::StorageError;
use crate::schema::{imports, users};
use crate::session::Session;

/// The most refused rows stored for one import. Further ones are only counted.
pub const MAX_REFUSED_ROWS: usize = 1_000;

/// The kind of records in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    /// Schools.
    Schools,
    /// Training partners.
    Partners,
    /// Registry actions on trainees.
    Trainees,
}

impl ImportKind {
    const ALL: [Self; 3] = [Self::Schools, Self::Partners, Self::Trainees];

    /// The name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schools => "schools",
            Self::Partners => "partners",
            Self::Trainees => "trainees",
        }
    }
}

impl fmt::Display for ImportKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The results of the accepted rows of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportCounts {
    /// Rows that added a record.
    pub added: u64,
    /// Rows that changed a record.
    pub changed: u64,
    /// Rows without new data.
    pub unchanged: u64,
}

/// A refused row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedLine {
    /// The first line of the row, from 1.
    pub line: u64,
    /// The reason, without any value of a record.
    pub problem: String,
}

/// An import that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewImport {
    /// The kind of records in the file.
    pub kind: ImportKind,
    /// The operation, such as `school import`.
    pub operation: String,
    /// The results of the accepted rows.
    pub counts: ImportCounts,
    /// The refused rows, in the order of the file.
    pub refused: Vec<RefusedLine>,
    /// The first line that may not have been imported, from 1; `None` for a complete import.
    pub stopped_at_line: Option<u64>,
}

/// An import in lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRecord {
    /// The number of the import.
    pub id: i64,
    /// When the import ended.
    pub at: DateTime<Utc>,
    /// The kind of records in the file.
    pub kind: ImportKind,
    /// The operation, such as `school import`.
    pub operation: String,
    /// The e-mail address of the importing user, which is empty if the user was erased, or the
    /// person who ran the command.
    pub by: String,
    /// The results of the accepted rows.
    pub counts: ImportCounts,
    /// The number of refused rows.
    pub refused: u64,
    /// The first line that may not have been imported, from 1; `None` for a complete import.
    pub stopped_at_line: Option<u64>,
}

/// An import, and the e-mail address of its user.
type Row = (
    (
        i64,
        NaiveDateTime,
        String,
        String,
        Option<String>,
        i64,
        i64,
        i64,
        i64,
        Option<i64>,
    ),
    Option<String>,
);

/// All imports with the addresses of their users, as [`Row`]s.
#[diesel::dsl::auto_type(no_type_alias)]
fn rows() -> _ {
    imports::table.left_join(users::table).select((
        (
            imports::id,
            imports::imported_at,
            imports::kind,
            imports::operation,
            imports::imported_by,
            imports::added,
            imports::changed,
            imports::unchanged,
            imports::refused,
            imports::stopped_at_line,
        ),
        users::email.nullable(),
    ))
}

/// Converts a row. `Err` if the kind is unknown.
fn record((import, email): Row) -> Result<ImportRecord, StorageError> {
    let (id, at, kind, operation, imported_by, added, changed, unchanged, refused, stopped_at) =
        import;
    let kind = ImportKind::ALL
        .into_iter()
        .find(|known| known.name() == kind);
    Ok(ImportRecord {
        id,
        at: at.and_utc(),
        kind: kind.ok_or(StorageError::CorruptRow {
            table: "imports",
            id,
        })?,
        operation,
        by: imported_by.or(email).unwrap_or_default(),
        counts: ImportCounts {
            added: added.unsigned_abs(),
            changed: changed.unsigned_abs(),
            unchanged: unchanged.unsigned_abs(),
        },
        refused: refused.unsigned_abs(),
        stopped_at_line: stopped_at.map(i64::unsigned_abs),
    })
}

impl Session<'_> {
    /// Stores and logs an import. Returns its number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn record_import(
        &mut self,
        by: Actor<'_>,
        import: &NewImport,
    ) -> Result<i64, StorageError> {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let refused: Vec<_> = import
            .refused
            .iter()
            .take(MAX_REFUSED_ROWS)
            .map(|row| (row.line, row.problem.as_str()))
            .collect();
        let id = diesel::insert_into(imports::table)
            .values((
                imports::imported_at.eq(self.now().naive_utc()),
                imports::kind.eq(import.kind.name()),
                imports::operation.eq(&import.operation),
                imports::user_id.eq(by.user_id()),
                imports::imported_by.eq(by.name()),
                imports::added.eq(count(import.counts.added)),
                imports::changed.eq(count(import.counts.changed)),
                imports::unchanged.eq(count(import.counts.unchanged)),
                imports::refused.eq(i64::try_from(import.refused.len()).unwrap_or(i64::MAX)),
                imports::refused_rows.eq(serde_json::json!(refused).to_string()),
                imports::stopped_at_line.eq(import.stopped_at_line.map(count)),
            ))
            .returning(imports::id)
            .get_result::<i64>(self.connection)?;
        self.record_activity(
            by,
            None,
            ActivityKind::FileImported,
            Subject::Import(id),
            &import.operation,
        )?;
        Ok(id)
    }

    /// Up to `most` imports, newest first. With `before`, only imports before the one with this
    /// number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_imports(
        &mut self,
        before: Option<i64>,
        most: i64,
    ) -> Result<Vec<ImportRecord>, StorageError> {
        let found = rows()
            .filter(imports::id.lt(before.unwrap_or(i64::MAX)))
            .order(imports::id.desc())
            .limit(most)
            .load::<Row>(self.connection)?;
        found.into_iter().map(record).collect()
    }

    /// An import with its stored refused rows; `None` if there is none with this number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn import(
        &mut self,
        id: i64,
    ) -> Result<Option<(ImportRecord, Vec<RefusedLine>)>, StorageError> {
        let Some(found) = rows()
            .filter(imports::id.eq(id))
            .first::<Row>(self.connection)
            .optional()?
        else {
            return Ok(None);
        };
        let stored = imports::table
            .find(id)
            .select(imports::refused_rows)
            .first::<String>(self.connection)?;
        let refused: Vec<(u64, String)> =
            serde_json::from_str(&stored).map_err(|_| StorageError::CorruptRow {
                table: "imports",
                id,
            })?;
        let refused = refused
            .into_iter()
            .map(|(line, problem)| RefusedLine { line, problem });
        Ok(Some((record(found)?, refused.collect())))
    }

    /// Removes up to `most` expired imports. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_imports(&mut self, most: i64) -> Result<usize, StorageError> {
        let old = imports::table
            .filter(imports::imported_at.lt((self.now() - ACTIVITY_KEPT).naive_utc()))
            .limit(most)
            .select(imports::id)
            .load::<i64>(self.connection)?;
        Ok(
            diesel::delete(imports::table.filter(imports::id.eq_any(old)))
                .execute(self.connection)?,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Register;

    const OPERATOR: Actor<'static> = Actor::operator("A. Operator");

    fn import(refused: u64) -> NewImport {
        let refused = (0..refused).map(|row| RefusedLine {
            line: row + 2,
            problem: "URN must be 6 digits".to_owned(),
        });
        NewImport {
            kind: ImportKind::Schools,
            operation: "school import".to_owned(),
            counts: ImportCounts {
                added: 3,
                changed: 2,
                unchanged: 1,
            },
            refused: refused.collect(),
            stopped_at_line: None,
        }
    }

    #[test]
    fn import_is_listed_and_logged_with_counts() {
        let register = Register::new();
        let first = register
            .write(|session| session.record_import(OPERATOR, &import(1_005)))
            .unwrap();
        let second = register
            .write(|session| session.record_import(OPERATOR, &import(0)))
            .unwrap();
        let listed = register
            .read(|session| session.list_imports(None, 10))
            .unwrap();
        assert_eq!(
            listed.iter().map(|one| one.id).collect::<Vec<_>>(),
            [second, first]
        );
        assert_eq!(
            (
                listed[1].by.as_str(),
                listed[1].refused,
                listed[1].counts.added
            ),
            ("A. Operator", 1_005, 3)
        );
        let (record, refused) = register
            .read(move |session| session.import(first))
            .unwrap()
            .unwrap();
        assert_eq!((&record, refused.len()), (&listed[1], MAX_REFUSED_ROWS));
        assert_eq!(
            (refused[0].line, refused[0].problem.as_str()),
            (2, "URN must be 6 digits")
        );
        assert_eq!(
            register
                .read(move |session| session.list_imports(Some(second), 10))
                .unwrap(),
            [record]
        );
        assert_eq!(register.read(|session| session.import(99)).unwrap(), None);
        let filter = crate::accounts::users::ActivityFilter {
            limit: 10,
            ..Default::default()
        };
        let log = register
            .read(move |session| session.list_activity(filter))
            .unwrap();
        assert_eq!(
            (log.len(), log[0].subject.as_str(), log[0].kind),
            (2, "import 2", ActivityKind::FileImported)
        );
    }

    #[test]
    fn imports_are_kept_like_activity_log() {
        let register = Register::new();
        register
            .write(|session| session.record_import(OPERATOR, &import(0)))
            .unwrap();
        register.clock.set("2027-04-05");
        assert_eq!(
            register
                .write(|session| session.remove_old_imports(10))
                .unwrap(),
            0
        );
        register.clock.set("2027-04-07");
        assert_eq!(
            register
                .write(|session| session.remove_old_imports(10))
                .unwrap(),
            1
        );
        assert!(
            register
                .read(|session| session.list_imports(None, 10))
                .unwrap()
                .is_empty()
        );
    }
}
