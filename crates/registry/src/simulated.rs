//! Plays the registry in a sandbox: issues a number some time after the submission, and confirms an
//! award as long after the recommendation.
//!
//! What is due is asked of the store and decided on the trainee in the transaction of the change,
//! so that it happens once, also after a restart and with several servers over one database.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::commands::registry::RegistryError;
use storage::base::cause::Cause;
use storage::error::StorageError;
use storage::records::trainees::Waiting;
use storage::session::Session;
use storage::store::Store;

use crate::actions::{RegistryAction, RegistryActionError, perform};

/// What the history says of a change.
const OPERATION: &str = "sandbox registry";
/// How often a server looks for what is due.
const PAUSE: Duration = Duration::from_secs(1);
/// Trainees that are looked for at once. Each is changed in a transaction of its own, so that no
/// request waits for many.
const BATCH: u16 = 50;

/// What the registry did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Trainees who got a number.
    pub numbers: usize,
    /// Trainees whose award was confirmed.
    pub awards: usize,
}

/// Plays the registry as long as the server runs. Must be called where the server runs.
pub fn start(store: Store, delay: TimeDelta) {
    tokio::task::spawn_local(async move {
        loop {
            if let Err(error) = simulate_once(&store, delay).await {
                log::warn!("the registry was not played to the end: {error}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
}

/// Does everything that is due: for trainees who were submitted, or recommended, that long ago by
/// the store's clock.
///
/// # Errors
///
/// When the store fails. What was done before stays, and the rest is due the next time.
pub async fn simulate_once(store: &Store, delay: TimeDelta) -> Result<Simulated, StorageError> {
    let find: Find = |session, until, behind, most| session.awaiting_trn(until, behind, most);
    let numbers = do_all(store, delay, find, number).await?;
    let find: Find = |session, until, behind, most| session.awaiting_award(until, behind, most);
    let awards = do_all(store, delay, find, award).await?;
    Ok(Simulated { numbers, awards })
}

/// Finds those who have waited since a time, behind one of them, so many at most.
type Find = fn(
    &mut Session<'_>,
    DateTime<Utc>,
    Option<&Waiting>,
    i64,
) -> Result<Vec<Waiting>, StorageError>;

/// Does something to a trainee, and says whether that was a change.
type Change = fn(&mut Session<'_>, &str) -> Result<bool, RegistryActionError>;

/// Issues a number.
fn number(session: &mut Session<'_>, trainee_id: &str) -> Result<bool, RegistryActionError> {
    Ok(perform(
        session,
        trainee_id,
        &RegistryAction::IssueTrn(None),
        Cause::new(OPERATION),
    )?
    .changed)
}

/// Confirms an award. A trainee who has no number gets one first.
fn award(session: &mut Session<'_>, trainee_id: &str) -> Result<bool, RegistryActionError> {
    let award = |session: &mut Session<'_>| {
        perform(
            session,
            trainee_id,
            &RegistryAction::Award,
            Cause::new(OPERATION),
        )
    };
    let outcome = match award(session) {
        Err(RegistryActionError::Refused(RegistryError::NoTrn)) => {
            number(session, trainee_id)?;
            award(session)
        }
        outcome => outcome,
    };
    Ok(outcome?.changed)
}

/// Does something to all who have waited long enough, and says how many were changed by it.
async fn do_all(
    store: &Store,
    delay: TimeDelta,
    find: Find,
    change: Change,
) -> Result<usize, StorageError> {
    let mut changed = 0;
    let mut last: Option<Waiting> = None;
    loop {
        let behind = last.take();
        let read = move |session: &mut Session<'_>| {
            let until = session.now() - delay;
            find(session, until, behind.as_ref(), BATCH.into())
        };
        let waiting = store.read(read).await?;
        let is_all = waiting.len() < usize::from(BATCH);
        for one in &waiting {
            let trainee_id = one.trainee_id.clone();
            match store
                .write(move |session| change(session, &trainee_id))
                .await
            {
                Ok(true) => changed += 1,
                // Another server, or the provider, was faster.
                Ok(false)
                | Err(
                    RegistryActionError::UnknownTrainee
                    | RegistryActionError::NumberRequired
                    | RegistryActionError::Erased
                    | RegistryActionError::Refused(_),
                ) => {}
                Err(RegistryActionError::Storage(error)) if error.is_temporary() => {
                    return Err(error);
                }
                // A record that cannot be changed keeps no other back.
                Err(RegistryActionError::Storage(error)) => {
                    log::warn!("the registry passed over {}: {error}", one.trainee_id)
                }
            }
        }
        if is_all {
            return Ok(changed);
        }
        last = waiting.into_iter().next_back();
    }
}
