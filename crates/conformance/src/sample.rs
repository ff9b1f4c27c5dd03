//! Generated records. Only the adjustments that all versions share have been applied to them.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use domain::records::organisations::{Organisations, School, TrainingPartner};
use domain::rules::{
    course, dates, degree, diversity, funding, organisation, placement, withdrawal,
};
use domain::{AcceptedCodes, Context, Lists, Problem, Rules, Trainee};
use fixtures::TraineeGenerator;
use fixtures::random::Random;

pub(crate) mod seeding;

/// The UKPRN of the provider of all records.
pub(super) const PROVIDER: &str = "10000571";

/// All codes of all lists, with funding exceptions for all years that have any.
const ALL_CODES: AcceptedCodes = AcceptedCodes {
    accepted: &[],
    funding_exception_years: &[2025, 2026],
};

/// The adjustments that all versions make. [`normal_form`](super::normal_form) describes their
/// effect.
pub(super) const ADJUSTMENTS: Rules = Rules {
    trainee: &[
        dates::START_AS_PLANNED,
        diversity::ETHNICITY,
        course::IQTS_COUNTRY_LEAVES,
        funding::VETERANS_INITIATIVE,
        organisation::TRAINING_PARTNER,
        organisation::EMPLOYING_SCHOOL,
    ],
    placement: &[placement::SCHOOL],
    degree: &[degree::KIND, degree::GRADE_RECORDED],
    withdrawal: &[withdrawal::REASONS_ONCE],
    ..Rules::NONE
};

/// The generated records for the checks.
#[derive(Debug)]
pub struct Sample {
    /// The seed.
    pub(super) seed: u64,
    /// The date of all requests.
    pub(super) today: NaiveDate,
    /// The known schools and training partners.
    pub(super) organisations: Organisations,
    /// Stored records in all states and on all routes.
    pub(super) stored: Vec<Trainee>,
    /// Records with untidy input, such as superfluous white space.
    pub(super) untidy: Vec<Trainee>,
}

impl Sample {
    /// Generates `count` stored and `count` untidy records. The same seed and day give the same
    /// records.
    ///
    /// # Errors
    ///
    /// Returns the problems of a record that cannot be stored. This indicates a bug in the
    /// generator.
    pub fn new(seed: u64, count: usize, today: NaiveDate) -> Result<Self, Vec<Problem>> {
        let organisations = organisations();
        let context = Context {
            today,
            lists: Lists::embedded(),
            accepted_codes: &ALL_CODES,
            organisations: &organisations,
        };
        let mut generator = TraineeGenerator::new(seed, &ADJUSTMENTS, context);
        let stored = (0..count)
            .map(|_| generator.trainee(PROVIDER))
            .collect::<Result<_, _>>()?;
        let untidy = (0..count)
            .map(|_| generator.noisy_trainee(PROVIDER))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            seed,
            today,
            organisations,
            stored,
            untidy,
        })
    }

    /// Returns a random generator with the seed of the sample.
    pub(super) fn random(&self) -> Random {
        Random::new(self.seed)
    }

    /// Returns the timestamp of all requests.
    pub(super) fn now(&self) -> DateTime<Utc> {
        self.today.and_time(NaiveTime::MIN).and_utc()
    }
}

/// Returns schools with and without a postcode, open and closed, and training partners with a URN,
/// with a UKPRN and with both.
fn organisations() -> Organisations {
    let school = |id: i64, postcode: Option<&str>, open| School {
        id,
        urn: (100_000 + id).to_string(),
        name: format!("School {id}"),
        postcode: postcode.map(str::to_owned),
        open,
    };
    let partner = |id: i64, urn: Option<&str>, ukprn: Option<&str>| TrainingPartner {
        id,
        urn: urn.map(str::to_owned),
        ukprn: ukprn.map(str::to_owned),
        name: format!("Partner {id}"),
    };
    Organisations {
        schools: vec![
            school(1, Some("AB1 2CD"), true),
            school(2, None, true),
            school(3, Some("EF3 4GH"), false),
        ],
        training_partners: vec![
            partner(1, Some("100002"), None),
            partner(2, None, Some("10000001")),
            partner(3, Some("100003"), Some("10000002")),
        ],
        no_schools_loaded: false,
        no_training_partners_loaded: false,
    }
}
