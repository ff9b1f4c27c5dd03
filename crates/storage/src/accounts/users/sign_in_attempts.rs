//! The state of sign-ins by OpenID Connect: attempts, while the browser is at the issuer, and
//! choices, while the user chooses one of several organisations. Each is used once, within 10
//! minutes, and only by the browser that began it.

use std::fmt;

use chrono::{NaiveDateTime, TimeDelta};
use diesel::prelude::*;

use super::{Identity, Secret, SecretDigest, UserRole};
use crate::error::{Refusal, StorageError};
use crate::schema::{sign_in_attempts, sign_in_choices};
use crate::session::Session;

/// How long an attempt or a choice is valid.
const VALID_FOR: TimeDelta = TimeDelta::minutes(10);
/// The most stored attempts, and the most stored choices. Further ones evict the oldest, so that
/// they cannot fill the database.
const MAX_ROWS: i64 = 10_000;
/// Separates the UKPRNs of a claim.
const SEPARATOR: &str = ",";

/// The secrets of a new attempt.
#[derive(Debug)]
pub struct BegunSignIn {
    /// The `state` parameter, which the issuer returns with its answer.
    pub state: Secret,
    /// The value of the browser's cookie.
    pub browser: Secret,
    /// The `nonce` claim of the ID token.
    pub nonce: Secret,
    /// The PKCE code verifier, which proves to the issuer that the redeemer of the code has begun
    /// the attempt (RFC 7636).
    pub code_verifier: Secret,
}

/// The values for checking the answer of the issuer.
pub struct SignInAttempt {
    /// The `nonce` claim of the ID token.
    pub nonce: String,
    /// The PKCE code verifier, sent to the issuer with the code.
    pub code_verifier: String,
}

impl fmt::Debug for SignInAttempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SignInAttempt(hidden)")
    }
}

/// The number, both digests, the nonce and the code verifier of an attempt.
type AttemptRow = (i64, String, String, String, String);
/// A choice: its number and digests, and the stored identity.
type ChoiceRow = (
    (i64, String, String),
    (String, String, Option<String>, String, String, bool),
);

