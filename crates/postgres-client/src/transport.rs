//! Sends messages to the server and receives the answers, on the calling thread.
//!
//! tokio-postgres has a client, which sends requests, and a driver, which reads and writes the
//! socket. Both run on the calling thread during a request, on a runtime of this connection. No
//! other thread is involved, so a round trip needs no thread switch.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::future::{BoxFuture, join_all};
use tokio::runtime::Runtime;
use tokio::time::timeout_at;
use tokio_postgres::error::DbError;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{PostgresError, describe};

/// The part of a connection that reads and writes the socket.
pub(crate) type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// A statement whose answer was not read yet.
type Deferred = BoxFuture<'static, Result<(), PostgresError>>;

/// The client and the driver of a connection.
pub(crate) struct Transport {
    /// `None` only in `drop`.
    runtime: Option<Runtime>,
    client: Arc<Client>,
    driver: Driver,
    /// Requests to send before the next one, in this order.
    deferred: Vec<Deferred>,
    /// Warnings of the server since they were last taken.
    warnings: Vec<DbError>,
    deadline: Option<Instant>,
    is_closed: bool,
    /// The number of round trips.
    round_trips: u64,
}

impl Transport {
    /// A transport over an open connection.
    pub(crate) fn new(runtime: Runtime, client: Client, driver: Driver) -> Self {
        Self {
            runtime: Some(runtime),
            client: Arc::new(client),
            driver,
            deferred: Vec::new(),
            warnings: Vec::new(),
            deadline: None,
            is_closed: false,
            round_trips: 0,
        }
    }

    /// The client, which makes requests. [`Transport::run`] or [`Transport::defer`] sends them.
    pub(crate) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }

    /// Whether the connection was closed or lost. It must then be dropped.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed || self.client.is_closed()
    }

    /// Marks the connection as closed. Later requests fail.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The number of deferred requests.
    pub(crate) fn deferred(&self) -> usize {
        self.deferred.len()
    }

    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips
    }

    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Defers a request: it is sent with the next one, before it.
    pub(crate) fn defer(
        &mut self,
        request: impl Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
    ) {
        self.deferred.push(Box::pin(async move {
            request.await.map_err(PostgresError::from)
        }));
    }

    /// Like [`Transport::defer`], but for a request that begins or ends a transaction. Its failure
    /// closes the connection.
    pub(crate) fn defer_boundary(
        &mut self,
        request: impl Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
    ) {
        self.deferred.push(Box::pin(async move {
            request
                .await
                .map_err(|error| PostgresError::from(error).at_boundary())
        }));
    }

    /// Returns and clears the collected warnings.
    pub(crate) fn take_warnings(&mut self) -> Vec<DbError> {
        std::mem::take(&mut self.warnings)
    }

    /// Sends the deferred requests and this one, and waits for all answers.
    ///
    /// # Errors
    ///
    /// The first failure, in the order of the requests. The connection is closed if the connection
    /// or a transaction boundary failed, or if the deadline has passed.
    pub(crate) fn run<T>(
        &mut self,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresError> {
        let earlier = join_all(std::mem::take(&mut self.deferred));
        let all = async {
            let (earlier, answer) = futures_util::future::join(earlier, request).await;
            // The first failure is the cause of those that follow.
            earlier.into_iter().collect::<Result<(), _>>()?;
            answer.map_err(PostgresError::from)
        };
        let outcome = self.drive(all);
        if outcome.as_ref().is_err_and(|failure| failure.must_close) {
            self.is_closed = true;
        }
        outcome
    }

    /// Sends the deferred requests without waiting for the answers. The next request reports a
    /// failure, as one of the connection.
    pub(crate) fn flush(&mut self) {
        let (Some(runtime), false) = (&self.runtime, self.is_closed) else {
            // A closed connection sends nothing.
            return;
        };
        let driver = &mut self.driver;
        let deferred = &mut self.deferred;
        let mut waiting = Vec::new();
        let mut failed = None;
        runtime.block_on(poll_fn(|context| {
            for mut request in deferred.drain(..) {
                // The first poll of a request hands it to the driver.
                match request.as_mut().poll(context) {
                    Poll::Pending => waiting.push(flushed(request)),
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(failure)) => failed = Some(failure),
                }
            }
            // The result can be ignored: an error of the driver is returned again at the next
            // request.
            let _ = Pin::new(&mut *driver).poll_message(context);
            Poll::Ready(())
        }));
        self.deferred = waiting;
        self.is_closed |= failed.is_some();
    }

    /// Runs the client and the driver until `all` is answered or the deadline has passed.
    fn drive<T>(
        &mut self,
        all: impl Future<Output = Result<T, PostgresError>>,
    ) -> Result<T, PostgresError> {
        self.round_trips += 1;
        let lost = || PostgresError::connection_failure("the connection was given up before");
        let runtime = self
            .runtime
            .as_ref()
            .filter(|_| !self.is_closed)
            .ok_or_else(lost)?;
        let driver = &mut self.driver;
        let warnings = &mut self.warnings;
        let deadline = self.deadline;
        let mut all = pin!(all);
        let answered = poll_fn(|context| poll(all.as_mut(), driver, warnings, context));
        runtime.block_on(async {
            match deadline {
                None => answered.await,
                Some(deadline) => {
                    timeout_at(deadline.into(), answered)
                        .await
                        .unwrap_or_else(|_| {
                            Err(PostgresError::connection_failure(
                                "the server did not answer in time",
                            ))
                        })
                }
            }
        })
    }
}

/// A sent request whose failure a later request reports, as one of the connection.
fn flushed(request: Deferred) -> Deferred {
    Box::pin(async move {
        request
            .await
            .map_err(PostgresError::into_connection_failure)
    })
}

/// Polls a request and its socket, and collects warnings.
fn poll<T>(
    mut request: Pin<&mut impl Future<Output = Result<T, PostgresError>>>,
    driver: &mut Driver,
    warnings: &mut Vec<DbError>,
    context: &mut Context<'_>,
) -> Poll<Result<T, PostgresError>> {
    loop {
        if let Poll::Ready(answer) = request.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        match driver.poll_message(context) {
            Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                if notice.severity_is_warning() {
                    warnings.push(notice);
                }
            }
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(error))) => {
                return Poll::Ready(Err(PostgresError::connection_failure(describe(&error))));
            }
            Poll::Ready(None) => {
                return Poll::Ready(Err(PostgresError::connection_failure(
                    "the server closed the connection",
                )));
            }
            // The driver may have delivered the answer.
            Poll::Pending => return request.as_mut().poll(context),
        }
    }
}

/// Distinguishes warnings from other notices of the server.
trait Warns {
    /// Whether the severity is that of a warning or higher.
    fn severity_is_warning(&self) -> bool;
}

impl Warns for DbError {
    fn severity_is_warning(&self) -> bool {
        use tokio_postgres::error::Severity;
        // Servers before 9.6 send only a translated severity; it counts as a warning.
        !matches!(
            self.parsed_severity(),
            Some(Severity::Notice | Severity::Debug | Severity::Info | Severity::Log)
        )
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        // A plain drop of a runtime panics inside asynchronous code.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
