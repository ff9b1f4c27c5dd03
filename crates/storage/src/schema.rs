//! The tables for diesel. The migrations in `migrations/` create them.
//!
//! Columns have types that both databases support: text, integer, bool, date and timestamp (UTC).
//! The record of a trainee is a JSON document.
//!
//! Every `Insertable` binds its nulls (`treat_none_as_default_value = false`). Otherwise diesel
//! leaves out columns with nulls, and each connection would keep a prepared statement for every
//! combination of columns.

diesel::table! {
    providers (id) {
        id -> BigInt,
        ukprn -> Text,
        name -> Text,
        created_at -> Timestamp,
        closed_at -> Nullable<Timestamp>,
        logs_record_keys -> Bool,
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

diesel::table! {
    trainees (id) {
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
        position -> BigInt,
    }
}

diesel::table! {
    provider_positions (provider_id) {
        provider_id -> BigInt,
        position -> BigInt,
        changed_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    placement_schools (school_id, trainee_key) {
        school_id -> BigInt,
        trainee_key -> BigInt,
    }
}

diesel::table! {
    changes (id) {
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

diesel::table! {
    replies (provider_id, idempotency_key) {
        provider_id -> BigInt,
        idempotency_key -> Text,
        request_digest -> Text,
        status -> Integer,
        headers -> Text,
        body -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    erasures (id) {
        id -> BigInt,
        provider_id -> BigInt,
        trainee_id -> Text,
        erased_at -> Timestamp,
        erased_by -> Text,
        ground -> Text,
        entries -> BigInt,
    }
}

diesel::table! {
    request_totals (id) {
        id -> BigInt,
        day -> Date,
        token_id -> BigInt,
        version -> Text,
        endpoint -> Text,
        status -> Integer,
        kind -> Text,
        detail -> Text,
        requests -> BigInt,
        first_at -> Timestamp,
        first_request_id -> Text,
        last_at -> Timestamp,
        last_request_id -> Text,
    }
}

diesel::table! {
    requests (id) {
        id -> BigInt,
        provider_id -> BigInt,
        answered_at -> Timestamp,
        token_id -> Nullable<BigInt>,
        user_id -> Nullable<BigInt>,
        version -> Text,
        endpoint -> Text,
        status -> Integer,
        result -> Text,
        refused -> Bool,
        request_id -> Text,
        in_batch -> Bool,
        item -> Nullable<Integer>,
        record_key -> Nullable<Text>,
        names -> Nullable<Text>,
        problems -> Nullable<Text>,
        problems_left_out -> Integer,
        newest_problems -> Nullable<Text>,
    }
}

diesel::table! {
    users (id) {
        id -> BigInt,
        provider_id -> Nullable<BigInt>,
        role -> Text,
        is_editor -> Bool,
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

diesel::table! {
    invitations (id) {
        id -> BigInt,
        digest -> Text,
        provider_id -> Nullable<BigInt>,
        role -> Text,
        is_editor -> Bool,
        email -> Text,
        created_at -> Timestamp,
        created_by -> Text,
        expires_at -> Timestamp,
        used_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    mails (id) {
        id -> BigInt,
        kind -> Text,
        email -> Nullable<Text>,
        invitation_id -> Nullable<BigInt>,
        token_id -> Nullable<BigInt>,
        user_id -> Nullable<BigInt>,
        request_id -> Nullable<Text>,
        address -> Nullable<Text>,
        created_at -> Timestamp,
        due_at -> Timestamp,
        expires_at -> Timestamp,
        attempts -> Integer,
        finished_at -> Nullable<Timestamp>,
        turn_of -> Nullable<BigInt>,
    }
}

diesel::table! {
    token_reminders (token_id, days_left) {
        token_id -> BigInt,
        days_left -> Integer,
        queued_at -> Timestamp,
    }
}

diesel::table! {
    sign_in_sessions (id) {
        id -> BigInt,
        digest -> Text,
        user_id -> BigInt,
        created_at -> Timestamp,
        last_seen_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    sign_in_attempts (id) {
        id -> BigInt,
        digest -> Text,
        browser_digest -> Text,
        nonce -> Text,
        code_verifier -> Text,
        expires_at -> Timestamp,
    }
}

diesel::table! {
    sign_in_choices (id) {
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

diesel::table! {
    activity_log (id) {
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

diesel::table! {
    imports (id) {
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

diesel::table! {
    register_settings (name) {
        name -> Text,
        value -> Text,
    }
}

diesel::table! {
    uploads (id) {
        id -> BigInt,
        provider_id -> BigInt,
        user_id -> BigInt,
        state -> Text,
        rows -> Integer,
        content -> Text,
        created_at -> Timestamp,
        sent_at -> Nullable<Timestamp>,
        worked_until -> Nullable<Timestamp>,
    }
}

diesel::table! {
    upload_rows (upload_id, line) {
        upload_id -> BigInt,
        line -> BigInt,
        status -> Text,
        record_key -> Nullable<Text>,
        trainee_id -> Nullable<Text>,
        cells -> Text,
        details -> Text,
        problems -> Text,
    }
}

diesel::table! {
    upload_headings (provider_id) {
        provider_id -> BigInt,
        names -> Text,
    }
}

diesel::table! {
    upload_problems (upload_id, number) {
        upload_id -> BigInt,
        number -> BigInt,
        digest -> BigInt,
        heading -> Text,
        words -> Text,
        rows -> BigInt,
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
diesel::joinable!(uploads -> users (user_id));
diesel::joinable!(users -> providers (provider_id));
diesel::allow_tables_to_appear_in_same_query!(changes, tokens);
diesel::allow_tables_to_appear_in_same_query!(erasures, providers);
diesel::allow_tables_to_appear_in_same_query!(placement_schools, trainees);
diesel::allow_tables_to_appear_in_same_query!(provider_positions, providers, tokens);
diesel::allow_tables_to_appear_in_same_query!(providers, trainees);
diesel::allow_tables_to_appear_in_same_query!(tokens, trainees);
diesel::allow_tables_to_appear_in_same_query!(activity_log, users);
diesel::allow_tables_to_appear_in_same_query!(activity_log, providers);
diesel::allow_tables_to_appear_in_same_query!(imports, users);
diesel::allow_tables_to_appear_in_same_query!(invitations, providers);
diesel::allow_tables_to_appear_in_same_query!(providers, sign_in_sessions);
diesel::allow_tables_to_appear_in_same_query!(sign_in_sessions, users);
diesel::allow_tables_to_appear_in_same_query!(providers, uploads, users);
diesel::allow_tables_to_appear_in_same_query!(upload_rows, trainees);
