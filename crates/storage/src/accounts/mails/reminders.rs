//! Reminders to the admins of a provider before its tokens expire.

use chrono::{DateTime, Utc};
use diesel::dsl::exists;
use diesel::prelude::*;

use super::{MailKind, expiry};
use crate::accounts::tokens::TokenRecord;
use crate::accounts::users::UserRole;
use crate::error::StorageError;
use crate::schema::{mails, token_reminders, users};
use crate::session::Session;

/// The days before the expiry of a token when its reminders are sent, in ascending order.
pub const REMINDER_DAYS: [u32; 2] = [7, 30];
/// The role of users who get reminders.
pub(super) const RECIPIENT: UserRole = UserRole::Admin;
/// Marks a replaced token in `token_reminders`, instead of the days of a reminder.
const REPLACED: i32 = 0;

/// A reminder to queue: the token has reached this number of days before its expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DueReminder {
    token_id: i64,
    provider_id: i64,
    days: u32,
}

impl Session<'_> {
    /// Whether a reminder must be queued.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_due_reminder(&mut self) -> Result<bool, StorageError> {
        Ok(!self.due_reminders()?.is_empty())
    }

    /// Queues the due reminders, one mail for each token and admin of its provider. Returns the
    /// number of mails.
    ///
    /// # Errors
    ///
    /// A unique violation if another server queues the same reminders at the same time.
    pub fn queue_reminders(&mut self) -> Result<usize, StorageError> {
        let now = self.now();
        let mut queued = 0;
        for reminder in self.due_reminders()? {
            self.mark_reminder(reminder.token_id, stored_days(reminder.days))?;
            let admins = users::table
                .filter(users::provider_id.eq(reminder.provider_id))
                .filter(users::role.eq(RECIPIENT.name()))
                .filter(users::removed_at.is_null())
                .order(users::id)
                .select(users::id)
                .load::<i64>(self.connection)?;
            for user_id in admins {
                queued += diesel::insert_into(mails::table)
                    .values((
                        mails::kind.eq(MailKind::TokenExpiry.name()),
                        mails::token_id.eq(reminder.token_id),
                        mails::user_id.eq(user_id),
                        mails::turn_of.eq(reminder.provider_id),
                        mails::created_at.eq(now.naive_utc()),
                        mails::due_at.eq(now.naive_utc()),
                        mails::expires_at.eq(expiry(MailKind::TokenExpiry, now).naive_utc()),
                    ))
                    .execute(self.connection)?;
            }
        }
        Ok(queued)
    }

    /// Marks a token as replaced, so that its provider gets no more reminders.
    pub(crate) fn end_reminders(&mut self, token_id: i64) -> Result<(), StorageError> {
        if self.is_token_replaced(token_id)? {
            return Ok(());
        }
        self.mark_reminder(token_id, REPLACED)
    }

    /// Whether a token was replaced by another one.
    pub(super) fn is_token_replaced(&mut self, token_id: i64) -> Result<bool, StorageError> {
        self.has_reminder(token_id, REPLACED)
    }

    /// The reminders of tokens that reached their days and were neither reminded of nor replaced.
    fn due_reminders(&mut self) -> Result<Vec<DueReminder>, StorageError> {
        let now = self.now();
        // The days are in ascending order.
        let [.., most_days] = REMINDER_DAYS;
        let mut due = Vec::new();
        for token in self.list_expiring_tokens(None, most_days)? {
            let Some(days) = reached_days(&token, now) else {
                continue;
            };
            if self.is_token_replaced(token.id)?
                || self.has_reminder(token.id, stored_days(days))?
            {
                continue;
            }
            due.push(DueReminder {
                token_id: token.id,
                provider_id: token.provider_id,
                days,
            });
        }
        Ok(due)
    }

    /// Whether a token is marked with `days_left`: the days of a reminder, or [`REPLACED`].
    fn has_reminder(&mut self, token_id: i64, days_left: i32) -> Result<bool, StorageError> {
        let marker = token_reminders::table.find((token_id, days_left));
        Ok(diesel::select(exists(marker)).get_result(self.connection)?)
    }

    /// Marks a token with `days_left`: the days of a queued reminder, or [`REPLACED`].
    fn mark_reminder(&mut self, token_id: i64, days_left: i32) -> Result<(), StorageError> {
        diesel::insert_into(token_reminders::table)
            .values((
                token_reminders::token_id.eq(token_id),
                token_reminders::days_left.eq(days_left),
                token_reminders::queued_at.eq(self.now().naive_utc()),
            ))
            .execute(self.connection)?;
        Ok(())
    }
}

/// The first entry of [`REMINDER_DAYS`] that exceeds the days left of a token. `None` if there is
/// none, or if the token already had fewer days left than this entry when it was issued.
fn reached_days(token: &TokenRecord, now: DateTime<Utc>) -> Option<u32> {
    REMINDER_DAYS
        .into_iter()
        .find(|days| token.expires_within(*days, now))
        .filter(|days| !token.expires_within(*days, token.created_at))
}

/// The days of a reminder as a value of the column `days_left`.
fn stored_days(days: u32) -> i32 {
    i32::try_from(days).unwrap_or(i32::MAX)
}
