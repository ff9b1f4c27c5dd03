//! The files of trainees that users upload, as rows, and the reports that remain of sent ones.
//! Nothing of this is copied or in backups.
//!
//! Functions for pages take the [`Uploader`] of the present job, and find only this user's uploads.
//! Reports ([`reports`]) belong to the organisation.
//!
//! | state | how it begins | next |
//! |---|---|---|
//! | `Received` | [`Session::add_upload`] | the user names the columns |
//! | `Preparing` | [`Session::begin_upload_work`] | a server finds, or makes, the repairs of cells |
//! | `Prepared` | [`Session::finish_upload_work`] | the user decides about the repairs |
//! | `Checking` | [`Session::finish_upload_work`] | a server checks the rows |
//! | `Checked` | [`Session::finish_upload_work`] | the user sends the rows |
//! | `Sending` | [`Session::begin_upload_work`] | a server sends the rows |
//! | `Sent`, and the states of stopped uploads | [`Session::finish_upload_work`], an erasure, or time | none |
//!
//! In the states `Preparing`, `Checking` and `Sending`, one server at a time works on the rows. It
//! takes a lease ([`Session::take_upload_lease`]), stores results in portions, which renews the lease
//! ([`Session::store_upload_rows`]), and finishes. After a crash, the lease ends and another server
//! continues with the rows that have no result.
//!
//! The content is kept for [`CONTENT_KEPT`]; that of a row only until it was sent. What remains is a
//! report, for [`REPORT_KEPT`] after sending began.

mod headings;
mod problems;
pub mod reports;
mod rows;
#[cfg(test)]
mod tests;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use database::connection::DatabaseConnection;
use diesel::prelude::*;

pub use self::problems::{ProblemCount, UploadProblem};
pub use self::rows::{RowFilter, RowKey, RowStatus, UploadRow};
pub use self::work::UploadLease;
use crate::accounts::users::{SignedIn, StoredRole, UserRole};
use crate::base::cause::Cause;
use crate::error::{Refusal, StorageError};
use crate::schema::{providers, upload_problems, upload_rows, uploads, users};
use crate::session::{Provider, ProviderSession, Session};
use problems::NumbersByLine;

/// How long the content of an upload is kept. An hour is left for a server that removes it late, so
/// that it is gone after a day.
const CONTENT_KEPT: TimeDelta = TimeDelta::hours(23);
/// How long a report is kept.
const REPORT_KEPT: TimeDelta = TimeDelta::days(30);
/// The most unsent uploads of a user at a time.
pub const MAX_UPLOADS: i64 = 5;
/// The most uploads that one job removes. Each may have thousands of rows.
const REMOVED_AT_ONCE: i64 = 5;

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
        match &self.organisation {
            Some(organisation) if self.role.may_upload() => Ok(Uploader {
                user_id: self.user_id,
                provider_id: organisation.id,
            }),
            Some(_) | None => Err(Refusal::NotPermitted),
        }
    }
}

/// The user and the organisation of an upload whose rows run.
#[derive(Debug)]
pub struct UploadSender {
    email: String,
    provider: Arc<Provider>,
}

/// The state of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadState {
    /// The rows are stored; the columns can be named.
    Received,
    /// Repairs of cells are found, or the chosen ones are made.
    Preparing,
    /// The user must decide about repairs.
    Prepared,
    /// The rows are checked.
    Checking,
    /// Each row has a result of the check.
    Checked,
    /// The rows are sent.
    Sending,
    /// Each row has its last result.
    Sent,
    /// An erasure has stopped the upload.
    StoppedByErasure,
    /// The user may no longer upload.
    StoppedByRole,
    /// The content was deleted before all rows were sent.
    StoppedByTime,
}

impl UploadState {
    const ALL: [Self; 10] = [
        Self::Received,
        Self::Preparing,
        Self::Prepared,
        Self::Checking,
        Self::Checked,
        Self::Sending,
        Self::Sent,
        Self::StoppedByErasure,
        Self::StoppedByRole,
        Self::StoppedByTime,
    ];
    /// The states during which a server works on the rows.
    const WORKING: [Self; 3] = [Self::Preparing, Self::Checking, Self::Sending];
    /// The last states.
    const ENDED: [Self; 4] = [
        Self::Sent,
        Self::StoppedByErasure,
        Self::StoppedByRole,
        Self::StoppedByTime,
    ];

    /// The name of the state in the table.
    const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Preparing => "preparing",
            Self::Prepared => "prepared",
            Self::Checking => "checking",
            Self::Checked => "checked",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::StoppedByErasure => "stopped_by_erasure",
            Self::StoppedByRole => "stopped_by_role",
            Self::StoppedByTime => "stopped_by_time",
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

