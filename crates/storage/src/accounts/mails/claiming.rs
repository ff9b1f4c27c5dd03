//! Claiming due mails: one server sends a mail at a time.

use chrono::{NaiveDateTime, TimeDelta};
use diesel::dsl::max;
use diesel::prelude::*;

use super::{ExpiringToken, Mail, MailContent, MailKind, REMINDER_DAYS};
use crate::accounts::users::Origin;
use crate::error::StorageError;
use crate::schema::{mails, providers, users};
use crate::session::Session;

/// How long a claimed mail belongs to its server, unless the server renews the claim. After that time
/// another server sends the mail, because the first one has stopped.
const CLAIMED_FOR: TimeDelta = TimeDelta::seconds(8);
/// The pause after the first failed attempt. It doubles with each attempt.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(10);
/// The longest pause between two attempts.
const MAX_PAUSE: TimeDelta = TimeDelta::hours(1);

/// The pages that links can open. Users of other pages get no links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTargets {
    /// Whether the settings of organisations are served.
    pub organisations: bool,
    /// Whether the operators' pages are served.
    pub operators: bool,
}

/// A mail that belongs to the caller for some seconds, and longer if the caller renews the claim.
#[derive(Debug)]
pub struct ClaimedMail {
    /// The number of the mail.
    pub id: i64,
    /// The kind of the mail.
    pub kind: MailKind,
    /// The number of this attempt, from 1.
    pub attempt: i32,
    /// What to do with the mail.
    pub claim: Claim,
}

/// What to do with a claimed mail.
#[derive(Debug)]
pub enum Claim {
    /// Send the mail, then finish or delay it.
    Send(Mail),
    /// Nothing; the mail is finished. The address is unknown, or the invitation or token of the mail
    /// has ended.
    NotNeeded,
    /// Nothing: the mail is too old. It is finished.
    GivenUp,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = mails)]
struct MailRow {
    id: i64,
    kind: String,
    email: Option<String>,
    invitation_id: Option<i64>,
    token_id: Option<i64>,
    user_id: Option<i64>,
    request_id: Option<String>,
    address: Option<String>,
    due_at: NaiveDateTime,
    expires_at: NaiveDateTime,
    attempts: i32,
}

