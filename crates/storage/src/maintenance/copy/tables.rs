//! Lists of the copied tables and of the others.
//!
//! A test compares the lists with the catalogues of both databases.

/// A table whose rows are copied.
#[derive(Debug)]
pub(crate) struct CopiedTable {
    pub(crate) name: &'static str,
    /// The columns that order and identify the rows.
    pub(crate) key: &'static [&'static str],
}

/// Tables that have rows in an empty register. The rows of the source replace them.
pub(crate) const FILLED_WHEN_EMPTY: &[&str] = &["provider_positions", "register_settings"];

/// The copied tables. Each table comes after the tables it refers to.
#[rustfmt::skip]
pub(crate) const COPIED: &[CopiedTable] = &[
    CopiedTable { name: "providers", key: &["id"] },
    CopiedTable { name: "provider_positions", key: &["provider_id"] },
    CopiedTable { name: "tokens", key: &["id"] },
    CopiedTable { name: "schools", key: &["id"] },
    CopiedTable { name: "training_partners", key: &["id"] },
    CopiedTable { name: "trainees", key: &["id"] },
    CopiedTable { name: "placement_schools", key: &["school_id", "trainee_key"] },
    CopiedTable { name: "changes", key: &["id"] },
    CopiedTable { name: "replies", key: &["provider_id", "idempotency_key"] },
    CopiedTable { name: "erasures", key: &["id"] },
    CopiedTable { name: "users", key: &["id"] },
    CopiedTable { name: "invitations", key: &["id"] },
    CopiedTable { name: "mails", key: &["id"] },
    CopiedTable { name: "token_reminders", key: &["token_id", "days_left"] },
    CopiedTable { name: "sign_in_sessions", key: &["id"] },
    CopiedTable { name: "sign_in_attempts", key: &["id"] },
    CopiedTable { name: "sign_in_choices", key: &["id"] },
    CopiedTable { name: "activity_log", key: &["id"] },
    CopiedTable { name: "imports", key: &["id"] },
    CopiedTable { name: "requests", key: &["id"] },
    CopiedTable { name: "request_totals", key: &["id"] },
    CopiedTable { name: "register_settings", key: &["name"] },
];

/// The tables of uploads. Backups leave them out too. A table comes before the tables it refers to.
pub(crate) const OF_UPLOADS: &[&str] = &[
    "upload_headings",
    "upload_problems",
    "upload_rows",
    "uploads",
];

/// The names of the copied tables, in the order of [`COPIED`].
pub(crate) fn copied() -> impl Iterator<Item = &'static str> {
    COPIED.iter().map(|table| table.name)
}
