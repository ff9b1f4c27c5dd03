//! Commands about the imports of files that were made.

use clap::Subcommand;
use domain::values::iso_8601::timestamp;
use storage::observations::imports::ImportRecord;

use super::values::id;
use super::{CommandError, Database};
use crate::cli::output;

/// Imports that are listed.
const LISTED: i64 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum ImportCommand {
    /// List the imports of schools, training partners and trainees, newest first; they are kept for
    /// 400 days
    List(Database),
    /// Print the rows that were refused in an import: the line of each, and why; and the line at
    /// which it stopped
    Show {
        #[command(flatten)]
        database: Database,
        /// Number of the import, as `import list` shows it
        #[arg(value_parser = id)]
        id: i64,
    },
}

impl ImportCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::List(database) => {
                let imports = database
                    .open()?
                    .read_blocking(|session| session.list_imports(None, LISTED))?;
                let headings = [
                    "id",
                    "when",
                    "what",
                    "command",
                    "by",
                    "added",
                    "changed",
                    "unchanged",
                    "refused",
                ];
                output::table(headings, &imports.into_iter().map(row).collect::<Vec<_>>())
            }
            Self::Show { database, id } => {
                let found = database
                    .open()?
                    .read_blocking(move |session| session.import(id))?;
                let (import, refused) = found.ok_or(CommandError::UnknownImport(id))?;
                if import.refused == 0 && import.stopped_at_line.is_none() {
                    return output::line(output::EMPTY);
                }
                refused.iter().try_for_each(|row| {
                    output::line(format_args!("line {}: {}", row.line, row.problem))
                })?;
                match import.refused.saturating_sub(refused.len() as u64) {
                    0 => {}
                    others => output::line(format_args!("and {others} more"))?,
                }
                import.stopped_at_line.map_or(Ok(()), |line| {
                    output::line(format_args!("stopped at line {line}"))
                })
            }
        }
    }
}

fn row(import: ImportRecord) -> [String; 9] {
    [
        import.id.to_string(),
        timestamp(import.at),
        import.kind.to_string(),
        import.operation,
        import.by,
        import.counts.added.to_string(),
        import.counts.changed.to_string(),
        import.counts.unchanged.to_string(),
        import.refused.to_string(),
    ]
}
