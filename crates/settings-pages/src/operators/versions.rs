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

/// The most problems shown per organisation. The organisation sees all its problems.
const MOST_PROBLEMS: usize = 5;

#[derive(Template)]
#[template(path = "settings/versions.html")]
struct Versions {
    frame: Frame,
    newest: Option<Label>,
    tries_writes: bool,
    versions: Vec<VersionReadiness>,
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let all = request.versions;
    let mut versions = VersionReadiness::load(session, all.iter(), DEFAULT_DAYS, None, all)?;
    // Newest version first, like on other pages.
    versions.reverse();
    Reply::render(&Versions {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Versions),
        newest: request.versions.newest().map(|served| served.version.label),
        tries_writes: request.state.recorder.checks_writes(),
        versions,
    })
}

impl Versions {
    fn build_move_page_address(&self, version: &VersionReadiness) -> String {
        paths::move_page(version.version, version.newest)
    }
}

fn count_requests(version: &VersionReadiness) -> i64 {
    version
        .providers
        .iter()
        .map(|provider| provider.requests)
        .sum()
}

/// Answers whether a version can be removed, as text for a table.
fn describe_removal(version: &VersionReadiness) -> &'static str {
    match version.removal() {
        Removal::Newest => "no, newest version",
        Removal::InUse => "no, in use",
        Removal::NotLookedAt => "unknown",
        Removal::CountedTooShortly => "unknown, not enough data yet",
        Removal::Possible => "yes, not used",
    }
}

fn list_most_frequent(provider: &ProviderUse) -> &[Obstacle] {
    // The problems are sorted by frequency.
    provider
        .problems
        .get(..MOST_PROBLEMS)
        .unwrap_or(&provider.problems)
}
