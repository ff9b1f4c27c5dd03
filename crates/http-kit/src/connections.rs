//! Connections of clients: how many there are, and how long each may keep the server waiting.
//!
//! actix-http limits the time for the first head on a connection and for the pause between two
//! requests. It limits neither a later head that comes byte by byte, nor a client that does not
//! take its reply. [`watch`] ends these connections.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::net::Shutdown;
use std::num::NonZeroUsize;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::HttpRequest;
use actix_web::dev::Extensions;
use actix_web::rt::{self, net::TcpStream};
use socket2::{SockRef, Socket};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Open files per connection: its socket, and the handle that ends it.
const FILES_OF_A_CONNECTION: usize = 2;
/// Open files that are not connections of clients: databases, event loops, and a reserve.
const OTHER_FILES: usize = 100;
/// How often the progress of a connection is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// The size of a connection's receive buffer, in bytes. actix-http reads up to 256 KiB ahead of what
/// it needs, and gets less of that through a small buffer.
const RECEIVE_BUFFER_BYTES: usize = 16_384;
/// Like `RECEIVE_BUFFER_BYTES`, while a client sends a large body that is read, or refused with a
/// permit of [`DISCARDED`]. Through a small buffer that would take long.
const LARGE_RECEIVE_BUFFER_BYTES: usize = 131_072;
/// The permits of connections whose clients go on to send large bodies that were refused.
static DISCARDED: Semaphore = Semaphore::const_new(256);

/// The bounds of connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long the head of a request may take, and how long the handshake of a connection with
    /// TLS.
    pub header_timeout: Duration,
    /// How long the body of a request may take, and how long a client may take nothing of its
    /// reply.
    pub body_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub keep_alive: Duration,
    /// The most connections of the whole server. Further clients wait until one is closed.
    pub max_connections: NonZeroUsize,
}

impl Limits {
    /// Lowers the limits for a program that may open `max_files` files. Returns the limits and
    /// whether they changed.
    #[must_use]
    pub fn within_open_files(self, max_files: usize) -> (Self, bool) {
        let connections = max_files.saturating_sub(OTHER_FILES) / FILES_OF_A_CONNECTION;
        let max_connections = NonZeroUsize::new(connections).unwrap_or(NonZeroUsize::MIN);
        let limits = Self {
            max_connections: self.max_connections.min(max_connections),
            ..self
        };
        (limits, max_connections < self.max_connections)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(75),
            max_connections: const { NonZeroUsize::new(1_000).unwrap() },
        }
    }
}

/// What a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The client sends the head of the next request.
    Request,
    /// The server works on a request.
    Answer,
    /// The client takes the reply.
    Reply,
}

/// The progress of a connection, which is in its data.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    limits: Limits,
    wait: Cell<Wait>,
    since: Cell<Instant>,
    has_large_buffer: Cell<bool>,
    /// Whether the request may have a large body that was not read to its end.
    has_unread_body: Cell<bool>,
    discarded: RefCell<Option<SemaphorePermit<'static>>>,
}

impl Connection {
    /// Notes that a request begins, which may have a large body.
    pub(crate) fn begin_request(&self, may_be_large: bool) {
        if self.has_large_buffer.replace(false) {
            set_receive_buffer(&self.socket, RECEIVE_BUFFER_BYTES);
            self.discarded.replace(None);
        }
        self.has_unread_body.set(may_be_large);
        self.begin(Wait::Answer);
    }

    /// Notes that the reply begins. The library drops what still comes of the body of the request,
    /// so that the client receives the reply. A large one needs a permit to come fast.
    pub(crate) fn begin_reply(&self) {
        self.begin(Wait::Reply);
        if self.has_unread_body.get()
            && let Ok(permit) = DISCARDED.try_acquire()
        {
            self.discarded.replace(Some(permit));
            self.expect_large_body();
        }
    }

    /// Notes what the connection waits for from now on, or that it has made progress.
    pub(crate) fn begin(&self, wait: Wait) {
        self.wait.set(wait);
        self.since.set(Instant::now());
    }

    /// Notes that the client sends a large body now.
    fn expect_large_body(&self) {
        if !self.has_large_buffer.replace(true) {
            set_receive_buffer(&self.socket, LARGE_RECEIVE_BUFFER_BYTES);
        }
    }

    /// Whether the client keeps the server waiting for too long.
    fn is_overdue(&self) -> bool {
        let most = match self.wait.get() {
            Wait::Answer => return false,
            Wait::Request => self.limits.keep_alive + self.limits.header_timeout,
            Wait::Reply => self.limits.body_timeout,
        };
        self.since.get().elapsed() > most
    }
}

/// Returns the function that watches each new connection. To be called in `on_connect` of a server.
pub fn watch(limits: Limits) -> impl Fn(&dyn Any, &mut Extensions) + Clone + Send + Sync + 'static {
    move |connection, data| {
        let tls = connection.downcast_ref::<TlsStream<TcpStream>>();
        let stream = tls.map(|stream| stream.get_ref().0);
        let Some(stream) = stream.or_else(|| connection.downcast_ref()) else {
            return;
        };
        let socket = SockRef::from(stream);
        set_receive_buffer(&socket, RECEIVE_BUFFER_BYTES);
        match socket.try_clone() {
            Ok(socket) => {
                let connection = Rc::new(Connection {
                    socket,
                    limits,
                    wait: Cell::new(Wait::Request),
                    since: Cell::new(Instant::now()),
                    has_large_buffer: Cell::default(),
                    has_unread_body: Cell::default(),
                    discarded: RefCell::default(),
                });
                rt::spawn(end_when_overdue(Rc::downgrade(&connection)));
                data.insert(connection);
            }
            // The process can open no more files, so nothing could end the connection later.
            Err(error) => {
                log::warn!("client connection closed; idle timeout not available: {error}");
                shut_down(&socket);
            }
        }
    }
}

/// Notes that the client sends a large body now, which is read.
pub fn expect_large_body(request: &HttpRequest) {
    if let Some(connection) = request.conn_data::<Rc<Connection>>() {
        connection.expect_large_body();
    }
}

/// Notes that the body of the request was read to its end.
pub fn end_body(request: &HttpRequest) {
    if let Some(connection) = request.conn_data::<Rc<Connection>>() {
        connection.has_unread_body.set(false);
    }
}

fn set_receive_buffer(socket: &Socket, bytes: usize) {
    if let Err(error) = socket.set_recv_buffer_size(bytes) {
        log::debug!("receive buffer of a client connection not set: {error}");
    }
}

/// Shuts a connection down once its client keeps the server waiting for too long.
async fn end_when_overdue(connection: Weak<Connection>) {
    loop {
        rt::time::sleep(INTERVAL).await;
        // The library drops the data of a connection that has ended.
        let Some(connection) = connection.upgrade() else {
            return;
        };
        if connection.is_overdue() {
            log::debug!("client connection closed: idle timeout");
            return shut_down(&connection.socket);
        }
    }
}

/// Shuts a socket down in both directions, also if there are other handles.
fn shut_down(socket: &Socket) {
    if let Err(error) = socket.shutdown(Shutdown::Both) {
        log::debug!("client connection already closed: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_as_many_as_files_can_be_opened_for() {
        let limits = Limits::default();
        let lowered = |most| {
            let (limits, is_lowered) = limits.within_open_files(most);
            (limits.max_connections.get(), is_lowered)
        };
        assert_eq!(lowered(1_024), (462, true));
        assert_eq!(lowered(65_536), (limits.max_connections.get(), false));
        assert_eq!(lowered(3), (1, true));
    }
}
