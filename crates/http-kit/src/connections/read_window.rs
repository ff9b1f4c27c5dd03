//! Decides how much of a connection the HTTP library may read: a head to its end, then a piece of
//! the body each time that the application waits for it, and the next head after the reply.
//!
//! | state of the connection | what is read | limit |
//! |---|---|---|
//! | the head of a request arrives | up to the empty line that ends it | beyond [`SMALL_HEAD_BYTES`] a permit is acquired, and the connection ends after the request; without a permit it ends at once |
//! | a request is worked on | its body, as far as it is wanted | a piece |
//! | the reply was sent before the body was read | the body, which actix-http drops; then the connection ends | [`MAX_DISCARDED_BYTES`] |
//!

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::{Context, Waker};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest piece that is read at once, in bytes.
pub(super) const PIECE_BYTES: usize = 4_096;
/// The largest piece of a chunked body, in bytes. Its end is found by actix-http, which decodes the
/// requests behind it.
const CHUNKED_PIECE_BYTES: usize = 1_024;
/// The largest head without a permit, in bytes.
const SMALL_HEAD_BYTES: usize = 16_384;
/// The most connections at once with a head above [`SMALL_HEAD_BYTES`]. A head has up to 128 KiB,
/// and actix-http keeps a buffer of that size.
const LARGE_HEADS: usize = 32;
/// The most that is read of a body after the reply, in bytes. Many clients look for the reply only
/// after they have sent the whole body: if the connection was closed before, they see a reset and
/// send the request again. [`super::track_activity`] bounds the time.
const MAX_DISCARDED_BYTES: usize = 64 * 1_048_576;

/// Permits for large heads. Cheap to clone; all clones share the permits.
#[derive(Debug, Clone)]
pub struct LargeHeads(Arc<Semaphore>);

impl Default for LargeHeads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LARGE_HEADS)))
    }
}

/// What the HTTP library may read of a connection now.
#[derive(Debug)]
pub struct ReadWindow {
    state: Cell<ReadState>,
    /// Bytes of the head that arrives, or of the body that is discarded.
    received: Cell<usize>,
    head_end: Cell<HeadEnd>,
    body_left: Cell<BodyLength>,
    /// Whether the application waits for more of the body.
    is_body_wanted: Cell<bool>,
    /// Whether the stream keeps bytes that were read beyond the end of a head.
    pub(super) has_unread: Cell<bool>,
    /// Wakes the reading task, if it waits for another state.
    waiting: RefCell<Option<Waker>>,
    large_heads: LargeHeads,
    large_head: RefCell<Option<OwnedSemaphorePermit>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// The head of a request arrives.
    Head,
    /// The head was returned to its end; actix-http begins the request.
    HeadReturned,
    /// Like `HeadReturned`, and the end of the head was returned in an earlier turn.
    HeadAwaited,
    /// A request is worked on, or its reply is sent.
    Request,
    /// The reply was sent before the body was read. The connection ends.
    Discarding,
    /// Like `Discarding`, and actix-http is to drop the last piece.
    DiscardingPiece,
}

/// The length of a body, or of the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLength {
    /// The bytes that are left.
    Bytes(usize),
    /// Unknown until the last chunk.
    Chunked,
}

/// Finds the empty line that ends a head, in pieces of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeadEnd {
    /// Whether the request line has begun. Empty lines before it are skipped.
    has_begun: bool,
    is_line_empty: bool,
}

/// What a read does.
pub(super) enum ReadPlan {
    /// Returns up to this number of bytes.
    Return(usize),
    /// Waits for the end of the connection, and returns no bytes.
    WatchForEnd,
    /// Waits for another state.
    Wait,
    /// Returns nothing yet, so that actix-http drops the last piece, and reads again at once.
    Yield,
    /// Reports the end of the connection to actix-http.
    End,
    /// Closes the connection with an error, because the client sent too much.
    Refuse,
}

impl Default for HeadEnd {
    fn default() -> Self {
        Self {
            has_begun: false,
            is_line_empty: true,
        }
    }
}

impl HeadEnd {
    /// Looks through the next bytes of a head. Returns the position after its end; `None` if the
    /// head goes on.
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (position, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if self.has_begun && self.is_line_empty => return Some(position + 1),
                b'\n' => self.is_line_empty = true,
                b'\r' => {}
                _ => {
                    *self = Self {
                        has_begun: true,
                        is_line_empty: false,
                    }
                }
            }
        }
        None
    }
}

