//! Flushes counts periodically and at shutdown.

use std::time::Duration;

use actix_web::rt;
use storage::store::Store;

use crate::counts::Usage;
use crate::shadow_checks::ShadowChecks;

/// The time between two flushes.
const PAUSE: Duration = Duration::from_secs(10);

/// Starts a task that flushes the counts every few seconds, as long as the server runs. Must be
/// called on a `LocalSet`.
pub fn start(usage: Usage, shadow: ShadowChecks, store: Store) {
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            write(&usage, &shadow, &store).await;
        }
    });
}

/// Runs the queued shadow checks, writes the counts, and logs failures. The server also calls this
/// function at shutdown, after its last request.
pub async fn write(usage: &Usage, shadow: &ShadowChecks, store: &Store) {
    let dropped = shadow.drain().await;
    if dropped > 0 {
        log::warn!("shadow checks dropped: {dropped}; the queue was full");
    }
    if let Err(error) = usage.flush(store).await {
        log::warn!("usage counts not written: {error}");
    }
}
