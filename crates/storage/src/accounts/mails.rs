//! Mails that the server sends: sign-in links, invitations, and reminders of tokens that expire.
//!
//! A request or a command queues a row, and never waits for a mail. A background task claims due
//! rows one by one ([`Session::claim_mail`]), sends the mail, and finishes or delays the row. A
//! row contains no link: claiming creates the link, so that only its digest is ever stored. A mail
//! whose server stops between sending and finishing is sent again.
//!
//! Sign-in mails are sent first, then the mails of each provider in turn. One request for a sign-in
//! link waits for each address.

mod claiming;
mod queueing;
mod reminders;
#[cfg(test)]
mod tests;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

pub use self::claiming::{Claim, ClaimedMail, LinkTargets};
pub use self::queueing::InvitedByMail;
pub use self::reminders::REMINDER_DAYS;
pub use super::users::{InvitationLink, SignInLink};
use crate::error::StorageError;

/// How long a finished mail is kept. Longer than [`SIGN_IN_PAUSE`].
const KEPT: TimeDelta = TimeDelta::hours(1);
/// The shortest time between two mails with sign-in links to one address. A later request is answered
/// when it has passed, however often links were asked for.
const SIGN_IN_PAUSE: TimeDelta = TimeDelta::minutes(5);
/// The turn of the mails to operators.
const TURN_OF_OPERATORS: i64 = 0;

/// The kind of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailKind {
    /// Links for a user who asked to sign in.
    SignIn,
    /// The link of an invitation.
    Invitation,
    /// A reminder that a token expires.
    TokenExpiry,
}

impl MailKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::SignIn, Self::Invitation, Self::TokenExpiry];

    /// The name of the kind in the table and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Invitation => "invitation",
            Self::TokenExpiry => "token_expiry",
        }
    }

    /// The kind with this name. `Err` with the number of the row if there is no such kind.
    fn stored(name: &str, id: i64) -> Result<Self, StorageError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or(StorageError::CorruptRow { table: "mails", id })
    }
}

/// A mail to send. Contains secrets and personal data; do not log it.
#[derive(Debug)]
pub struct Mail {
    /// The e-mail address of the recipient.
    pub to: String,
    /// The content.
    pub content: MailContent,
}

/// The content of a mail.
#[derive(Debug)]
pub enum MailContent {
    /// Links for a user who asked to sign in, one for each organisation.
    SignIn(Vec<SignInLink>),
    /// The link of an invitation.
    Invitation(InvitationLink),
    /// A reminder that a token expires.
    TokenExpiry(ExpiringToken),
}

/// A token that expires soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiringToken {
    /// The name of the token.
    pub name: String,
    /// The name of its organisation.
    pub organisation: String,
    /// The day of expiry. The token is refused from the start of this day.
    pub expires_on: NaiveDate,
}

/// When a new mail of a kind is given up.
fn expiry(kind: MailKind, now: DateTime<Utc>) -> DateTime<Utc> {
    now + match kind {
        MailKind::SignIn => TimeDelta::minutes(15),
        MailKind::Invitation => TimeDelta::hours(24),
        MailKind::TokenExpiry => TimeDelta::days(5),
    }
}
