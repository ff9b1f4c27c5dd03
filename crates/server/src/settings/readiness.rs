//! What an organisation would have to change for the newest version: for each older one that it used, how many of its
//! writes the newest would accept, and what stands against the others.

use adapter_kit::Label;
use askama::Template;
use domain::Code;
use storage::session::ProviderSession;
use storage::users::SignedIn;

use super::page::{Frame, PageError, Place, Reply};
use super::receive::PageRequest;
use crate::http::paths;
use crate::pages::documents;
use crate::usage::readiness::{DEFAULT_DAYS, FEW, OwnReadiness, ProviderUse};

#[derive(Template)]
#[template(path = "settings/readiness.html")]
struct Readiness {
    frame: Frame,
    newest: Option<Label>,
    versions: Vec<Version>,
}

/// An older version that was used.
struct Version {
    label: Label,
    newest: Label,
    usage: ProviderUse,
    /// The page about the code of each problem, in their order; nothing for a code that is no problem of a request.
    help: Vec<Option<String>>,
    /// All that differs.
    differences: String,
    /// The page that rewrites a body.
    guide: String,
}

/// The page.
pub(super) fn show(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let used = OwnReadiness::of_older(session, DEFAULT_DAYS, request.versions)?;
    Reply::page(&Readiness {
        frame: Frame::of(request, signed_in, Place::Readiness),
        newest: request.versions.newest().map(|served| served.version.label),
        versions: used.into_iter().filter_map(Version::of).collect(),
    })
}

impl Version {
    fn of(OwnReadiness { version, newest, usage, .. }: OwnReadiness) -> Option<Self> {
        let usage = usage?;
        let help = usage.problems.iter().map(|problem| {
            let is_code = Code::ALL.iter().any(|code| code.name() == problem.code);
            is_code.then(|| documents::about_problem(newest, &problem.code))
        });
        Some(Self {
            label: version,
            newest,
            help: help.collect(),
            usage,
            differences: paths::differences(version, newest),
            guide: paths::migration_guide(version, newest),
        })
    }
}
