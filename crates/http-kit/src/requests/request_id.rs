//! By what a request is known: in the log, in the history of records, and to the client; nothing
//! outside the server.

use std::cell::RefCell;
use std::sync::Arc;

use actix_web::http::header::{HeaderMap, HeaderName};
use storage::identifiers::Identifiers;
use tokio::task::futures::TaskLocalFuture;

/// Names the request in the reply, and in the request where the client chooses.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
/// The longest identifier that a client can choose.
const MAX_LENGTH: usize = 64;
/// What stands in the log where no identifier is known.
const NONE: &str = "-";
/// How many identifiers are drawn at once.
const DRAWN_AT_ONCE: usize = 64;

/// The identifier of a request. Cheap to clone.
pub type RequestId = Arc<str>;

tokio::task_local! {
    /// The request that the present task answers.
    static CURRENT: RequestId;
}

thread_local! {
    /// What was drawn and not given away. An identifier of a request is no secret, and can be drawn
    /// before its time.
    static DRAWN: RefCell<Option<Identifiers>> = const { RefCell::new(None) };
}

/// The client's identifier when it is well formed, else a new one.
#[must_use]
pub fn choose(headers: &HeaderMap) -> RequestId {
    let sent = headers
        .get(HEADER)
        .and_then(|header| header.to_str().ok())
        .unwrap_or_default();
    if is_well_formed(sent) {
        return sent.into();
    }
    drawn().map_or_else(|| NONE.into(), RequestId::from)
}

/// A new identifier; nothing where the operating system gives no randomness.
fn drawn() -> Option<String> {
    DRAWN.with_borrow_mut(|drawn| {
        let next = drawn.as_ref().and_then(Identifiers::next);
        next.or_else(|| drawn.insert(Identifiers::draw(DRAWN_AT_ONCE).ok()?).next())
    })
}

/// Whether a client can choose the identifier.
#[must_use]
pub fn is_well_formed(id: &str) -> bool {
    (1..=MAX_LENGTH).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Answers a request under its identifier.
pub fn under<F: Future>(id: RequestId, answering: F) -> TaskLocalFuture<RequestId, F> {
    CURRENT.scope(id, answering)
}

/// The identifier of the request that is being answered here, on the event loop; nothing where none
/// is.
#[must_use]
pub fn current() -> Option<RequestId> {
    CURRENT.try_with(Clone::clone).ok()
}

/// The identifier for a log line.
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
        let made: HashSet<_> = (0..3 * DRAWN_AT_ONCE)
            .map(|_| choose(&HeaderMap::new()))
            .collect();
        assert_eq!(made.len(), 3 * DRAWN_AT_ONCE);
    }

    #[actix_web::test]
    async fn what_answers_a_request_knows_its_identifier() {
        assert_eq!((current(), for_the_log()), (None, NONE.into()));
        let inner = under("abc".into(), async { current() }).await;
        assert_eq!(inner.as_deref(), Some("abc"));
        assert_eq!(current(), None);
    }
}
