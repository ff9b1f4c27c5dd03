//! Helpers of the tests of rules: apply single rules to a record.

use chrono::NaiveDate;

use super::{Rule, apply as apply_rules};
use crate::fields::accepted_codes::AcceptedCodes;
use crate::fields::parsed::ParsedRecord;
use crate::lists::Lists;
use crate::problem::Path;
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::organisations::{Organisations, School, TrainingPartner};
use crate::records::record::Record;

/// The date of the tests.
pub(crate) const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 10, 5).unwrap();

const ACCEPTED_CODES: AcceptedCodes = AcceptedCodes {
    accepted: &[],
    funding_exception_years: &[2025],
};

/// Returns a school with a postcode, a school without, and a training partner with both numbers.
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

/// Returns the context of the tests.
pub(crate) fn context(organisations: &Organisations) -> Context<'_> {
    Context {
        today: TODAY,
        lists: Lists::embedded(),
        accepted_codes: &ACCEPTED_CODES,
        organisations,
    }
}

/// Applies only these rules to a request that creates a record, or updates `stored`.
pub(crate) fn apply<R: Record>(
    owner: R::Owner,
    stored: Option<&R::Flat>,
    changes: R::Changes,
    rules: &[Rule<R>],
) -> Candidate<R> {
    apply_with(&organisations(), owner, stored, changes, rules)
}

/// Like [`apply`], but with other schools and training partners.
pub(crate) fn apply_with<R: Record>(
    organisations: &Organisations,
    owner: R::Owner,
    stored: Option<&R::Flat>,
    changes: R::Changes,
    rules: &[Rule<R>],
) -> Candidate<R> {
    let context = context(organisations);
    let mut candidate = Candidate::new(
        owner,
        stored.cloned(),
        ParsedRecord::from_changes(changes),
        &context,
    );
    apply_rules(&mut candidate, rules, &context);
    candidate
}

/// Returns the paths of the problems.
pub(crate) fn paths<R: Record>(candidate: &Candidate<R>) -> Vec<Path> {
    candidate
        .problems()
        .iter()
        .map(|problem| problem.at.clone())
        .collect()
}
