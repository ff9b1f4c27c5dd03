//! The files of trainees that users upload, and the results of their rows. Everything is deleted
//! after an hour, and is neither copied nor in backups.
//!
//! The content of parts and results is sealed by the caller, with a key that is not stored here.
//! Each function takes the [`Uploader`] of the present job, and finds only this user's uploads.
//!
//! | state | how it begins |
//! |---|---|
//! | `Received` | [`Session::add_upload`] and [`Session::add_upload_part`] in one job; [`Session::assign_upload_columns`] returns to it |
//! | `Checking` | [`Session::begin_upload_check`], which removes earlier results |
//! | `Checked` | [`Session::finish_upload_work`] |
//! | `Sending` | [`Session::begin_upload_sending`] |
//! | `Sent` | [`Session::finish_upload_work`] |
//!
//! In the states `Checking` and `Sending`, one server at a time works on the rows. It takes a lease
//! ([`Session::take_upload_lease`]), stores results in portions, which renews the lease
//! ([`Session::add_upload_results`]), and finishes or delays the rest. A worker that gets `None` must stop: the upload
//! was deleted, or another server has the lease. After a crash, the lease ends and another server
//! continues: [`Session::last_upload_line`] is the last line with a result, if the rows are worked
//! on in the order of their lines.
//!
//! Pages read [`Session::list_uploads`], [`Session::find_upload`], [`Session::count_upload_results`]
//! and [`Session::list_upload_results`], which pages by line.

mod results;
#[cfg(test)]
mod tests;
mod work;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use diesel::prelude::*;

pub use self::results::{UploadCount, UploadResult, UploadRowKind, UploadStage};
pub use self::work::UploadLease;
use crate::accounts::users::{SignedIn, UserRole};
use crate::error::{Refusal, StorageError};
use crate::schema::{upload_parts, upload_results, uploads};
use crate::session::Session;

/// How long an upload is kept after it was received, checked or sent.
pub const UPLOAD_KEPT: TimeDelta = TimeDelta::hours(1);
/// The most uploads of a user at a time.
pub const MAX_UPLOADS: i64 = 5;

/// A user who may upload trainees: an admin or an editor of an organisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uploader {
    user_id: i64,
    provider_id: i64,
}

impl Uploader {
    /// The number of the user.
    #[must_use]
    pub const fn user_id(self) -> i64 {
        self.user_id
    }

    /// The number of the user's organisation.
    #[must_use]
    pub const fn provider_id(self) -> i64 {
        self.provider_id
    }
}

impl SignedIn {
    /// The user as an uploader.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotPermitted`] unless the user is an admin or an editor of an organisation.
    pub fn uploader(&self) -> Result<Uploader, Refusal> {
        match (self.role, &self.organisation) {
            (UserRole::Admin | UserRole::Editor, Some(organisation)) => Ok(Uploader {
                user_id: self.user_id,
                provider_id: organisation.id,
            }),
            (UserRole::Admin | UserRole::Editor | UserRole::Viewer | UserRole::Operator, _) => {
                Err(Refusal::NotPermitted)
            }
        }
    }
}

/// The state of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadState {
    /// The file is stored; its columns can be assigned.
    Received,
    /// The rows are checked.
    Checking,
    /// Each row has a result of the check.
    Checked,
    /// The rows are sent.
    Sending,
    /// Each row has a result of sending.
    Sent,
}

impl UploadState {
    const ALL: [Self; 5] = [
        Self::Received,
        Self::Checking,
        Self::Checked,
        Self::Sending,
        Self::Sent,
    ];

    /// The name of the state in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Checking => "checking",
            Self::Checked => "checked",
            Self::Sending => "sending",
            Self::Sent => "sent",
        }
    }

    /// The state with this name. `Err` with the number of the row if there is no such state.
    fn stored(name: &str, id: i64) -> Result<Self, StorageError> {
        let mut states = Self::ALL.into_iter();
        let found = states.find(|state| state.name() == name);
        found.ok_or(StorageError::CorruptRow {
            table: "uploads",
            id,
        })
    }
}

