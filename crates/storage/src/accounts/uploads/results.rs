//! The results of the rows of an upload, by the stage of work.

use database::connection::DatabaseConnection;
use diesel::prelude::*;

use super::{UploadState, Uploader, is_owned};
use crate::error::StorageError;
use crate::schema::{upload_results, uploads};
use crate::session::Session;

/// What is done with the rows of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadStage {
    /// The rows are checked; nothing is stored in the register.
    Check,
    /// The rows are sent.
    Send,
}

impl UploadStage {
    const ALL: [Self; 2] = [Self::Check, Self::Send];

    /// The name of the stage in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Send => "send",
        }
    }

    /// The state of an upload during the stage.
    pub(super) const fn working(self) -> UploadState {
        match self {
            Self::Check => UploadState::Checking,
            Self::Send => UploadState::Sending,
        }
    }

    /// The state of an upload after the stage.
    pub(super) const fn done(self) -> UploadState {
        match self {
            Self::Check => UploadState::Checked,
            Self::Send => UploadState::Sent,
        }
    }
}

/// What a row does, or did, to the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadRowKind {
    /// Registers a trainee.
    Register,
    /// Changes a trainee.
    Change,
    /// Equals the register; nothing to do.
    Equal,
    /// Refused.
    Refused,
    /// Not sent, because the trainee was changed after the check.
    ChangedMeanwhile,
    /// About the whole file, on line 0.
    File,
}

impl UploadRowKind {
    const ALL: [Self; 6] = [
        Self::Register,
        Self::Change,
        Self::Equal,
        Self::Refused,
        Self::ChangedMeanwhile,
        Self::File,
    ];
    /// The kinds of the results of rows.
    pub const OF_ROWS: [Self; 5] = [
        Self::Register,
        Self::Change,
        Self::Equal,
        Self::Refused,
        Self::ChangedMeanwhile,
    ];

    /// The name of the kind in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Change => "change",
            Self::Equal => "equal",
            Self::Refused => "refused",
            Self::ChangedMeanwhile => "changed_meanwhile",
            Self::File => "file",
        }
    }

    /// The kind with this name. `Err` with the number of the upload if there is no such kind.
    fn stored(name: &str, id: i64) -> Result<Self, StorageError> {
        let mut kinds = Self::ALL.into_iter();
        let found = kinds.find(|kind| kind.name() == name);
        found.ok_or(StorageError::CorruptRow {
            table: "upload_results",
            id,
        })
    }
}

/// The result of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadResult {
    /// The first line of the row in the file, from 1.
    pub line: i64,
    /// The kind of the result.
    pub kind: UploadRowKind,
    /// The sealed details.
    pub content: String,
}

/// The number of rows with results of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadCount {
    /// The stage.
    pub stage: UploadStage,
    /// The kind of the results.
    pub kind: UploadRowKind,
    /// The number of rows, at least 1.
    pub rows: i64,
}

#[derive(Insertable)]
#[diesel(table_name = upload_results, treat_none_as_default_value = false)]
struct NewRow<'a> {
    upload_id: i64,
    stage: &'static str,
    line: i64,
    kind: &'static str,
    content: &'a str,
}

impl Session<'_> {
    /// Inserts the results of rows of an upload. `Err` if a row has a result of this stage.
    pub(super) fn insert_upload_results(
        &mut self,
        id: i64,
        stage: UploadStage,
        results: &[UploadResult],
    ) -> Result<(), StorageError> {
        let mut rows = Vec::with_capacity(results.len());
        for result in results {
            rows.push(NewRow {
                upload_id: id,
                stage: stage.name(),
                line: result.line,
                kind: result.kind.name(),
                content: &result.content,
            });
        }
        match self.connection {
            DatabaseConnection::Postgres(inner) => {
                diesel::insert_into(upload_results::table)
                    .values(&rows)
                    .execute(inner)?;
            }
            DatabaseConnection::Sqlite(inner) => {
                // A statement for each row takes no round trip on SQLite.
                for row in &rows {
                    diesel::insert_into(upload_results::table)
                        .values(row)
                        .execute(inner)?;
                }
            }
        }
        Ok(())
    }

    /// The numbers of results of an upload of the user, by stage and kind. Kinds without results
    /// are left out.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_upload_results(
        &mut self,
        by: Uploader,
        id: i64,
    ) -> Result<Vec<UploadCount>, StorageError> {
        let owner = uploads::table.filter(is_owned(by)).select(uploads::id);
        let counted = upload_results::table
            .filter(upload_results::upload_id.eq(id))
            .filter(upload_results::upload_id.eq_any(owner))
            .group_by((upload_results::stage, upload_results::kind))
            .order((upload_results::stage, upload_results::kind))
            .select((
                upload_results::stage,
                upload_results::kind,
                diesel::dsl::count_star(),
            ))
            .load::<(String, String, i64)>(self.connection)?;
        let mut counts = Vec::with_capacity(counted.len());
        for (stage, kind, rows) in counted {
            let mut stages = UploadStage::ALL.into_iter();
            let stage = stages.find(|known| known.name() == stage);
            counts.push(UploadCount {
                stage: stage.ok_or(StorageError::CorruptRow {
                    table: "upload_results",
                    id,
                })?,
                kind: UploadRowKind::stored(&kind, id)?,
                rows,
            });
        }
        Ok(counts)
    }

    /// Up to `most` results of an upload of the user after a line, in the order of the lines. With
    /// `kind`, only results of this kind.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_upload_results(
        &mut self,
        by: Uploader,
        id: i64,
        stage: UploadStage,
        kind: Option<UploadRowKind>,
        after: i64,
        most: i64,
    ) -> Result<Vec<UploadResult>, StorageError> {
        let owner = uploads::table.filter(is_owned(by)).select(uploads::id);
        let page = upload_results::table
            .filter(upload_results::upload_id.eq(id))
            .filter(upload_results::upload_id.eq_any(owner))
            .filter(upload_results::stage.eq(stage.name()))
            .filter(upload_results::line.gt(after))
            .order(upload_results::line)
            .limit(most)
            .select((
                upload_results::line,
                upload_results::kind,
                upload_results::content,
            ));
        let found = match kind {
            Some(kind) => page
                .filter(upload_results::kind.eq(kind.name()))
                .load::<(i64, String, String)>(self.connection)?,
            None => page.load::<(i64, String, String)>(self.connection)?,
        };
        let mut results = Vec::with_capacity(found.len());
        for (line, kind, content) in found {
            results.push(UploadResult {
                line,
                kind: UploadRowKind::stored(&kind, id)?,
                content,
            });
        }
        Ok(results)
    }

    /// The last line with a result of a stage; 0 if there is none.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn last_upload_line(&mut self, id: i64, stage: UploadStage) -> Result<i64, StorageError> {
        let last = upload_results::table
            .filter(upload_results::upload_id.eq(id))
            .filter(upload_results::stage.eq(stage.name()))
            .select(diesel::dsl::max(upload_results::line))
            .first::<Option<i64>>(self.connection)?;
        Ok(last.unwrap_or(0))
    }
}
