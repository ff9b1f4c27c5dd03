//! Standbys of PostgreSQL where requests read what the primary has committed before they came.
//!
//! A provider reads what it has written, through whichever server it wrote it. So a request that reads asks the primary first
//! whether its token is valid, and up to where the primary has written its log. Then it reads from a standby that has replayed
//! the log up to there, if one comes to that place in time; otherwise from the primary.

mod follower;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metrics::counter;

use crate::change_position::require_replayed;
use crate::connection::{Access, Connections, DatabaseConnection};
use crate::error::{JobError, StorageError};
use crate::metrics::REPLICA_READS;
use crate::session::{OpenedOnPrimary, PrimaryPosition, Session};
use crate::store::Store;
use crate::store::pool::JobPool;
use crate::store::replicas::follower::Follower;
use crate::tokens::TokenDigest;

/// How long a job may take on a standby. The primary has the rest of the time of a job.
const STANDBY_TIME: Duration = Duration::from_secs(3);

impl Store {
    /// Runs a job that reads one snapshot for the holder of a token, and authenticates the token. It sees everything that was
    /// committed before this was called. Where there are standbys, and one has replayed that, it runs there; the token is
    /// authenticated on the primary all the same. The job may be run a second time.
    ///
    /// # Errors
    ///
    /// As [`Store::read`].
    pub async fn read_for<T, E>(
        &self,
        token: &TokenDigest,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Clone + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        if self.replicas.is_empty() {
            return self.read(job).await;
        }
        // One for all that follows: the client waits no longer because there are two servers.
        let deadline = self.pool.deadline();
        let (digest, seen) = (token.clone(), self.replicas.replayed());
        let open = move |session: &mut Session<'_>| session.open_on_primary(&digest).map_err(E::from);
        let opened = Arc::clone(&self.pool).run_when(|_| Ok(()), deadline, Access::LookUp, open);
        if let Some(opened) = opened.await?
            && let Some(answer) = self.read_from_standby(deadline, opened, &seen, job.clone()).await
        {
            return answer;
        }
        self.last_fault.note(Arc::clone(&self.pool).run_when(|_| Ok(()), deadline, Access::Read, job).await)
    }

    /// The answer of a job on a standby; `None` when none of them has come far enough in time, or it has failed.
    async fn read_from_standby<T, E>(
        &self,
        deadline: Option<Instant>,
        opened: OpenedOnPrimary,
        seen: &[Option<u64>],
        mut job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Option<Result<T, E>>
    where
        T: Send + 'static,
        E: JobError,
    {
        let Some(replica) = self.replicas.at(&opened.primary, seen).await else {
            ReadFrom::PrimaryReplicaBehind.count();
            return None;
        };
        // The connection may be to a server that was started again meanwhile, and is not yet where it was.
        let primary = opened.primary.clone();
        let ready = move |connection: &mut DatabaseConnection| require_replayed(connection, &primary);
        let of_standby = Instant::now() + STANDBY_TIME;
        let deadline = Some(deadline.map_or(of_standby, |of_job| of_job.min(of_standby)));
        let reading = Arc::clone(&replica.pool).run_when(ready, deadline, Access::Read, move |session| {
            session.rely_on_primary(opened.clone());
            job(session)
        });
        let answer = reading.await;
        let outcome = match answer.as_ref().err().and_then(JobError::of_the_store) {
            None => ReadFrom::Replica,
            Some(StorageError::ReplicaBehind) => ReadFrom::PrimaryReplicaBehind,
            Some(_) => ReadFrom::PrimaryReplicaFailed,
        };
        outcome.count();
        if outcome == ReadFrom::Replica {
            return Some(answer);
        }
        replica.follower.leave_out();
        None
    }
}

/// The standbys of a store.
#[derive(Debug, Default)]
pub(super) struct Replicas {
    all: Vec<Replica>,
    /// The one that is asked next.
    turn: AtomicUsize,
}

/// A standby.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) pool: Arc<JobPool>,
    follower: Arc<Follower>,
}

/// Where a request was answered, as the metric says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadFrom {
    /// A standby.
    Replica,
    /// The primary, since no standby was there in time.
    PrimaryReplicaBehind,
    /// The primary, since the standby failed.
    PrimaryReplicaFailed,
}

impl ReadFrom {
    const ALL: [Self; 3] = [Self::Replica, Self::PrimaryReplicaBehind, Self::PrimaryReplicaFailed];

    /// Counts a request.
    pub(super) fn count(self) {
        self.count_by(1);
    }

    fn count_by(self, requests: u64) {
        let outcome = match self {
            Self::Replica => "replica",
            Self::PrimaryReplicaBehind => "behind",
            Self::PrimaryReplicaFailed => "failed",
        };
        counter!(REPLICA_READS, "outcome" => outcome).increment(requests);
    }
}

impl Replicas {
    /// Those of these pools. `max_lag` is how long a request waits for one, and how far one may be behind.
    pub(super) fn follow(pools: Vec<(Connections, Arc<JobPool>)>, max_lag: Duration) -> Result<Self, StorageError> {
        let follow = |(number, (connections, pool)): (usize, (Connections, Arc<JobPool>))| {
            Ok(Replica { pool, follower: Follower::start(number + 1, connections, max_lag)? })
        };
        let all: Vec<Replica> = pools.into_iter().enumerate().map(follow).collect::<Result<_, StorageError>>()?;
        if !all.is_empty() {
            ReadFrom::ALL.into_iter().for_each(|outcome| outcome.count_by(0));
        }
        Ok(Self { all, turn: AtomicUsize::new(0) })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Up to where each standby had replayed the log when it was last looked at.
    pub(super) fn replayed(&self) -> Vec<Option<u64>> {
        self.all.iter().map(|replica| replica.follower.replayed()).collect()
    }

    /// A standby that has replayed what the primary had written, in turn; `None` when none is there in time. `seen` is where they
    /// were before the primary was asked: one that was further than the primary is a standby of something else.
    pub(super) async fn at(&self, primary: &PrimaryPosition, seen: &[Option<u64>]) -> Option<&Replica> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let (before, behind) = self.all.split_at(first.checked_rem(self.all.len())?);
        let is_ahead = |replica: &&Replica| {
            let seen = self.all.iter().zip(seen).find(|(other, _)| std::ptr::eq(*other, *replica));
            seen.is_some_and(|(_, replayed)| replayed.is_some_and(|replayed| replayed > primary.written))
        };
        let usable = || behind.iter().chain(before).filter(|replica| !is_ahead(replica));
        if let Some(replica) = usable().find(|replica| replica.follower.is_there(primary)) {
            return Some(replica);
        }
        let replica = usable().find(|replica| replica.follower.is_on_the_way(primary))?;
        replica.follower.comes(primary).await.then_some(replica)
    }

    /// Waits until the jobs that were given to the standbys have ended.
    pub(super) async fn drain(&self) {
        for replica in &self.all {
            replica.pool.drain().await;
        }
    }
}
