//! The first page: an overview of the organisation, or all organisations for an operator.

use askama::Template;
use chrono::{Days, NaiveTime};
use http_kit::paths;
use storage::accounts::tokens::{EXPIRES_SOON_DAYS, TokenRecord};
use storage::accounts::users::SignedIn;
use storage::base::cause::Cause;
use storage::base::token::TokenStatus;
use storage::error::{Refusal, StorageError};
use storage::session::Session;

use crate::operators::organisations;
use crate::organisation::runs::RunLine;
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;

#[derive(Template)]
#[template(path = "settings/overview.html")]
struct Overview {
    frame: Frame,
    name: String,
    ukprn: String,
    /// The trainees without a TRN.
    waiting_for_trn: i64,
    /// The requests that were refused yesterday or today, without checks.
    refused: i64,
    has_token: bool,
    /// The tokens that expire soon.
    tokens: Vec<TokenRecord>,
    versions: Vec<VersionLinks>,
    last_run: Option<RunLine>,
}

struct VersionLinks {
    label: String,
    documentation: String,
    release_notes: String,
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let Some(organisation) = &signed_in.organisation else {
        return organisations::show_all(session, request, signed_in);
    };
    let frame = Frame::new(request, signed_in, SettingsSection::Overview);
    let mut tokens = session.list_tokens(Some(&organisation.ukprn))?;
    let has_token = tokens
        .iter()
        .any(|token| token.status == TokenStatus::Active);
    let now = session.now();
    let yesterday = now.date_naive() - Days::new(1);
    let cause = Cause::new("settings");
    let own = session.open_provider(&organisation.ukprn, cause)?;
    let mut own = own.ok_or(Refusal::UnknownProvider)?;
    let last_run = own.runs(None, 1)?.runs.into_iter().next();
    let last_run = last_run.map(|run| RunLine::new(run, &tokens));
    let waiting_for_trn = own.count_waiting_for_trn()?;
    let refused = own.count_refused(yesterday.and_time(NaiveTime::MIN).and_utc())?;
    tokens.retain(|token| token.expires_within(EXPIRES_SOON_DAYS, now));
    let versions = request.versions.iter().rev().map(|served| {
        let label = served.version.label;
        VersionLinks {
            label: label.to_string(),
            documentation: paths::documentation(label),
            release_notes: paths::release_notes(label),
        }
    });
    let name = organisation.name.clone();
    let ukprn = organisation.ukprn.clone();
    Reply::render(&Overview {
        frame,
        name,
        ukprn,
        waiting_for_trn,
        refused,
        has_token,
        tokens,
        versions: versions.collect(),
        last_run,
    })
}

/// Redirects an address with a trailing slash to the first page.
pub(crate) fn drop_slash(_: &mut Session<'_>, _: &PageRequest) -> Result<Reply, PageError> {
    Ok(Reply::Redirect(Target::Overview))
}

/// Converts stored names of users to names for pages. A user of the organisation is shown by e-mail
/// address, an operator as "an operator". Names given to commands are shown only to operators.
pub(crate) struct Names {
    /// Stored names with e-mail addresses.
    users: Vec<(String, String)>,
    for_operator: bool,
}

const USER: &str = "user ";

impl Names {
    /// Loads the users of an organisation, including removed ones, for pages shown to `asking`.
    pub(crate) fn load(
        session: &mut Session<'_>,
        ukprn: &str,
        asking: &SignedIn,
    ) -> Result<Self, StorageError> {
        let users = session
            .list_users(Some(ukprn))?
            .into_iter()
            .map(|user| (user.stored_name(), user.email));
        Ok(Self {
            users: users.collect(),
            for_operator: asking.organisation.is_none(),
        })
    }

    pub(crate) fn convert(&self, stored: &str) -> String {
        let mut users = self.users.iter();
        // Changes of an upload have the e-mail address of its user.
        match users.find(|(name, email)| name == stored || email == stored) {
            // The address of an erased user is empty.
            Some((_, email)) if !email.is_empty() => email.clone(),
            None if stored.starts_with(USER) => format!("an operator ({stored})"),
            None if !self.for_operator => "the service".to_owned(),
            Some(_) | None => stored.to_owned(),
        }
    }
}
