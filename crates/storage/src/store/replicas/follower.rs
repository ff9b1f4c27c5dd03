//! Knows how far a standby is: a thread asks it, often while requests wait for it, otherwise a few times a second.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use metrics::gauge;
use tokio::sync::watch;

use crate::change_generation::Generation;
use crate::change_position::log_position;
use crate::connection::{Connections, DatabaseConnection, PROBE_TIMEOUT};
use crate::error::StorageError;
use crate::metrics::REPLICA_LAG;
use crate::session::PrimaryPosition;

/// How often a standby is looked at while requests wait for it.
const PAUSE_WHILE_WANTED: Duration = Duration::from_millis(2);
/// How often otherwise.
const PAUSE: Duration = Duration::from_millis(250);
/// How often it is asked whom it has followed.
const PAUSE_OF_FOLLOWED: Duration = Duration::from_secs(1);

/// How far a standby is.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Up to where it has replayed the log; `None` while it is away, or is no standby.
    replayed: Option<u64>,
    /// Of which servers it is a standby, or was.
    followed: Followed,
}

/// Whom a standby has followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Followed {
    /// The generation of the register: that of another register is another one.
    register: String,
    /// The timelines of the primaries.
    timelines: BTreeSet<String>,
}

impl Followed {
    fn has(&self, primary: &PrimaryPosition) -> bool {
        let Generation { register, timeline } = &primary.generation;
        // A timeline that it has left is one of a server before.
        !register.is_empty() && self.register == *register && self.timelines.last() == Some(timeline)
    }
}

impl Seen {
    /// Whether it has all that the primary had written.
    fn has(&self, primary: &PrimaryPosition) -> bool {
        self.replayed.is_some_and(|replayed| replayed >= primary.written) && self.followed.has(primary)
    }
}

/// Knows how far a standby is.
#[derive(Debug)]
pub(super) struct Follower {
    seen: watch::Sender<Seen>,
    wanted: Mutex<Wanted>,
    wakes: Condvar,
    max_lag: Duration,
}

/// What requests want of a standby.
#[derive(Debug, Default)]
struct Wanted {
    /// The requests that wait.
    waiting: usize,
    /// The first position that it has not come to, and since when it is wanted.
    behind: Option<(u64, Instant)>,
}

impl Follower {
    pub(super) fn start(number: usize, connections: Connections, max_lag: Duration) -> Result<Arc<Self>, StorageError> {
        let follower = Arc::new(Self {
            seen: watch::Sender::new(Seen::default()),
            wanted: Mutex::default(),
            wakes: Condvar::new(),
            max_lag,
        });
        let followed = Arc::downgrade(&follower);
        let thread = thread::Builder::new().name(format!("replica {number}"));
        thread.spawn(move || look_after(number, &connections, &followed)).map_err(StorageError::Thread)?;
        Ok(follower)
    }

    /// Up to where the standby had replayed the log when it was last looked at.
    pub(super) fn replayed(&self) -> Option<u64> {
        self.seen.borrow().replayed
    }

    /// Whether the standby has replayed what the primary had written.
    pub(super) fn is_there(&self, primary: &PrimaryPosition) -> bool {
        self.seen.borrow().has(primary)
    }

    /// Whether it may come there.
    pub(super) fn is_on_the_way(&self, primary: &PrimaryPosition) -> bool {
        let seen = self.seen.borrow();
        seen.replayed.is_some() && seen.followed.has(primary)
    }

    /// Whether it comes there within the time that a request waits for it.
    pub(super) async fn comes(&self, primary: &PrimaryPosition) -> bool {
        let Some(patience) = self.begin_to_wait(primary.written) else { return false };
        let _waiting = Waiting(self);
        let mut seen = self.seen.subscribe();
        tokio::time::timeout(patience, seen.wait_for(|seen| seen.has(primary))).await.is_ok_and(|seen| seen.is_ok())
    }

    /// Leaves the standby out until it was looked at again.
    pub(super) fn leave_out(&self) {
        self.seen.send_replace(Seen::default());
    }

    /// How long a request may wait for a position; `None` while the standby is too far behind.
    fn begin_to_wait(&self, position: u64) -> Option<Duration> {
        let mut wanted = self.wanted();
        let (_, since) = *wanted.behind.get_or_insert_with(|| (position, Instant::now()));
        let patience = self.max_lag.checked_sub(since.elapsed())?;
        wanted.waiting += 1;
        self.wakes.notify_all();
        Some(patience)
    }

