//! A job of the store for a request that takes more than one of them.

use gateway::state::GatewayState;
use storage::session::Session;

use crate::request::page::PageError;
use crate::state::SettingsPages;

/// Runs a job that writes, beside few others.
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
            // The permit goes with the job, which goes on when the browser has gone away.
            let _held = &permit;
            job(session)
        })
        .await
}