impl ReadWindow {
    pub(super) fn new(large_heads: LargeHeads) -> Self {
        Self {
            state: Cell::new(ReadState::Head),
            received: Cell::default(),
            head_end: Cell::default(),
            body_left: Cell::new(BodyLength::Bytes(0)),
            is_body_wanted: Cell::default(),
            has_unread: Cell::default(),
            waiting: RefCell::default(),
            large_heads,
            large_head: RefCell::default(),
        }
    }

    /// Notes that a request with a body of this length is worked on from now on.
    pub fn begin_request(&self, body: BodyLength) {
        self.state.set(ReadState::Request);
        self.body_left.set(body);
        self.is_body_wanted.set(false);
    }

    /// Notes that the application has taken all bytes of the body so far and waits for more.
    pub fn want_body(&self) {
        if !self.is_body_wanted.replace(true) {
            self.wake();
        }
    }

    /// Notes that the application has received the body to its end.
    pub fn end_body(&self) {
        self.body_left.set(BodyLength::Bytes(0));
        self.is_body_wanted.set(false);
    }

    /// Whether the application has not received the body of the request to its end.
    pub fn has_body_left(&self) -> bool {
        self.body_left.get() != BodyLength::Bytes(0)
    }

    /// Whether the connection holds a permit for a large head. Its buffer is then too large to keep
    /// after the request.
    pub fn holds_large_head(&self) -> bool {
        self.large_head.borrow().is_some()
    }

    /// Notes that the reply was sent. `is_body_read` says whether the request was received to its
    /// end. If it was not, the rest is discarded and the connection ends.
    pub fn end_request(&self, is_body_read: bool) {
        self.received.set(0);
        self.head_end.set(HeadEnd::default());
        self.state.set(if is_body_read {
            ReadState::Head
        } else {
            ReadState::Discarding
        });
        if self.has_unread.get() || !is_body_read {
            self.wake();
        }
    }

