//! Which organisations use which version, how far each is, and which version could be removed: for
//! operators.

use adapter_kit::Label;
use askama::Template;
use http_kit::paths;
use storage::session::Session;
use usage::readiness::{DEFAULT_DAYS, Obstacle, ProviderUse, Removal, VersionReadiness};

use crate::request::context::OperatorContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// Problems that are shown of one organisation; its own page has all of them.
const MOST_PROBLEMS: usize = 5;

#[derive(Template)]
#[template(path = "settings/versions.html")]
struct Versions {
    frame: Frame,
    newest: Option<Label>,
    tries_writes: bool,
    versions: Vec<VersionReadiness>,
}

/// The page.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let mut versions = VersionReadiness::load_all(session, DEFAULT_DAYS, None, request.versions)?;
    // The newest first, as elsewhere; the oldest are the ones to look into.
    versions.reverse();
    Reply::page(&Versions {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Versions),
        newest: request.versions.newest().map(|served| served.version.label),
        tries_writes: request.tries_writes,
        versions,
    })
}

impl Versions {
    fn differences(&self, version: &VersionReadiness) -> String {
        paths::differences(version.version, version.newest)
    }
}

/// Requests of all organisations together.
fn requests(version: &VersionReadiness) -> i64 {
    version
        .providers
        .iter()
        .map(|provider| provider.requests)
        .sum()
}

/// Whether a version can be removed, in words for a table.
fn verdict(version: &VersionReadiness) -> &'static str {
    match version.removal() {
        Removal::Newest => "it is the newest",
        Removal::InUse => "no, it is used",
        Removal::NotLookedAt => "not known",
        Removal::CountedTooShortly => "not known, counted for too few days",
        Removal::Possible => "yes, nobody used it",
    }
}

/// The most frequent problems of an organisation.
fn most_frequent(provider: &ProviderUse) -> &[Obstacle] {
    provider
        .problems
        .get(..MOST_PROBLEMS)
        .unwrap_or(&provider.problems)
}
