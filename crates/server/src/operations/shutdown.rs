//! The signals that stop the server, and what it does until it has: it says that it is no longer
//! ready, goes on for as long as a balancer needs to notice, takes no more connections, answers
//! what it has begun, and finishes what is left.
//!
//! A second signal ends the program at once. What was acknowledged is on the disk at any time, so
//! nothing is lost by it but replies.

use std::time::Duration;
use std::{io, process};

use actix_web::dev::{Server, ServerHandle};
use actix_web::rt;
use actix_web::rt::signal::unix::{Signal, SignalKind, signal};
use futures_util::future::{Either, join, select};
use http_kit::logging;
use usage::request_log;

use crate::app_state::AppState;
use crate::operations::readiness::Readiness;

/// How long each step of the way may take.
#[derive(Debug, Clone, Copy)]
pub struct ShutdownTimeouts {
    /// How long the server goes on taking requests after the signal to stop.
    pub stop_delay: Duration,
    /// How long those that are in flight may take after that, and then what the store has left to
    /// do.
    pub drain_time: Duration,
}

/// The signals that stop a server.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopSignal {
    Terminate,
    Interrupt,
}

impl StopSignal {
    /// By what it is known.
    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "SIGTERM",
            Self::Interrupt => "SIGINT",
        }
    }

    /// The exit status of a program that is ended by it.
    fn exit_status(self) -> i32 {
        let kind = match self {
            Self::Terminate => SignalKind::terminate(),
            Self::Interrupt => SignalKind::interrupt(),
        };
        128 + kind.as_raw_value()
    }
}

impl StopSignals {
    /// Takes the signals from now on. Must be called where the server runs.
    ///
    /// # Errors
    ///
    /// When the operating system does not allow it.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    async fn next(&mut self) -> StopSignal {
        let terminated = std::pin::pin!(self.terminate.recv());
        let interrupted = std::pin::pin!(self.interrupt.recv());
        match select(terminated, interrupted).await {
            Either::Left(_) => StopSignal::Terminate,
            Either::Right(_) => StopSignal::Interrupt,
        }
    }
}

/// Runs the server until a signal stops it and it has shut down, and with it the one of the
/// settings, where they have a listener of their own.
///
/// # Errors
///
/// When the server cannot be run.
pub async fn run(
    server: Server,
    settings: Option<ServerHandle>,
    mut signals: StopSignals,
    readiness: Readiness,
    shutdown_timeouts: ShutdownTimeouts,
    state: &AppState,
) -> io::Result<()> {
    let (handle, stopping) = (server.handle(), settings.clone());
    let (long_polls, long_jobs) = (state.gateway.long_polls.clone(), state.long_jobs.clone());
    rt::spawn(async move {
        let signal = signals.next().await;
        rt::spawn(async move {
            let again = signals.next().await;
            log::warn!("{} again: ending at once", again.name());
            logging::flush();
            process::exit(again.exit_status());
        });
        readiness.stop();
        long_polls.stop();
        long_jobs.stop();
        stop(signal, &handle, stopping.as_ref(), shutdown_timeouts).await;
    });
    server.await?;
    if let Some(settings) = settings {
        // It may have requests to answer when the other has none. One that is being stopped goes on
        // as it was told first.
        settings.stop(true).await;
    }
    finish(state, shutdown_timeouts.drain_time).await;
    log::info!("stopped");
    Ok(())
}

async fn stop(
    signal: StopSignal,
    handle: &ServerHandle,
    settings: Option<&ServerHandle>,
    shutdown_timeouts: ShutdownTimeouts,
) {
    let ShutdownTimeouts {
        stop_delay,
        drain_time,
    } = shutdown_timeouts;
    log::info!(
        "{}: stopping; requests are taken for another {} s, and then have {} s to be answered",
        signal.name(),
        stop_delay.as_secs(),
        drain_time.as_secs()
    );
    rt::time::sleep(stop_delay).await;
    let settings = async {
        if let Some(settings) = settings {
            settings.stop(true).await;
        }
    };
    join(settings, handle.stop(true)).await;
}

/// What is left to be done when the last request was answered, or given up. Whatever must be
/// finished before the program ends stands here, the store behind what may write to it.
async fn finish(state: &AppState, most: Duration) {
    let all = async {
        let counted = async {
            usage::flush::write(
                &state.gateway.usage,
                &state.gateway.shadow,
                &state.gateway.store,
            )
            .await;
            request_log::write(&state.gateway.request_log, &state.gateway.store).await;
        };
        join(state.long_jobs.finished(), counted).await;
        state.gateway.store.drain().await
    };
    match rt::time::timeout(most, all).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => log::warn!("the last writes were not kept: {error}"),
        Err(_) => log::warn!(
            "writes that nobody waits for were given up after {} s",
            most.as_secs()
        ),
    }
}
