//! The tables as diesel sees them; `migrations/` makes them.
//!
//! Columns are text, integer, bool, date and timestamp only: what both databases know. Timestamps are UTC.
//!
//! Each table that holds data of its own has a row type with all its columns, by which it is copied (`copy/tables.rs`). A
//! table that the database itself derives from others is declared by `diesel::table!` alone.
//!
//! Whatever is `Insertable` binds its nulls (`treat_none_as_default_value = false`). Otherwise diesel leaves their columns out
//! of the statement, and each connection would keep a prepared statement for every set of columns for ever.

use chrono::{NaiveDate, NaiveDateTime};
use diesel::sql_types::{BigInt, Bool, Date, Integer, Nullable, Text, Timestamp};

/// What a column of an SQL type holds in a row.
pub(crate) trait Held {
    type Value;
}

macro_rules! held {
    ($($sql:ty => $value:ty,)+) => {
        $(
            impl Held for $sql {
                type Value = $value;
            }
            impl Held for Nullable<$sql> {
                type Value = Option<$value>;
            }
        )+
    };
}
held! {
    BigInt => i64,
    Integer => i32,
    Text => String,
    Bool => bool,
    Date => NaiveDate,
    Timestamp => NaiveDateTime,
}

macro_rules! table_with_row {
    ($table:ident ($($key:ident),+) as $row:ident { $($column:ident -> $outer:ident $(<$inner:ident>)?,)+ }) => {
        diesel::table! {
            $table ($($key),+) {
                $($column -> $outer $(<$inner>)?,)+
            }
        }

        #[doc = concat!("A whole row of the table `", stringify!($table), "`.")]
        #[derive(Debug, Clone, PartialEq, diesel::Queryable, diesel::Insertable)]
        #[diesel(table_name = $table, treat_none_as_default_value = false)]
        pub(crate) struct $row {
            $(pub(crate) $column: <$outer $(<$inner>)? as Held>::Value,)+
        }

        impl $row {
            /// The names of the columns.
            pub(crate) const COLUMNS: &'static [&'static str] = &[$(stringify!($column),)+];
        }
    };
}

table_with_row! {
    providers (id) as ProviderRow {
        id -> BigInt,
        ukprn -> Text,
        name -> Text,
        created_at -> Timestamp,
        closed_at -> Nullable<Timestamp>,
    }
}

table_with_row! {
    tokens (id) as TokenRow {
        id -> BigInt,
        provider_id -> BigInt,
        name -> Text,
        digest -> Text,
        created_by -> Text,
        created_at -> Timestamp,
        expires_on -> Date,
        last_used_on -> Nullable<Date>,
        revoked_at -> Nullable<Timestamp>,
        revoked_by -> Nullable<Text>,
    }
}

table_with_row! {
    schools (id) as SchoolRow {
        id -> BigInt,
        urn -> Text,
        name -> Text,
        postcode -> Nullable<Text>,
        open -> Bool,
    }
}

table_with_row! {
    training_partners (id) as TrainingPartnerRow {
        id -> BigInt,
        urn -> Nullable<Text>,
        ukprn -> Nullable<Text>,
        name -> Text,
    }
}

table_with_row! {
    trainees (id) as TraineeRow {
        id -> BigInt,
        provider_id -> BigInt,
        trainee_id -> Text,
        revision -> BigInt,
        academic_cycle -> Integer,
        last_name_folded -> Text,
        first_names_folded -> Text,
        email_folded -> Text,
        provider_trainee_id -> Nullable<Text>,
        application_id -> Nullable<Text>,
        agency_id -> Nullable<Text>,
        first_names -> Nullable<Text>,
        middle_names -> Nullable<Text>,
        last_name -> Nullable<Text>,
        previous_last_name -> Nullable<Text>,
        date_of_birth -> Nullable<Date>,
        email -> Nullable<Text>,
        nationality -> Nullable<Text>,
        sex -> Nullable<Text>,
        ni_number -> Nullable<Text>,
        ethnicity -> Nullable<Text>,
        training_route -> Nullable<Text>,
        course_subject_1 -> Nullable<Text>,
        course_subject_2 -> Nullable<Text>,
        course_subject_3 -> Nullable<Text>,
        course_age_range -> Nullable<Text>,
        course_year -> Nullable<Text>,
        study_mode -> Nullable<Text>,
        itt_aim -> Nullable<Text>,
        itt_qualification_aim -> Nullable<Text>,
        iqts_country -> Nullable<Text>,
        itt_start_date -> Nullable<Date>,
        itt_end_date -> Nullable<Date>,
        trainee_start_date -> Nullable<Date>,
        pg_apprenticeship_start_date -> Nullable<Date>,
        training_initiative -> Nullable<Text>,
        additional_training_initiative -> Nullable<Text>,
        fund_code -> Nullable<Text>,
        funding_method -> Nullable<Text>,
        employing_school_urn -> Nullable<Text>,
        training_partner_urn -> Nullable<Text>,
        training_partner_ukprn -> Nullable<Text>,
        trn -> Nullable<Text>,
        state -> Nullable<Text>,
        defer_date -> Nullable<Date>,
        defer_reason -> Nullable<Text>,
        outcome_date -> Nullable<Date>,
        reinstate_date -> Nullable<Date>,
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        submitted_for_trn_at -> Nullable<Timestamp>,
        recommended_for_award_at -> Nullable<Timestamp>,
        awarded_at -> Nullable<Timestamp>,
        discarded_at -> Nullable<Timestamp>,
        slug_sent_to_registry_at -> Nullable<Timestamp>,
        record_source -> Nullable<Text>,
        commencement_status -> Nullable<Text>,
        imported_facts -> Nullable<Text>,
    }
}

