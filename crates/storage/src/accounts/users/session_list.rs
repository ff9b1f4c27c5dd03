//! Management of sessions: a user lists and ends their own, and an admin or a command ends all
//! sessions of a user.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use super::sessions::is_valid;
use super::{ActivityKind, Actor, SignedIn, Subject};
use crate::error::{Refusal, StorageError};
use crate::schema::{sign_in_sessions, users};
use crate::session::Session;

/// A valid session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// The number of the session.
    pub id: i64,
    /// When the user signed in.
    pub began_at: DateTime<Utc>,
    /// When the session was last used, to about a minute.
    pub last_seen_at: DateTime<Utc>,
    /// Whether this is the session of the request.
    pub is_this: bool,
}

impl Session<'_> {
    /// The sessions of the user of the request, newest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn open_sessions(
        &mut self,
        signed_in: &SignedIn,
    ) -> Result<Vec<OpenSession>, StorageError> {
        let rows = sign_in_sessions::table
            .filter(sign_in_sessions::user_id.eq(signed_in.user_id))
            .filter(is_valid(self.now()))
            .order(sign_in_sessions::id.desc())
            .select((
                sign_in_sessions::id,
                sign_in_sessions::created_at,
                sign_in_sessions::last_seen_at,
            ))
            .load::<(i64, NaiveDateTime, NaiveDateTime)>(self.connection)?;
        let open =
            |(id, began_at, last_seen_at): (i64, NaiveDateTime, NaiveDateTime)| OpenSession {
                id,
                began_at: began_at.and_utc(),
                last_seen_at: last_seen_at.and_utc(),
                is_this: id == signed_in.session_id,
            };
        Ok(rows.into_iter().map(open).collect())
    }

    /// Ends a session of the user. Returns whether it was the session of the request.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownSession`]
    pub fn end_own_session(&mut self, signed_in: &SignedIn, id: i64) -> Result<bool, StorageError> {
        let one = sign_in_sessions::table
            .find(id)
            .filter(sign_in_sessions::user_id.eq(signed_in.user_id))
            .filter(sign_in_sessions::ended_at.is_null());
        let now = self.now().naive_utc();
        match diesel::update(one)
            .set(sign_in_sessions::ended_at.eq(now))
            .execute(self.connection)?
        {
            0 => Err(Refusal::UnknownSession.into()),
            _ => Ok(id == signed_in.session_id),
        }
    }

    /// Ends all sessions of a user that the actor may access, effective from the next request. The
    /// user can sign in again. Does nothing if the user has no session.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`]
    pub fn sign_out_user(&mut self, by: Actor<'_>, id: i64) -> Result<(), StorageError> {
        let user = self.user(by, id)?;
        if self.end_sessions_of(id)? == 0 {
            return Ok(());
        }
        let kind = ActivityKind::UserSignedOutEverywhere;
        self.record_activity(by, user.provider_id, kind, Subject::User(id), "")
    }

    /// Signs out all users that the actor may access. Returns the number of users with a session.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn sign_out_all(&mut self, by: Actor<'_>) -> Result<usize, StorageError> {
        let found = sign_in_sessions::table
            .inner_join(users::table)
            .filter(is_valid(self.now()))
            .filter(users::removed_at.is_null())
            .select((users::id, users::provider_id))
            .distinct()
            .load::<(i64, Option<i64>)>(self.connection)?;
        let reached: Vec<_> = found
            .into_iter()
            .filter(|(_, provider_id)| by.reaches(*provider_id))
            .collect();
        for (id, _) in &reached {
            self.sign_out_user(by, *id)?;
        }
        Ok(reached.len())
    }
}
