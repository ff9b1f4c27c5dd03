//! Simulates the registry in a sandbox: after a delay, it issues TRNs to submitted trainees and
//! confirms the award of recommended ones.
//!
//! The transaction of each change decides on the action again. So an action happens once, also
//! after a restart and with several servers on one database.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::commands::registry::RegistryError;
use storage::base::cause::Cause;
use storage::error::StorageError;
use storage::records::trainees::Waiting;
use storage::session::Session;
use storage::store::Store;

use crate::actions::{RegistryAction, RegistryActionError, perform};

/// The operation in the history.
const OPERATION: &str = "sandbox registry";
/// The pause between two searches for due actions.
const PAUSE: Duration = Duration::from_secs(1);
/// Trainees per search. Each is changed in its own transaction, so that no request waits long.
const BATCH: u16 = 50;

/// The counts of simulated actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Trainees who got a number.
    pub numbers: usize,
    /// Trainees whose award was confirmed.
    pub awards: usize,
}

/// Starts the simulation, which runs as long as the server. Must be called on a `LocalSet`.
pub fn start(store: Store, delay: TimeDelta) {
    tokio::task::spawn_local(async move {
        loop {
            if let Err(error) = simulate_once(&store, delay).await {
                log::warn!("simulated registry interrupted; retrying in 1 s: {error}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
}

/// Performs all due actions: for trainees submitted or recommended at least `delay` ago by the
/// store's clock.
///
/// # Errors
///
/// When the store fails. Earlier changes remain, and the rest stays due.
pub async fn simulate_once(store: &Store, delay: TimeDelta) -> Result<Simulated, StorageError> {
    let find: Find = |session, until, after, most| session.awaiting_trn(until, after, most);
    let numbers = perform_due(store, delay, find, issue_trn).await?;
    let find: Find = |session, until, after, most| session.awaiting_award(until, after, most);
    let awards = perform_due(store, delay, find, confirm_award).await?;
    Ok(Simulated { numbers, awards })
}

/// Finds trainees that have waited since before the given time. Begins after a trainee of the
/// previous search, and returns up to the given number.
type Find = fn(
    &mut Session<'_>,
    DateTime<Utc>,
    Option<&Waiting>,
    i64,
) -> Result<Vec<Waiting>, StorageError>;

/// Performs an action on a trainee and returns whether the record changed.
type Change = fn(&mut Session<'_>, &str) -> Result<bool, RegistryActionError>;

/// Issues a TRN to a trainee, and returns whether the record changed.
fn issue_trn(session: &mut Session<'_>, trainee_id: &str) -> Result<bool, RegistryActionError> {
    Ok(perform(
        session,
        trainee_id,
        &RegistryAction::IssueTrn(None),
        Cause::new(OPERATION),
    )?
    .changed)
}

/// Confirms the award of a trainee, and returns whether the record changed. A trainee without a TRN
/// gets one first.
fn confirm_award(session: &mut Session<'_>, trainee_id: &str) -> Result<bool, RegistryActionError> {
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
            issue_trn(session, trainee_id)?;
            award(session)
        }
        outcome => outcome,
    };
    Ok(outcome?.changed)
}

/// Performs an action on all trainees that have waited long enough, and returns the number of
/// changes.
async fn perform_due(
    store: &Store,
    delay: TimeDelta,
    find: Find,
    change: Change,
) -> Result<usize, StorageError> {
    let mut changed = 0;
    let mut last: Option<Waiting> = None;
    loop {
        let after = last.take();
        let read = move |session: &mut Session<'_>| {
            let until = session.now() - delay;
            find(session, until, after.as_ref(), BATCH.into())
        };
        let waiting = store.read(read).await?;
        let is_all = waiting.len() < usize::from(BATCH);
        for trainee in &waiting {
            let trainee_id = trainee.trainee_id.clone();
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
                // A failure for one trainee does not stop the others.
                Err(RegistryActionError::Storage(error)) => {
                    log::warn!(
                        "simulated registry skipped trainee {}: {error}",
                        trainee.trainee_id
                    );
                }
            }
        }
        if is_all {
            return Ok(changed);
        }
        last = waiting.into_iter().next_back();
    }
}
