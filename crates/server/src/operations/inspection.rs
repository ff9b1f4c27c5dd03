//! Looks through a whole register for what is wrong with it.
//!
//! It asks what is true of every register at any time: the database is sound, every record can be read, holds what its
//! fields can hold, is found by what it says, is what its history leads to, and can be shown in every version; and nothing is
//! left of a trainee who was erased. It is one pass over one snapshot, a batch at a time, and changes nothing.
//!
//! A report names trainees by their identifiers and fields by their names, and never a value.

use adapter_kit::Versions;
use adapter_kit::view::View;
use domain::{Lists, Trainee, invariants};
use storage::error::StorageError;
use storage::session::Session;
use storage::trainees::BatchEntry;

/// Trainees that are read at once.
const BATCH: i64 = 500;

/// What a register is looked at with.
#[derive(Debug, Clone, Copy)]
pub struct Inspector<'a> {
    /// The versions in which every record must be shown.
    pub versions: &'a Versions,
    /// The code lists.
    pub lists: &'a Lists,
}

/// What is reported on the way.
#[derive(Debug)]
pub enum Progress {
    /// There are so many trainees.
    Trainees(u64),
    /// So many more were looked at.
    Seen(u64),
    /// Something is wrong; one line.
    Problem(String),
}

/// What was found in the end.
#[derive(Debug, Default)]
pub struct Found {
    /// How many rows each table has.
    pub counts: Vec<(&'static str, i64)>,
    /// How many problems were reported.
    pub problems: usize,
}

impl Inspector<'_> {
    /// Looks at everything.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn inspect(&self, session: &mut Session<'_>, report: &mut dyn FnMut(Progress)) -> Result<Found, StorageError> {
        let whole = session.inspect()?;
        let mut problems = whole.damage;
        problems.extend(whole.orphans.iter().map(ToString::to_string));
        problems.extend(
            (whole.miscounted > 0)
                .then(|| format!("tables of counts: {} counts are not what there is", whole.miscounted)),
        );
        let mut count = problems.len();
        problems.drain(..).for_each(|problem| report(Progress::Problem(problem)));
        let trainees = whole.counts.iter().find(|(table, _)| *table == "trainees").map_or(0, |(_, rows)| *rows);
        report(Progress::Trainees(u64::try_from(trainees).unwrap_or_default()));

        let mut last = None;
        loop {
            let batch = session.trainees_after(last, BATCH)?;
            let Some(end) = batch.last() else { break };
            last = Some(end.key);
            for trainee in &batch {
                let found = self.problems_of(trainee);
                count += found.len();
                found.into_iter().for_each(|problem| {
                    report(Progress::Problem(format!("trainee {}: {problem}", trainee.trainee_id)))
                });
            }
            report(Progress::Seen(batch.len() as u64));
        }
        Ok(Found { counts: whole.counts, problems: count })
    }

    /// What is wrong with one trainee.
    fn problems_of(&self, trainee: &BatchEntry) -> Vec<String> {
        let record = match &trainee.record {
            Ok(record) => record,
            Err(error) => return vec![format!("cannot be read: {error}")],
        };
        let mut problems: Vec<_> = invariants::violations(record, self.lists).iter().map(ToString::to_string).collect();
        problems.extend((!trainee.is_findable).then(|| "is not found by what it says".to_owned()));
        problems.extend((!trainee.follows_from_history).then(|| "is not what its history leads to".to_owned()));
        problems.extend(
            (trainee.is_erased && !trainee.is_blank)
                .then(|| "was erased, and holds more than its identifier".to_owned()),
        );
        problems.extend(
            (trainee.is_blank && !trainee.is_erased).then(|| "is blank, and no erasure is recorded".to_owned()),
        );
        problems.extend(self.unviewable(record));
        problems
    }

    /// The versions in which the record cannot be shown.
    fn unviewable(&self, record: &Trainee) -> Vec<String> {
        let shown = |version| View::trainee(version, record, self.lists).write(&mut Vec::new());
        let versions = self.versions.iter().map(|served| served.version);
        versions
            .filter(|version| shown(version).is_err())
            .map(|version| format!("cannot be shown in {}", version.label))
            .collect()
    }
}
