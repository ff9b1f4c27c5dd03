//! The operators' page about versions: their use, the organisations' readiness to migrate, and the
//! removable versions.

use adapter_kit::Label;
use askama::Template;
use http_kit::paths;
use storage::session::Session;
use usage::readiness::{DEFAULT_DAYS, Obstacle, ProviderUse, Removal, VersionReadiness};

use crate::request::context::OperatorContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The maximum number of problems shown per organisation. The organisation sees all its problems.
const MOST_PROBLEMS: usize = 5;

#[derive(Template)]
#[template(path = "settings/versions.html")]
struct Versions {
    frame: Frame,
    newest: Option<Label>,
    tries_writes: bool,
    versions: Vec<VersionReadiness>,
}

/// Shows the page.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let all = request.versions;
    let mut versions = VersionReadiness::load(session, all.iter(), DEFAULT_DAYS, None, all)?;
    // Newest version first, like on other pages.
    versions.reverse();
    Reply::page(&Versions {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Versions),
        newest: request.versions.newest().map(|served| served.version.label),
        tries_writes: request.state.recorder.checks_writes(),
        versions,
    })
}

impl Versions {
    /// The address of the page about the move from a version to the newest one.
    fn move_page(&self, version: &VersionReadiness) -> String {
        paths::move_page(version.version, version.newest)
    }
}

/// The number of requests of all organisations.
fn requests(version: &VersionReadiness) -> i64 {
    version
        .providers
        .iter()
        .map(|provider| provider.requests)
        .sum()
}

/// The verdict on removing a version, as text for a table.
fn verdict(version: &VersionReadiness) -> &'static str {
    match version.removal() {
        Removal::Newest => "no, newest version",
        Removal::InUse => "no, in use",
        Removal::NotLookedAt => "unknown",
        Removal::CountedTooShortly => "unknown, not enough data yet",
        Removal::Possible => "yes, not used",
    }
}

/// The most frequent problems of an organisation.
fn most_frequent(provider: &ProviderUse) -> &[Obstacle] {
    provider
        .problems
        .get(..MOST_PROBLEMS)
        .unwrap_or(&provider.problems)
}
