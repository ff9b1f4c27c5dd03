//! What a server does besides answering: it removes what is no longer needed, a little at a time.

use std::time::Duration;

use actix_web::rt;
use storage::error::StorageError;
use storage::store::Store;

/// How often a server looks for what it can remove.
const PAUSE: Duration = Duration::from_secs(600);
/// Replies, or counts, that are removed in one transaction.
const BATCH: u16 = 500;

/// Looks after the store as long as the server runs. Must be called where the server runs.
pub fn begin(store: Store) {
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            if let Err(error) = remove_old_replies(&store).await {
                log::warn!("old replies were not removed: {error}");
            }
            if let Err(error) = remove_old_usage(&store).await {
                log::warn!("old counts of usage were not removed: {error}");
            }
        }
    });
}

/// Removes the replies that are no longer found by their keys.
async fn remove_old_replies(store: &Store) -> Result<(), StorageError> {
    loop {
        let removed = store.write(|session| session.remove_old_replies(i64::from(BATCH))).await?;
        if removed < usize::from(BATCH) {
            return Ok(());
        }
    }
}

/// Removes the counts of days that are no longer kept.
async fn remove_old_usage(store: &Store) -> Result<(), StorageError> {
    loop {
        let removed = store.write(|session| session.remove_old_usage(i64::from(BATCH))).await?;
        if removed < usize::from(BATCH) {
            return Ok(());
        }
    }
}
