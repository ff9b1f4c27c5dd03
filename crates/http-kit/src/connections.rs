//! What a connection may cost: how many there are, how long each may keep the server waiting, and
//! what is read ahead of it.
//!
//! actix-web bounds the wait for the first head on a connection, and for the next request while
//! nothing of it has come. It bounds neither a later head that comes byte by byte, nor a client
//! that does not take its reply. So each connection has its own [`Watch`], which closes it when it
//! has kept the server waiting for too long. How long the body of a request may take is for
//! [`crate::requests::body`].
//!
//! [`read_window`] bounds what is read ahead, for [`client_stream`], and [`application`] reports to it how each request proceeds.
//!
//! Knows sockets and moments, and nothing of what is asked.

use std::cell::Cell;
use std::net::Shutdown;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::{Duration, Instant};

use actix_web::body::MessageBody;
use actix_web::dev::{Extensions, ServiceRequest, ServiceResponse};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::middleware::Next;
use actix_web::rt::task::JoinHandle;
use actix_web::{Error, rt};
use socket2::{SockRef, Socket};
use tokio::sync::Notify;

use self::client_stream::ClientStream;

pub mod application;
pub mod client_stream;
pub mod read_window;

/// Open files per connection: its socket, and the handle that closes it after a timeout.
const FILES_OF_A_CONNECTION: usize = 2;
/// Files that the program has open besides: the database, its own wheels, and some to spare.
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
    /// The most connections of the whole server. Others wait until there is room.
    pub max_connections: NonZeroUsize,
}

impl Limits {
    /// How long a connection may be without a request that is worked on: its client takes the
    /// reply, waits, and sends the head of the next request.
    fn longest_idle_time(&self) -> Duration {
        self.body_timeout + self.keep_alive + self.header_timeout
    }

    /// Lowers the limits for a program that may open `most` files. Returns the limits and whether
    /// they changed.
    #[must_use]
    pub fn within_open_files(self, most: usize) -> (Self, bool) {
        let connections = most.saturating_sub(OTHER_FILES) / FILES_OF_A_CONNECTION;
        let most = NonZeroUsize::new(connections).unwrap_or(NonZeroUsize::MIN);
        (
            Self {
                max_connections: self.max_connections.min(most),
                ..self
            },
            most < self.max_connections,
        )
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

/// What is known of a connection.
#[derive(Debug)]
struct Watched {
    idle: Cell<IdleState>,
    /// Tells the watch that the end of an idle time is nearer than it was.
    sooner: Notify,
}

/// Whether a connection keeps the server waiting.
#[derive(Debug, Clone, Copy)]
enum IdleState {
    /// A request is worked on.
    Broken,
    /// Nothing is to be done for the client, and it has until then to ask for more.
    Until(Instant),
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The handle of the socket goes with the task. The connection is over only when all its
        // handles are gone.
        self.watching.abort();
    }
}

/// Begins to watch a connection that was made.
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
        // Only when no file can be opened any more. Then the connection is not worth keeping.
        Err(error) => {
            log::warn!("client connection closed; idle timeout not available: {error}");
            close(&SockRef::from(stream));
        }
    }
}

/// Closes the connection when it has been idle for too long.
async fn close_when_idle(socket: Socket, watched: Rc<Watched>) {
    // While a request is worked on there is nothing to wait for but its end, which is looked for
    // after a while.
    const PAUSE: Duration = Duration::from_secs(1);
    loop {
        let pause = match watched.idle.get() {
            IdleState::Broken => PAUSE,
            IdleState::Until(end) => end.saturating_duration_since(Instant::now()),
        };
        if pause.is_zero() {
            break;
        }
        // Either way there is something to look at.
        let _ = rt::time::timeout(pause, watched.sooner.notified()).await;
    }
    log::debug!("client connection closed: idle timeout");
    close(&socket);
}

/// Closes a connection for both sides, also if other handles of it exist.
fn close(socket: &Socket) {
    if let Err(error) = socket.shutdown(Shutdown::Both) {
        // The client was faster.
        log::debug!("client connection already closed: {error}");
    }
}

/// Answers the request, and notifies the watch of its connection. What was too slow is the last
/// request of its connection.
///
/// # Errors
///
/// Those of the service behind.
pub async fn track_activity(
    limits: Limits,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let watch = request.conn_data::<Rc<Watch>>().cloned();
    if let Some(watch) = &watch {
        watch.watched.idle.set(IdleState::Broken);
    }
    let mut answered = next.call(request).await;
    let too_slow =
        matches!(&answered, Ok(response) if response.status() == StatusCode::REQUEST_TIMEOUT);
    if let Ok(response) = &mut answered
        && too_slow
    {
        // The rest of the request is not read, and without it the connection cannot be used again
        // (RFC 9110, section 15.5.9).
        response
            .response_mut()
            .head_mut()
            .set_connection_type(ConnectionType::Close);
    }
    if let Some(watch) = &watch {
        let idle_time = if too_slow {
            limits.body_timeout
        } else {
            limits.longest_idle_time()
        };
        watch
            .watched
            .idle
            .set(IdleState::Until(Instant::now() + idle_time));
        if too_slow {
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
