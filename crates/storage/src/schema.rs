//! The tables as diesel sees them; `migrations/` makes them.
//!
//! Columns are text, integer, bool, date and timestamp: what both databases know; timestamps are UTC. The record of a trainee
//! is a JSON document.
//!
//! Each table that holds data of its own has a row type with all its columns, by which it is copied (`copy/tables.rs`). A
//! table that is not copied, because the database derives it from others or only locks its rows, is declared by
//! `diesel::table!` alone.
//!
//! Whatever is `Insertable` binds its nulls (`treat_none_as_default_value = false`). Otherwise diesel leaves their columns out
//! of the statement, and each connection would keep a prepared statement for every set of columns for ever.

use chrono::{NaiveDate, NaiveDateTime};
use diesel::sql_types::{BigInt, Bool, Date, Integer, Json, Nullable, Text, Timestamp};

use crate::document::JsonText;

/// The value of a column in a row, by the SQL type of the column.
pub(crate) trait ColumnValue {
    type Value;
}

macro_rules! column_values {
    ($($sql:ty => $value:ty,)+) => {
        $(
            impl ColumnValue for $sql {
                type Value = $value;
            }
            impl ColumnValue for Nullable<$sql> {
                type Value = Option<$value>;
            }
        )+
    };
}
column_values! {
    BigInt => i64,
    Integer => i32,
    Text => String,
    Bool => bool,
    Date => NaiveDate,
    Timestamp => NaiveDateTime,
    Json => JsonText,
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
            $(pub(crate) $column: <$outer $(<$inner>)? as ColumnValue>::Value,)+
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
        date_of_birth -> Nullable<Date>,
        training_route -> Nullable<Text>,
        itt_start_date -> Nullable<Date>,
        trn -> Nullable<Text>,
        state -> Nullable<Text>,
        created_at -> Nullable<Timestamp>,
        updated_at -> Nullable<Timestamp>,
        submitted_for_trn_at -> Nullable<Timestamp>,
        recommended_for_award_at -> Nullable<Timestamp>,
        awarded_at -> Nullable<Timestamp>,
        discarded_at -> Nullable<Timestamp>,
        record -> Json,
        changed_in -> BigInt,
    }
}

table_with_row! {
    placement_schools (school_id, trainee_key) as PlacementSchoolRow {
        school_id -> BigInt,
        trainee_key -> BigInt,
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
    erasures (id) as ErasureRow {
        id -> BigInt,
        provider_id -> BigInt,
        trainee_id -> Text,
        erased_at -> Timestamp,
        erased_by -> Text,
        ground -> Text,
        entries -> BigInt,
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
    request_log (provider_id, accepted, answered_at, id) as RequestLogRow {
        id -> BigInt,
        provider_id -> BigInt,
        accepted -> Bool,
        answered_at -> Timestamp,
        token_id -> BigInt,
        version -> Text,
        endpoint -> Text,
        method -> Text,
        status -> Integer,
        item -> Nullable<Integer>,
        request_id -> Text,
        problems -> Text,
        problems_left_out -> Integer,
    }
}

// The rows of both are only locked, on PostgreSQL.
diesel::table! {
    lock_stripes (stripe) {
        stripe -> Integer,
    }
}

diesel::table! {
    idempotency_locks (digest) {
        digest -> Text,
        used_at -> Timestamp,
    }
}

table_with_row! {
    users (id) as UserRow {
        id -> BigInt,
        provider_id -> Nullable<BigInt>,
        role -> Text,
        email -> Text,
        issuer -> Nullable<Text>,
        subject -> Nullable<Text>,
        created_at -> Timestamp,
        created_by -> Text,
        last_signed_in_at -> Nullable<Timestamp>,
        removed_at -> Nullable<Timestamp>,
        removed_by -> Nullable<Text>,
    }
}

table_with_row! {
    invitations (id) as InvitationRow {
        id -> BigInt,
        digest -> Text,
        provider_id -> Nullable<BigInt>,
        role -> Text,
        email -> Text,
        created_at -> Timestamp,
        created_by -> Text,
        expires_at -> Timestamp,
        used_at -> Nullable<Timestamp>,
    }
}

table_with_row! {
    sign_in_sessions (id) as SignInSessionRow {
        id -> BigInt,
        digest -> Text,
        user_id -> BigInt,
        created_at -> Timestamp,
        last_seen_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
    }
}

table_with_row! {
    sign_in_attempts (id) as SignInAttemptRow {
        id -> BigInt,
        digest -> Text,
        browser_digest -> Text,
        nonce -> Text,
        code_verifier -> Text,
        expires_at -> Timestamp,
    }
}

table_with_row! {
    sign_in_choices (id) as SignInChoiceRow {
        id -> BigInt,
        digest -> Text,
        browser_digest -> Text,
        issuer -> Text,
        subject -> Text,
        email -> Nullable<Text>,
        ukprns -> Text,
        role -> Text,
        is_operator -> Bool,
        expires_at -> Timestamp,
    }
}

table_with_row! {
    activity_log (id) as ActivityRow {
        id -> BigInt,
        acted_at -> Timestamp,
        user_id -> Nullable<BigInt>,
        acted_by -> Nullable<Text>,
        provider_id -> Nullable<BigInt>,
        action -> Text,
        subject -> Text,
        detail -> Text,
        request_id -> Nullable<Text>,
        address -> Nullable<Text>,
    }
}

table_with_row! {
    imports (id) as ImportRow {
        id -> BigInt,
        imported_at -> Timestamp,
        kind -> Text,
        operation -> Text,
        user_id -> Nullable<BigInt>,
        imported_by -> Nullable<Text>,
        added -> BigInt,
        changed -> BigInt,
        unchanged -> BigInt,
        refused -> BigInt,
        refused_rows -> Text,
        stopped_at_line -> Nullable<BigInt>,
    }
}

table_with_row! {
    register_settings (name) as RegisterSettingRow {
        name -> Text,
        value -> Text,
    }
}

diesel::joinable!(changes -> tokens (token_id));
diesel::joinable!(erasures -> providers (provider_id));
diesel::joinable!(placement_schools -> trainees (trainee_key));
diesel::joinable!(activity_log -> providers (provider_id));
diesel::joinable!(activity_log -> users (user_id));
diesel::joinable!(imports -> users (user_id));
diesel::joinable!(invitations -> providers (provider_id));
diesel::joinable!(sign_in_sessions -> users (user_id));
diesel::joinable!(tokens -> providers (provider_id));
diesel::joinable!(trainees -> providers (provider_id));
diesel::joinable!(users -> providers (provider_id));
diesel::allow_tables_to_appear_in_same_query!(changes, tokens);
diesel::allow_tables_to_appear_in_same_query!(erasures, providers);
diesel::allow_tables_to_appear_in_same_query!(placement_schools, trainees);
diesel::allow_tables_to_appear_in_same_query!(providers, tokens);
diesel::allow_tables_to_appear_in_same_query!(providers, trainees);
diesel::allow_tables_to_appear_in_same_query!(tokens, trainees);
diesel::allow_tables_to_appear_in_same_query!(activity_log, providers, users);
diesel::allow_tables_to_appear_in_same_query!(imports, users);
diesel::allow_tables_to_appear_in_same_query!(invitations, providers);
diesel::allow_tables_to_appear_in_same_query!(providers, sign_in_sessions);
diesel::allow_tables_to_appear_in_same_query!(sign_in_sessions, users);
