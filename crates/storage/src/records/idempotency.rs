//! Replies to requests that carry an idempotency key, so that a client that missed a reply can ask
//! again.
//!
//! A reply is stored in the transaction of the change that it reports: it is there exactly when the
//! change is. Keys belong to a provider. A reply is found for a day; later the key is as good as
//! new.
//!
//! Knows nothing of what requests and replies say, and is given digests of keys, which say nothing
//! of a person. Where a trainee is erased, the replies about the trainee are blanked: their keys
//! stay used, so that a request that is sent again is not carried out again.

use std::collections::BTreeSet;

use chrono::{NaiveDateTime, TimeDelta};
use database::connection::{DatabaseConnection, execute_deferred, with_inner};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamp};

use crate::error::StorageError;
use crate::locks;
use crate::schema::{idempotency_locks, replies};
use crate::session::{ProviderSession, Session};

/// How long a reply is found.
const RETENTION: TimeDelta = TimeDelta::hours(24);

/// The status of a reply that was blanked, for servers of the release before, which send it as it
/// is.
const BLANK_STATUS: i32 = 404;
/// Replies that are looked at together when a trainee is erased.
const BATCH: i64 = 500;

/// Removes the replies with these keys and dates on PostgreSQL: one statement for all, since each
/// would be a round trip, and hundreds of them take longer than a job has. The arrays are taken for
/// short when the statement is planned, so each reply is found by an index.
const REMOVE_REPLIES: &str = "DELETE FROM replies \
     USING unnest($1, $2, $3) AS old (provider_id, idempotency_key, created_at) \
     WHERE replies.provider_id = old.provider_id AND replies.idempotency_key = old.idempotency_key \
     AND replies.created_at = old.created_at";

/// A reply as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReply {
    /// The status.
    pub status: u16,
    /// The headers, each with its name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// What is known of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// It was not used.
    Unused,
    /// The same request was answered.
    Reply(StoredReply),
    /// Another request was answered.
    AnotherRequest,
    /// A request with the key is being handled now.
    InFlight,
    /// A request was answered, about a trainee who was erased since.
    Erased,
}

impl ProviderSession<'_> {
    /// Removes all replies that are kept for the provider, except those about erased trainees.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn forget_replies(&mut self) -> Result<(), StorageError> {
        let kept = replies::table
            .filter(replies::provider_id.eq(self.provider().id))
            .filter(replies::idempotency_key.ge(""))
            .filter(replies::request_digest.ne(""));
        let forgotten = diesel::delete(kept);
        execute_deferred!(self.connection, |inner| forgotten.execute(inner))?;
        Ok(())
    }

    /// What is known of a key. When nothing is, no other request with the key is handled until the
    /// job has ended.
    ///
    /// `request_digest` distinguishes the request from others. On PostgreSQL this commits what the
    /// job has done so far, and goes on in a transaction of its own: it is asked before anything is
    /// changed that depends on the rest of the job.
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
        // Whether it had its day is no part of the query: a plan that PostgreSQL makes while there
        // are no replies would go along all of the day.
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
            // It has had its day and gives its place to the next one.
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

    /// Stores the reply to a request with a key of which [`ProviderSession::earlier_reply`] said in
    /// this job that nothing is known.
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
        // A list of texts is always JSON.
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
        // Where the locks were lost, such as when the database failed over, another request with
        // the key may have been faster: then the job is run again, and finds its reply.
        execute_deferred!(self.connection, |inner| kept.execute(inner))?;
        Ok(())
    }
}

impl ProviderSession<'_> {
    /// Blanks the replies with one of these identifiers: those of a trainee, and of all placements
    /// and degrees that it has or had. Their keys stay used.
    ///
    /// The trainee must be locked: then all replies about it are committed.
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
    /// Removes replies that are no longer found, so many at most, oldest first, and returns how
    /// many there were.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_replies(&mut self, most: i64) -> Result<usize, StorageError> {
        let oldest = (self.now() - RETENTION).naive_utc();
        let old = replies::table
            .filter(replies::created_at.le(oldest))
            .order(replies::created_at)
            .select((
                replies::provider_id,
                replies::idempotency_key,
                replies::created_at,
            ))
            .limit(most)
            .load::<(i64, String, NaiveDateTime)>(self.connection)?;
        // A key may have come to a new reply meanwhile, so each is removed with its date.
        match &mut *self.connection {
            DatabaseConnection::Postgres(inner) => {
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

    /// Removes what was locked for keys that were not used lately, so many at most, oldest first,
    /// and returns how many there were.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_idempotency_locks(&mut self, most: i64) -> Result<usize, StorageError> {
        // Older by a day than those that are dated anew before they are locked, so none of these is
        // locked by a request.
        let oldest = (self.now() - RETENTION * 2).naive_utc();
        let DatabaseConnection::Postgres(inner) = &mut *self.connection else {
            return Ok(0);
        };
        let old = idempotency_locks::table
            .filter(idempotency_locks::used_at.le(oldest))
            .order(idempotency_locks::used_at)
            .select(idempotency_locks::digest)
            .limit(most)
            .for_update()
            // Those that another server removes at the same time.
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
    fn a_reply_is_found_by_the_same_request_of_the_same_provider_for_a_day() {
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
        // Each job has a millisecond of its own, so a few of them have passed already.
        register
            .clock
            .advance(TimeDelta::hours(24) - TimeDelta::minutes(1));
        assert_eq!(earlier(&register, UKPRN, "one"), KeyState::Reply(reply()));
        register.clock.advance(TimeDelta::minutes(2));
        // A request that is refused leaves the old reply where it is.
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

    /// How often the present transaction has looked into an index.
    #[derive(QueryableByName)]
    struct Scans {
        #[diesel(sql_type = BigInt)]
        scans: i64,
    }

    #[test]
    fn a_reply_is_found_by_its_key_also_where_there_was_none_when_the_query_was_planned() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        // Of a table that it has seen empty, PostgreSQL takes all indexes to be worth the same.
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
    fn a_key_is_in_flight_while_its_first_request_is_handled_and_then_its_reply_is_found() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            // Writes come one after the other there: the second request finds the reply of the
            // first.
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
    fn a_key_in_flight_is_reported_without_waiting_for_what_its_first_request_has_locked() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        let (begun, first_begun) = mpsc::channel();
        let (go_on, first_goes_on) = mpsc::channel::<()>();
        let trn: Trn = "1234567".parse().unwrap();
        let (first_trn, second_trn) = (trn.clone(), trn);
        let first_store = register.another_store();
        let first = thread::spawn(move || {
            first_store.write_blocking(move |session| {
                let mut session = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                assert_eq!(session.earlier_reply(KEY, "one")?, KeyState::Unused);
                locks::lock_trn(session.connection, &first_trn)?;
                // A look-up sends the lock, which is deferred.
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
                    // As a handler does that goes on.
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
        // Run once: a job that is run again makes the store forget the tokens that it knows.
        assert_eq!(
            found.expect("the second request waits").unwrap(),
            (KeyState::InFlight, 1)
        );
    }

    #[test]
    fn a_reply_that_was_stored_meanwhile_makes_the_job_run_again() {
        let register = Register::with_provider();
        if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
            return;
        }
        // As when the locks were lost: the reply of the other request is there.
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
    fn replies_that_have_had_their_day_are_removed_a_few_at_a_time() {
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
