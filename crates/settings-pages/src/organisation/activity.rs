//! The activity log: of the user's organisation, or of all organisations for an operator.

use askama::Template;
use storage::accounts::users::{Activity, ActivityFilter, ActivityKind, SignedIn};
use storage::session::Session;

use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The entries on a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "settings/activity.html")]
struct ActivityPage {
    frame: Frame,
    entries: Vec<Activity>,
    /// The UKPRN that an operator has chosen; empty for all organisations.
    organisation: String,
    /// The last entry on the page, if older entries exist.
    before: Option<i64>,
}

/// Shows a page of the log, newest first.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    // One more than a page, to find out whether older entries exist.
    let limit = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    // Users of an organisation cannot choose another one.
    let chosen = match &signed_in.organisation {
        Some(_) => "",
        None => request.query.value("organisation"),
    };
    let own = signed_in
        .organisation
        .as_ref()
        .map(|organisation| organisation.ukprn.as_str());
    let filter = ActivityFilter {
        provider_ukprn: own.or(Some(chosen).filter(|ukprn| !ukprn.is_empty())),
        before: request.query.value("before").parse().ok(),
        limit,
    };
    let mut entries = session.list_activity(filter)?;
    let has_more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let before = entries.last().filter(|_| has_more).map(|entry| entry.id);
    Reply::render(&ActivityPage {
        frame: Frame::new(request, signed_in, SettingsSection::Activity),
        entries,
        organisation: chosen.to_owned(),
        before,
    })
}

pub(crate) fn describe_kind(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::TokenIssued => "created a token",
        ActivityKind::TokenRotated => "replaced a token",
        ActivityKind::TokenRevoked => "revoked a token",
        ActivityKind::UserInvited => "created a sign-in link",
        ActivityKind::SignInLinkRequested => "asked for a link to sign in",
        ActivityKind::UserSignedIn => "signed in",
        ActivityKind::UserSignedOutEverywhere => "signed out everywhere",
        ActivityKind::RoleChanged => "changed a role",
        ActivityKind::UserRemoved => "removed access",
        ActivityKind::UserErased => "erased a user",
        ActivityKind::OrganisationAdded => "added an organisation",
        ActivityKind::OrganisationRenamed => "renamed an organisation",
        ActivityKind::OrganisationClosed => "closed an organisation",
        ActivityKind::OrganisationReopened => "reopened an organisation",
        ActivityKind::RegistryActed => "performed a registry action",
        ActivityKind::HistoryViewed => "viewed the history of a trainee",
        ActivityKind::TraineeViewed => "viewed a trainee",
        ActivityKind::FileImported => "imported a file",
        ActivityKind::RecordKeyLoggingChanged => "switched the storage of record keys",
    }
}
