//! Trying single rules out on a record, for the tests of the rules.

use chrono::NaiveDate;

use super::{Context, Rule, Terms, judge};
use crate::candidate::{Candidate, Sent};
use crate::dictionary::Record;
use crate::lists::Lists;
use crate::organisations::{Organisations, School, TrainingPartner};
use crate::problem::Path;

/// The date of the trial.
pub(crate) const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 10, 5).unwrap();

const TERMS: Terms = Terms { accepted: &[], exception_years: &[2025] };

/// A school with a postcode, one without, and a training partner with both of its numbers.
pub(crate) fn organisations() -> Organisations {
    let school = |id, urn: &str, name: &str, postcode: Option<&str>| School {
        id,
        urn: urn.to_owned(),
        name: name.to_owned(),
        postcode: postcode.map(str::to_owned),
        open: true,
    };
    Organisations {
        schools: vec![
            school(1, "100001", "Elmfield School", Some("AB1 2CD")),
            school(2, "100002", "Ashfield School", None),
        ],
        training_partners: vec![TrainingPartner {
            id: 1,
            urn: Some("100001".to_owned()),
            ukprn: Some("10000001".to_owned()),
            name: "Elmfield Partners".to_owned(),
        }],
        ..Organisations::default()
    }
}

/// What the rules may know in the trial.
pub(crate) fn context(organisations: &Organisations) -> Context<'_> {
    Context { today: TODAY, lists: Lists::embedded(), terms: &TERMS, organisations }
}

/// Judges a request by some rules alone: one for a new record, or one that changes a stored one.
pub(crate) fn judged<R: Record>(
    owner: R::Owner,
    stored: Option<&R>,
    changes: R::Changes,
    rules: &[Rule<R>],
) -> Candidate<R> {
    judged_among(&organisations(), owner, stored, changes, rules)
}

/// The same, among other schools and training partners.
pub(crate) fn judged_among<R: Record>(
    organisations: &Organisations,
    owner: R::Owner,
    stored: Option<&R>,
    changes: R::Changes,
    rules: &[Rule<R>],
) -> Candidate<R> {
    let context = context(organisations);
    let mut candidate = Candidate::new(owner, stored, Sent::of(changes), &context);
    judge(&mut candidate, rules, &context);
    candidate
}

/// Where problems were found.
pub(crate) fn places<R: Record>(candidate: &Candidate<R>) -> Vec<Path> {
    candidate.problems().iter().map(|problem| problem.at.clone()).collect()
}
