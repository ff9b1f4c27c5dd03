//! Decides whether and when a job on PostgreSQL is run again.

use std::time::{Duration, Instant};

use crate::connection::Access;
use crate::error::DatabaseError;

/// How long a job may take on PostgreSQL, including all waits and runs. For a job without a
/// deadline, the time during which it may be run again.
pub(crate) const JOB_TIME: Duration = Duration::from_secs(8);
/// How long a job waits after its first collision.
const COLLISION_PAUSE: Duration = Duration::from_millis(5);
/// The most that a job waits after a collision.
const LONGEST_COLLISION_PAUSE: Duration = Duration::from_millis(100);
/// How long a job waits before it uses another connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);
/// After a lock timeout, a job is run again only if the time left exceeds its last run by this
/// margin.
const CONTENTION_MARGIN: Duration = Duration::from_millis(250);

/// What happens to a job after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RerunDecision {
    /// The job has its answer, which may be a refusal.
    Done,
    /// The store failed, and another run would fail too.
    Fail,
    /// The job is run again after this time, when the other job may have ended.
    AfterCollision {
        after: Duration,
        waited_for_lock: bool,
    },
    /// The job is run again after this time, on another connection.
    Reconnect { after: Duration },
}

/// Decides about a job after a number of collisions. `failure` is the failure of the store in the
/// last run; `None` if the store did not fail.
pub(crate) fn decide(
    access: Access,
    collisions: u32,
    failure: Option<&DatabaseError>,
) -> RerunDecision {
    let Some(failure) = failure else {
        return RerunDecision::Done;
    };
    let writes = access == Access::Write;
    let waited_for_lock = matches!(failure, DatabaseError::Busy);
    // Another transaction inserted the row after the job had looked for it. In another run the job
    // finds the row.
    let was_overtaken = writes && collisions == 0 && failure.is_unique_violation();
    if waited_for_lock || was_overtaken || matches!(failure, DatabaseError::Collided) {
        // The other job gets more time after each collision.
        let after = COLLISION_PAUSE
            .saturating_mul(collisions + 1)
            .min(LONGEST_COLLISION_PAUSE);
        return RerunDecision::AfterCollision {
            after,
            waited_for_lock,
        };
    }
    // A reading job that fails because of a read-only server has tried to write, which is a defect.
    let needs_other_connection = matches!(failure, DatabaseError::ConnectionLost(_))
        || writes && matches!(failure, DatabaseError::ReadOnly(_));
    if needs_other_connection {
        RerunDecision::Reconnect {
            after: RECONNECT_PAUSE,
        }
    } else {
        RerunDecision::Fail
    }
}

/// The time limit of a job's runs, and the number of its collisions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RerunBudget {
    end: Instant,
    /// Whether a client waits for the job.
    has_client: bool,
    collisions: u32,
}

impl RerunBudget {
    /// The budget of a job that begins now. Without a deadline it is [`JOB_TIME`].
    pub(crate) fn new(deadline: Option<Instant>) -> Self {
        Self {
            end: deadline.unwrap_or_else(|| Instant::now() + JOB_TIME),
            has_client: deadline.is_some(),
            collisions: 0,
        }
    }

    /// Decides about the job after a run; see [`decide`]. A write with a client is not run again
    /// after it has waited for a lock: the client can send its request again.
    pub(crate) fn decide(&self, access: Access, failure: Option<&DatabaseError>) -> RerunDecision {
        if self.has_client
            && access == Access::Write
            && matches!(failure, Some(DatabaseError::Busy))
        {
            return RerunDecision::Fail;
        }
        decide(access, self.collisions, failure)
    }

