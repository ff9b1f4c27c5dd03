//! Stored replies to requests with an idempotency key. A client that missed a reply can repeat the
//! request and receives the stored reply.
//!
//! The transaction of a change also stores the reply that reports it. Keys belong to a provider. A
//! reply is valid for 24 hours; after that the key is unused again.
//!
//! This module does not interpret requests and replies. Callers pass digests of keys, which contain
//! no personal data. Erasing a trainee blanks the replies about the trainee. Their keys stay used,
//! so that a repeated request is not carried out again.

use std::collections::BTreeSet;

use chrono::{NaiveDateTime, TimeDelta};
use database::connection::{execute_deferred, with_inner};
use diesel::prelude::*;

use crate::error::StorageError;
use crate::schema::replies;
use crate::session::{ProviderSession, Session};

/// How long a reply is valid.
const RETENTION: TimeDelta = TimeDelta::hours(24);

/// The status of a blanked reply. Servers of the previous release send blanked replies unchanged.
const BLANK_STATUS: i32 = 404;
/// The number of replies that erasing a trainee loads with one query.
const BATCH: i64 = 500;

/// A reply as the server sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReply {
    /// The status code.
    pub status: u16,
    /// The names and values of the headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// The state of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// No request has used the key.
    Unused,
    /// An identical request was answered with this reply.
    Reply(StoredReply),
    /// Another request with the key was answered.
    AnotherRequest,
    /// A request with the key was answered. The trainee of its reply was erased after that.
    Erased,
}

impl ProviderSession<'_> {
    /// Removes all stored replies of the provider, except blanked ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn forget_replies(&mut self) -> Result<(), StorageError> {
        let not_blank = replies::table
            .filter(replies::provider_id.eq(self.provider().id))
            // All keys: the condition leads the planner to the index of keys.
            .filter(replies::idempotency_key.ge(""))
            .filter(replies::request_digest.ne(""));
        let forgotten = diesel::delete(not_blank);
        execute_deferred!(self.connection, |inner| forgotten.execute(inner))?;
        Ok(())
    }

    /// Returns the state of a key. Locks the provider, so that a repeated request waits for the first
    /// one and finds its reply. `request_digest` identifies the content of the request.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn earlier_reply(
        &mut self,
        key: &str,
        request_digest: &str,
    ) -> Result<KeyState, StorageError> {
        self.lock_records()?;
        let provider = self.provider().id;
        let oldest = self.now().naive_utc() - RETENTION;
        // The query does not filter by date: PostgreSQL, planning it while the table is empty,
        // might choose the index by date and scan all replies of the day.
        let reply = replies::table.find((provider, key)).select((
            replies::created_at,
            (
                replies::request_digest,
                replies::status,
                replies::headers,
                replies::body,
            ),
        ));
        type Found = (NaiveDateTime, (String, i32, String, String));
        let found =
            with_inner!(self.connection, |inner| reply.get_result::<Found>(inner)).optional()?;
        let Some((created_at, (digest, status, headers, body))) = found else {
            return Ok(KeyState::Unused);
        };
        if created_at <= oldest {
            // The reply has expired: make room for the next one.
            let old = diesel::delete(replies::table.find((provider, key)));
            execute_deferred!(self.connection, |inner| old.execute(inner))?;
            return Ok(KeyState::Unused);
        }
        if digest.is_empty() {
            return Ok(KeyState::Erased);
        }
        if digest != request_digest {
            return Ok(KeyState::AnotherRequest);
        }
        let corrupt = || StorageError::CorruptRow {
            table: "replies",
            id: provider,
        };
        Ok(KeyState::Reply(StoredReply {
            status: u16::try_from(status).map_err(|_| corrupt())?,
            headers: serde_json::from_str(&headers).map_err(|_| corrupt())?,
            body,
        }))
    }

    /// Stores the reply to a request. Call [`ProviderSession::earlier_reply`] first in the same
    /// job, and this method only if it returned [`KeyState::Unused`].
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn keep_reply(
        &mut self,
        key: &str,
        request_digest: &str,
        reply: &StoredReply,
    ) -> Result<(), StorageError> {
        let provider = self.provider().id;
        // Serializing a list of texts cannot fail.
        let headers = serde_json::to_string(&reply.headers).unwrap_or_default();
        let kept = diesel::insert_into(replies::table).values((
            replies::provider_id.eq(provider),
            replies::idempotency_key.eq(key),
            replies::request_digest.eq(request_digest),
            replies::status.eq(i32::from(reply.status)),
            replies::headers.eq(headers),
            replies::body.eq(reply.body.as_str()),
            replies::created_at.eq(self.now().naive_utc()),
        ));
        execute_deferred!(self.connection, |inner| kept.execute(inner))?;
        Ok(())
    }
}

