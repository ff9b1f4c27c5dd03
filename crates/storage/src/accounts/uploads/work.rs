//! Checking and sending the rows of an upload: one server at a time, under a lease.

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use diesel::prelude::*;

use super::results::UploadResult;
use super::{UPLOAD_KEPT, UploadStage, UploadState, Uploader, is_idle, is_owned};
use crate::error::StorageError;
use crate::schema::{upload_results, uploads};
use crate::session::Session;

/// How long a server has the rows of an upload after it last stored results.
const LEASED_FOR: TimeDelta = TimeDelta::seconds(30);

/// The right of one server to work on the rows of an upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadLease {
    /// The number of the upload.
    pub id: i64,
    /// What is done with the rows.
    pub stage: UploadStage,
    until: NaiveDateTime,
}

impl Session<'_> {
    /// Begins to check the rows, and removes the results of an earlier check. Returns `false` if
    /// the user has no such upload, or if its rows are worked on or sent.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin_upload_check(
        &mut self,
        by: Uploader,
        id: i64,
        repairs: &str,
    ) -> Result<bool, StorageError> {
        let from = [UploadState::Received, UploadState::Checked];
        let begun = self.begin_work(by, id, &from, UploadStage::Check)?;
        if begun {
            diesel::update(uploads::table.find(id))
                .set(uploads::repairs.eq(repairs))
                .execute(self.connection)?;
            diesel::delete(upload_results::table.filter(upload_results::upload_id.eq(id)))
                .execute(self.connection)?;
        }
        Ok(begun)
    }

    /// Begins to send the rows of a checked upload. Returns `false` if the user has no such
    /// upload, or if it is in another state.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin_upload_sending(&mut self, by: Uploader, id: i64) -> Result<bool, StorageError> {
        self.begin_work(by, id, &[UploadState::Checked], UploadStage::Send)
    }

    /// Moves an upload from one of the states `from` to the working state of `stage`. Returns
    /// `false` if the user has no such upload, or if it is in another state.
    fn begin_work(
        &mut self,
        by: Uploader,
        id: i64,
        from: &[UploadState],
        stage: UploadStage,
    ) -> Result<bool, StorageError> {
        let now = self.now();
        let from: Vec<_> = from.iter().map(|state| state.name()).collect();
        let begun = diesel::update(uploads::table.find(id))
            .filter(is_owned(by))
            .filter(uploads::state.eq_any(from))
            .set((
                uploads::state.eq(stage.working().name()),
                uploads::delete_at.eq((now + UPLOAD_KEPT).naive_utc()),
                uploads::worked_until.eq(None::<NaiveDateTime>),
            ))
            .execute(self.connection)?;
        Ok(begun > 0)
    }

    /// Takes the lease of an upload whose rows are checked or sent. Returns `None` if the user has
    /// no such upload, if there is no work, or if a server has the lease.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn take_upload_lease(
        &mut self,
        by: Uploader,
        id: i64,
    ) -> Result<Option<UploadLease>, StorageError> {
        let Some(found) = self.find_upload(by, id)? else {
            return Ok(None);
        };
        let stage = match found.state {
            UploadState::Checking => UploadStage::Check,
            UploadState::Sending => UploadStage::Send,
            UploadState::Received | UploadState::Checked | UploadState::Sent => return Ok(None),
        };
        let now = self.now();
        if found.worked_until.is_some_and(|until| until > now) {
            return Ok(None);
        }
        let until = (now + LEASED_FOR).naive_utc();
        // Checked again: another server may take the lease at the same time.
        let taken = diesel::update(uploads::table.find(id))
            .filter(uploads::state.eq(stage.working().name()))
            .filter(is_idle(now.naive_utc()))
            .set(uploads::worked_until.eq(until))
            .execute(self.connection)?;
        Ok((taken > 0).then_some(UploadLease { id, stage, until }))
    }

    /// Stores the results of rows, and renews the lease. Returns the new lease; `None`, and stores
    /// nothing, if the upload was deleted or another server has the lease.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row has a result of this stage.
    pub fn add_upload_results(
        &mut self,
        lease: &UploadLease,
        results: &[UploadResult],
    ) -> Result<Option<UploadLease>, StorageError> {
        // The end identifies the lease, so it must be later than the end of the held lease.
        let usual_end = (self.now() + LEASED_FOR).naive_utc();
        let until = usual_end.max(lease.until + TimeDelta::milliseconds(1));
        let renewed = diesel::update(uploads::table.find(lease.id))
            .filter(uploads::worked_until.eq(lease.until))
            .set((
                uploads::worked_until.eq(until),
                uploads::delete_at.eq((self.now() + UPLOAD_KEPT).naive_utc()),
            ))
            .execute(self.connection)?;
        if renewed == 0 {
            return Ok(None);
        }
        self.insert_upload_results(lease.id, lease.stage, results)?;
        Ok(Some(UploadLease {
            until,
            ..lease.clone()
        }))
    }

    /// Gives up the lease. No server can take it until the pause is over, and the upload is kept for an
    /// hour. Without the lease, nothing changes.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn delay_upload_work(
        &mut self,
        lease: &UploadLease,
        pause: Duration,
    ) -> Result<(), StorageError> {
        let now = self.now();
        diesel::update(uploads::table.find(lease.id))
            .filter(uploads::worked_until.eq(lease.until))
            .set((
                uploads::worked_until.eq((now + pause).naive_utc()),
                uploads::delete_at.eq((now + UPLOAD_KEPT).naive_utc()),
            ))
            .execute(self.connection)?;
        Ok(())
    }

    /// Finishes the stage: the upload is checked or sent, and deleted in an hour. Returns `false`
    /// if the upload was deleted or another server has the lease.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn finish_upload_work(&mut self, lease: &UploadLease) -> Result<bool, StorageError> {
        let delete_at = (self.now() + UPLOAD_KEPT).naive_utc();
        let finished = diesel::update(uploads::table.find(lease.id))
            .filter(uploads::worked_until.eq(lease.until))
            .set((
                uploads::state.eq(lease.stage.done().name()),
                uploads::delete_at.eq(delete_at),
                uploads::worked_until.eq(None::<NaiveDateTime>),
            ))
            .execute(self.connection)?;
        Ok(finished > 0)
    }
}
