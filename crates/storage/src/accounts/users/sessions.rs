//! Sessions of browsers. A sign-in begins a session; the user, a timeout or the end of the access
//! ends it.
//!
//! Each request reads the session in its own transaction, so the end of a session takes effect from
//! the next request on all servers.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use diesel::prelude::*;

use super::{ActivityKind, Actor, Origin, SecretDigest, StoredRole, Subject, UserRole};
use crate::error::{Refusal, StorageError};
use crate::schema::{providers, sign_in_sessions, users};
use crate::session::{Provider, Session};

/// How long an unused session lasts.
const MAX_IDLE: TimeDelta = TimeDelta::minutes(30);
/// The longest lifetime of a session.
const MAX_AGE: TimeDelta = TimeDelta::hours(8);
/// The interval between two records of a session's use, so that most requests write nothing.
const SEEN_EVERY: TimeDelta = TimeDelta::minutes(1);

/// A user with a valid session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// The number of the user.
    pub user_id: i64,
    /// The e-mail address.
    pub email: String,
    /// The role of the user.
    pub role: UserRole,
    /// The organisation; `None` for an operator of the service.
    pub organisation: Option<Provider>,
    pub(super) session_id: i64,
    last_seen_at: DateTime<Utc>,
}

impl SignedIn {
    /// The user as an actor who changes the organisation's settings.
    ///
    /// # Errors
    /// [`Refusal::NotPermitted`] unless the user is an admin of an organisation.
    pub fn actor<'a>(&self, origin: Origin<'a>) -> Result<Actor<'a>, Refusal> {
        match (self.role, &self.organisation) {
            (UserRole::Admin, Some(organisation)) => {
                Ok(Actor::user(self.user_id, Some(organisation.id), origin))
            }
            (UserRole::Admin | UserRole::Editor | UserRole::Viewer | UserRole::Operator, _) => {
                Err(Refusal::NotPermitted)
            }
        }
    }

    /// The user as an operator of the service, who may access the data of all organisations.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotPermitted`] for users of organisations.
    pub fn operator<'a>(&self, origin: Origin<'a>) -> Result<Actor<'a>, Refusal> {
        match (self.role, &self.organisation) {
            (UserRole::Operator, None) => Ok(Actor::user(self.user_id, None, origin)),
            (UserRole::Admin | UserRole::Editor | UserRole::Viewer | UserRole::Operator, _) => {
                Err(Refusal::NotPermitted)
            }
        }
    }

    /// Whether the use of the session must be recorded.
    #[must_use]
    pub fn is_use_due(&self, now: DateTime<Utc>) -> bool {
        now - self.last_seen_at >= SEEN_EVERY
    }

    /// The user as an actor, whatever the role, for actions on the user's own sessions.
    fn own_actor<'a>(&self, origin: Origin<'a>) -> Actor<'a> {
        Actor::user(
            self.user_id,
            self.organisation
                .as_ref()
                .map(|organisation| organisation.id),
            origin,
        )
    }
}

/// Whether a session has neither ended nor expired.
#[diesel::dsl::auto_type(no_type_alias)]
pub(super) fn is_valid(now: DateTime<Utc>) -> _ {
    let begun_after: NaiveDateTime = (now - MAX_AGE).naive_utc();
    let seen_after: NaiveDateTime = (now - MAX_IDLE).naive_utc();
    sign_in_sessions::ended_at
        .is_null()
        .and(sign_in_sessions::created_at.gt(begun_after))
        .and(sign_in_sessions::last_seen_at.gt(seen_after))
}

/// A session, its user, the organisation, and the time when the organisation was closed.
type Row = (
    (i64, String, NaiveDateTime),
    (i64, String, StoredRole),
    Option<(i64, String, String)>,
    Option<NaiveDateTime>,
);

