//! Identifiers of requests: for the log, for the history of records, and for the client.

use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName};
use data_encoding::HEXLOWER;
use ring::error::Unspecified;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::task::futures::TaskLocalFuture;

/// The header with the identifier of the request. It is in every reply, and a client may send it to
/// choose the identifier.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest identifier that a client can choose.
const MAX_LENGTH: usize = 64;
/// The text in the log if no identifier is known.
const NONE: &str = "-";
/// The random bytes of an identifier that the server makes.
const RANDOM_BYTES: usize = 12;

/// The identifier of a request. Cheap to clone.
pub type RequestId = Arc<str>;

tokio::task_local! {
    /// The request that the present task answers.
    static CURRENT: RequestId;
}

/// The identifier that the client sent, if it is well formed, else a new one.
#[must_use]
pub fn choose(headers: &HeaderMap) -> RequestId {
    let sent = headers
        .get(HEADER)
        .and_then(|header| header.to_str().ok())
        .unwrap_or_default();
    if is_well_formed(sent) {
        return sent.into();
    }
    let mut random = [0; RANDOM_BYTES];
    match SystemRandom::new().fill(&mut random) {
        Ok(()) => HEXLOWER.encode(&random).into(),
        Err(Unspecified) => NONE.into(),
    }
}

/// Whether an identifier has the form that a client can choose.
#[must_use]
pub fn is_well_formed(id: &str) -> bool {
    (1..=MAX_LENGTH).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Runs `answering` so that [`current`] returns this identifier.
pub fn under<F: Future>(id: RequestId, answering: F) -> TaskLocalFuture<RequestId, F> {
    CURRENT.scope(id, answering)
}

/// The identifier of the request that the present task answers; `None` outside of a request and on
/// other threads.
#[must_use]
pub fn current() -> Option<RequestId> {
    CURRENT.try_with(Clone::clone).ok()
}

/// The identifier for a log line; `-` outside of a request.
#[must_use]
pub fn for_the_log() -> RequestId {
    current().unwrap_or_else(|| NONE.into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn identifiers_that_are_made_differ() {
        let made: HashSet<_> = (0..100).map(|_| choose(&HeaderMap::new())).collect();
        assert_eq!(made.len(), 100);
    }

    #[actix_web::test]
    async fn what_answers_a_request_knows_its_identifier() {
        assert_eq!((current(), for_the_log()), (None, NONE.into()));
        let inner = under("abc".into(), async { current() }).await;
        assert_eq!(inner.as_deref(), Some("abc"));
        assert_eq!(current(), None);
    }
}
