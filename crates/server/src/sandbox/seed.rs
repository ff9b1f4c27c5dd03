//! Fills a sandbox with invented trainees.

use domain::records::organisations::Organisations;
use domain::{Context, Lists, Trainee};
use fixtures::TraineeGenerator;
use storage::base::cause::Cause;
use storage::error::{JobError, StorageError};
use storage::store::Store;

/// Trainees that are written in one transaction.
const BATCH: usize = 500;
/// How many of the known schools and training partners the invented trainees have to do with.
const ORGANISATIONS: i64 = 200;

/// Why a sandbox was not filled.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// No provider has this UKPRN.
    #[error("no provider has the ukprn {0}")]
    UnknownProvider(String),
    /// The rules of the newest version refuse an invented trainee.
    #[error("an invented trainee is refused by the rules: {0:?}")]
    Refused(Vec<domain::Problem>),
    /// The trainees of the seed are there already.
    #[error("the trainees of seed {0} are in this register already; choose another seed")]
    SeedUsed(u64),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl JobError for SeedError {
    fn storage_error(&self) -> Option<&StorageError> {
        if let Self::Storage(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

/// Adds so many invented trainees to a provider, with codes of the lists; the same seed gives the
/// same trainees on the same day. `written` receives how many were written, after each batch. `by`
/// is who runs the command, where one is run.
///
/// # Errors
///
/// [`SeedError`]. Batches that were written before stay.
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
        let (provider, by) = (ukprn.to_owned(), by.map(str::to_owned));
        store.write_blocking(move |session| -> Result<(), SeedError> {
            let mut session = match session.open_provider(
                &provider,
                Cause {
                    by: by.as_deref(),
                    ..Cause::new("sandbox seed")
                },
            )? {
                Some(session) => session,
                None => return Err(SeedError::UnknownProvider(provider.clone())),
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