    /// The pause before the next run; `None` if the job is not run again or has no time left.
    /// `last_run` is the time that the last run took.
    pub(crate) fn pause(
        &mut self,
        decision: RerunDecision,
        last_run: Duration,
    ) -> Option<Duration> {
        // The pause, and the time that another run needs.
        let (after, needed) = match decision {
            RerunDecision::Done | RerunDecision::Fail => return None,
            RerunDecision::AfterCollision {
                after,
                waited_for_lock,
            } => {
                self.collisions += 1;
                // The job may wait for the lock as long again. If its deadline passed during that
                // time, its connection would be lost.
                let needed = if waited_for_lock {
                    last_run + CONTENTION_MARGIN
                } else {
                    Duration::ZERO
                };
                (after, needed)
            }
            RerunDecision::Reconnect { after } => (after, Duration::ZERO),
        };
        (Instant::now() + after + needed < self.end).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use diesel::result::{DatabaseErrorKind, Error as DieselError};

    use super::*;

    fn violation() -> DieselError {
        DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, Box::new(String::new()))
    }

    #[test]
    fn each_outcome_has_one_decision() {
        use Access::{LookUp, Read, Write};
        use RerunDecision::{AfterCollision, Done, Fail, Reconnect};
        let again = |milliseconds, waited_for_lock| {
            let after = Duration::from_millis(milliseconds);
            AfterCollision {
                after,
                waited_for_lock,
            }
        };
        let reconnect = Reconnect {
            after: RECONNECT_PAUSE,
        };
        let lost = || DatabaseError::ConnectionLost(DieselError::NotFound);
        let read_only = || DatabaseError::ReadOnly(DieselError::NotFound);
        let cases = [
            (LookUp, 0, None, Done),
            (Write, 9, None, Done),
            (Read, 0, Some(DatabaseError::Collided), again(5, false)),
            (Write, 0, Some(DatabaseError::Busy), again(5, true)),
            (Write, 3, Some(DatabaseError::Collided), again(20, false)),
            (Write, 1_000, Some(DatabaseError::Busy), again(100, true)),
            (Write, 0, Some(violation().into()), again(5, false)),
            (Write, 1, Some(violation().into()), Fail),
            (Read, 0, Some(violation().into()), Fail),
            (LookUp, 0, Some(lost()), reconnect),
            (Write, 0, Some(lost()), reconnect),
            (Write, 0, Some(read_only()), reconnect),
            (Read, 0, Some(read_only()), Fail),
            (
                Write,
                0,
                Some(DatabaseError::OutcomeUnknown(Arc::new(
                    DieselError::NotFound,
                ))),
                Fail,
            ),
            (Write, 0, Some(DatabaseError::JobPanicked), Fail),
            (Write, 0, Some(DatabaseError::QueueFull), Fail),
        ];
        for (access, collisions, failure, decision) in cases {
            assert_eq!(
                decide(access, collisions, failure.as_ref()),
                decision,
                "{access:?} {collisions} {failure:?}"
            );
        }
    }

    #[test]
    fn job_is_run_again_while_there_is_time() {
        // The durations are long, so that the result does not depend on the speed of the test.
        let hour = Duration::from_hours(1);
        let mut runs = RerunBudget::new(Some(Instant::now() + 2 * hour));
        let mut is_run_again = |decision, last_run| runs.pause(decision, last_run).is_some();
        let after = Duration::from_millis(1);
        let collided = |waited_for_lock| RerunDecision::AfterCollision {
            after,
            waited_for_lock,
        };
        assert!(is_run_again(collided(false), 3 * hour) && is_run_again(collided(true), hour));
        assert!(
            !is_run_again(collided(true), 3 * hour),
            "the deadline would pass during the wait for the lock"
        );
        assert!(is_run_again(RerunDecision::Reconnect { after }, 3 * hour));
        assert!(!is_run_again(
            RerunDecision::Reconnect { after: 3 * hour },
            Duration::ZERO
        ));
        assert!(
            !is_run_again(RerunDecision::Done, Duration::ZERO)
                && !is_run_again(RerunDecision::Fail, Duration::ZERO)
        );
        assert_eq!(runs.collisions, 3);
    }
}
