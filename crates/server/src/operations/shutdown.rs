//! Shutdown after a signal, in these steps:
//!
//! 1. The server reports that it is not ready.
//! 2. The server continues for the stop delay, so that a load balancer notices.
//! 3. The server accepts no more connections, and answers requests in flight.
//! 4. The server finishes background work.
//!
//! A second signal ends the program at once. Acknowledged writes are always on the disk, so only
//! replies can be lost.

use std::time::Duration;
use std::{io, process};

use actix_web::dev::{Server, ServerHandle};
use actix_web::rt;
use actix_web::rt::signal::unix::{Signal, SignalKind, signal};
use futures_util::future::{Either, join, select};
use http_kit::logging;

use crate::app_state::AppState;
use crate::operations::readiness::Readiness;

/// The time limits of the steps.
#[derive(Debug, Clone, Copy)]
pub struct ShutdownTimeouts {
    /// How long the server still accepts requests after the signal.
    pub stop_delay: Duration,
    /// The time for requests in flight, and after them for background work.
    pub drain_time: Duration,
}

/// The handlers of the signals that stop a server.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

/// A signal that stops a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopSignal {
    Terminate,
    Interrupt,
}

impl StopSignal {
    /// The name of the signal.
    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        }
    }

    /// The exit status of a program ended by the signal.
    fn exit_status(self) -> i32 {
        let kind = match self {
            Self::Terminate => SignalKind::terminate(),
            Self::Interrupt => SignalKind::interrupt(),
        };
        128 + kind.as_raw_value()
    }
}

impl StopSignals {
    /// Starts handling the signals. Must be called on a `LocalSet`.
    ///
    /// # Errors
    ///
    /// When the operating system refuses a signal handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) -> StopSignal {
        let terminated = std::pin::pin!(self.terminate.recv());
        let interrupted = std::pin::pin!(self.interrupt.recv());
        match select(terminated, interrupted).await {
            Either::Left(_) => StopSignal::Terminate,
            Either::Right(_) => StopSignal::Interrupt,
        }
    }
}

/// Runs the server until a signal has stopped it.
///
/// # Errors
///
/// When the server fails.
pub async fn run(
    server: Server,
    mut signals: StopSignals,
    readiness: Readiness,
    shutdown_timeouts: ShutdownTimeouts,
    state: &AppState,
) -> io::Result<()> {
    let handle = server.handle();
    let long_polls = state.gateway.long_polls.clone();
    let long_jobs = state.long_jobs.clone();
    rt::spawn(async move {
        let signal = signals.next().await;
        rt::spawn(async move {
            let again = signals.next().await;
            log::warn!("{}: second stop signal; exiting immediately", again.name());
            logging::flush();
            process::exit(again.exit_status());
        });
        readiness.stop();
        long_polls.stop();
        long_jobs.stop();
        stop(signal, &handle, shutdown_timeouts).await;
    });
    server.await?;
    finish(state, shutdown_timeouts.drain_time).await;
    log::info!("server stopped");
    Ok(())
}

/// Stops the server: after the stop delay it accepts no connections, and answers the requests in
/// flight.
async fn stop(signal: StopSignal, handle: &ServerHandle, shutdown_timeouts: ShutdownTimeouts) {
    let ShutdownTimeouts {
        stop_delay,
        drain_time,
    } = shutdown_timeouts;
    log::info!(
        "{}: server stopping; accepting requests for {} s, then draining for up to {} s",
        signal.name(),
        stop_delay.as_secs(),
        drain_time.as_secs()
    );
    rt::time::sleep(stop_delay).await;
    handle.stop(true).await;
}

/// Finishes the background work that must be complete before the program ends, within `max_time`.
/// The store comes last, because the other work writes to it.
async fn finish(state: &AppState, max_time: Duration) {
    let all_work = async {
        join(state.long_jobs.finished(), state.gateway.recorder.flush()).await;
        state.gateway.store.drain().await;
    };
    match rt::time::timeout(max_time, all_work).await {
        Ok(()) => {}
        Err(_) => log::warn!(
            "shutdown: background writes unfinished after {} s; increase --drain-time \
             (REGISTER_DRAIN_TIME)",
            max_time.as_secs()
        ),
    }
}
