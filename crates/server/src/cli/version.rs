//! Commands about versions of the API.

use adapter_kit::Served;
use clap::Subcommand;

use super::CommandError;

mod difference;
mod openapi;
mod readiness;
mod translate;

#[derive(Debug, Subcommand)]
pub(super) enum VersionCommand {
    /// Show the changes between two versions, and how clients migrate
    #[command(after_help = example("version difference --from OLDEST --to NEWEST"))]
    Difference(difference::Difference),
    /// Print the OpenAPI document of a version
    #[command(after_help = example("version openapi NEWEST"))]
    Openapi(openapi::OpenApi),
    /// Show which providers still use a version, and how ready they are to migrate
    ///
    /// The report lists necessary changes, and how many writes the newest version would accept.
    #[command(after_help = example("version readiness OLDEST"))]
    Readiness(readiness::Readiness),
    /// Translate request or reply bodies to another version, and report lost values and problems
    ///
    /// The file contains one body, an array of bodies, or one body per line. The `data` key around
    /// a body is optional. Translated bodies go to standard output; renamed fields, lost values and
    /// problems go to standard error. The command uses no database: schools and training partners
    /// with well-formed numbers count as known.
    ///
    /// The exit status is 1 if a value is lost or a body has a problem, otherwise 0. In both cases
    /// the bodies are printed.
    #[command(after_help = example("version translate --from OLDEST --to NEWEST body.json"))]
    Translate(translate::Translate),
}

impl VersionCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Difference(difference) => difference.run(),
            Self::Openapi(openapi) => openapi.run(),
            Self::Readiness(readiness) => readiness.run(),
            Self::Translate(translate) => translate.run(),
        }
    }
}

/// The help text with an example. OLDEST and NEWEST stand for the labels of served versions.
fn example(arguments: &str) -> String {
    let label = |served: Option<&Served>| {
        served.map_or_else(String::new, |served| served.version.label.to_string())
    };
    let oldest = label(versions::all().iter().next());
    let newest = label(versions::all().newest());
    let arguments = arguments
        .replace("OLDEST", &oldest)
        .replace("NEWEST", &newest);
    format!("Example: trainee-register {arguments}")
}

/// The served version with the label. Fails if there is none.
fn served(text: &str) -> Result<&'static Served, CommandError> {
    Ok(versions::all().named(text)?)
}
