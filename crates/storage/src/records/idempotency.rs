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
use database::connection::{DatabaseConnection, execute_deferred, with_inner};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamp};

use crate::error::StorageError;
use crate::locks;
use crate::schema::{idempotency_locks, replies};
use crate::session::{ProviderSession, Session};

/// How long a reply is valid.
const RETENTION: TimeDelta = TimeDelta::hours(24);

/// The status of a blanked reply. Servers of the previous release send blanked replies unchanged.
const BLANK_STATUS: i32 = 404;
/// The number of replies that erasing a trainee loads with one query.
const BATCH: i64 = 500;

/// Removes the replies with these keys and dates on PostgreSQL. One statement removes all of them:
/// with a round trip for each, hundreds of replies would exceed the time limit of a job. The
/// planner assumes short arrays, so the statement finds each reply by an index.
const REMOVE_REPLIES: &str = "DELETE FROM replies \
     USING unnest($1, $2, $3) AS old (provider_id, idempotency_key, created_at) \
     WHERE replies.provider_id = old.provider_id AND replies.idempotency_key = old.idempotency_key \
     AND replies.created_at = old.created_at";

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
    /// Another transaction is handling a request with the key.
    InFlight,
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

    /// Locks a key until the job has ended, and returns the state of the key. Until then, other
    /// requests with the key receive [`KeyState::InFlight`].
    ///
    /// `request_digest` identifies the content of the request. On PostgreSQL the method commits the
    /// earlier statements of the job and continues in a new transaction. Call it before the job
    /// makes changes that must be rolled back with the rest of the job.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn earlier_reply(
        &mut self,
        key: &str,
        request_digest: &str,
    ) -> Result<KeyState, StorageError> {
        let provider = self.provider().id;
        let now = self.now().naive_utc();
        let oldest = now - RETENTION;
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
        let find = |connection: &mut DatabaseConnection| {
            Ok(with_inner!(connection, |inner| reply.get_result::<Found>(inner)).optional()?)
        };
        let found =
            locks::with_idempotency_key_locked(self.connection, provider, key, now, oldest, find)?;
        let Some(found) = found else {
            return Ok(KeyState::InFlight);
        };
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
        // Locks may be lost, for example by a failover, and another request with the key may have
        // stored its reply first. The job is then retried and finds that reply.
        execute_deferred!(self.connection, |inner| kept.execute(inner))?;
        Ok(())
    }
}

