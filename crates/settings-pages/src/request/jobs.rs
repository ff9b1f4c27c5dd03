//! Jobs of the store for requests that need more than one job.

use gateway::state::GatewayState;
use storage::session::Session;

use crate::request::page::PageError;
use crate::state::SettingsPages;

/// Runs a job that writes, within the concurrency limit.
pub(crate) async fn write<T: Send + 'static>(
    state: &GatewayState,
    settings: &SettingsPages,
    mut job: impl FnMut(&mut Session<'_>) -> Result<T, PageError> + Send + 'static,
) -> Result<T, PageError> {
    let Some(permit) = settings.acquire(None).await else {
        return Err(PageError::Busy);
    };
    state
        .store
        .write(move |session| {
            // The permit is held until the job ends, also after the browser has closed the
            // connection.
            let _held = &permit;
            job(session)
        })
        .await
}
