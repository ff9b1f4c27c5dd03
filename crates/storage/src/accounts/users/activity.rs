//! The activity log: who did what on the settings pages, and with the commands for the same tasks.
//!
//! An entry is written in the transaction of the logged action. Entries refer to people by number,
//! so erasing a user does not change them.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use diesel::prelude::*;

use super::Actor;
use crate::error::StorageError;
use crate::schema::{activity_log, providers, users};
use crate::session::Session;

/// How long entries are kept.
pub(crate) const KEPT: TimeDelta = TimeDelta::days(400);

/// The kind of a logged action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityKind {
    /// A token was issued.
    TokenIssued,
    /// A token was replaced by another one.
    TokenRotated,
    /// A token was revoked.
    TokenRevoked,
    /// A person was invited, or received another link.
    UserInvited,
    /// A user was sent a sign-in link, after a request on the sign-in page.
    SignInLinkRequested,
    /// A user signed in.
    UserSignedIn,
    /// A user ended all their sessions.
    UserSignedOutEverywhere,
    /// The role of a user was changed.
    RoleChanged,
    /// The access of a user was removed.
    UserRemoved,
    /// A user was erased.
    UserErased,
    /// An organisation was added.
    OrganisationAdded,
    /// An organisation was given another name.
    OrganisationRenamed,
    /// An organisation was closed.
    OrganisationClosed,
    /// An organisation was reopened.
    OrganisationReopened,
    /// A registry action was performed on a trainee.
    RegistryActed,
    /// The history of a trainee was viewed by an operator.
    HistoryViewed,
    /// A trainee was viewed by a user of its organisation.
    TraineeViewed,
    /// A file was imported.
    FileImported,
    /// The storage of record keys was switched on or off.
    RecordKeyLoggingChanged,
}

impl ActivityKind {
    const ALL: [Self; 19] = [
        Self::TokenIssued,
        Self::TokenRotated,
        Self::TokenRevoked,
        Self::UserInvited,
        Self::SignInLinkRequested,
        Self::UserSignedIn,
        Self::UserSignedOutEverywhere,
        Self::RoleChanged,
        Self::UserRemoved,
        Self::UserErased,
        Self::OrganisationAdded,
        Self::OrganisationRenamed,
        Self::OrganisationClosed,
        Self::OrganisationReopened,
        Self::RegistryActed,
        Self::HistoryViewed,
        Self::TraineeViewed,
        Self::FileImported,
        Self::RecordKeyLoggingChanged,
    ];

    /// The name of the kind in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenIssued => "token_issued",
            Self::TokenRotated => "token_rotated",
            Self::TokenRevoked => "token_revoked",
            Self::UserInvited => "user_invited",
            Self::SignInLinkRequested => "sign_in_link_requested",
            Self::UserSignedIn => "user_signed_in",
            Self::UserSignedOutEverywhere => "user_signed_out_everywhere",
            Self::RoleChanged => "role_changed",
            Self::UserRemoved => "user_removed",
            Self::UserErased => "user_erased",
            Self::OrganisationAdded => "organisation_added",
            Self::OrganisationRenamed => "organisation_renamed",
            Self::OrganisationClosed => "organisation_closed",
            Self::OrganisationReopened => "organisation_reopened",
            Self::RegistryActed => "registry_acted",
            Self::HistoryViewed => "history_viewed",
            Self::TraineeViewed => "trainee_viewed",
            Self::FileImported => "file_imported",
            Self::RecordKeyLoggingChanged => "record_key_logging_changed",
        }
    }
}

/// The object of an action, by its number, UKPRN or identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject<'a> {
    Token(i64),
    User(i64),
    Invitation(i64),
    Organisation(&'a str),
    Trainee(&'a str),
    Import(i64),
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(id) => write!(formatter, "token {id}"),
            Self::User(id) => write!(formatter, "user {id}"),
            Self::Invitation(id) => write!(formatter, "invitation {id}"),
            Self::Organisation(ukprn) => write!(formatter, "organisation {ukprn}"),
            Self::Trainee(trainee_id) => write!(formatter, "trainee {trainee_id}"),
            Self::Import(id) => write!(formatter, "import {id}"),
        }
    }
}

/// An entry of the activity log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The number of the entry. Numbers increase, except for overlapping transactions.
    pub id: i64,
    /// When the action was performed.
    pub at: DateTime<Utc>,
    /// The number of the acting user; `None` for a command.
    pub user_id: Option<i64>,
    /// The e-mail address of the acting user, which is empty if the user was erased, or the person
    /// who ran the command.
    pub by: String,
    /// Whether the acting user is an operator of the service.
    pub is_by_operator: bool,
    /// The UKPRN of the affected organisation; `None` for the service.
    pub provider_ukprn: Option<String>,
    /// The kind of the action.
    pub kind: ActivityKind,
    /// The object of the action, such as `token 3`.
    pub subject: String,
    /// Further information; may be empty.
    pub detail: String,
    /// The identifier of the request; `None` for a command.
    pub request_id: Option<String>,
    /// The address of the client; `None` for a command.
    pub address: Option<String>,
}