impl ProviderSession<'_> {
    /// Blanks the replies that contain one of these identifiers: those of a trainee and of all its
    /// present and former placements and degrees. The keys of the replies stay used.
    ///
    /// The caller must have locked the provider: all replies about its trainees are committed.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub(crate) fn blank_replies(&mut self, ids: &BTreeSet<String>) -> Result<(), StorageError> {
        let provider = self.provider().id;
        let mut last = String::new();
        loop {
            let page = replies::table
                .filter(replies::provider_id.eq(provider))
                .filter(replies::idempotency_key.gt(&last))
                .order(replies::idempotency_key)
                .limit(BATCH)
                .select((replies::idempotency_key, replies::headers, replies::body))
                .load::<(String, String, String)>(self.connection)?;
            let Some((end, ..)) = page.last() else {
                return Ok(());
            };
            last.clone_from(end);
            let about = |(_, headers, body): &(String, String, String)| {
                ids.iter()
                    .any(|id| headers.contains(id) || body.contains(id))
            };
            for (key, ..) in page.into_iter().filter(about) {
                diesel::update(replies::table.find((provider, key)))
                    .set((
                        replies::request_digest.eq(""),
                        replies::status.eq(BLANK_STATUS),
                        replies::headers.eq("[]"),
                        replies::body.eq(""),
                    ))
                    .execute(self.connection)?;
            }
        }
    }
}

impl Session<'_> {
    /// Removes up to `limit` expired replies of the provider with the oldest one, and returns their
    /// number; 0 when no reply has expired.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_replies(&mut self, limit: i64) -> Result<usize, StorageError> {
        let oldest = (self.now() - RETENTION).naive_utc();
        let expired = replies::table.filter(replies::created_at.le(oldest));
        let provider = expired
            .order(replies::created_at)
            .select(replies::provider_id)
            .first::<i64>(self.connection)
            .optional()?;
        let Some(provider) = provider else {
            return Ok(0);
        };
        self.lock_provider(provider)?;
        let keys = expired
            .filter(replies::provider_id.eq(provider))
            .order(replies::created_at)
            .limit(limit)
            .select(replies::idempotency_key)
            .load::<String>(self.connection)?;
        let old = replies::table
            .filter(replies::provider_id.eq(provider))
            .filter(replies::idempotency_key.eq_any(keys));
        Ok(diesel::delete(old).execute(self.connection)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use database::connection::DatabaseConnection;
    use diesel::connection::SimpleConnection as _;
    use diesel::sql_types::BigInt;

    use super::*;
    use crate::base::cause::Cause;
    use crate::testing::filled::connect;
    use crate::testing::{Register, UKPRN};

    const KEY: &str = "3f1c";

    fn reply() -> StoredReply {
        let headers = vec![("etag".to_owned(), "\"1\"".to_owned())];
        StoredReply {
            status: 201,
            headers,
            body: "{\"data\":{}}".to_owned(),
        }
    }

    fn earlier(register: &Register, digest: &'static str) -> KeyState {
        register.in_provider(UKPRN, move |session| session.earlier_reply(KEY, digest))
    }

    /// The number of scans of an index in the present transaction.
    #[derive(QueryableByName)]
    struct Scans {
        #[diesel(sql_type = BigInt)]
        scans: i64,
    }

    #[test]
    fn reply_query_uses_key_index() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        // PostgreSQL estimates the same cost for all indexes of an empty table.
        connect(register.url())
            .batch_execute("VACUUM ANALYZE replies")
            .unwrap();
        let scans = register.in_provider(UKPRN, |session| {
            session.earlier_reply(KEY, "one")?;
            let query = "SELECT pg_stat_get_xact_numscans('replies_by_age'::regclass) AS scans";
            Ok(diesel::sql_query(query)
                .get_result::<Scans>(session.connection)?
                .scans)
        });
        assert_eq!(scans, 0);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits on a thread of its own"
    )]
    fn repeated_request_waits_for_the_first() {
        let register = Register::with_provider();
        let (begun, first_begun) = mpsc::channel();
        let (go_on, first_goes_on) = mpsc::channel::<()>();
        let first_store = register.another_store();
        let first = thread::spawn(move || {
            first_store.write_blocking(move |session| {
                let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                assert_eq!(session.earlier_reply(KEY, "one")?, KeyState::Unused);
                begun.send(()).unwrap();
                first_goes_on.recv().unwrap();
                session.keep_reply(KEY, "one", &reply())
            })
        });
        first_begun.recv().unwrap();
        let second = thread::spawn(move || {
            let found = earlier(&register, "one");
            assert_eq!(found, KeyState::Reply(reply()));
        });
        thread::sleep(Duration::from_millis(200));
        assert!(!second.is_finished());
        go_on.send(()).unwrap();
        first.join().unwrap().unwrap();
        second.join().unwrap();
    }

    #[test]
    fn expired_replies_are_removed_in_portions() {
        let register = Register::with_provider();
        register.in_provider(UKPRN, |session| {
            (0..5).try_for_each(|number| {
                session.keep_reply(&format!("old {number}"), "one", &reply())
            })
        });
        register
            .clock
            .advance(TimeDelta::hours(24) + TimeDelta::minutes(1));
        register.in_provider(UKPRN, |session| session.keep_reply(KEY, "one", &reply()));
        let remove = || {
            register
                .write(|session| session.remove_old_replies(3))
                .unwrap()
        };
        assert_eq!((remove(), remove(), remove()), (3, 2, 0));
        assert_eq!(earlier(&register, "one"), KeyState::Reply(reply()));
    }
}
