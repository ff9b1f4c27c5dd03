//! When a request is sent again, and after how long.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Reply;

/// The first wait where the register does not say how long.
const FIRST_DELAY: Duration = Duration::from_millis(200);
/// The longest wait where the register does not say how long.
const LONGEST_DELAY: Duration = Duration::from_secs(15);
/// How often a request is sent that the register fails to handle: what fails three times fails
/// again.
const MOST_FAILURES: usize = 3;

/// What is to be done after an attempt.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Answered,
    Again(Duration),
    GiveUp,
}

/// The attempts of one request so far.
pub(super) struct Retries {
    patience: Duration,
    /// When the first attempt without success began.
    failing_since: Option<Instant>,
    /// The next wait where the register does not say how long.
    delay: Duration,
    failures: usize,
}

impl Retries {
    /// A request that was not sent yet.
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            failing_since: None,
            delay: FIRST_DELAY,
            failures: 0,
        }
    }

    /// Decides after an attempt that began at that time.
    pub(super) fn judge(&mut self, attempt: &Result<Reply, String>, begun: Instant) -> Verdict {
        let wait = match attempt {
            Ok(reply) if !asks_to_come_again(reply.status, &reply.body) => {
                return Verdict::Answered;
            }
            Ok(reply) => reply.retry_after,
            Err(_) => None,
        };
        if attempt.as_ref().is_ok_and(|reply| reply.status == 500) {
            self.failures += 1;
            if self.failures >= MOST_FAILURES {
                return Verdict::Answered;
            }
        }
        let failing_since = *self.failing_since.get_or_insert(begun);
        let delay = match wait {
            Some(wait) => wait,
            None => {
                let delay = with_jitter(self.delay);
                self.delay = (self.delay * 2).min(LONGEST_DELAY);
                delay
            }
        };
        if failing_since.elapsed() + delay > self.patience {
            Verdict::GiveUp
        } else {
            Verdict::Again(delay)
        }
    }
}

/// Whether the same request may be answered otherwise in a while. A conflict without a record says
/// that another request was in the way.
pub(crate) fn asks_to_come_again(status: u16, body: &Value) -> bool {
    match status {
        408 | 429 | 500 | 502 | 503 | 504 => true,
        409 => body.get("data").is_none(),
        _ => false,
    }
}

/// The delay, or up to a quarter less, so that clients that failed together do not come again
/// together.
fn with_jitter(delay: Duration) -> Duration {
    let random = getrandom::u32().unwrap_or_default() % 256;
    delay - delay * random / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, retry_after: Option<u64>, body: Value) -> Result<Reply, String> {
        let retry_after = retry_after.map(Duration::from_secs);
        Ok(Reply {
            status,
            etag: None,
            has_link: false,
            quota: None,
            retry_after,
            request_id: None,
            body,
        })
    }

    #[test]
    fn retry_after_is_honoured() {
        let mut retries = Retries::new(Duration::from_secs(60));
        let busy = reply(503, Some(7), Value::Null);
        assert_eq!(
            retries.judge(&busy, Instant::now()),
            Verdict::Again(Duration::from_secs(7))
        );
        let limited = reply(429, Some(61), Value::Null);
        assert_eq!(retries.judge(&limited, Instant::now()), Verdict::GiveUp);
    }

    #[test]
    fn lost_connection_is_retried_with_growing_delays_until_the_limit() {
        let mut retries = Retries::new(Duration::from_secs(3));
        let mut delays = Vec::new();
        while let Verdict::Again(delay) = retries.judge(&Err("no reply".to_owned()), Instant::now())
        {
            delays.push(delay);
            assert!(delays.len() < 10);
        }
        assert!(delays[1] > delays[0] && delays[2] > delays[1], "{delays:?}");
    }

    #[test]
    fn answered_request_is_not_sent_again() {
        let mut retries = Retries::new(Duration::from_secs(60));
        let duplicate = reply(409, None, serde_json::json!({ "data": [] }));
        for answered in [
            reply(200, None, Value::Null),
            reply(422, None, Value::Null),
            duplicate,
        ] {
            assert_eq!(retries.judge(&answered, Instant::now()), Verdict::Answered);
        }
        let conflict = reply(409, Some(1), serde_json::json!({ "errors": [] }));
        assert_eq!(
            retries.judge(&conflict, Instant::now()),
            Verdict::Again(Duration::from_secs(1))
        );
    }

    #[test]
    fn failure_of_the_register_is_an_answer_in_the_end() {
        let mut retries = Retries::new(Duration::from_secs(60));
        let failed = reply(500, None, Value::Null);
        assert!(matches!(
            retries.judge(&failed, Instant::now()),
            Verdict::Again(_)
        ));
        assert!(matches!(
            retries.judge(&failed, Instant::now()),
            Verdict::Again(_)
        ));
        assert_eq!(retries.judge(&failed, Instant::now()), Verdict::Answered);
    }
}