impl Session<'_> {
    /// Whether a mail is due.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_due_mail(&mut self) -> Result<bool, StorageError> {
        Ok(self.due_mail()?.is_some())
    }

    /// Claims the next due mail, and creates its links. Returns `None` if no mail is due, or if
    /// another server claims it at the same time.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn claim_mail(
        &mut self,
        targets: LinkTargets,
    ) -> Result<Option<ClaimedMail>, StorageError> {
        let Some(row) = self.due_mail()? else {
            return Ok(None);
        };
        let now = self.now();
        let unclaimed = mails::table
            .find(row.id)
            .filter(mails::due_at.eq(row.due_at))
            .filter(mails::finished_at.is_null());
        let claimed = diesel::update(unclaimed)
            .set((
                mails::due_at.eq((now + CLAIMED_FOR).naive_utc()),
                mails::attempts.eq(row.attempts + 1),
            ))
            .execute(self.connection)?;
        if claimed == 0 {
            // Another server has claimed or finished the mail since it was read.
            return Ok(None);
        }
        let kind = MailKind::stored(&row.kind, row.id)?;
        let claim = if row.expires_at <= now.naive_utc() {
            Claim::GivenUp
        } else {
            let mail = match kind {
                MailKind::SignIn => self.sign_in_mail(&row, targets)?,
                MailKind::Invitation => self.invitation_mail(&row)?,
                MailKind::TokenExpiry => self.token_expiry_mail(&row)?,
            };
            mail.map_or(Claim::NotNeeded, Claim::Send)
        };
        match (&claim, kind) {
            (Claim::Send(_), _) => {}
            // Only sent mails delay the next one to an address.
            (Claim::NotNeeded | Claim::GivenUp, MailKind::SignIn) => self.remove_mail(row.id)?,
            (Claim::NotNeeded | Claim::GivenUp, MailKind::Invitation | MailKind::TokenExpiry) => {
                self.finish_mail(row.id)?;
            }
        }
        Ok(Some(ClaimedMail {
            id: row.id,
            kind,
            attempt: row.attempts + 1,
            claim,
        }))
    }

    /// Finishes a mail, which is never sent again.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn finish_mail(&mut self, id: i64) -> Result<(), StorageError> {
        diesel::update(mails::table.find(id))
            .set(mails::finished_at.eq(self.now().naive_utc()))
            .execute(self.connection)?;
        Ok(())
    }

    /// Renews the claim of a mail that is still being sent.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn renew_mail_claim(&mut self, id: i64) -> Result<(), StorageError> {
        let due_at = (self.now() + CLAIMED_FOR).naive_utc();
        diesel::update(mails::table.find(id))
            .set(mails::due_at.eq(due_at))
            .execute(self.connection)?;
        Ok(())
    }

    /// Removes a mail that cannot be sent.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_mail(&mut self, id: i64) -> Result<(), StorageError> {
        diesel::delete(mails::table.find(id)).execute(self.connection)?;
        Ok(())
    }

    /// Postpones a mail after a failed attempt, at most until the mail is given up. Returns the
    /// seconds until the next attempt; 0 if the mail was removed.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn delay_mail(&mut self, id: i64, attempt: i32) -> Result<i64, StorageError> {
        let now = self.now();
        let expires_at = mails::table
            .find(id)
            .select(mails::expires_at)
            .first::<NaiveDateTime>(self.connection)
            .optional()?;
        let Some(expires_at) = expires_at else {
            // The user was erased.
            return Ok(0);
        };
        let due_at = (now + pause_after(attempt)).naive_utc().min(expires_at);
        diesel::update(mails::table.find(id))
            .set(mails::due_at.eq(due_at))
            .execute(self.connection)?;
        Ok((due_at - now.naive_utc()).num_seconds())
    }

    /// The next due mail: a sign-in mail, or else a mail of the provider whose last mail was finished
    /// first. `None` if no mail is due.
    fn due_mail(&mut self) -> Result<Option<MailRow>, StorageError> {
        let earlier = diesel::alias!(mails as earlier);
        let last_turn = earlier
            .filter(earlier.field(mails::turn_of).eq(mails::turn_of))
            .select(max(earlier.field(mails::finished_at)))
            .single_value();
        Ok(mails::table
            .filter(mails::finished_at.is_null())
            .filter(mails::due_at.le(self.now().naive_utc()))
            .order((
                mails::turn_of.is_not_null(),
                // A provider without a finished mail comes first.
                last_turn.is_not_null(),
                last_turn,
                mails::due_at,
                mails::id,
            ))
            .select(MailRow::as_select())
            .first(self.connection)
            .optional()?)
    }

    /// The mail with the sign-in links of an address. `None` if the address is unknown.
    fn sign_in_mail(
        &mut self,
        row: &MailRow,
        targets: LinkTargets,
    ) -> Result<Option<Mail>, StorageError> {
        let Some(email) = &row.email else {
            return Ok(None);
        };
        let origin = Origin {
            request_id: row.request_id.as_deref(),
            address: row.address.as_deref(),
        };
        let links = self.add_sign_in_links(email, targets.organisations, targets.operators)?;
        if links.is_empty() {
            return Ok(None);
        }
        if row.attempts == 0 {
            // Later attempts send the same mail, so they add no entry to the activity log.
            self.record_sign_in_links(&links, origin)?;
        }
        Ok(Some(Mail {
            to: email.clone(),
            content: MailContent::SignIn(links),
        }))
    }

    /// The mail of an invitation; `None` if the invitation is used or was removed.
    fn invitation_mail(&mut self, row: &MailRow) -> Result<Option<Mail>, StorageError> {
        let Some(id) = row.invitation_id else {
            return Ok(None);
        };
        let link = self.renew_invitation(id)?;
        Ok(link.map(|link| Mail {
            to: link.email.clone(),
            content: MailContent::Invitation(link),
        }))
    }

    /// The reminder that a token expires. `None` if the token has ended or was replaced, if its
    /// organisation is closed, or if the recipient is no longer an admin.
    fn token_expiry_mail(&mut self, row: &MailRow) -> Result<Option<Mail>, StorageError> {
        let (Some(token_id), Some(user_id)) = (row.token_id, row.user_id) else {
            return Ok(None);
        };
        if self.is_token_replaced(token_id)? {
            return Ok(None);
        }
        let recipient = users::table
            .inner_join(providers::table)
            .filter(users::id.eq(user_id))
            .filter(users::removed_at.is_null())
            .filter(users::role.eq(super::reminders::RECIPIENT.name()))
            .select((users::email, providers::ukprn))
            .first::<(String, String)>(self.connection)
            .optional()?;
        let Some((to, ukprn)) = recipient else {
            return Ok(None);
        };
        // The days are in ascending order.
        let [.., most_days] = REMINDER_DAYS;
        let expiring = self.list_expiring_tokens(Some(&ukprn), most_days)?;
        let token = expiring.into_iter().find(|token| token.id == token_id);
        Ok(token.map(|token| Mail {
            to,
            content: MailContent::TokenExpiry(ExpiringToken {
                name: token.name,
                organisation: token.provider_name,
                expires_on: token.expires_on,
            }),
        }))
    }
}

/// The pause after a failed attempt, counted from 1.
fn pause_after(attempt: i32) -> TimeDelta {
    // The pause reaches its maximum long before this number of doublings.
    const MAX_DOUBLINGS: u32 = 20;
    let doublings = u32::try_from(attempt - 1).unwrap_or(0).min(MAX_DOUBLINGS);
    let factor = 1_i32.checked_shl(doublings).unwrap_or(i32::MAX);
    (FIRST_PAUSE * factor).min(MAX_PAUSE)
}
