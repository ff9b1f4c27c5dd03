//! The reports of sent uploads, for the users of the organisation.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use super::rows::{RowStatus, count_rows};
use super::{StoredUpload, UploadRecord, record};
use crate::error::StorageError;
use crate::schema::{trainees, upload_rows, uploads, users};
use crate::session::ProviderSession;

/// An upload that was sent, or is being sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadReport {
    /// The upload.
    pub upload: UploadRecord,
    /// When sending began.
    pub sent_at: DateTime<Utc>,
    /// The e-mail address of the user; empty for an erased user.
    pub email: String,
    /// The numbers of rows by status.
    pub counts: Vec<(RowStatus, i64)>,
}

/// A line of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// The first line of the row in the file, from 1.
    pub line: i64,
    /// What has happened to the row.
    pub status: RowStatus,
    /// The provider's key of the trainee.
    pub record_key: Option<String>,
    /// The identifier of the trainee.
    pub trainee_id: Option<String>,
    /// The TRN that the trainee has now.
    pub trn: Option<String>,
}

impl ProviderSession<'_> {
    /// Up to `most` reports before one with a number, newest first; `None` for the first ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_upload_reports(
        &mut self,
        before: Option<i64>,
        most: i64,
    ) -> Result<Vec<UploadReport>, StorageError> {
        let ids = uploads::table
            .filter(uploads::provider_id.eq(self.provider().id))
            .filter(uploads::sent_at.is_not_null())
            .filter(uploads::id.lt(before.unwrap_or(i64::MAX)))
            .order(uploads::id.desc())
            .limit(most)
            .select(uploads::id)
            .load::<i64>(self.connection)?;
        let reports = ids.into_iter().map(|id| self.find_upload_report(id));
        Ok(reports
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// A report of the provider; `None` if there is none with this number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn find_upload_report(&mut self, id: i64) -> Result<Option<UploadReport>, StorageError> {
        let found = uploads::table
            .inner_join(users::table)
            .filter(uploads::provider_id.eq(self.provider().id))
            .filter(uploads::id.eq(id))
            .filter(uploads::sent_at.is_not_null())
            .select((
                StoredUpload::as_select(),
                uploads::sent_at.assume_not_null(),
                users::email,
            ))
            .first::<(StoredUpload, NaiveDateTime, String)>(self.connection)
            .optional()?;
        let Some((stored, sent_at, email)) = found else {
            return Ok(None);
        };
        let upload = record(stored)?;
        Ok(Some(UploadReport {
            counts: count_rows(self.connection, upload.id)?,
            sent_at: sent_at.and_utc(),
            email,
            upload,
        }))
    }

    /// Up to `most` lines of a report after a line.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_report_lines(
        &mut self,
        report: &UploadReport,
        after: i64,
        most: i64,
    ) -> Result<Vec<ReportLine>, StorageError> {
        let id = report.upload.id;
        let provider_id = self.provider().id;
        let is_of_row = trainees::trainee_id
            .nullable()
            .eq(upload_rows::trainee_id)
            .and(trainees::provider_id.eq(provider_id));
        let found = upload_rows::table
            .left_join(trainees::table.on(is_of_row))
            .filter(upload_rows::upload_id.eq(id))
            .filter(upload_rows::line.gt(after))
            .order(upload_rows::line)
            .limit(most)
            .select((
                upload_rows::line,
                upload_rows::status,
                upload_rows::record_key,
                upload_rows::trainee_id,
                trainees::trn.nullable(),
            ))
            .load::<(i64, String, Option<String>, Option<String>, Option<String>)>(
                self.connection,
            )?;
        let mut lines = Vec::with_capacity(found.len());
        for (line, status, record_key, trainee_id, trn) in found {
            lines.push(ReportLine {
                line,
                status: RowStatus::stored(&status, id)?,
                record_key,
                trainee_id,
                trn,
            });
        }
        Ok(lines)
    }
}
