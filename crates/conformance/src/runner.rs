//! Runs a check on any number of records. The records are generated in samples of a few hundred to
//! limit memory use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fmt, thread};

use adapter_kit::versions::Versions;
use chrono::NaiveDate;
use domain::Problem;

use crate::case::CheckFailure;
use crate::sample::Sample;

/// The number of stored records in one sample, and the number of untidy records.
const SAMPLE: usize = 500;

/// A conformance check.
pub type Check = fn(&Versions, &Sample) -> Result<(), CheckFailure>;

/// The reason that a check did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// The check failed for a case.
    CheckFailure(CheckFailure),
    /// A record of the sample could not be generated.
    NoSample(Vec<Problem>),
}

impl fmt::Display for CheckError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CheckFailure(failure) => failure.fmt(formatter),
            Self::NoSample(problems) => {
                write!(formatter, "a sample record is refused: {problems:?}")
            }
        }
    }
}

impl std::error::Error for CheckError {}

/// Parses the number of records. Returns `usual` if there is no text.
///
/// # Errors
///
/// Fails if the text is not a number.
pub fn record_count(text: Option<String>, usual: usize) -> Result<usize, String> {
    text.map_or(Ok(usual), |text| {
        text.parse()
            .map_err(|_| format!("{text} is not a number of records"))
    })
}

/// Runs a check on `records` stored and `records` untidy records, on all processors. The records
/// are split into samples. The first sample has the seed `seed`; the seed increases by one for each
/// sample. A failure reports the seed of its sample.
///
/// # Errors
///
/// Returns a case that fails, or the problems of a record that cannot be generated.
pub fn check_samples(
    check: Check,
    versions: &Versions,
    seed: u64,
    records: usize,
    today: NaiveDate,
) -> Result<(), CheckError> {
    let samples = records.div_ceil(SAMPLE);
    let next = AtomicUsize::new(0);
    let first_fault = Mutex::new(None);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= samples {
                return;
            }
            let count = SAMPLE.min(records - at * SAMPLE);
            let sample = Sample::new(seed + at as u64, count, today).map_err(CheckError::NoSample);
            if let Err(fault) =
                sample.and_then(|sample| check(versions, &sample).map_err(CheckError::CheckFailure))
            {
                // Stops the other workers before their next sample.
                next.store(samples, Ordering::Relaxed);
                first_fault
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(fault);
                return;
            }
        }
    };
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(samples);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    first_fault
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use adapter_kit::Label;

    use super::*;
    use crate::sample_version::{SAMPLE_VERSION, TODAY};

    #[test]
    fn records_are_checked_once_in_samples_of_different_seeds() {
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        static SEEDS: AtomicU64 = AtomicU64::new(0);
        fn count(_: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
            TRIED.fetch_add(sample.stored.len(), Ordering::SeqCst);
            SEEDS.fetch_add(sample.seed, Ordering::SeqCst);
            Ok(())
        }
        check_samples(count, &Versions::new(&[]), 10, 2 * SAMPLE + 7, TODAY).unwrap();
        assert_eq!(
            (TRIED.load(Ordering::SeqCst), SEEDS.load(Ordering::SeqCst)),
            (2 * SAMPLE + 7, 10 + 11 + 12)
        );
    }

    #[test]
    fn failed_case_is_reported_with_seed_of_its_sample() {
        fn break_second(_: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
            let failure = |seed| CheckFailure {
                check: "kept",
                version: Label::release(2001, 0),
                seed,
                record: None,
                field: "email".to_owned(),
                fault: "is broken".to_owned(),
            };
            if sample.seed == 6 {
                Err(failure(6))
            } else {
                Ok(())
            }
        }
        let versions = Versions::new(&[Box::leak(Box::new(SAMPLE_VERSION))]);
        let fault = check_samples(break_second, &versions, 5, 2 * SAMPLE, TODAY).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "v2001.0 fails kept: email is broken (seed 6)"
        );
    }
}
