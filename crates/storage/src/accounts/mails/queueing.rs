//! Queueing mails, and removing finished ones.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::dsl::max;
use diesel::prelude::*;

use super::{KEPT, MailKind, SIGN_IN_PAUSE, TURN_OF_OPERATORS, expiry};
use crate::accounts::users::{Actor, NewInvitation, Origin, UserRole, normalised_email};
use crate::error::StorageError;
use crate::schema::mails;
use crate::session::Session;

/// The most stored requests for sign-in links. Further ones evict the oldest, so that they cannot
/// fill the database.
const MAX_SIGN_IN_ROWS: i64 = 10_000;

/// A person whose invitation is sent by e-mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitedByMail {
    /// The e-mail address of the person, in lower case.
    pub email: String,
    /// The role of the person. A person who already has access keeps the present role.
    pub role: UserRole,
    /// When the link expires.
    pub expires_at: DateTime<Utc>,
}

impl Session<'_> {
    /// Queues a mail with sign-in links for the users with an e-mail address, to be sent at the latest
    /// in [`SIGN_IN_PAUSE`]. The users are looked up when the mail is sent, so this takes the same time
    /// for known and unknown addresses.
    ///
    /// # Errors
    ///
    /// [`Refusal::InvalidEmail`](crate::error::Refusal::InvalidEmail). A unique violation if another
    /// request for the address is queued at the same time: the job runs again and finds it.
    pub fn queue_sign_in_mail(
        &mut self,
        email: &str,
        origin: Origin<'_>,
    ) -> Result<(), StorageError> {
        let email = normalised_email(email)?;
        let now = self.now();
        let to_address = mails::table.filter(mails::email.eq(&email));
        let waiting = to_address.filter(mails::finished_at.is_null());
        let renewed = diesel::update(waiting)
            .set((
                mails::request_id.eq(origin.request_id),
                mails::address.eq(origin.address),
                mails::expires_at.eq(expiry(MailKind::SignIn, now + SIGN_IN_PAUSE).naive_utc()),
            ))
            .execute(self.connection)?;
        if renewed > 0 {
            return Ok(());
        }
        let last_sent = to_address
            .select(max(mails::finished_at))
            .first::<Option<NaiveDateTime>>(self.connection)?;
        let due_at = last_sent.map_or(now, |sent| now.max(sent.and_utc() + SIGN_IN_PAUSE));
        let id = diesel::insert_into(mails::table)
            .values((
                mails::kind.eq(MailKind::SignIn.name()),
                mails::email.eq(&email),
                mails::request_id.eq(origin.request_id),
                mails::address.eq(origin.address),
                mails::created_at.eq(now.naive_utc()),
                mails::due_at.eq(due_at.naive_utc()),
                mails::expires_at.eq(expiry(MailKind::SignIn, due_at).naive_utc()),
            ))
            .returning(mails::id)
            .get_result::<i64>(self.connection)?;
        // The numbers include mails of other kinds, so fewer requests may remain.
        let evicted = mails::table
            .filter(mails::id.le(id - MAX_SIGN_IN_ROWS))
            .filter(mails::kind.eq(MailKind::SignIn.name()));
        diesel::delete(evicted).execute(self.connection)?;
        Ok(())
    }

    /// Like [`Session::invite_user`], but the link is sent by e-mail and expires after 24 hours.
    ///
    /// # Errors
    ///
    /// Those of [`Session::invite_user`].
    pub fn invite_user_by_mail(
        &mut self,
        by: Actor<'_>,
        request: NewInvitation<'_>,
    ) -> Result<InvitedByMail, StorageError> {
        let now = self.now();
        let expires_at = expiry(MailKind::Invitation, now);
        let (invitation_id, invited) = self.add_mailed_invitation(by, request, expires_at)?;
        diesel::insert_into(mails::table)
            .values((
                mails::kind.eq(MailKind::Invitation.name()),
                mails::invitation_id.eq(invitation_id),
                mails::turn_of.eq(invited.provider_id.unwrap_or(TURN_OF_OPERATORS)),
                mails::created_at.eq(now.naive_utc()),
                mails::due_at.eq(now.naive_utc()),
                mails::expires_at.eq(expires_at.naive_utc()),
            ))
            .execute(self.connection)?;
        Ok(InvitedByMail {
            email: invited.email,
            role: invited.role,
            expires_at,
        })
    }

    /// Removes the requests for sign-in links of an e-mail address, for the erasure of its user.
    pub(crate) fn remove_mails_to(&mut self, email: &str) -> Result<(), StorageError> {
        diesel::delete(mails::table.filter(mails::email.eq(email))).execute(self.connection)?;
        Ok(())
    }

    /// Removes up to `most` mails that were finished more than an hour ago. Returns the number of
    /// removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_mails(&mut self, most: i64) -> Result<usize, StorageError> {
        let old = mails::table
            .filter(mails::finished_at.lt((self.now() - KEPT).naive_utc()))
            .limit(most)
            .select(mails::id)
            .load::<i64>(self.connection)?;
        Ok(diesel::delete(mails::table.filter(mails::id.eq_any(old))).execute(self.connection)?)
    }
}
