//! Checks a whole register for errors.
//!
//! These conditions are true for every intact register:
//!
//! - The database is intact.
//! - Every record can be read, has valid values, is found by its values, matches its history, and
//!   can be shown in every version.
//! - No data of erased trainees remains.
//!
//! The inspection reads the register once and changes nothing. Each batch of trainees with their
//! histories has its own transaction, so that no transaction stays open for long and delays
//! writers. The inspection can be divided into parts.
//!
//! A report names trainees by identifier and fields by name, and contains no values.

use std::str::FromStr;
use std::thread;
use std::time::Duration;

use adapter_kit::Versions;
use adapter_kit::view::View;
use domain::{Lists, Trainee, invariants};
use storage::error::StorageError;
use storage::records::trainees::BatchEntry;
use storage::store::Store;

/// The number of trainees per transaction.
const BATCH: i64 = 500;

/// One of several parts of the trainees, of about equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of the part, from 1.
    number: u32,
    /// The total number of parts.
    of: u32,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match part {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some(_) | None => Err("must have the form 1/4, for the first of four parts".to_owned()),
        }
    }
}

impl Part {
    /// The first and the last key of the part. `last` is the last key of all trainees.
    fn keys(self, last: i64) -> (i64, i64) {
        let last_key_of_part = |number: u32| {
            let key = i128::from(last) * i128::from(number) / i128::from(self.of);
            i64::try_from(key).unwrap_or(i64::MAX)
        };
        let first = if self.number == 1 {
            i64::MIN
        } else {
            last_key_of_part(self.number - 1) + 1
        };
        // Trainees registered during the inspection belong to the last part.
        let end = if self.number == self.of {
            i64::MAX
        } else {
            last_key_of_part(self.number)
        };
        (first, end)
    }
}

/// The parameters of an inspection.
#[derive(Debug, Clone, Copy)]
pub struct Inspector<'a> {
    /// The versions that must be able to show every record.
    pub versions: &'a Versions,
    /// The code lists.
    pub lists: &'a Lists,
    /// The trainees to check. Checks of other data run with the first part.
    pub part: Part,
    /// How long to wait after each batch.
    pub pause: Duration,
}

/// An event during the inspection.
#[derive(Debug)]
pub enum Progress {
    /// The number of trainees.
    Trainees(u64),
    /// The number of trainees checked since the last event.
    Seen(u64),
    /// A problem, on one line.
    Problem(String),
}

/// The result of an inspection.
#[derive(Debug, Default)]
pub struct Found {
    /// The number of rows of each table.
    pub counts: Vec<(&'static str, i64)>,
    /// The number of reported problems.
    pub problems: usize,
}

impl Inspector<'_> {
    /// Runs all checks.
    ///
    /// # Errors
    ///
    /// When the database fails.
    #[expect(
        clippy::disallowed_methods,
        reason = "an inspection waits on its own thread"
    )]
    pub fn inspect(
        &self,
        store: &Store,
        report: &mut dyn FnMut(Progress),
    ) -> Result<Found, StorageError> {
        let mut found = Found::default();
        if self.part.number == 1 {
            let whole = store.read_blocking::<_, StorageError>(|session| session.inspect())?;
            let mut problems = whole.damage;
            problems.extend(whole.orphans.iter().map(ToString::to_string));
            problems.extend(whole.positions);
            problems.extend(whole.organisations);
            found = Found {
                counts: whole.counts,
                problems: problems.len(),
            };
            problems
                .drain(..)
                .for_each(|problem| report(Progress::Problem(problem)));
        }
        let last = store.read_blocking::<_, StorageError>(|session| session.last_trainee_key())?;
        let (first, end) = self.part.keys(last.unwrap_or_default());
        let trainees =
            store.read_blocking::<_, StorageError>(|session| session.count_trainees(first, end))?;
        report(Progress::Trainees(
            u64::try_from(trainees).unwrap_or_default(),
        ));

        let mut last = first.checked_sub(1);
        loop {
            let batch = store
                .read_blocking::<_, StorageError>(|session| session.trainees_after(last, BATCH))?;
            let Some(batch_end) = batch.last() else { break };
            last = Some(batch_end.key);
            let of_part = || batch.iter().filter(|trainee| trainee.key <= end);
            for trainee in of_part() {
                let problems = self.problems_of(trainee);
                found.problems += problems.len();
                problems.into_iter().for_each(|problem| {
                    report(Progress::Problem(format!(
                        "trainee {}: {problem}",
                        trainee.trainee_id
                    )));
                });
            }
            report(Progress::Seen(of_part().count() as u64));
            if last.is_some_and(|last| last >= end) {
                break;
            }
            thread::sleep(self.pause);
        }
        Ok(found)
    }

    /// The problems of one trainee.
    fn problems_of(&self, trainee: &BatchEntry) -> Vec<String> {
        let record = match &trainee.record {
            Ok(record) => record,
            Err(error) => return vec![format!("cannot be read: {error}")],
        };
        let mut problems: Vec<_> = invariants::violations(record, self.lists)
            .iter()
            .map(ToString::to_string)
            .collect();
        problems.extend((!trainee.is_findable).then(|| "cannot be found by its values".to_owned()));
        problems.extend(
            (!trainee.follows_from_history).then(|| "does not match its history".to_owned()),
        );
        problems.extend(
            (trainee.is_erased && !trainee.is_blank)
                .then(|| "was erased, but still has other data than its identifier".to_owned()),
        );
        problems.extend(
            (trainee.is_blank && !trainee.is_erased)
                .then(|| "is blank, but has no recorded erasure".to_owned()),
        );
        problems.extend(self.unviewable(record));
        problems
    }

    /// A problem for each version that cannot show the record.
    fn unviewable(&self, record: &Trainee) -> Vec<String> {
        let shown = |version| View::trainee(version, record, self.lists).write(&mut Vec::new());
        let versions = self.versions.iter().map(|served| served.version);
        versions
            .filter(|version| shown(version).is_err())
            .map(|version| format!("cannot be shown in {}", version.label))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_share_all_keys_without_overlap() {
        for of in 1..=7_u32 {
            let parts: Vec<_> = (1..=of)
                .map(|number| Part { number, of }.keys(100))
                .collect();
            assert_eq!((parts[0].0, parts[parts.len() - 1].1), (i64::MIN, i64::MAX));
            assert!(
                parts.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0),
                "{parts:?}"
            );
        }
        for text in ["0/1", "2/1", "1", "1/0", "a/b", ""] {
            assert!(text.parse::<Part>().is_err(), "{text}");
        }
    }
}