    /// Registers the reading task to be woken when the state changes.
    pub(super) fn wait(&self, context: &Context<'_>) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            *waiting = Some(context.waker().clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    /// What the next read does.
    pub(super) fn plan(&self) -> ReadPlan {
        match self.state.get() {
            ReadState::Head => self.plan_head(),
            ReadState::HeadReturned => {
                self.state.set(ReadState::HeadAwaited);
                ReadPlan::WatchForEnd
            }
            // actix-http has not found the end of a head, and gets more of it.
            ReadState::HeadAwaited => {
                self.state.set(ReadState::Head);
                self.plan_head()
            }
            ReadState::Request => match self.body_left.get() {
                BodyLength::Bytes(0) => ReadPlan::WatchForEnd,
                BodyLength::Bytes(_) | BodyLength::Chunked if !self.is_body_wanted.get() => {
                    ReadPlan::Wait
                }
                BodyLength::Bytes(left) => ReadPlan::Return(left.min(PIECE_BYTES)),
                BodyLength::Chunked => ReadPlan::Return(CHUNKED_PIECE_BYTES),
            },
            ReadState::Discarding if self.received.get() >= MAX_DISCARDED_BYTES => ReadPlan::Refuse,
            ReadState::Discarding => match self.body_left.get() {
                // Without this, actix-http would wait for more of the body until a timeout.
                BodyLength::Bytes(0) => ReadPlan::End,
                BodyLength::Bytes(left) => ReadPlan::Return(left.min(PIECE_BYTES)),
                BodyLength::Chunked => ReadPlan::Return(PIECE_BYTES),
            },
            ReadState::DiscardingPiece => {
                self.state.set(ReadState::Discarding);
                ReadPlan::Yield
            }
        }
    }

    /// Plans to return the next piece of a head. A head of [`SMALL_HEAD_BYTES`] or more needs a
    /// permit, and is refused without one.
    fn plan_head(&self) -> ReadPlan {
        let mut large_head = self.large_head.borrow_mut();
        if self.received.get() >= SMALL_HEAD_BYTES && large_head.is_none() {
            *large_head = Arc::clone(&self.large_heads.0).try_acquire_owned().ok();
            if large_head.is_none() {
                return ReadPlan::Refuse;
            }
        }
        ReadPlan::Return(PIECE_BYTES)
    }

    /// Subtracts the returned bytes from the length that is left, if that is known.
    fn count_body(&self, returned: usize) {
        if let BodyLength::Bytes(left) = self.body_left.get() {
            self.body_left
                .set(BodyLength::Bytes(left.saturating_sub(returned)));
        }
    }

    /// Divides a piece into the bytes to return now and the bytes to keep. Counts the returned
    /// ones.
    pub(super) fn divide<'a>(&self, piece: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let mut returned = piece.len();
        match self.state.get() {
            ReadState::Head => {
                let mut head_end = self.head_end.get();
                if let Some(end) = head_end.find(piece) {
                    returned = end;
                    self.state.set(ReadState::HeadReturned);
                }
                self.head_end.set(head_end);
            }
            ReadState::Request => {
                self.count_body(returned);
                self.is_body_wanted.set(false);
            }
            ReadState::Discarding => {
                self.count_body(returned);
                self.state.set(ReadState::DiscardingPiece);
            }
            ReadState::HeadReturned | ReadState::HeadAwaited | ReadState::DiscardingPiece => {}
        }
        self.received.set(self.received.get() + returned);
        piece.split_at(returned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_end_is_found_wherever_the_head_is_divided() {
        let heads: [&[u8]; 4] = [
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\nA: b\n\n",
            b"\nG\n\r\n",
        ];
        for head in heads {
            let bytes = [head, b"\r\n\r\nbody"].concat();
            for division in 0..=bytes.len() {
                let (first, second) = bytes.split_at(division);
                let mut end = HeadEnd::default();
                let found = end
                    .find(first)
                    .or_else(|| end.find(second).map(|position| division + position));
                assert_eq!(
                    found,
                    Some(head.len()),
                    "{:?} divided at {division}",
                    String::from_utf8_lossy(head)
                );
            }
            assert_eq!(HeadEnd::default().find(&head[..head.len() - 1]), None);
        }
    }

    #[test]
    fn request_is_read_to_its_end_keeping_the_next_one() {
        let window = ReadWindow::new(LargeHeads::default());
        let returned = |piece: &'static str| window.divide(piece.as_bytes()).0.len();
        assert!(matches!(window.plan(), ReadPlan::Return(PIECE_BYTES)));
        assert_eq!(returned("POST / HTTP/1.1\r\n\r\nbodyGET"), 19);
        assert!(matches!(window.plan(), ReadPlan::WatchForEnd));
        window.begin_request(BodyLength::Bytes(4));
        assert!(
            matches!(window.plan(), ReadPlan::Wait),
            "the body is not wanted"
        );
        window.want_body();
        assert!(matches!(window.plan(), ReadPlan::Return(4)));
        assert_eq!(returned("bo"), 2);
        assert!(matches!(window.plan(), ReadPlan::Wait));
        window.want_body();
        assert!(matches!(window.plan(), ReadPlan::Return(2)));
        assert_eq!(returned("dy"), 2);
        assert!(matches!(window.plan(), ReadPlan::WatchForEnd));
        window.end_body();
        window.end_request(true);
        assert!(matches!(window.plan(), ReadPlan::Return(PIECE_BYTES)));
    }

    #[test]
    fn connection_ends_after_an_unread_body_was_discarded() {
        let window = ReadWindow::new(LargeHeads::default());
        window.begin_request(BodyLength::Bytes(PIECE_BYTES + 1));
        window.end_request(false);
        for length in [PIECE_BYTES, 1] {
            assert!(matches!(window.plan(), ReadPlan::Return(most) if most == length));
            assert_eq!(
                window.divide(&[b'x'; PIECE_BYTES][..length]).0.len(),
                length
            );
            assert!(matches!(window.plan(), ReadPlan::Yield));
        }
        assert!(matches!(window.plan(), ReadPlan::End));
    }

    #[test]
    fn unread_body_is_discarded_up_to_a_limit() {
        let window = ReadWindow::new(LargeHeads::default());
        window.begin_request(BodyLength::Chunked);
        window.end_request(false);
        let piece = [b'x'; PIECE_BYTES];
        for _ in 0..MAX_DISCARDED_BYTES / PIECE_BYTES {
            assert!(matches!(window.plan(), ReadPlan::Return(PIECE_BYTES)));
            assert_eq!(window.divide(&piece).0.len(), PIECE_BYTES);
            assert!(matches!(window.plan(), ReadPlan::Yield));
        }
        assert!(matches!(window.plan(), ReadPlan::Refuse));
    }
}