/// A received file.
#[derive(Debug, Clone, Copy)]
pub struct NewUpload<'a> {
    /// The keyed digest of the file, in hex.
    pub file_digest: &'a str,
    /// The number of rows, without the header.
    pub rows: i32,
    /// The recognised columns, as text without values of records.
    pub columns: &'a str,
}

/// An upload of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRecord {
    /// The number of the upload.
    pub id: i64,
    /// The keyed digest of the file, in hex.
    pub file_digest: String,
    /// The state.
    pub state: UploadState,
    /// The number of rows, without the header.
    pub rows: i32,
    /// The assigned columns.
    pub columns: String,
    /// The accepted repairs of columns; empty before a check.
    pub repairs: String,
    /// When the file was received.
    pub created_at: DateTime<Utc>,
    /// When the upload is deleted. Each stored result puts this off.
    pub delete_at: DateTime<Utc>,
    /// Until when no other server takes the rows: the end of a lease, or of a pause
    /// ([`Session::delay_upload_work`]). `None` if there is neither.
    pub worked_until: Option<DateTime<Utc>>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = uploads)]
struct UploadRow {
    id: i64,
    file_digest: String,
    state: String,
    rows: i32,
    column_names: String,
    repairs: String,
    created_at: NaiveDateTime,
    delete_at: NaiveDateTime,
    worked_until: Option<NaiveDateTime>,
}

/// Converts a row of `uploads`. `Err` if the state is unknown.
fn record(row: UploadRow) -> Result<UploadRecord, StorageError> {
    Ok(UploadRecord {
        id: row.id,
        file_digest: row.file_digest,
        state: UploadState::stored(&row.state, row.id)?,
        rows: row.rows,
        columns: row.column_names,
        repairs: row.repairs,
        created_at: row.created_at.and_utc(),
        delete_at: row.delete_at.and_utc(),
        worked_until: row.worked_until.map(|until| until.and_utc()),
    })
}

/// Whether an upload belongs to a user.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_owned(by: Uploader) -> _ {
    let provider_id: i64 = by.provider_id;
    let user_id: i64 = by.user_id;
    uploads::provider_id
        .eq(provider_id)
        .and(uploads::user_id.eq(user_id))
}

/// Whether no server has the lease of an upload.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_idle(now: NaiveDateTime) -> _ {
    uploads::worked_until
        .is_null()
        .or(uploads::worked_until.assume_not_null().le(now))
}

