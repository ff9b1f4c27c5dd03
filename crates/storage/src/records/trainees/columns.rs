//! The columns of a trainee that are derived from its document, for searching, ordering, counting
//! and unique constraints.

use chrono::{DateTime, NaiveDate, Utc};
use diesel::prelude::*;
use domain::duplicate::DuplicateKey;
use domain::{State, Trainee};
use stored_document::sql_dates::{Day, Timestamp};

use crate::schema::trainees;

/// The values of the derived columns.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Insertable, AsChangeset)]
#[diesel(table_name = trainees, treat_none_as_null = true, treat_none_as_default_value = false)]
pub(super) struct Derived {
    academic_cycle: i32,
    last_name_folded: String,
    first_names_folded: String,
    email_folded: String,
    date_of_birth: Option<Day>,
    training_route: Option<String>,
    itt_start_date: Option<Day>,
    trn: Option<String>,
    state: Option<String>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    submitted_for_trn_at: Option<Timestamp>,
    recommended_for_award_at: Option<Timestamp>,
    awarded_at: Option<Timestamp>,
    discarded_at: Option<Timestamp>,
}

/// The derived columns, in the order of the fields of [`Derived`].
#[diesel::dsl::auto_type(no_type_alias)]
pub(super) fn derived() -> _ {
    (
        trainees::academic_cycle,
        trainees::last_name_folded,
        trainees::first_names_folded,
        trainees::email_folded,
        trainees::date_of_birth,
        trainees::training_route,
        trainees::itt_start_date,
        trainees::trn,
        trainees::state,
        trainees::created_at,
        trainees::updated_at,
        trainees::submitted_for_trn_at,
        trainees::recommended_for_award_at,
        trainees::awarded_at,
        trainees::discarded_at,
    )
}

impl Derived {
    /// The columns of a record written on the day `today`.
    pub(super) fn from_trainee(trainee: &Trainee, today: NaiveDate) -> Self {
        let duplicate_key = DuplicateKey::from_trainee(trainee, today);
        Self {
            academic_cycle: duplicate_key.academic_cycle,
            last_name_folded: duplicate_key.last_name,
            first_names_folded: duplicate_key.first_names,
            email_folded: duplicate_key.email,
            date_of_birth: trainee.date_of_birth.map(Day),
            training_route: trainee.training_route.clone(),
            itt_start_date: trainee.itt_start_date.map(Day),
            trn: trainee.trn.clone(),
            state: trainee.state.map(|state| State::name(state).to_owned()),
            created_at: timestamp(trainee.created_at),
            updated_at: timestamp(trainee.updated_at),
            submitted_for_trn_at: timestamp(trainee.submitted_for_trn_at),
            recommended_for_award_at: timestamp(trainee.recommended_for_award_at),
            awarded_at: timestamp(trainee.awarded_at),
            discarded_at: timestamp(trainee.discarded_at),
        }
    }

    /// Whether these are the columns of the record. Ignores the academic cycle of a record without
    /// a start date: it depends on the day of writing.
    pub(super) fn agree_with(&self, trainee: &Trainee, today: NaiveDate) -> bool {
        let mut expected = Self::from_trainee(trainee, today);
        if domain::records::trainee::start_date(trainee).is_none() {
            expected.academic_cycle = self.academic_cycle;
        }
        *self == expected
    }
}

/// The time as a value of a column.
fn timestamp(time: Option<DateTime<Utc>>) -> Option<Timestamp> {
    time.map(|time| Timestamp(time.naive_utc()))
}
