//! Tries a law on any number of records, a few hundred at a time, so that they never stand in memory
//! together.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use chrono::NaiveDate;
use domain::Problem;

use super::{Broken, Sample};
use crate::versions::Versions;

/// Records of either sort in one sample.
const SAMPLE: usize = 500;

/// A law.
pub type Law = fn(&Versions, &Sample) -> Result<(), Broken>;

/// Why a law was not shown to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unshown {
    /// It does not hold in a case.
    Broken(Broken),
    /// A record could not even be invented.
    NoSample(Vec<Problem>),
}

impl fmt::Display for Unshown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(broken) => broken.fmt(formatter),
            Self::NoSample(problems) => write!(formatter, "a generated trainee is refused: {problems:?}"),
        }
    }
}

impl std::error::Error for Unshown {}

/// The number of records that a text asks for; without a text, the usual one.
///
/// # Errors
///
/// When the text is no number.
pub fn records_asked_for(text: Option<String>, usual: usize) -> Result<usize, String> {
    text.map_or(Ok(usual), |text| text.parse().map_err(|_| format!("{text} is no number of records")))
}

/// Tries a law on so many records of either sort, in samples of which each has a seed of its own: the
/// first has this one, and the seed of a broken case gives its sample again. All processors take part.
///
/// # Errors
///
/// A case in which the law does not hold.
pub fn over(law: Law, versions: &Versions, seed: u64, records: usize, today: NaiveDate) -> Result<(), Unshown> {
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
            let sample = Sample::new(seed + at as u64, count, today).map_err(Unshown::NoSample);
            if let Err(fault) = sample.and_then(|sample| law(versions, &sample).map_err(Unshown::Broken)) {
                next.store(samples, Ordering::Relaxed);
                first_fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
                return;
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(samples);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    first_fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::super::planted::{SOUND, TODAY};
    use super::*;
    use crate::Label;

    #[test]
    fn every_record_is_tried_once_in_samples_of_different_seeds() {
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        static SEEDS: AtomicU64 = AtomicU64::new(0);
        fn count(_: &Versions, sample: &Sample) -> Result<(), Broken> {
            TRIED.fetch_add(sample.stored.len(), Ordering::SeqCst);
            SEEDS.fetch_add(sample.seed, Ordering::SeqCst);
            Ok(())
        }
        over(count, &Versions::new(&[]), 10, 2 * SAMPLE + 7, TODAY).unwrap();
        assert_eq!((TRIED.load(Ordering::SeqCst), SEEDS.load(Ordering::SeqCst)), (2 * SAMPLE + 7, 10 + 11 + 12));
    }

    #[test]
    fn a_broken_case_is_reported_with_the_seed_of_its_sample() {
        fn break_second(_: &Versions, sample: &Sample) -> Result<(), Broken> {
            let broken = |seed| Broken {
                law: "kept",
                version: Label::release(2001, 0),
                seed,
                record: None,
                field: "email".to_owned(),
                fault: "is broken".to_owned(),
            };
            if sample.seed == 6 { Err(broken(6)) } else { Ok(()) }
        }
        let versions = Versions::new(&[Box::leak(Box::new(SOUND))]);
        let fault = over(break_second, &versions, 5, 2 * SAMPLE, TODAY).unwrap_err();
        assert_eq!(fault.to_string(), "v2001.0 is not kept: email is broken (seed 6)");
    }

    #[test]
    fn a_number_of_records_that_is_none_is_refused() {
        assert_eq!(records_asked_for(None, 200), Ok(200));
        assert_eq!(records_asked_for(Some("7".to_owned()), 200), Ok(7));
        assert!(records_asked_for(Some("many".to_owned()), 200).is_err());
    }
}