    /// Whether a server works on the rows.
    #[must_use]
    pub fn is_working(self) -> bool {
        Self::WORKING.contains(&self)
    }

    /// Whether the upload can be deleted: sending has not begun.
    #[must_use]
    pub fn can_be_deleted(self) -> bool {
        self != Self::Sending && !Self::ENDED.contains(&self)
    }
}

/// The names of states in the table.
fn names(states: &[UploadState]) -> Vec<&'static str> {
    states.iter().map(|state| state.name()).collect()
}

/// An upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRecord {
    /// The number of the upload.
    pub id: i64,
    /// The user and the organisation.
    pub by: Uploader,
    /// The state.
    pub state: UploadState,
    /// The number of rows, without the headings.
    pub rows: i32,
    /// What is known of the file as a whole; blank after it was deleted.
    pub content: String,
    /// When the file was received.
    pub created_at: DateTime<Utc>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = uploads)]
struct StoredUpload {
    id: i64,
    provider_id: i64,
    user_id: i64,
    state: String,
    rows: i32,
    content: String,
    created_at: NaiveDateTime,
}

/// Converts a row of `uploads`. `Err` if the state is unknown.
fn record(stored: StoredUpload) -> Result<UploadRecord, StorageError> {
    Ok(UploadRecord {
        id: stored.id,
        by: Uploader {
            user_id: stored.user_id,
            provider_id: stored.provider_id,
        },
        state: UploadState::stored(&stored.state, stored.id)?,
        rows: stored.rows,
        content: stored.content,
        created_at: stored.created_at.and_utc(),
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

impl Session<'_> {
    /// Adds an upload with its rows. Returns its number.
    ///
    /// # Errors
    ///
    /// [`Refusal::TooManyUploads`].
    pub fn add_upload(
        &mut self,
        by: Uploader,
        content: &str,
        rows: &[UploadRow],
    ) -> Result<i64, StorageError> {
        let unsent = uploads::table
            .filter(is_owned(by))
            .filter(uploads::state.ne_all(names(&UploadState::ENDED)))
            .count()
            .get_result::<i64>(self.connection)?;
        if unsent >= MAX_UPLOADS {
            return Err(Refusal::TooManyUploads.into());
        }
        let id = diesel::insert_into(uploads::table)
            .values((
                uploads::provider_id.eq(by.provider_id),
                uploads::user_id.eq(by.user_id),
                uploads::state.eq(UploadState::Received.name()),
                uploads::rows.eq(i32::try_from(rows.len()).unwrap_or(i32::MAX)),
                uploads::content.eq(content),
                uploads::created_at.eq(self.now().naive_utc()),
            ))
            .returning(uploads::id)
            .get_result(self.connection)?;
        self.put_upload_rows(id, rows, &NumbersByLine::new())?;
        Ok(id)
    }

    /// The uploads of the user in the last day, newest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_uploads(&mut self, by: Uploader) -> Result<Vec<UploadRecord>, StorageError> {
        let found = uploads::table
            .filter(is_owned(by))
            .filter(uploads::created_at.gt((self.now() - CONTENT_KEPT).naive_utc()))
            .order(uploads::id.desc())
            .select(StoredUpload::as_select())
            .load(self.connection)?;
        found.into_iter().map(record).collect()
    }

    /// An upload of the user in the last day; `None` if the user has none with this number.
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
            .filter(uploads::created_at.gt((self.now() - CONTENT_KEPT).naive_utc()))
            .select(StoredUpload::as_select())
            .first(self.connection)
            .optional()?;
        found.map(record).transpose()
    }

    /// Deletes an upload that was not sent. Returns `false` if the user has no such upload.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn delete_upload(&mut self, by: Uploader, id: i64) -> Result<bool, StorageError> {
        let deleted = diesel::delete(uploads::table.find(id))
            .filter(is_owned(by))
            .filter(uploads::sent_at.is_null())
            .execute(self.connection)?;
        Ok(deleted > 0)
    }

    /// The user of an upload whose rows run; `None` if the upload was stopped or deleted, or if the
    /// user may no longer upload for this organisation. Each row asks for this in its own job.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn upload_sender(
        &mut self,
        by: Uploader,
        id: i64,
    ) -> Result<Option<UploadSender>, StorageError> {
        let found = uploads::table
            .inner_join(users::table.inner_join(providers::table))
            .filter(is_owned(by))
            .filter(uploads::id.eq(id))
            .filter(uploads::state.eq_any(names(&UploadState::WORKING)))
            .filter(users::removed_at.is_null())
            .filter(users::provider_id.eq(by.provider_id))
            .filter(providers::closed_at.is_null())
            .select((
                users::email,
                (users::role, users::is_editor),
                (providers::id, providers::ukprn, providers::name),
            ))
            .first::<(String, StoredRole, (i64, String, String))>(self.connection)
            .optional()?;
        let Some((email, role, (id, ukprn, name))) = found else {
            return Ok(None);
        };
        let role = UserRole::from_columns(&role, "users", by.user_id)?;
        let provider = Arc::new(Provider { id, ukprn, name });
        Ok(role
            .may_upload()
            .then_some(UploadSender { email, provider }))
    }

    /// Opens the records of the organisation for changes by the user. The history names the user.
    pub fn open_to_upload<'b>(
        &'b mut self,
        sender: &'b UploadSender,
        cause: Cause<'b>,
    ) -> ProviderSession<'b> {
        self.open(Arc::clone(&sender.provider), cause.by(&sender.email), None)
    }

    /// Removes what has reached its time: unsent uploads, the content of sent ones, and reports.
    /// Returns the number of uploads concerned, up to a limit.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_uploads(&mut self) -> Result<usize, StorageError> {
        let created_before = (self.now() - CONTENT_KEPT).naive_utc();
        let sent_before = (self.now() - REPORT_KEPT).naive_utc();
        let is_unsent = uploads::sent_at.is_null();
        let is_old_report = uploads::sent_at.assume_not_null().le(sent_before);
        let removed = uploads::table
            .filter(uploads::created_at.le(created_before))
            .filter(is_unsent.or(is_old_report))
            .limit(REMOVED_AT_ONCE)
            .select(uploads::id)
            .load::<i64>(self.connection)?;
        let emptied = uploads::table
            .filter(uploads::created_at.le(created_before))
            .filter(uploads::content.ne(""))
            .filter(uploads::id.ne_all(&removed))
            .limit(REMOVED_AT_ONCE)
            .select(uploads::id)
            .load::<i64>(self.connection)?;
        let all = removed.len() + emptied.len();
        diesel::delete(uploads::table.filter(uploads::id.eq_any(removed)))
            .execute(self.connection)?;
        stop(self.connection, &emptied, UploadState::StoppedByTime)?;
        Ok(all)
    }
}

