//! The rows of the tables.

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sqlx::Arguments;
use sqlx::error::BoxDynError;
use sqlx::{ColumnIndex, Decode, Encode, FromRow, Row, Type};

/// A time in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, sqlx::Type)]
#[sqlx(transparent)]
pub(crate) struct Time(pub(crate) i64);

impl Time {
    pub(crate) fn now() -> Self {
        Self(Utc::now().timestamp_millis())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        serializer.serialize_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimeReader)
    }
}

/// Reads a time from a reply (text) or from an array that the database built (number).
struct TimeReader;

impl Visitor<'_> for TimeReader {
    type Value = Time;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a time")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Time, E> {
        Ok(Time(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Time, E> {
        i64::try_from(value).map(Time).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Time, E> {
        let time = DateTime::parse_from_rfc3339(text).map_err(E::custom)?;
        Ok(Time(time.timestamp_millis()))
    }
}

/// Declares a record with its columns, in order, all read and bound by their position.
macro_rules! table {
    ($(#[$attribute:meta])* $name:ident { $($column:ident: $kind:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub(crate) struct $name {
            $(pub(crate) $column: $kind,)*
        }

        impl $name {
            pub(crate) const COLUMNS: &[&str] = &[$(stringify!($column)),*];

            /// Appends all values in the order of the columns.
            pub(crate) fn add_to<A: Arguments>(&self, arguments: &mut A) -> Result<(), BoxDynError>
            where
                $(for<'t> &'t $kind: Encode<'t, A::Database> + Type<A::Database>,)*
            {
                $(arguments.add(&self.$column)?;)*
                Ok(())
            }
        }

        impl<'r, R: Row> FromRow<'r, R> for $name
        where
            usize: ColumnIndex<R>,
            $($kind: Decode<'r, R::Database> + Type<R::Database>,)*
        {
            fn from_row(row: &'r R) -> sqlx::Result<Self> {
                let mut positions = 0..;
                Ok(Self {
                    $($column: row.try_get_unchecked(positions.next().unwrap_or_default())?,)*
                })
            }
        }
    };
}

table! {
    /// A trainee, without what follows from the other values.
    Trainee {
        trainee_id: String,
        ukprn: String,
        provider_trainee_id: Option<String>,
        application_id: Option<String>,
        agency_id: String,
        trn: Option<String>,
        first_names: String,
        middle_names: Option<String>,
        last_name: String,
        previous_last_name: Option<String>,
        date_of_birth: NaiveDate,
        email: String,
        nationality: Option<String>,
        sex: String,
        ni_number: Option<String>,
        ethnicity: String,
        // Codes by position, separated by commas; a position without a code is blank.
        disabilities: String,
        training_route: String,
        course_subject_1: String,
        course_subject_2: Option<String>,
        course_subject_3: Option<String>,
        course_age_range: String,
        course_year: String,
        study_mode: Option<String>,
        itt_aim: String,
        itt_qualification_aim: Option<String>,
        iqts_country: Option<String>,
        itt_start_date: NaiveDate,
        itt_end_date: NaiveDate,
        trainee_start_date: NaiveDate,
        outcome_date: Option<NaiveDate>,
        reinstate_date: Option<NaiveDate>,
        pg_apprenticeship_start_date: Option<NaiveDate>,
        created_at: Time,
        updated_at: Time,
        submitted_for_trn_at: Option<Time>,
        recommended_for_award_at: Option<Time>,
        awarded_at: Option<Time>,
        slug_sent_to_registry_at: Option<Time>,
        training_initiative: Option<String>,
        additional_training_initiative: Option<String>,
        fund_code: String,
        funding_method: String,
        employing_school_urn: Option<String>,
        training_partner_urn: Option<String>,
        training_partner_ukprn: Option<String>,
        state: String,
        defer_date: Option<NaiveDate>,
        defer_reason: Option<String>,
        withdrawal_date: Option<NaiveDate>,
        withdrawal_trigger: Option<String>,
        withdrawal_future_interest: Option<String>,
        // Separated by commas.
        withdrawal_reasons: String,
        withdrawal_another_reason: Option<String>,
        withdrawal_safeguarding_concern_reasons: Option<String>,
    }
}

table! {
    Placement {
        placement_id: String,
        urn: Option<String>,
        name: String,
        postcode: Option<String>,
        created_at: Time,
        updated_at: Time,
    }
}

table! {
    Degree {
        degree_id: String,
        uk_degree: Option<String>,
        non_uk_degree: Option<String>,
        subject: String,
        institution: Option<String>,
        graduation_year: i64,
        grade: Option<String>,
        country: Option<String>,
        created_at: Time,
        updated_at: Time,
    }
}

/// A trainee with its nested records.
#[derive(Debug)]
pub(crate) struct FullTrainee {
    pub(crate) trainee: Trainee,
    pub(crate) placements: Vec<Placement>,
    pub(crate) degrees: Vec<Degree>,
}
