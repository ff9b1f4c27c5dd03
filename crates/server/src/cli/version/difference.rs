//! The command that prints the difference between two versions.

use clap::{Args, ValueEnum};
use domain::Lists;

use crate::cli::{CommandError, output};

#[derive(Debug, Args)]
pub(crate) struct Difference {
    /// Version that the client was written for, such as the oldest
    #[arg(value_name = "FROM")]
    from: String,
    /// Version that it moves to, newer or older
    #[arg(value_name = "TO")]
    to: String,
    /// Form of the answer: markdown to read, json for programs
    #[arg(long, env = "REGISTER_VERSION_DIFFERENCE_FORMAT", value_enum, default_value_t = Format::Markdown)]
    format: Format,
}

/// The form in which a difference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Markdown,
    Json,
}

impl Difference {
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let named = |text: &str| {
            versions::all()
                .named(text)
                .map_err(CommandError::UnknownVersion)
        };
        let difference = version_tools::Difference::between(
            named(&self.from)?,
            named(&self.to)?,
            Lists::embedded(),
        );
        match self.format {
            Format::Markdown => output::text(difference.markdown())?,
            Format::Json => output::json(&difference)?,
        }
        Ok(())
    }
}
