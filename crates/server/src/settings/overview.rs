//! The first page: an organisation at a glance; for an operator of the service, all organisations.

use askama::Template;
use storage::error::StorageError;
use storage::session::Session;
use storage::tokens::{EXPIRES_SOON_DAYS, TokenRecord};
use storage::users::{OrganisationSummary, SignedIn};

use super::page::{Frame, PageError, Place, Reply};
use super::receive::PageRequest;
use super::routes::OperatorContext;
use crate::http::paths;

#[derive(Template)]
#[template(path = "settings/overview.html")]
struct Overview {
    frame: Frame,
    name: String,
    ukprn: String,
    /// Those that expire soon.
    tokens: Vec<TokenRecord>,
    versions: Vec<VersionLinks>,
}

/// Where to read about a version.
struct VersionLinks {
    label: String,
    documentation: String,
    release_notes: String,
}

#[derive(Template)]
#[template(path = "settings/organisations.html")]
struct Organisations {
    frame: Frame,
    organisations: Vec<OrganisationSummary>,
}

/// The first page for whoever asks.
pub(super) fn show(session: &mut Session<'_>, request: &PageRequest, signed_in: &SignedIn) -> Result<Reply, PageError> {
    let Some(organisation) = &signed_in.organisation else {
        return list(session, request, signed_in);
    };
    let frame = Frame::of(request, signed_in, Place::Overview);
    let tokens = session.list_expiring_tokens(Some(&organisation.ukprn), EXPIRES_SOON_DAYS)?;
    let versions = request.versions.iter().rev().map(|served| {
        let label = served.version.label;
        VersionLinks {
            label: label.to_string(),
            documentation: paths::documentation(label),
            release_notes: paths::release_notes(label),
        }
    });
    let (name, ukprn) = (organisation.name.clone(), organisation.ukprn.clone());
    Reply::page(&Overview { frame, name, ukprn, tokens, versions: versions.collect() })
}

/// All organisations.
pub(super) fn organisations(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    list(session, request, operator.signed_in)
}

fn list(session: &mut Session<'_>, request: &PageRequest, signed_in: &SignedIn) -> Result<Reply, PageError> {
    let frame = Frame::of(request, signed_in, Place::Overview);
    Reply::page(&Organisations { frame, organisations: session.organisation_summaries()? })
}

/// Who made something: the e-mail address of a user where it is known by number, otherwise what is stored.
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    /// The people of an organisation, those whose access was removed too.
    pub(super) fn of(session: &mut Session<'_>, ukprn: &str) -> Result<Self, StorageError> {
        let users = session.list_users(Some(ukprn))?;
        let known = users.into_iter().filter(|user| !user.email.is_empty());
        Ok(Self(known.map(|user| (user.stored_name(), user.email)).collect()))
    }

    /// The name to show.
    pub(super) fn shown(&self, stored: &str) -> String {
        let found = self.0.iter().find(|(name, _)| name == stored);
        found.map_or(stored, |(_, email)| email).to_owned()
    }
}
