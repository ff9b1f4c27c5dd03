//! The command that prints the difference between two versions.

use clap::Args;
use domain::Lists;

use crate::cli::CommandError;
use crate::cli::output::{self, ReportFormat, ReportOutput};

#[derive(Debug, Args)]
pub(crate) struct Difference {
    /// Version that the client uses now
    #[arg(long, value_name = "LABEL")]
    from: String,
    /// Version to migrate to, newer or older
    #[arg(long, value_name = "LABEL")]
    to: String,
    #[command(flatten)]
    output: ReportOutput,
}

impl Difference {
    /// Prints the difference as Markdown or JSON.
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
        match self.output.format() {
            ReportFormat::Table => output::text(difference.markdown())?,
            ReportFormat::Json => output::json(&difference)?,
        }
        Ok(())
    }
}
