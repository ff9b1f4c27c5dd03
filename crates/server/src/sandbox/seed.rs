//! Fills a sandbox with invented trainees.

use domain::records::organisations::Organisations;
use domain::{Context, Lists, Trainee};
use fixtures::TraineeGenerator;
use storage::base::cause::Cause;
use storage::error::{DatabaseError, JobError, StorageError};
use storage::store::Store;

/// The number of trainees written per transaction.
const BATCH: usize = 500;
/// The number of schools and training partners that invented trainees use.
const ORGANISATIONS: i64 = 200;

/// The reasons why seeding fails.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// No provider has this UKPRN.
    #[error("no provider has the UKPRN {0}; to list all providers, run `provider list`")]
    UnknownProvider(String),
    /// The rules of the newest version refuse an invented trainee.
    #[error("the rules reject an invented trainee: {0:?}")]
    Refused(Vec<domain::Problem>),
    /// The trainees of the seed exist already.
    #[error("this register already contains the trainees of seed {0}; choose another seed")]
    SeedUsed(u64),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<DatabaseError> for SeedError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for SeedError {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Storage(error) = self {
            error.database_error()
        } else {
            None
        }
    }
}

/// Adds invented trainees to a provider, with codes of the lists. The same seed gives the same
/// trainees on the same day. Calls `written` with the total number after each batch. `by` is the
/// user of the command, if a command runs.
///
/// # Errors
///
/// [`SeedError`]. Earlier batches remain.
pub fn fill(
    store: &Store,
    lists: &Lists,
    ukprn: &str,
    count: usize,
    seed: u64,
    by: Option<&str>,
    written: impl Fn(usize),
) -> Result<(), SeedError> {
    let Some(newest) = versions::all().newest() else {
        return Ok(());
    };
    let (organisations, today) =
        store.read_blocking(|session| -> Result<(Organisations, _), StorageError> {
            Ok((session.first_organisations(ORGANISATIONS)?, session.today()))
        })?;
    let version = newest.version;
    let context = Context {
        today,
        lists,
        accepted_codes: &version.accepted_codes,
        organisations: &organisations,
    };
    let mut generator = TraineeGenerator::new(seed, &version.rules, context);
    let mut left = count;
    while left > 0 {
        let batch = left.min(BATCH);
        let trainees: Vec<Trainee> = (0..batch)
            .map(|_| generator.accepted_trainee(ukprn))
            .collect::<Result<_, _>>()
            .map_err(SeedError::Refused)?;
        let provider = ukprn.to_owned();
        let by = by.map(str::to_owned);
        store.write_blocking(move |session| -> Result<(), SeedError> {
            let cause = Cause {
                by: by.as_deref(),
                ..Cause::new("sandbox seed")
            };
            let Some(mut session) = session.open_provider(&provider, cause)? else {
                return Err(SeedError::UnknownProvider(provider.clone()));
            };
            trainees
                .iter()
                .try_for_each(|trainee| match session.insert_trainee(trainee) {
                    Err(error) if error.is_unique_violation() => Err(SeedError::SeedUsed(seed)),
                    result => Ok(result?),
                })
        })?;
        left -= batch;
        written(count - left);
    }
    Ok(())
}