impl Session<'_> {
    /// The user of a session; `None` if there is no such session, if it has ended, if the access
    /// was removed, or if the organisation is closed.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn signed_in(&mut self, digest: &SecretDigest) -> Result<Option<SignedIn>, StorageError> {
        let now = self.now();
        let found = sign_in_sessions::table
            .inner_join(users::table.left_join(providers::table))
            .filter(sign_in_sessions::digest.eq(digest.as_hex()))
            .filter(is_valid(now))
            .filter(users::removed_at.is_null())
            .select((
                (
                    sign_in_sessions::id,
                    sign_in_sessions::digest,
                    sign_in_sessions::last_seen_at,
                ),
                (users::id, users::email, (users::role, users::is_editor)),
                (providers::id, providers::ukprn, providers::name).nullable(),
                providers::closed_at.nullable(),
            ))
            .first::<Row>(self.connection)
            .optional()?;
        // The query compared the digests too, but not in constant time.
        let found = found.filter(|((_, stored, _), ..)| digest.is_stored_as(stored));
        let Some(((session_id, _, last_seen_at), (user_id, email, role), organisation, closed_at)) =
            found
        else {
            return Ok(None);
        };
        if closed_at.is_some() {
            return Ok(None);
        }
        Ok(Some(SignedIn {
            user_id,
            email,
            role: UserRole::from_columns(&role, "users", user_id)?,
            organisation: organisation.map(|(id, ukprn, name)| Provider { id, ukprn, name }),
            session_id,
            last_seen_at: last_seen_at.and_utc(),
        }))
    }

    /// Like [`Session::signed_in`], for a job that changes the organisation. Until the transaction
    /// ends, no other request can remove the user, change their role or change the organisation's
    /// settings.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn signed_in_to_change(
        &mut self,
        digest: &SecretDigest,
    ) -> Result<Option<SignedIn>, StorageError> {
        let Some(found) = self.signed_in(digest)? else {
            return Ok(None);
        };
        self.lock_organisation(found.organisation.map(|organisation| organisation.id))?;
        // Read again: a concurrent request may have ended the session.
        self.signed_in(digest)
    }

    /// Records the use of a session, at most once a minute.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn record_session_use(&mut self, signed_in: &SignedIn) -> Result<(), StorageError> {
        if signed_in.is_use_due(self.now()) {
            diesel::update(sign_in_sessions::table.find(signed_in.session_id))
                .set(sign_in_sessions::last_seen_at.eq(self.now().naive_utc()))
                .execute(self.connection)?;
        }
        Ok(())
    }

    /// Ends a session.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn sign_out(&mut self, signed_in: &SignedIn) -> Result<(), StorageError> {
        let open_session = sign_in_sessions::table
            .find(signed_in.session_id)
            .filter(sign_in_sessions::ended_at.is_null());
        diesel::update(open_session)
            .set(sign_in_sessions::ended_at.eq(self.now().naive_utc()))
            .execute(self.connection)?;
        Ok(())
    }

    /// Ends all sessions of the user.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn sign_out_everywhere(
        &mut self,
        signed_in: &SignedIn,
        origin: Origin<'_>,
    ) -> Result<(), StorageError> {
        self.end_sessions_of(signed_in.user_id)?;
        let by = signed_in.own_actor(origin);
        let subject = Subject::User(signed_in.user_id);
        self.record_activity(
            by,
            by.provider_id(),
            ActivityKind::UserSignedOutEverywhere,
            subject,
            "",
        )
    }

    /// Begins a session with a new secret, and ends the session with the digest `replaced`.
    pub(super) fn begin_session(
        &mut self,
        user_id: i64,
        secret: &SecretDigest,
        replaced: Option<&SecretDigest>,
    ) -> Result<(), StorageError> {
        let now = self.now().naive_utc();
        if let Some(replaced) = replaced {
            let old =
                sign_in_sessions::table.filter(sign_in_sessions::digest.eq(replaced.as_hex()));
            diesel::update(old.filter(sign_in_sessions::ended_at.is_null()))
                .set(sign_in_sessions::ended_at.eq(now))
                .execute(self.connection)?;
        }
        diesel::insert_into(sign_in_sessions::table)
            .values((
                sign_in_sessions::digest.eq(secret.as_hex()),
                sign_in_sessions::user_id.eq(user_id),
                sign_in_sessions::created_at.eq(now),
                sign_in_sessions::last_seen_at.eq(now),
            ))
            .execute(self.connection)?;
        Ok(())
    }

    /// Ends all sessions of a user. Returns the number of ended sessions.
    pub(super) fn end_sessions_of(&mut self, user_id: i64) -> Result<usize, StorageError> {
        let all = sign_in_sessions::table.filter(sign_in_sessions::user_id.eq(user_id));
        let ended_at = sign_in_sessions::ended_at.eq(self.now().naive_utc());
        Ok(
            diesel::update(all.filter(sign_in_sessions::ended_at.is_null()))
                .set(ended_at)
                .execute(self.connection)?,
        )
    }

    /// Ends all sessions of the users of an organisation.
    pub(super) fn end_sessions_of_organisation(
        &mut self,
        provider_id: i64,
    ) -> Result<(), StorageError> {
        let user_ids = users::table
            .filter(users::provider_id.eq(provider_id))
            .select(users::id);
        diesel::update(sign_in_sessions::table.filter(sign_in_sessions::user_id.eq_any(user_ids)))
            .filter(sign_in_sessions::ended_at.is_null())
            .set(sign_in_sessions::ended_at.eq(self.now().naive_utc()))
            .execute(self.connection)?;
        Ok(())
    }

    /// Removes up to `most` sessions that have reached their longest lifetime. Returns the number
    /// of removed sessions.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_sign_in_sessions(&mut self, most: i64) -> Result<usize, StorageError> {
        let old = sign_in_sessions::table
            .filter(sign_in_sessions::created_at.lt((self.now() - MAX_AGE).naive_utc()))
            .limit(most)
            .select(sign_in_sessions::id)
            .load::<i64>(self.connection)?;
        let rows = sign_in_sessions::table.filter(sign_in_sessions::id.eq_any(old));
        Ok(diesel::delete(rows).execute(self.connection)?)
    }
}