    /// Publishes how far the standby is, or since when it is away.
    fn publish(&self, number: usize, seen: Seen, away_since: Option<Instant>) {
        let mut wanted = self.wanted();
        if self.seen.borrow().followed != seen.followed {
            // The log of another primary may be shorter.
            wanted.behind = None;
        }
        wanted.behind = wanted.behind.filter(|(position, _)| seen.replayed.is_none_or(|replayed| replayed < *position));
        let behind_since = wanted.behind.map(|(_, since)| since);
        let lag = away_since.or(behind_since).map_or(Duration::ZERO, |since| since.elapsed());
        drop(wanted);
        gauge!(REPLICA_LAG, "replica" => number.to_string()).set(lag.as_secs_f64());
        self.seen.send_replace(seen);
    }

    /// Waits until it is time to look again.
    fn pause(&self) {
        let wanted = self.wanted();
        if wanted.waiting > 0 {
            drop(wanted);
            thread::sleep(PAUSE_WHILE_WANTED);
            return;
        }
        let woken = self.wakes.wait_timeout_while(wanted, PAUSE, |wanted| wanted.waiting == 0);
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        // No code that holds it can panic half-way.
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits for a standby, until this is dropped.
struct Waiting<'a>(&'a Follower);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.wanted().waiting -= 1;
    }
}

/// Looks at a standby as long as anybody reads from it.
fn look_after(number: usize, connections: &Connections, follower: &Weak<Follower>) {
    let mut connection: Option<DatabaseConnection> = None;
    let mut followed = (Followed::default(), None::<Instant>);
    let mut away_since: Option<Instant> = None;
    while let Some(follower) = follower.upgrade() {
        let seen = look(connections, &mut connection, &mut followed);
        let seen = seen.unwrap_or_else(|error| {
            if away_since.is_none() {
                log::warn!("replica {number} is away, and the primary is read: {error}");
            }
            connection = None;
            followed.1 = None;
            Seen::default()
        });
        let is_away = seen.replayed.is_none();
        if is_away && away_since.is_none() && connection.is_some() {
            log::warn!("replica {number} is no standby, and the primary is read");
        }
        if away_since.is_some() && !is_away {
            log::info!("replica {number} is read");
        }
        away_since = is_away.then(|| away_since.unwrap_or_else(Instant::now));
        follower.publish(number, seen, away_since);
        if is_away {
            drop(follower);
            thread::sleep(PAUSE);
        } else {
            follower.pause();
        }
    }
}

#[derive(QueryableByName)]
struct Replayed {
    #[diesel(sql_type = Bool)]
    is_standby: bool,
    #[diesel(sql_type = Text)]
    replayed: String,
}

#[derive(QueryableByName)]
struct Timeline {
    #[diesel(sql_type = Text)]
    timeline: String,
}

#[derive(QueryableByName)]
struct Setting {
    #[diesel(sql_type = Text)]
    value: String,
}

fn look(
    connections: &Connections,
    connection: &mut Option<DatabaseConnection>,
    (followed, asked): &mut (Followed, Option<Instant>),
) -> Result<Seen, StorageError> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(connections.establish_for_probe()?),
    };
    connection.set_deadline(Some(Instant::now() + PROBE_TIMEOUT));
    let query = "SELECT pg_is_in_recovery() AS is_standby, coalesce(pg_last_wal_replay_lsn()::text, '') AS replayed";
    let Replayed { is_standby, replayed } = diesel::sql_query(query).get_result(connection)?;
    if asked.is_none_or(|asked| asked.elapsed() >= PAUSE_OF_FOLLOWED) {
        // A server that writes records that it does, and so tells its standbys from those of the server before it.
        let query =
            "SELECT split_part(name, ' ', 2) AS timeline FROM register_settings WHERE name LIKE 'change_position %'";
        let found: Vec<Timeline> = diesel::sql_query(query).load(connection)?;
        let timelines = found.into_iter().map(|found| found.timeline).collect();
        let query = "SELECT coalesce(max(value), '') AS value FROM register_settings WHERE name = 'change_generation'";
        let Setting { value: register } = diesel::sql_query(query).get_result(connection)?;
        *followed = Followed { register, timelines };
        *asked = Some(Instant::now());
    }
    let replayed = if is_standby { log_position(&replayed) } else { None };
    Ok(Seen { replayed, followed: followed.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_in_the_log_is_read_as_postgresql_writes_it() {
        assert_eq!(log_position("16/B374D848"), Some(0x16_B374_D848));
        assert!(log_position("0/3000000") < log_position("1/0"));
        assert_eq!(log_position(""), None);
    }
}
