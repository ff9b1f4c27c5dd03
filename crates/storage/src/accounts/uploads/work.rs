//! Work on the rows of an upload: one server at a time, under a lease.

use chrono::{NaiveDateTime, TimeDelta};
use diesel::prelude::*;

use super::problems::UploadProblem;
use super::rows::{RowStatus, UploadRow};
use super::{StoredUpload, UploadRecord, UploadState, Uploader, is_owned, names, record};
use crate::error::StorageError;
use crate::schema::{upload_rows, uploads};
use crate::session::Session;

/// How long a server has the rows of an upload after it last stored results.
const LEASED_FOR: TimeDelta = TimeDelta::seconds(30);

/// The right of one server to work on the rows of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadLease {
    /// The number of the upload.
    id: i64,
    until: NaiveDateTime,
}

/// Whether no server has the lease of an upload.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_idle(now: NaiveDateTime) -> _ {
    uploads::worked_until
        .is_null()
        .or(uploads::worked_until.assume_not_null().le(now))
}

impl Session<'_> {
    /// Moves an upload of the user from one of the states `from` to the working state `to`, and
    /// replaces its content. Returns `false` if the user has no such upload, or if it is in another
    /// state.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin_upload_work(
        &mut self,
        (by, id): (Uploader, i64),
        from: &[UploadState],
        to: UploadState,
        content: &str,
    ) -> Result<bool, StorageError> {
        let sent_at = (to == UploadState::Sending).then(|| self.now().naive_utc());
        let begun = diesel::update(uploads::table.find(id))
            .filter(is_owned(by))
            .filter(uploads::state.eq_any(names(from)))
            .set((
                uploads::state.eq(to.name()),
                uploads::content.eq(content),
                uploads::sent_at.eq(sent_at),
                uploads::worked_until.eq(None::<NaiveDateTime>),
            ))
            .execute(self.connection)?;
        Ok(begun > 0)
    }

    /// Whether there is an upload whose rows wait for a server.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_upload_work(&mut self) -> Result<bool, StorageError> {
        Ok(self.find_upload_work()?.is_some())
    }

    /// The upload that has waited longest for a server.
    fn find_upload_work(&mut self) -> Result<Option<StoredUpload>, StorageError> {
        let now = self.now().naive_utc();
        Ok(uploads::table
            .filter(uploads::state.eq_any(names(&UploadState::WORKING)))
            .filter(is_idle(now))
            .order(uploads::id)
            .select(StoredUpload::as_select())
            .first(self.connection)
            .optional()?)
    }

    /// Takes the lease of an upload whose rows wait for a server. Returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn take_upload_lease(
        &mut self,
    ) -> Result<Option<(UploadRecord, UploadLease)>, StorageError> {
        let Some(found) = self.find_upload_work()? else {
            return Ok(None);
        };
        let now = self.now();
        let until = (now + LEASED_FOR).naive_utc();
        // Checked again: another server may take the lease at the same time.
        let taken = diesel::update(uploads::table.find(found.id))
            .filter(uploads::state.eq(&found.state))
            .filter(is_idle(now.naive_utc()))
            .set(uploads::worked_until.eq(until))
            .execute(self.connection)?;
        let lease = UploadLease {
            id: found.id,
            until,
        };
        let taken = (taken > 0).then_some(found);
        Ok(taken.map(record).transpose()?.map(|found| (found, lease)))
    }

    /// Stores rows with their results and problems, and renews the lease. Returns the new lease;
    /// `None`, and stores nothing, if the upload was stopped or deleted, or another server has the
    /// lease.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn store_upload_rows(
        &mut self,
        lease: &UploadLease,
        rows: &[UploadRow],
        problems: &[UploadProblem],
    ) -> Result<Option<UploadLease>, StorageError> {
        // The end identifies the lease, so it must be later than the end of the held lease.
        let usual_end = (self.now() + LEASED_FOR).naive_utc();
        let until = usual_end.max(lease.until + TimeDelta::milliseconds(1));
        let renewed = diesel::update(uploads::table.find(lease.id))
            .filter(uploads::worked_until.eq(lease.until))
            .set(uploads::worked_until.eq(until))
            .execute(self.connection)?;
        if renewed == 0 {
            return Ok(None);
        }
        let numbers = self.number_problems(lease.id, problems)?;
        self.put_upload_rows(lease.id, rows, &numbers)?;
        Ok(Some(UploadLease {
            until,
            ..lease.clone()
        }))
    }

    /// Gives up the lease, and moves the upload to a state. With `content`, replaces the content.
    /// Returns `false` if the upload was stopped or deleted, or another server has the lease.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn finish_upload_work(
        &mut self,
        lease: &UploadLease,
        to: UploadState,
        content: Option<&str>,
    ) -> Result<bool, StorageError> {
        let held = uploads::table
            .find(lease.id)
            .filter(uploads::worked_until.eq(lease.until));
        if let Some(content) = content {
            diesel::update(held)
                .set(uploads::content.eq(content))
                .execute(self.connection)?;
        }
        let finished = diesel::update(held)
            .set((
                uploads::state.eq(to.name()),
                uploads::worked_until.eq(None::<NaiveDateTime>),
            ))
            .execute(self.connection)?;
        if finished > 0 && to == UploadState::Sent {
            self.delete_sent_content(lease.id)?;
        }
        Ok(finished > 0)
    }

    /// Deletes the cells of all rows that did not fail, and the content if no row failed.
    fn delete_sent_content(&mut self, id: i64) -> Result<(), StorageError> {
        let failed = RowStatus::FAILED.map(RowStatus::name);
        let rows = upload_rows::table.filter(upload_rows::upload_id.eq(id));
        diesel::update(rows.filter(upload_rows::status.ne_all(failed)))
            .set((upload_rows::cells.eq(""), upload_rows::details.eq("")))
            .execute(self.connection)?;
        let failed_rows = rows.filter(upload_rows::status.eq_any(failed)).count();
        if failed_rows.get_result::<i64>(self.connection)? == 0 {
            diesel::update(uploads::table.find(id))
                .set(uploads::content.eq(""))
                .execute(self.connection)?;
        }
        Ok(())
    }
}
