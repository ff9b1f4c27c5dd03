//! Erases trainees from the register, each in one transaction, while servers may run.

pub mod rows;

use domain::commands::erasure::{InvalidGround, is_tombstone, require_impersonal};
use storage::base::cause::Cause;
use storage::error::{DatabaseError, JobError, StorageError};
use storage::records::erasure::{Erasure, ErasureOrder, OPERATION};
use storage::records::trainees::RelatedRecord;
use storage::session::Session;
use storage::store::Store;

/// A trainee to erase.
#[derive(Debug)]
pub struct Planned {
    /// The identifier.
    pub trainee_id: String,
    /// The earlier erasure, if the trainee was erased before.
    pub erasure: Option<Erasure>,
    /// The number of entries in the history.
    pub entries: usize,
    /// Other records that may belong to the same person.
    pub related: Vec<RelatedRecord>,
}

/// The result of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The trainee was erased now.
    Erased(Erasure),
    /// The trainee had been erased before; nothing changed.
    Before(Erasure),
    /// The register had no data of the trainee; only the record of the erasure was added.
    Recorded(Erasure),
}

/// The reasons why an erasure fails.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// The provider has no trainee with the identifier.
    #[error("the provider has no trainee with this identifier")]
    UnknownTrainee,
    /// The reason for the erasure identifies the person.
    #[error(transparent)]
    Ground(#[from] InvalidGround),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<DatabaseError> for ErasureError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for ErasureError {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Storage(error) = self {
            error.database_error()
        } else {
            None
        }
    }
}

/// Lists what an erasure of a trainee of the provider would remove, and other records of the same
/// person.
///
/// # Errors
///
/// [`ErasureError`], for example when the reason contains a present or former value that identifies
/// the person.
pub fn plan(
    session: &mut Session<'_>,
    ukprn: &str,
    trainee_id: &str,
    ground: &str,
) -> Result<Planned, ErasureError> {
    let history = session
        .history_of(trainee_id)?
        .filter(|history| history.ukprn == ukprn);
    let history = history.ok_or(ErasureError::UnknownTrainee)?;
    if history.erasure.is_none() {
        require_impersonal(ground, &history.identifying_values())?;
    }
    let related = if history.erasure.is_none() {
        session.records_of_person(trainee_id)?
    } else {
        Vec::new()
    };
    Ok(Planned {
        trainee_id: trainee_id.to_owned(),
        erasure: history.erasure,
        entries: history.entries.len(),
        related,
    })
}

/// Erases a trainee of the provider. The history records `by`, the user of the command; the order
/// names the person who ordered the erasure. Blocks.
///
/// A trainee missing from the register, for example after restoring an older backup, is recorded as
/// erased if `order` has the time of an earlier erasure.
///
/// # Errors
///
/// [`ErasureError`]; nothing has changed then.
pub fn erase_blocking(
    store: &Store,
    ukprn: &str,
    trainee_id: &str,
    order: &ErasureOrder,
    by: &str,
) -> Result<Outcome, ErasureError> {
    let ukprn = ukprn.to_owned();
    let trainee_id = trainee_id.to_owned();
    let order = order.clone();
    let by = by.to_owned();
    store.write_blocking(move |session| erase(session, &ukprn, &trainee_id, &order, &by))
}

/// Erases a trainee in the transaction of the session.
fn erase(
    session: &mut Session<'_>,
    ukprn: &str,
    trainee_id: &str,
    order: &ErasureOrder,
    by: &str,
) -> Result<Outcome, ErasureError> {
    let cause = Cause::new(OPERATION).by(by);
    let owner = session
        .open_trainee(trainee_id, cause)?
        .map(|owner| owner.provider().ukprn.clone());
    if owner.is_some_and(|owner| owner != ukprn) {
        return Err(ErasureError::UnknownTrainee);
    }
    let mut provider = session
        .open_provider(ukprn, cause)?
        .ok_or(ErasureError::UnknownTrainee)?;
    // Locks the provider against concurrent erasures.
    let found = provider.find_hidden_trainee(trainee_id)?;
    if let Some(erasure) = provider.erasure_of(trainee_id)? {
        return if erasure.ukprn == ukprn {
            Ok(Outcome::Before(erasure))
        } else {
            Err(ErasureError::UnknownTrainee)
        };
    }
    let Some(trainee) = found.filter(|trainee| !is_tombstone(&trainee.record)) else {
        // Only a repeated erasure may name a trainee that the register does not have.
        if order.erased_at.is_none() {
            return Err(ErasureError::UnknownTrainee);
        }
        return Ok(Outcome::Recorded(
            provider.record_erasure(trainee_id, order, 0)?,
        ));
    };
    // A repeated erasure keeps its stored reason. Checking it again could leave the person in the
    // register.
    if order.erased_at.is_none() {
        let history = provider
            .history_of(trainee_id)?
            .ok_or(ErasureError::UnknownTrainee)?;
        require_impersonal(&order.ground, &history.identifying_values())?;
    }
    Ok(Outcome::Erased(
        provider.erase_trainee(trainee_id, &trainee, order)?,
    ))
}