// PostgreSQL has an `id` too; a count may be several rows there.
diesel::table! {
    trainee_counts (provider_id, academic_cycle, state, has_trn, itt_start_date) {
        provider_id -> BigInt,
        academic_cycle -> Integer,
        state -> Text,
        has_trn -> Bool,
        itt_start_date -> Date,
        trainees -> BigInt,
    }
}

// As `trainee_counts`.
diesel::table! {
    trainee_change_counts (provider_id, academic_cycle, changed_on, state, has_trn) {
        provider_id -> BigInt,
        academic_cycle -> Integer,
        changed_on -> Date,
        state -> Text,
        has_trn -> Bool,
        trainees -> BigInt,
    }
}

table_with_row! {
    trainee_disabilities (trainee_key, position) as TraineeDisabilityRow {
        trainee_key -> BigInt,
        position -> Integer,
        code -> Text,
    }
}

table_with_row! {
    withdrawals (id) as WithdrawalRow {
        id -> BigInt,
        trainee_key -> BigInt,
        previous_state -> Text,
        withdrawal_date -> Nullable<Date>,
        trigger -> Nullable<Text>,
        future_interest -> Nullable<Text>,
        reasons -> Text,
        another_reason -> Nullable<Text>,
        safeguarding_concern_reasons -> Nullable<Text>,
        created_at -> Timestamp,
        undone_at -> Nullable<Timestamp>,
    }
}

table_with_row! {
    placements (id) as PlacementRow {
        id -> BigInt,
        trainee_key -> BigInt,
        placement_id -> Text,
        urn -> Nullable<Text>,
        name -> Nullable<Text>,
        postcode -> Nullable<Text>,
        school_id -> Nullable<BigInt>,
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
    }
}

table_with_row! {
    degrees (id) as DegreeRow {
        id -> BigInt,
        trainee_key -> BigInt,
        degree_id -> Text,
        uk_degree -> Nullable<Text>,
        non_uk_degree -> Nullable<Text>,
        subject -> Nullable<Text>,
        institution -> Nullable<Text>,
        graduation_year -> Nullable<BigInt>,
        grade -> Nullable<Text>,
        other_grade -> Nullable<Text>,
        country -> Nullable<Text>,
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
    }
}

table_with_row! {
    changes (id) as ChangeRow {
        id -> BigInt,
        trainee_key -> BigInt,
        changed_at -> Timestamp,
        token_id -> Nullable<BigInt>,
        request_id -> Nullable<Text>,
        version -> Nullable<Text>,
        operation -> Text,
        fields -> Text,
        changed_by -> Nullable<Text>,
    }
}

table_with_row! {
    replies (provider_id, idempotency_key) as ReplyRow {
        provider_id -> BigInt,
        idempotency_key -> Text,
        request_digest -> Text,
        status -> Integer,
        headers -> Text,
        body -> Text,
        created_at -> Timestamp,
    }
}

table_with_row! {
    usage_by_day (id) as UsageRow {
        id -> BigInt,
        day -> Date,
        token_id -> BigInt,
        version -> Text,
        endpoint -> Text,
        name -> Text,
        requests -> BigInt,
        first_at -> Timestamp,
        first_request_id -> Text,
        last_at -> Timestamp,
        last_request_id -> Text,
    }
}

table_with_row! {
    shadow_checks (id) as ShadowCheckRow {
        id -> BigInt,
        day -> Date,
        token_id -> BigInt,
        version -> Text,
        against -> Text,
        checked -> BigInt,
        valid -> BigInt,
    }
}

table_with_row! {
    shadow_problems (id) as ShadowProblemRow {
        id -> BigInt,
        day -> Date,
        token_id -> BigInt,
        version -> Text,
        against -> Text,
        field -> Text,
        code -> Text,
        writes -> BigInt,
    }
}

table_with_row! {
    register_settings (name) as RegisterSettingRow {
        name -> Text,
        value -> Text,
    }
}

diesel::joinable!(changes -> tokens (token_id));
diesel::joinable!(placements -> schools (school_id));
diesel::joinable!(tokens -> providers (provider_id));
diesel::joinable!(trainees -> providers (provider_id));
diesel::allow_tables_to_appear_in_same_query!(changes, tokens);
diesel::allow_tables_to_appear_in_same_query!(placements, schools);
diesel::allow_tables_to_appear_in_same_query!(providers, tokens);
diesel::allow_tables_to_appear_in_same_query!(providers, trainees);
