//! The changes that an organisation needs for the newest version: for each older version in use,
//! the share of writes that the newest version would accept, and the problems of rejected writes.

use adapter_kit::Label;
use askama::Template;
use domain::Code;
use http_kit::paths;
use storage::accounts::users::SignedIn;
use storage::session::ProviderSession;
use usage::readiness::{DEFAULT_DAYS, FEW, ProviderUse, ReadinessWeek, VersionReadiness};

use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

#[derive(Template)]
#[template(path = "settings/readiness.html")]
struct Readiness {
    frame: Frame,
    newest: Option<Label>,
    tries_writes: bool,
    versions: Vec<Version>,
}

struct Version {
    label: Label,
    newest: Label,
    usage: ProviderUse,
    /// The recent weeks with checked writes.
    weeks: Vec<ReadinessWeek>,
    /// The documentation of each problem, in the same order; `None` for codes that are not problems
    /// of requests.
    help: Vec<Option<String>>,
    move_page: String,
}

pub(crate) fn show(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let all = request.versions;
    let newest = all.newest().map(|served| served.version.label);
    let older = all
        .iter()
        .filter(|served| Some(served.version.label) != newest);
    let used = VersionReadiness::load_own(session, older, DEFAULT_DAYS, all)?;
    let versions = used.into_iter().filter_map(Version::from_readiness);
    Reply::render(&Readiness {
        frame: Frame::new(request, signed_in, SettingsSection::Readiness),
        newest,
        tries_writes: request.state.recorder.checks_writes(),
        versions: versions.collect(),
    })
}

impl Version {
    /// Returns `None` if the organisation does not use the version.
    fn from_readiness(found: VersionReadiness) -> Option<Self> {
        let VersionReadiness {
            version, newest, ..
        } = found;
        let usage = found.providers.into_iter().next()?;
        let help = usage.problems.iter().map(|problem| {
            let is_code = Code::ALL.iter().any(|code| code.name() == problem.code);
            is_code.then(|| paths::problem(newest, &problem.code))
        });
        Some(Self {
            label: version,
            newest,
            weeks: found.weeks,
            help: help.collect(),
            usage,
            move_page: paths::move_page(version, newest),
        })
    }
}
