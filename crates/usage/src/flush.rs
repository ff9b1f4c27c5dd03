//! Writes what is counted, every few seconds and when the server ends.

use std::time::Duration;

use actix_web::rt;
use storage::store::Store;

use crate::counts::Usage;
use crate::shadow_checks::ShadowChecks;

/// How often counts are written.
const PAUSE: Duration = Duration::from_secs(10);

/// Writes what is counted every few seconds, as long as the server runs. Must be called where the
/// server runs.
pub fn start(usage: Usage, shadow: ShadowChecks, store: Store) {
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            write(&usage, &shadow, &store).await;
        }
    });
}

/// Writes what is counted, the writes that wait to be tried among it, and says in the log what did
/// not succeed. Stands at the end of a server too, behind its last request.
pub async fn write(usage: &Usage, shadow: &ShadowChecks, store: &Store) {
    let dropped = shadow.drain().await;
    if dropped > 0 {
        log::warn!(
            "usage: {dropped} writes were not tried in the newest version, since too many waited"
        );
    }
    if let Err(error) = usage.flush(store).await {
        log::warn!("usage was not written: {error}");
    }
}