impl ProviderSession<'_> {
    /// Blanks the replies that contain one of these identifiers: those of a trainee and of all its
    /// present and former placements and degrees. The keys of the replies stay used.
    ///
    /// The caller must have locked the trainee: all replies about a locked trainee are committed.
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
    /// Removes up to `limit` expired replies, oldest first, and returns the number of removed
    /// replies.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_replies(&mut self, limit: i64) -> Result<usize, StorageError> {
        let oldest = (self.now() - RETENTION).naive_utc();
        let old = replies::table
            .filter(replies::created_at.le(oldest))
            .order(replies::created_at)
            .select((
                replies::provider_id,
                replies::idempotency_key,
                replies::created_at,
            ))
            .limit(limit)
            .load::<(i64, String, NaiveDateTime)>(self.connection)?;
        // A key may have a new reply since the query: remove replies by key and date.
        match &mut *self.connection {
            DatabaseConnection::Postgres(inner) => {
                // One array for each column.
                let (providers, (keys, dates)): (Vec<_>, (Vec<_>, Vec<_>)) = old
                    .into_iter()
                    .map(|(provider, key, created_at)| (provider, (key, created_at)))
                    .unzip();
                let remove = diesel::sql_query(REMOVE_REPLIES)
                    .bind::<Array<BigInt>, _>(providers)
                    .bind::<Array<Text>, _>(keys)
                    .bind::<Array<Timestamp>, _>(dates);
                Ok(remove.execute(inner)?)
            }
            DatabaseConnection::Sqlite(inner) => {
                let mut removed = 0;
                for (provider, key, created_at) in old {
                    let same = replies::table
                        .find((provider, key))
                        .filter(replies::created_at.eq(created_at));
                    removed += diesel::delete(same).execute(inner)?;
                }
                Ok(removed)
            }
        }
    }

    /// Removes up to `limit` rows of locks for keys that were not used recently, oldest first, and
    /// returns the number of removed rows.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_idempotency_locks(&mut self, limit: i64) -> Result<usize, StorageError> {
        // Requests set a new date on rows older than `RETENTION` before they lock them, so no
        // request has locked a row that is older than twice that.
        let oldest = (self.now() - RETENTION * 2).naive_utc();
        let DatabaseConnection::Postgres(inner) = &mut *self.connection else {
            // SQLite needs no locks.
            return Ok(0);
        };
        let old = idempotency_locks::table
            .filter(idempotency_locks::used_at.le(oldest))
            .order(idempotency_locks::used_at)
            .select(idempotency_locks::digest)
            .limit(limit)
            .for_update()
            // Another server may be removing the same rows.
            .skip_locked()
            .load::<String>(inner)?;
        Ok(
            diesel::delete(idempotency_locks::table.filter(idempotency_locks::digest.eq_any(old)))
                .execute(inner)?,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use diesel::connection::SimpleConnection as _;
    use domain::Trn;

    use super::*;
    use crate::base::cause::Cause;
    use crate::error::DatabaseError;
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

    fn with_provider<T: Send + 'static>(
        register: &Register,
        ukprn: &'static str,
        mut job: impl FnMut(&mut ProviderSession<'_>) -> Result<T, StorageError> + Send + 'static,
    ) -> T {
        register
            .write(move |session| {
                job(&mut session.open_provider(ukprn, Cause::new("test"))?.unwrap())
            })
            .unwrap()
    }

    fn earlier(register: &Register, ukprn: &'static str, digest: &'static str) -> KeyState {
        with_provider(register, ukprn, move |session| {
            session.earlier_reply(KEY, digest)
        })
    }

    #[test]
    fn reply_is_found_for_24_hours_by_same_request() {
        let register = Register::with_provider();
        register
            .write(|session| session.add_provider("10000002", "Another"))
            .unwrap();
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::Unused);
        with_provider(&register, UKPRN, |session| {
            session.keep_reply(KEY, "one", &reply())
        });
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::Reply(reply()));
        assert_eq!(earlier(&register, UKPRN, "two"), KeyState::AnotherRequest);
        assert_eq!(earlier(&register, "10000002", "one"), KeyState::Unused);
        // Each job has its own millisecond, so a few milliseconds have already passed.
        register
            .clock
            .advance(TimeDelta::hours(24) - TimeDelta::minutes(1));
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::Reply(reply()));
        register.clock.advance(TimeDelta::minutes(2));
        // A refused request does not remove the old reply.
        let refused = |session: &mut Session<'_>| {
            let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            assert_eq!(session.earlier_reply(KEY, "two")?, KeyState::Unused);
            Err::<(), _>(StorageError::Database(DatabaseError::Closed))
        };
        register.store.write_blocking(refused).unwrap_err();
        with_provider(&register, UKPRN, |session| {
            assert_eq!(session.earlier_reply(KEY, "two")?, KeyState::Unused);
            session.keep_reply(KEY, "two", &reply())
        });
        assert_eq!(earlier(&register, UKPRN, "two"), KeyState::Reply(reply()));
    }

    /// The number of scans of an index in the present transaction.
    #[derive(QueryableByName)]
    struct Scans {
        #[diesel(sql_type = BigInt)]
        scans: i64,
    }

    #[test]
    fn reply_query_planned_on_empty_table_uses_key_index() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        // PostgreSQL estimates the same cost for all indexes of an empty table.
        connect(register.url())
            .batch_execute("VACUUM ANALYZE replies")
            .unwrap();
        let scans = with_provider(&register, UKPRN, |session| {
            session.earlier_reply(KEY, "one")?;
            let query = "SELECT pg_stat_get_xact_numscans('replies_by_age'::regclass) AS scans";
            Ok(diesel::sql_query(query)
                .get_result::<Scans>(session.connection)?
                .scans)
        });
        assert_eq!(scans, 0);
    }

    #[test]
    fn key_is_in_flight_until_its_first_request_is_answered() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            // SQLite runs one write after the other: the second request always finds the reply of
            // the first.
            return;
        }
        let (begun, first_begun) = mpsc::channel();
        let (go_on, first_goes_on) = mpsc::channel::<()>();
        let another = register.another_store();
        let first = thread::spawn(move || {
            another.write_blocking(move |session| {
                let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                assert_eq!(session.earlier_reply(KEY, "one")?, KeyState::Unused);
                begun.send(()).unwrap();
                first_goes_on.recv().unwrap();
                session.keep_reply(KEY, "one", &reply())
            })
        });
        first_begun.recv().unwrap();
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::InFlight);
        assert_eq!(earlier(&register, UKPRN, "two"), KeyState::InFlight);
        let another_key = with_provider(&register, UKPRN, |session| {
            session.earlier_reply("another", "one")
        });
        assert_eq!(another_key, KeyState::Unused);
        go_on.send(()).unwrap();
        first.join().unwrap().unwrap();
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::Reply(reply()));
    }

    #[test]
    fn key_in_flight_is_reported_without_waiting_for_other_locks() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        let (begun, first_begun) = mpsc::channel();
        let (go_on, first_goes_on) = mpsc::channel::<()>();
        let trn: Trn = "1234567".parse().unwrap();
        let first_trn = trn.clone();
        let second_trn = trn;
        let first_store = register.another_store();
        let first = thread::spawn(move || {
            first_store.write_blocking(move |session| {
                let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                assert_eq!(session.earlier_reply(KEY, "one")?, KeyState::Unused);
                locks::lock_trn(session.connection, &first_trn)?;
                // A query sends the deferred statements.
                assert!(locks::try_lock_trn(session.connection, &first_trn)?);
                begun.send(()).unwrap();
                first_goes_on.recv().unwrap();
                Ok::<_, StorageError>(())
            })
        });
        first_begun.recv().unwrap();
        let (answer, second_answer) = mpsc::channel();
        let second_store = register.another_store();
        let second = thread::spawn(move || {
            let mut runs = 0;
            let found = second_store.write_blocking(move |session| {
                runs += 1;
                let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                let found = session.earlier_reply(KEY, "one")?;
                if found == KeyState::Unused {
                    // A handler would continue with these statements.
                    locks::lock_trn(session.connection, &second_trn)?;
                    session.organisations(&["990001".to_owned()], &[], &[])?;
                }
                Ok::<_, StorageError>((found, runs))
            });
            answer.send(found).unwrap();
        });
        let found = second_answer.recv_timeout(Duration::from_secs(20));
        go_on.send(()).unwrap();
        first.join().unwrap().unwrap();
        second.join().unwrap();
        // The job runs once: a retry would clear the token cache of the store.
        assert_eq!(
            found.expect("the second request waits").unwrap(),
            (KeyState::InFlight, 1)
        );
    }

    #[test]
    fn reply_stored_by_another_request_makes_job_run_again() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        // Another request has stored its reply, like after a loss of the locks.
        with_provider(&register, UKPRN, |session| {
            session.keep_reply(KEY, "one", &reply())
        });
        let mut runs = 0;
        let found = with_provider(&register, UKPRN, move |session| {
            runs += 1;
            if runs == 1 {
                session.keep_reply(KEY, "one", &reply())?
            }
            session.earlier_reply(KEY, "one")
        });
        assert_eq!(found, KeyState::Reply(reply()));
    }

    #[test]
    fn expired_replies_are_removed_in_portions() {
        let register = Register::with_provider();
        with_provider(&register, UKPRN, |session| {
            (0..5).try_for_each(|number| {
                session.keep_reply(&format!("old {number}"), "one", &reply())
            })
        });
        register
            .clock
            .advance(TimeDelta::hours(24) + TimeDelta::minutes(1));
        with_provider(&register, UKPRN, |session| {
            session.keep_reply(KEY, "one", &reply())
        });
        let remove = || {
            register
                .write(|session| session.remove_old_replies(3))
                .unwrap()
        };
        assert_eq!((remove(), remove(), remove()), (3, 2, 0));
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::Reply(reply()));
    }
}
