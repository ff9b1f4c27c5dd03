//! Erases trainees from the register: in one transaction for each, next to running servers.
//!
//! Knows nothing of who asks for it: the command line does.

pub mod rows;

use domain::commands::erasure::{InvalidGround, is_tombstone, require_impersonal};
use storage::base::cause::Cause;
use storage::error::{JobError, StorageError};
use storage::records::erasure::{Erasure, ErasureOrder, OPERATION};
use storage::records::trainees::RelatedRecord;
use storage::session::Session;
use storage::store::Store;

use crate::retries::write_blocking_with_retries;

/// A trainee that is to be erased.
#[derive(Debug)]
pub struct Planned {
    /// The identifier.
    pub trainee_id: String,
    /// The erasure of one that was erased before.
    pub erasure: Option<Erasure>,
    /// How many entries the history has.
    pub entries: usize,
    /// Other records that may be of the same person.
    pub related: Vec<RelatedRecord>,
}

/// What became of a trainee that was to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was erased now.
    Erased(Erasure),
    /// It was erased before; nothing has changed.
    Before(Erasure),
    /// The register had nothing of it, and now has the record of the erasure.
    Recorded(Erasure),
}

/// Why a trainee was not erased.
#[derive(Debug, thiserror::Error)]
pub enum ErasureError {
    /// The provider has no trainee with the identifier, whoever else may have.
    #[error("the provider has no trainee with this identifier")]
    UnknownTrainee,
    /// What would be kept as the ground names the person.
    #[error(transparent)]
    Ground(#[from] InvalidGround),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl JobError for ErasureError {
    fn storage_error(&self) -> Option<&StorageError> {
        if let Self::Storage(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

/// What an erasure of a trainee of that provider would remove, and what else there may be of the
/// person. Fails when the ground names the person, by a present or a former value.
///
/// # Errors
///
/// [`ErasureError`].
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

/// Erases a trainee of that provider. `by` runs the command, for the history; who ordered the
/// erasure is a part of the order. Blocks.
///
/// A trainee that the register does not know, because it is restored from an older backup, is
/// recorded as erased when the order says that it was.
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
    let (ukprn, trainee_id, order, by) = (
        ukprn.to_owned(),
        trainee_id.to_owned(),
        order.clone(),
        by.to_owned(),
    );
    write_blocking_with_retries(store, move |session| {
        erase(session, &ukprn, &trainee_id, &order, &by)
    })
}

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
    // Nobody else erases the trainee from here on.
    let found = provider.find_hidden_trainee(trainee_id)?;
    if let Some(erasure) = provider.erasure_of(trainee_id)? {
        return if erasure.ukprn == ukprn {
            Ok(Outcome::Before(erasure))
        } else {
            Err(ErasureError::UnknownTrainee)
        };
    }
    let Some(trainee) = found.filter(|trainee| !is_tombstone(&trainee.record)) else {
        if order.erased_at.is_none() {
            return Err(ErasureError::UnknownTrainee);
        }
        return Ok(Outcome::Recorded(
            provider.record_erasure(trainee_id, order, 0)?,
        ));
    };
    // The ground of an erasure that is made again is kept already; to refuse it would leave the
    // person in the register.
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