/// Deletes the content of uploads, and stops those that have not ended.
fn stop(
    connection: &mut DatabaseConnection,
    ids: &[i64],
    state: UploadState,
) -> Result<(), StorageError> {
    let running = uploads::table
        .filter(uploads::id.eq_any(ids))
        .filter(uploads::state.ne_all(names(&UploadState::ENDED)));
    diesel::update(running)
        .set(uploads::state.eq(state.name()))
        .execute(connection)?;
    diesel::update(uploads::table.filter(uploads::id.eq_any(ids)))
        .set((
            uploads::content.eq(""),
            uploads::worked_until.eq(None::<NaiveDateTime>),
        ))
        .execute(connection)?;
    diesel::update(upload_rows::table.filter(upload_rows::upload_id.eq_any(ids)))
        .set((
            upload_rows::cells.eq(""),
            upload_rows::details.eq(""),
            upload_rows::problems.eq(""),
        ))
        .execute(connection)?;
    diesel::delete(upload_problems::table.filter(upload_problems::upload_id.eq_any(ids)))
        .execute(connection)?;
    Ok(())
}

impl ProviderSession<'_> {
    /// Stops the provider's uploads, which may contain an erased person, deletes their content, and
    /// removes the lines of the person from reports. `keys` has all keys and identifiers of the
    /// person's trainee.
    pub(crate) fn erase_from_uploads(
        &mut self,
        keys: &BTreeSet<String>,
    ) -> Result<(), StorageError> {
        let provider_id = self.provider().id;
        let all = uploads::table
            .filter(uploads::provider_id.eq(provider_id))
            .select(uploads::id)
            .load::<i64>(self.connection)?;
        let with_content = uploads::table
            .filter(uploads::provider_id.eq(provider_id))
            .filter(uploads::content.ne(""))
            .select(uploads::id)
            .load::<i64>(self.connection)?;
        stop(
            self.connection,
            &with_content,
            UploadState::StoppedByErasure,
        )?;
        let is_of_person = upload_rows::trainee_id
            .assume_not_null()
            .eq_any(keys)
            .or(upload_rows::record_key.assume_not_null().eq_any(keys));
        diesel::delete(upload_rows::table.filter(upload_rows::upload_id.eq_any(all)))
            .filter(is_of_person)
            .execute(self.connection)?;
        Ok(())
    }
}
