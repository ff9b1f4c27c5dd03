//! The plain service: what one would write by hand over the same trainees, for `make bench`.

use std::error::Error;
use std::io;

use axum::serve::ListenerExt as _;
use mimalloc::MiMalloc;
use rand::distr::{Alphanumeric, SampleString as _};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

mod access_log;
mod fill;
mod postgres;
mod records;
mod reference;
mod registration;
mod service;
mod sqlite;
mod store;
mod v2025_0;
mod v2026_1;
mod views;

use store::Store;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const USAGE: &str = "usage: plain serve DATABASE_URL ADDRESS, or plain fill DATABASE_URL < LINES";

type Outcome = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (url, address) = match arguments.as_slice() {
        ["serve", url, address] => (*url, Some(*address)),
        ["fill", url] => (*url, None),
        _ => return Err(USAGE.into()),
    };
    if url.starts_with("sqlite:") {
        run(sqlite::open(url).await?, address).await
    } else {
        run(postgres::open(url).await?, address).await
    }
}

/// Serves a database at an address, or fills it if there is none.
async fn run(store: impl Store, address: Option<&str>) -> Outcome {
    match address {
        Some(address) => serve(store, address).await,
        None => fill::fill(&store, io::stdin().lock()).await,
    }
}

async fn serve(store: impl Store, address: &str) -> Outcome {
    let listener = TcpListener::bind(address).await?.tap_io(|stream| {
        // The only effect of a failure is a slower connection.
        let _ = stream.set_nodelay(true);
    });
    let mut terminate = signal(SignalKind::terminate())?;
    axum::serve(listener, service::router(store))
        .with_graceful_shutdown(async move {
            terminate.recv().await;
        })
        .await?;
    Ok(())
}

/// Returns a new identifier of a record: 24 letters and digits.
pub(crate) fn identifier() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), 24)
}
