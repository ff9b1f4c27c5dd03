//! Messages to the server and back, on the calling thread.
//!
//! tokio-postgres has a half that sends requests and one that drives the socket. Both run here, on
//! a runtime of this connection, for as long as a request takes: no other thread takes part, so a
//! round trip costs no switch between threads.

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

/// The half of a connection that drives the socket.
pub(crate) type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// A statement whose result was not read yet.
type Deferred = BoxFuture<'static, Result<(), PostgresError>>;

/// Both halves of a connection.
pub(crate) struct Transport {
    /// Nothing while this is dropped.
    runtime: Option<Runtime>,
    client: Arc<Client>,
    driver: Driver,
    /// What goes along with the next request, in this order, before it.
    deferred: Vec<Deferred>,
    /// What the server has warned of since they were last taken.
    warnings: Vec<DbError>,
    deadline: Option<Instant>,
    is_closed: bool,
    /// How often an answer was waited for.
    round_trips: u64,
}

impl Transport {
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

    pub(crate) fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }

    /// Whether the connection cannot be used any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed || self.client.is_closed()
    }

    /// Gives the connection up.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(crate) fn round_trips(&self) -> u64 {
        self.round_trips
    }

    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Leaves a request for later: it is sent with the next one, and before it.
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

    /// The warnings since the last time, and none from then on.
    pub(crate) fn take_warnings(&mut self) -> Vec<DbError> {
        std::mem::take(&mut self.warnings)
    }

    /// Sends a request, and what was deferred before it, and waits for all answers.
    ///
    /// # Errors
    ///
    /// The first failure. After one of the connection or of a boundary, or when the deadline has
    /// passed, the connection is closed.
    pub(crate) fn run<T>(
        &mut self,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PostgresError> {
        let earlier = join_all(std::mem::take(&mut self.deferred));
        let all = async {
            let (earlier, answer) = futures_util::future::join(earlier, request).await;
            // Behind a failed statement the others fail because of it.
            earlier.into_iter().collect::<Result<(), _>>()?;
            answer.map_err(PostgresError::from)
        };
        let outcome = self.drive(all);
        if outcome.as_ref().is_err_and(|failure| failure.must_close) {
            self.is_closed = true;
        }
        outcome
    }

    /// Sends what was deferred, and waits for no answer. A failure is reported by the next request,
    /// as one of the connection.
    pub(crate) fn flush(&mut self) {
        let (Some(runtime), false) = (&self.runtime, self.is_closed) else {
            return;
        };
        let (driver, deferred) = (&mut self.driver, &mut self.deferred);
        let mut waiting = Vec::new();
        let mut failed = None;
        runtime.block_on(poll_fn(|context| {
            for mut request in deferred.drain(..) {
                match request.as_mut().poll(context) {
                    Poll::Pending => waiting.push(flushed(request)),
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(failure)) => failed = Some(failure),
                }
            }
            // Whatever it says is said again when it is next driven.
            let _ = Pin::new(&mut *driver).poll_message(context);
            Poll::Ready(())
        }));
        self.deferred = waiting;
        self.is_closed |= failed.is_some();
    }

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
        let (driver, warnings, deadline) = (&mut self.driver, &mut self.warnings, self.deadline);
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

/// A sent request whose failure is reported by a later request.
fn flushed(request: Deferred) -> Deferred {
    Box::pin(async move {
        request
            .await
            .map_err(PostgresError::into_connection_failure)
    })
}

/// Polls a request, and the socket under it.
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
            // The driver may have passed an answer on.
            Poll::Pending => return request.as_mut().poll(context),
        }
    }
}

trait Warns {
    fn severity_is_warning(&self) -> bool;
}

impl Warns for DbError {
    fn severity_is_warning(&self) -> bool {
        use tokio_postgres::error::Severity;
        // A server of before 9.6 does not say it in English alone.
        !matches!(
            self.parsed_severity(),
            Some(Severity::Notice | Severity::Debug | Severity::Info | Severity::Log)
        )
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        // To end a runtime otherwise is not allowed where futures are polled.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