/// Selects entries of the activity log.
#[derive(Debug, Clone, Copy, Default)]
pub struct ActivityFilter<'a> {
    /// Only entries of the organisation with this UKPRN; `None` for all.
    pub provider_ukprn: Option<&'a str>,
    /// Only entries before the one with this number.
    pub before: Option<i64>,
    /// The most entries to return.
    pub limit: i64,
}

/// An entry, the e-mail address and the organisation of its user, and the UKPRN of the affected
/// organisation.
type Row = (
    (
        i64,
        NaiveDateTime,
        Option<i64>,
        Option<String>,
        String,
        String,
        String,
        Option<String>,
        Option<String>,
    ),
    Option<(String, Option<i64>)>,
    Option<String>,
);

impl Session<'_> {
    /// Writes an entry. Call this in the transaction of the logged action.
    pub(crate) fn record_activity(
        &mut self,
        by: Actor<'_>,
        provider_id: Option<i64>,
        kind: ActivityKind,
        subject: Subject<'_>,
        detail: &str,
    ) -> Result<(), StorageError> {
        let origin = by.origin();
        diesel::insert_into(activity_log::table)
            .values((
                activity_log::acted_at.eq(self.now().naive_utc()),
                activity_log::user_id.eq(by.user_id()),
                activity_log::acted_by.eq(by.name()),
                activity_log::provider_id.eq(provider_id),
                activity_log::action.eq(kind.name()),
                activity_log::subject.eq(subject.to_string()),
                activity_log::detail.eq(detail),
                activity_log::request_id.eq(origin.request_id),
                activity_log::address.eq(origin.address),
            ))
            .execute(self.connection)?;
        Ok(())
    }

    /// Entries of the activity log, newest first.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`](crate::error::Refusal::UnknownProvider).
    pub fn list_activity(
        &mut self,
        filter: ActivityFilter<'_>,
    ) -> Result<Vec<Activity>, StorageError> {
        let mut query = activity_log::table
            .left_join(users::table)
            .left_join(providers::table.on(providers::id.nullable().eq(activity_log::provider_id)))
            .order(activity_log::id.desc())
            .limit(filter.limit)
            .select((
                (
                    activity_log::id,
                    activity_log::acted_at,
                    activity_log::user_id,
                    activity_log::acted_by,
                    activity_log::action,
                    activity_log::subject,
                    activity_log::detail,
                    activity_log::request_id,
                    activity_log::address,
                ),
                (users::email, users::provider_id).nullable(),
                providers::ukprn.nullable(),
            ))
            .into_boxed();
        if let Some(ukprn) = filter.provider_ukprn {
            query = query.filter(activity_log::provider_id.eq(self.provider(ukprn)?.id));
        }
        if let Some(before) = filter.before {
            query = query.filter(activity_log::id.lt(before));
        }
        query
            .load::<Row>(self.connection)?
            .into_iter()
            .map(activity)
            .collect()
    }

    /// Removes up to `most` expired entries. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_activity(&mut self, most: i64) -> Result<usize, StorageError> {
        let old = activity_log::table
            .filter(activity_log::acted_at.lt((self.now() - KEPT).naive_utc()))
            .limit(most)
            .select(activity_log::id)
            .load::<i64>(self.connection)?;
        Ok(
            diesel::delete(activity_log::table.filter(activity_log::id.eq_any(old)))
                .execute(self.connection)?,
        )
    }
}

/// Converts a row. `Err` if the kind of the action is unknown.
fn activity((entry, user, provider_ukprn): Row) -> Result<Activity, StorageError> {
    let (id, acted_at, user_id, acted_by, action, subject, detail, request_id, address) = entry;
    let kind = ActivityKind::ALL
        .into_iter()
        .find(|kind| kind.name() == action);
    let kind = kind.ok_or(StorageError::CorruptRow {
        table: "activity_log",
        id,
    })?;
    Ok(Activity {
        id,
        at: acted_at.and_utc(),
        user_id,
        is_by_operator: user
            .as_ref()
            .is_some_and(|(_, provider_id)| provider_id.is_none()),
        // Only an entry of a command has `acted_by`.
        by: acted_by
            .or(user.map(|(email, _)| email))
            .unwrap_or_default(),
        provider_ukprn,
        kind,
        subject,
        detail,
        request_id,
        address,
    })
}
