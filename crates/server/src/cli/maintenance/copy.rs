//! The command that copies a register to another database.

use clap::Args;
use storage::maintenance::copy::{self, Step};

use crate::cli::{CommandError, Expected, output, progress};

#[derive(Debug, Args)]
#[command(after_help = "Example:
  trainee-register copy --from sqlite://var/register.db --to postgres://register@db/register")]
pub(crate) struct Copy {
    /// URL of the database to copy; stop all servers that write to it
    #[arg(long, value_name = "URL")]
    from: String,
    /// URL of an empty database to copy to
    #[arg(long, value_name = "URL")]
    to: String,
    #[command(flatten)]
    expected: Expected,
}

impl Copy {
    /// Copies the register, and prints the number of rows and each difference. Fails if there is a
    /// difference.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let bar = progress::bar(0, "{percent}% copied and compared");
        let report = copy::copy(
            &self.from,
            &self.to,
            self.expected.environment,
            |step| match step {
                // Each row counts twice: it is copied and compared.
                Step::Begun { rows } => bar.set_length(rows.saturating_mul(2)),
                Step::Copied(rows) | Step::Compared(rows) => bar.inc(rows),
            },
        );
        bar.finish_and_clear();
        let report = report?;
        output::counts(&report.rows)?;
        report.differences.iter().try_for_each(output::line)?;
        if !report.differences.is_empty() {
            return Err(CommandError::NotTheSame(report.differences.len()));
        }
        eprintln!("copied; all rows are identical in both databases");
        Ok(())
    }
}
