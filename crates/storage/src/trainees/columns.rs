//! The columns that hold the fields of a trainee, and how a field becomes a column and back.
//!
//! A column is named like its field. Disabilities, withdrawals, placements and degrees are rows of their own.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use diesel::prelude::*;
use domain::{State, Trainee};

use crate::schema::trainees;

/// A field that a column can hold.
trait Held: Sized {
    /// The column's type.
    type Column;

    fn store(&self) -> Self::Column;

    /// The field again; `None` when no field could have been stored like that.
    fn load(column: Self::Column) -> Option<Self>;
}

impl Held for String {
    type Column = Self;

    fn store(&self) -> Self {
        self.clone()
    }

    fn load(column: Self) -> Option<Self> {
        Some(column)
    }
}

impl Held for NaiveDate {
    type Column = Self;

    fn store(&self) -> Self {
        *self
    }

    fn load(column: Self) -> Option<Self> {
        Some(column)
    }
}

impl Held for DateTime<Utc> {
    type Column = NaiveDateTime;

    fn store(&self) -> NaiveDateTime {
        self.naive_utc()
    }

    fn load(column: NaiveDateTime) -> Option<Self> {
        Some(column.and_utc())
    }
}

impl Held for State {
    type Column = String;

    fn store(&self) -> String {
        self.name().to_owned()
    }

    fn load(column: String) -> Option<Self> {
        column.parse().ok()
    }
}

/// A field's value for its column.
fn store<F: Held>(field: &Option<F>) -> Option<F::Column> {
    field.as_ref().map(Held::store)
}

/// A column's value for its field.
fn load<F: Held>(column: Option<F::Column>) -> Option<Option<F>> {
    match column {
        None => Some(None),
        Some(column) => F::load(column).map(Some),
    }
}

macro_rules! columns {
    ($($column:ident: $type:ty,)+) => {
        /// The columns of one trainee.
        #[derive(Queryable, Selectable, Insertable, AsChangeset)]
        #[diesel(table_name = trainees, treat_none_as_null = true, treat_none_as_default_value = false)]
        pub(super) struct Columns {
            $($column: Option<$type>,)+
        }

        impl Columns {
            /// The columns that hold the trainee's fields.
            pub(super) fn of(trainee: &Trainee) -> Self {
                Self { $($column: store(&trainee.$column),)+ }
            }

            /// The trainee whose fields the columns hold; `None` when a column holds what no field could have been
            /// stored as.
            pub(super) fn into_trainee(self) -> Option<Trainee> {
                Some(Trainee { $($column: load(self.$column)?,)+ ..Trainee::default() })
            }
        }
    };
}
columns! {
    provider_trainee_id: String,
    application_id: String,
    agency_id: String,
    first_names: String,
    middle_names: String,
    last_name: String,
    previous_last_name: String,
    date_of_birth: NaiveDate,
    email: String,
    nationality: String,
    sex: String,
    ni_number: String,
    ethnicity: String,
    training_route: String,
    course_subject_1: String,
    course_subject_2: String,
    course_subject_3: String,
    course_age_range: String,
    course_year: String,
    study_mode: String,
    itt_aim: String,
    itt_qualification_aim: String,
    iqts_country: String,
    itt_start_date: NaiveDate,
    itt_end_date: NaiveDate,
    trainee_start_date: NaiveDate,
    pg_apprenticeship_start_date: NaiveDate,
    training_initiative: String,
    additional_training_initiative: String,
    fund_code: String,
    funding_method: String,
    employing_school_urn: String,
    training_partner_urn: String,
    training_partner_ukprn: String,
    trn: String,
    state: String,
    defer_date: NaiveDate,
    defer_reason: String,
    outcome_date: NaiveDate,
    reinstate_date: NaiveDate,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
    submitted_for_trn_at: NaiveDateTime,
    recommended_for_award_at: NaiveDateTime,
    awarded_at: NaiveDateTime,
    discarded_at: NaiveDateTime,
    slug_sent_to_registry_at: NaiveDateTime,
    record_source: String,
    commencement_status: String,
}