impl Session<'_> {
    /// Adds an upload without its parts. Returns its number.
    ///
    /// # Errors
    ///
    /// [`Refusal::TooManyUploads`].
    pub fn add_upload(&mut self, by: Uploader, upload: NewUpload<'_>) -> Result<i64, StorageError> {
        let existing = uploads::table
            .filter(is_owned(by))
            .count()
            .get_result::<i64>(self.connection)?;
        if existing >= MAX_UPLOADS {
            return Err(Refusal::TooManyUploads.into());
        }
        let now = self.now();
        Ok(diesel::insert_into(uploads::table)
            .values((
                uploads::provider_id.eq(by.provider_id),
                uploads::user_id.eq(by.user_id),
                uploads::file_digest.eq(upload.file_digest),
                uploads::state.eq(UploadState::Received.name()),
                uploads::rows.eq(upload.rows),
                uploads::column_names.eq(upload.columns),
                uploads::repairs.eq(""),
                uploads::created_at.eq(now.naive_utc()),
                uploads::delete_at.eq((now + UPLOAD_KEPT).naive_utc()),
            ))
            .returning(uploads::id)
            .get_result(self.connection)?)
    }

    /// Adds a part of the sealed file to an upload of the same job, counted from 0.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or the part exists.
    pub fn add_upload_part(
        &mut self,
        id: i64,
        part: i32,
        content: &str,
    ) -> Result<(), StorageError> {
        diesel::insert_into(upload_parts::table)
            .values((
                upload_parts::upload_id.eq(id),
                upload_parts::part.eq(part),
                upload_parts::content.eq(content),
            ))
            .execute(self.connection)?;
        Ok(())
    }

    /// The uploads of the user, newest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_uploads(&mut self, by: Uploader) -> Result<Vec<UploadRecord>, StorageError> {
        let found = uploads::table
            .filter(is_owned(by))
            .filter(uploads::delete_at.gt(self.now().naive_utc()))
            .order(uploads::id.desc())
            .select(UploadRow::as_select())
            .load(self.connection)?;
        found.into_iter().map(record).collect()
    }

    /// An upload of the user; `None` if the user has none with this number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn find_upload(
        &mut self,
        by: Uploader,
        id: i64,
    ) -> Result<Option<UploadRecord>, StorageError> {
        let found = uploads::table
            .filter(is_owned(by))
            .filter(uploads::id.eq(id))
            .filter(uploads::delete_at.gt(self.now().naive_utc()))
            .select(UploadRow::as_select())
            .first(self.connection)
            .optional()?;
        found.map(record).transpose()
    }

    /// A part of the sealed file of an upload of the user, counted from 0; `None` after the last
    /// part, or if the user has no such upload.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn upload_part(
        &mut self,
        by: Uploader,
        id: i64,
        part: i32,
    ) -> Result<Option<String>, StorageError> {
        let owner = uploads::table
            .filter(is_owned(by))
            .filter(uploads::id.eq(id))
            .filter(uploads::delete_at.gt(self.now().naive_utc()))
            .select(uploads::id);
        Ok(upload_parts::table
            .filter(upload_parts::upload_id.eq_any(owner))
            .filter(upload_parts::part.eq(part))
            .select(upload_parts::content)
            .first(self.connection)
            .optional()?)
    }

    /// Assigns the columns, and removes the results of an earlier check. Returns `false` if the
    /// user has no such upload, or if its rows are worked on or sent.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn assign_upload_columns(
        &mut self,
        by: Uploader,
        id: i64,
        columns: &str,
    ) -> Result<bool, StorageError> {
        let received = UploadState::Received.name();
        let assigned = diesel::update(uploads::table.find(id))
            .filter(is_owned(by))
            .filter(uploads::state.eq_any([received, UploadState::Checked.name()]))
            .set((
                uploads::column_names.eq(columns),
                uploads::repairs.eq(""),
                uploads::state.eq(received),
            ))
            .execute(self.connection)?;
        if assigned > 0 {
            diesel::delete(upload_results::table.filter(upload_results::upload_id.eq(id)))
                .execute(self.connection)?;
        }
        Ok(assigned > 0)
    }

    /// Deletes an upload with its parts and results. Returns `false` if the user has no such
    /// upload, or if a server is sending its rows.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn delete_upload(&mut self, by: Uploader, id: i64) -> Result<bool, StorageError> {
        let now = self.now().naive_utc();
        let is_sending = uploads::state.eq(UploadState::Sending.name());
        let deleted = diesel::delete(uploads::table.find(id))
            .filter(is_owned(by))
            .filter(diesel::dsl::not(is_sending).or(is_idle(now)))
            .execute(self.connection)?;
        Ok(deleted > 0)
    }

    /// Whether an upload has reached the time of its deletion.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_old_upload(&mut self) -> Result<bool, StorageError> {
        let old = uploads::table
            .filter(uploads::delete_at.le(self.now().naive_utc()))
            .select(uploads::id)
            .first::<i64>(self.connection)
            .optional()?;
        Ok(old.is_some())
    }

    /// Removes up to `most` uploads that have reached the time of their deletion. Returns the
    /// number of removed uploads.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_uploads(&mut self, most: i64) -> Result<usize, StorageError> {
        let now = self.now().naive_utc();
        let old = uploads::table
            .filter(uploads::delete_at.le(now))
            .limit(most)
            .select(uploads::id)
            .load::<i64>(self.connection)?;
        Ok(
            diesel::delete(uploads::table.filter(uploads::id.eq_any(old)))
                .execute(self.connection)?,
        )
    }

    /// Removes the uploads of a user whose access ends.
    pub(super) fn remove_uploads_of(&mut self, user_id: i64) -> Result<(), StorageError> {
        diesel::delete(uploads::table.filter(uploads::user_id.eq(user_id)))
            .execute(self.connection)?;
        Ok(())
    }
}
