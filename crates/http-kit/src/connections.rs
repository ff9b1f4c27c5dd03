//! What a connection may cost: how many there are, how long each may keep the server waiting, and
//! what is read ahead of it.
//!
//! actix-web bounds the wait for the first head on a connection, and for the next request while
//! nothing of it has come. It bounds neither a later head that comes byte by byte, nor a client
//! that does not take its reply. So each connection has its own [`Watch`], which closes it when it
//! has kept the server waiting for too long. How long the body of a request may take is for
//! [`crate::requests::body`].
//!
//! [`read_window`] bounds what [`client_stream`] reads ahead. [`application`] reports to it how
//! each request proceeds.

use std::cell::Cell;
use std::net::Shutdown;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::{Duration, Instant};

use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::rt::task::JoinHandle;
use actix_web::{Error, rt};
use socket2::{SockRef, Socket};
use tokio::sync::Notify;

use self::client_stream::ClientStream;
use self::read_window::ReadWindow;

pub mod application;
pub mod client_stream;
pub mod read_window;

/// Open files per connection: its socket, and the handle that closes it after a timeout.
const FILES_OF_A_CONNECTION: usize = 2;
/// Open files that are not connections of clients: databases, event loops, and a reserve.
const OTHER_FILES: usize = 100;

/// The bounds of connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long the head of a request may take, and how long the handshake of a connection with
    /// TLS.
    pub header_timeout: Duration,
    /// How long the body of a request may take, and how long the client may take its reply in.
    pub body_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub keep_alive: Duration,
    /// The most connections of the whole server. Further clients wait until one is closed.
    pub max_connections: NonZeroUsize,
}

impl Limits {
    /// How long a connection may be open while no request is worked on: the client takes the
    /// previous reply, waits, and sends the head of the next request.
    fn longest_idle_time(&self) -> Duration {
        self.body_timeout + self.keep_alive + self.header_timeout
    }

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

/// Watches one connection as long as it is open.
#[derive(Debug)]
struct Watch {
    watched: Rc<Watched>,
    watching: JoinHandle<()>,
}

/// The state of a connection, shared with the task that closes it.
#[derive(Debug)]
struct Watched {
    idle: Cell<IdleState>,
    /// Notified when the end of the idle time was moved to an earlier moment.
    sooner: Notify,
}

/// Whether a connection keeps the server waiting.
#[derive(Debug, Clone, Copy)]
enum IdleState {
    /// A request is worked on.
    Busy,
    /// No request is worked on. The connection is closed at this moment unless a request begins.
    Until(Instant),
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The task holds a handle of the socket. The connection ends only when all handles are
        // closed.
        self.watching.abort();
    }
}

/// Starts the task that closes a new connection after its idle time.
pub fn watch(connection: &ClientStream, data: &mut Extensions, limits: Limits) {
    data.insert(Rc::clone(connection.window()));
    let stream = connection.socket();
    match SockRef::from(stream).try_clone() {
        Ok(socket) => {
            let idle = Cell::new(IdleState::Until(
                Instant::now() + limits.longest_idle_time(),
            ));
            let watched = Rc::new(Watched {
                idle,
                sooner: Notify::new(),
            });
            let watching = rt::spawn(close_when_idle(socket, Rc::clone(&watched)));
            data.insert(Rc::new(Watch { watched, watching }));
        }
        // The process can open no more files. Without a handle no task could close the connection
        // later, so it is closed now.
        Err(error) => {
            log::warn!("client connection closed; idle timeout not available: {error}");
            close(&SockRef::from(stream));
        }
    }
}

/// Closes the connection when it has been idle for too long.
async fn close_when_idle(socket: Socket, watched: Rc<Watched>) {
    // While a request is worked on, its end is looked for once in this time.
    const PAUSE: Duration = Duration::from_secs(1);
    loop {
        let pause = match watched.idle.get() {
            IdleState::Busy => PAUSE,
            IdleState::Until(end) => end.saturating_duration_since(Instant::now()),
        };
        if pause.is_zero() {
            break;
        }
        // The state is read again after the pause, or when the idle time has become shorter.
        let _ = rt::time::timeout(pause, watched.sooner.notified()).await;
    }
    log::debug!("client connection closed: idle timeout");
    close(&socket);
}

/// Closes a connection in both directions, also if other handles of it exist.
fn close(socket: &Socket) {
    if let Err(error) = socket.shutdown(Shutdown::Both) {
        // The client has closed it before.
        log::debug!("client connection already closed: {error}");
    }
}

/// Answers a request. Its connection is not idle during that time. If the reply comes before the
/// body was read, the client has the time of a body to send the rest and to take the reply.
///
/// # Errors
///
/// The errors of the wrapped service.
pub async fn track_activity(
    limits: Limits,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let watch = request.conn_data::<Rc<Watch>>().cloned();
    let window = request.conn_data::<Rc<ReadWindow>>().cloned();
    if let Some(watch) = &watch {
        watch.watched.idle.set(IdleState::Busy);
    }
    let answered = next.call(request).await;
    if let Some(watch) = &watch {
        let is_body_left = window.is_some_and(|window| window.has_body_left());
        let idle_time = if is_body_left {
            limits.body_timeout
        } else {
            limits.longest_idle_time()
        };
        watch
            .watched
            .idle
            .set(IdleState::Until(Instant::now() + idle_time));
        if is_body_left {
            watch.watched.sooner.notify_one();
        }
    }
    answered
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
