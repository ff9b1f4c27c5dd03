//! The tables as diesel sees them; `migrations/` makes them.
//!
//! Columns are text, integer, bool, date and timestamp only: what both databases know. Timestamps are UTC.

diesel::table! {
    providers (id) {
        id -> BigInt,
        ukprn -> Text,
        name -> Text,
        created_at -> Timestamp,
        closed_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    tokens (id) {
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

diesel::table! {
    schools (id) {
        id -> BigInt,
        urn -> Text,
        name -> Text,
        postcode -> Nullable<Text>,
        open -> Bool,
    }
}

diesel::table! {
    training_partners (id) {
        id -> BigInt,
        urn -> Nullable<Text>,
        ukprn -> Nullable<Text>,
        name -> Text,
    }
}

diesel::joinable!(tokens -> providers (provider_id));
diesel::allow_tables_to_appear_in_same_query!(providers, tokens);
