//! What the jobs of a traced request did, and when: how long they waited, how often they were run, with which statements, and
//! when that was committed.
//!
//! Knows neither who collects this nor in which form. A request that is traced is answered under a [`TraceSink`]
//! ([`traced`]), to which the jobs report that it gives to the store. Of any other request nothing is recorded and no clock
//! is read.

mod sql;
mod statements;

use std::sync::Arc;
use std::time::Instant;

use tokio::task::futures::TaskLocalFuture;

pub use self::sql::{shape, summary};
pub(crate) use self::statements::{Recorded, listen};
use crate::connection::{Access, DatabaseConnection};
use crate::error::{JobError, StorageError};

/// Where the jobs of one request report what they did. It is called when a job has come to its end, on any thread, and must
/// not block.
pub trait TraceSink: Send + Sync {
    /// Takes what one job did, in the order in which it happened.
    fn record(&self, steps: Vec<Step>);
}

tokio::task_local! {
    /// Where the jobs report that the present task gives to the store.
    static SINK: Arc<dyn TraceSink>;
}

/// Runs a task whose jobs report to the sink.
pub fn traced<F: Future>(sink: Arc<dyn TraceSink>, task: F) -> TaskLocalFuture<Arc<dyn TraceSink>, F> {
    SINK.scope(sink, task)
}

/// One thing that happened to a job.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it was.
    pub kind: StepKind,
    /// When it began.
    pub begun: Instant,
    /// When it ended.
    pub ended: Instant,
    /// Why it failed, if it did: a word of this crate. A job that refuses a request has not failed.
    pub failure: Option<&'static str>,
}

/// What happened to a job.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// It waited for a place and a connection.
    Wait {
        /// For which, as the metrics call it.
        queue: Queue,
    },
    /// It was run.
    Run {
        /// What it was allowed.
        access: &'static str,
        /// How often it had been run by then, this time included.
        attempt: u32,
        /// The database.
        database: Database,
        /// What it sent there.
        statements: Vec<Statement>,
        /// How many more statements it sent than are recorded.
        left_out: u32,
    },
    /// What it did was committed, together with what others did.
    Commit {
        /// How many jobs shared the commit.
        jobs: usize,
        /// The database.
        database: Database,
    },
}

/// What jobs wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// One of the connections that read.
    Pool,
    /// The write thread of SQLite, or one of the connections that write.
    Writer,
}

/// Which database a statement was sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// PostgreSQL.
    Postgres,
    /// SQLite.
    Sqlite,
}

/// A statement that a job sent. One that is sent along with the next one ends at once: nobody waited for it.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its text, with placeholders in place of the values that are bound. See [`shape`].
    pub sql: String,
    /// When it was begun.
    pub begun: Instant,
    /// When it ended.
    pub ended: Instant,
    /// Whether it failed.
    pub has_failed: bool,
}

/// What is recorded of one job. It is reported when this is dropped.
pub(crate) struct JobTrace {
    sink: Arc<dyn TraceSink>,
    steps: Vec<Step>,
    /// Since when it has been waiting, while it is not run.
    since: Instant,
    attempts: u32,
}

impl JobTrace {
    /// For a job that the present task gives to the store now; nothing when the task is not traced.
    pub(crate) fn current() -> Option<Self> {
        let begin = |sink: &Arc<dyn TraceSink>| Self {
            sink: Arc::clone(sink),
            steps: Vec::new(),
            since: Instant::now(),
            attempts: 0,
        };
        SINK.try_with(begin).ok()
    }

    /// The job has waited until now.
    pub(crate) fn waited(&mut self, access: Access, until: Instant, failure: Option<&'static str>) {
        let queue = match access {
            Access::LookUp | Access::Read => Queue::Pool,
            Access::Write => Queue::Writer,
        };
        self.steps.push(Step { kind: StepKind::Wait { queue }, begun: self.since, ended: until, failure });
        self.since = until;
    }

    /// The job was run from then on until now, over the connection, which has recorded its statements.
    pub(crate) fn run_ended(
        &mut self,
        connection: &mut DatabaseConnection,
        access: Access,
        begun: Instant,
        failure: Option<&'static str>,
    ) {
        let ended = Instant::now();
        self.attempts += 1;
        let Recorded { statements, left_out } = connection.recorded_statements();
        let access = match access {
            Access::LookUp => "look_up",
            Access::Read => "read",
            Access::Write => "write",
        };
        let database = connection.either(Database::Postgres, Database::Sqlite);
        let kind = StepKind::Run { access, attempt: self.attempts, database, statements, left_out };
        self.steps.push(Step { kind, begun, ended, failure });
        self.since = ended;
    }

    /// What the job did was committed, or not, together with that of others.
    pub(crate) fn committed(&mut self, database: Database, jobs: usize, begun: Instant, ended: Instant, is_kept: bool) {
        let failure = (!is_kept).then_some("not_committed");
        self.steps.push(Step { kind: StepKind::Commit { jobs, database }, begun, ended, failure });
    }

    /// What the job did when it was last run is undone, together with what others did.
    pub(crate) fn undone(&mut self) {
        if let Some(run) = self.steps.last_mut() {
            run.failure = Some("group_undone");
        }
    }
}

impl Drop for JobTrace {
    fn drop(&mut self) {
        if !self.steps.is_empty() {
            self.sink.record(std::mem::take(&mut self.steps));
        }
    }
}

/// Why a job failed, in a word; nothing when it was done, or has refused what it was to do.
pub(crate) fn failure_of<T, E: JobError>(answer: &Result<T, E>) -> Option<&'static str> {
    let error = answer.as_ref().err().and_then(JobError::of_the_store)?;
    let is_refusal = matches!(error, StorageError::Stale | StorageError::Refused(_));
    let words = [
        (matches!(error, StorageError::Collided), "collided"),
        (matches!(error, StorageError::Busy), "busy"),
        (matches!(error, StorageError::DateNotDue { .. }), DATE_NOT_DUE),
        (matches!(error, StorageError::ConnectionLost(_)), "connection_lost"),
        (matches!(error, StorageError::ReadOnly(_)), "read_only"),
        (matches!(error, StorageError::OutcomeUnknown(_)), "outcome_unknown"),
        (error.is_unique_violation(), "repetition"),
        (error.is_temporary(), "unavailable"),
        (!is_refusal, "failed"),
    ];
    words.into_iter().find(|(is_it, _)| *is_it).map(|(_, word)| word)
}

/// The change of a job cannot have a date yet.
pub(crate) const DATE_NOT_DUE: &str = "date_not_due";

#[cfg(test)]
mod tests;