impl Session<'_> {
    /// Begins an attempt.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin_sign_in(&mut self) -> Result<BegunSignIn, StorageError> {
        let begun = BegunSignIn {
            state: Secret::generate()?,
            browser: Secret::generate()?,
            nonce: Secret::generate()?,
            code_verifier: Secret::generate()?,
        };
        let id = diesel::insert_into(sign_in_attempts::table)
            .values((
                sign_in_attempts::digest.eq(SecretDigest::from_text(begun.state.reveal()).as_hex()),
                sign_in_attempts::browser_digest
                    .eq(SecretDigest::from_text(begun.browser.reveal()).as_hex()),
                sign_in_attempts::nonce.eq(begun.nonce.reveal()),
                sign_in_attempts::code_verifier.eq(begun.code_verifier.reveal()),
                sign_in_attempts::expires_at.eq(self.ends_at()),
            ))
            .returning(sign_in_attempts::id)
            .get_result::<i64>(self.connection)?;
        // Evicts the oldest attempts.
        diesel::delete(sign_in_attempts::table.filter(sign_in_attempts::id.le(id - MAX_ROWS)))
            .execute(self.connection)?;
        Ok(begun)
    }

    /// Takes an attempt, so that it cannot be used again. Does not change an attempt of another
    /// browser.
    ///
    /// # Errors
    ///
    /// [`Refusal::SignInNotUsable`] if another browser began the attempt, or if it has expired or
    /// was used.
    pub fn take_sign_in_attempt(
        &mut self,
        state: &SecretDigest,
        browser: &SecretDigest,
    ) -> Result<SignInAttempt, StorageError> {
        let found = sign_in_attempts::table
            .filter(sign_in_attempts::digest.eq(state.as_hex()))
            .filter(sign_in_attempts::expires_at.gt(self.now().naive_utc()))
            .select((
                sign_in_attempts::id,
                sign_in_attempts::digest,
                sign_in_attempts::browser_digest,
                sign_in_attempts::nonce,
                sign_in_attempts::code_verifier,
            ))
            .first::<AttemptRow>(self.connection)
            .optional()?;
        let found = found.filter(|(_, stored_state, stored_browser, ..)| {
            state.is_stored_as(stored_state) && browser.is_stored_as(stored_browser)
        });
        let (id, _, _, nonce, code_verifier) = found.ok_or(Refusal::SignInNotUsable)?;
        require_deleted(
            diesel::delete(sign_in_attempts::table.find(id)).execute(self.connection)?,
        )?;
        Ok(SignInAttempt {
            nonce,
            code_verifier,
        })
    }

    /// Stores an identity until its user has chosen an organisation. Returns the secret for the
    /// form of the choice.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin_choice(
        &mut self,
        identity: &Identity,
        browser: &SecretDigest,
    ) -> Result<Secret, StorageError> {
        let secret = Secret::generate()?;
        let id = diesel::insert_into(sign_in_choices::table)
            .values((
                sign_in_choices::digest.eq(SecretDigest::from_text(secret.reveal()).as_hex()),
                sign_in_choices::browser_digest.eq(browser.as_hex()),
                sign_in_choices::issuer.eq(&identity.issuer),
                sign_in_choices::subject.eq(&identity.subject),
                sign_in_choices::email.eq(&identity.email),
                sign_in_choices::ukprns.eq(identity.ukprns.join(SEPARATOR)),
                sign_in_choices::role.eq(identity.role.name()),
                sign_in_choices::is_operator.eq(identity.is_operator),
                sign_in_choices::expires_at.eq(self.ends_at()),
            ))
            .returning(sign_in_choices::id)
            .get_result::<i64>(self.connection)?;
        // Evicts the oldest choices.
        diesel::delete(sign_in_choices::table.filter(sign_in_choices::id.le(id - MAX_ROWS)))
            .execute(self.connection)?;
        Ok(secret)
    }

    /// Whether a session with this secret is valid. The user then pressed the button of a choice
    /// twice, and the first request began the session.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_begun(&mut self, session: &SecretDigest) -> Result<bool, StorageError> {
        Ok(self.signed_in(session)?.is_some())
    }

    /// Takes a choice, so that it cannot be used again, and returns its identity.
    ///
    /// # Errors
    ///
    /// [`Refusal::SignInNotUsable`] if the choice belongs to another browser, has expired, or was
    /// used.
    pub fn take_choice(
        &mut self,
        secret: &SecretDigest,
        browser: &SecretDigest,
    ) -> Result<Identity, StorageError> {
        let found = sign_in_choices::table
            .filter(sign_in_choices::digest.eq(secret.as_hex()))
            .filter(sign_in_choices::expires_at.gt(self.now().naive_utc()))
            .select((
                (
                    sign_in_choices::id,
                    sign_in_choices::digest,
                    sign_in_choices::browser_digest,
                ),
                (
                    sign_in_choices::issuer,
                    sign_in_choices::subject,
                    sign_in_choices::email,
                    sign_in_choices::ukprns,
                    sign_in_choices::role,
                    sign_in_choices::is_operator,
                ),
            ))
            .first::<ChoiceRow>(self.connection)
            .optional()?;
        let found = found.filter(|((_, stored_secret, stored_browser), _)| {
            secret.is_stored_as(stored_secret) && browser.is_stored_as(stored_browser)
        });
        let ((id, ..), (issuer, subject, email, ukprns, role, is_operator)) =
            found.ok_or(Refusal::SignInNotUsable)?;
        require_deleted(diesel::delete(sign_in_choices::table.find(id)).execute(self.connection)?)?;
        let ukprns = ukprns
            .split(SEPARATOR)
            .filter(|ukprn| !ukprn.is_empty())
            .map(str::to_owned)
            .collect();
        // A claim makes a person an admin or a viewer, but not an editor.
        let role = UserRole::from_columns(&(role, false), "sign_in_choices", id)?;
        Ok(Identity {
            issuer,
            subject,
            email,
            ukprns,
            role,
            is_operator,
        })
    }

    /// Removes up to `most` expired attempts and choices. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_sign_in_attempts(&mut self, most: i64) -> Result<usize, StorageError> {
        let now = self.now().naive_utc();
        let attempts = sign_in_attempts::table
            .filter(sign_in_attempts::expires_at.lt(now))
            .limit(most)
            .select(sign_in_attempts::id)
            .load::<i64>(self.connection)?;
        let choices = sign_in_choices::table
            .filter(sign_in_choices::expires_at.lt(now))
            .limit(most)
            .select(sign_in_choices::id)
            .load::<i64>(self.connection)?;
        let attempts = sign_in_attempts::table.filter(sign_in_attempts::id.eq_any(attempts));
        let choices = sign_in_choices::table.filter(sign_in_choices::id.eq_any(choices));
        Ok(diesel::delete(attempts).execute(self.connection)?
            + diesel::delete(choices).execute(self.connection)?)
    }

    /// The end of the validity of an attempt or a choice that begins now.
    fn ends_at(&self) -> NaiveDateTime {
        (self.now() + VALID_FOR).naive_utc()
    }
}

/// Fails unless one row was deleted: a concurrent request has taken the row.
fn require_deleted(rows: usize) -> Result<(), Refusal> {
    if rows == 1 {
        Ok(())
    } else {
        Err(Refusal::SignInNotUsable)
    }
}
