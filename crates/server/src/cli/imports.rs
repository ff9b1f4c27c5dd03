//! Commands about past imports.

use clap::Subcommand;
use domain::values::iso_8601::timestamp;
use storage::observations::imports::ImportRecord;

use super::values::id;
use super::{CommandError, Database};
use crate::cli::output::{Cell, ListOutput, Number};

/// The maximum number of listed imports.
const LISTED: i64 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum ImportCommand {
    /// List imports of schools, training partners and registry actions, newest first; reports are
    /// kept for 400 days
    List {
        #[command(flatten)]
        database: Database,
        #[command(flatten)]
        output: ListOutput,
    },
    /// Print the refused rows of an import with their reasons, and the line where it stopped
    Show {
        #[command(flatten)]
        database: Database,
        /// Number of the import in `import list`
        #[arg(value_parser = id)]
        id: i64,
        #[command(flatten)]
        output: ListOutput,
    },
}

impl ImportCommand {
    /// Prints the list of imports, or the refused rows of one.
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::List { database, output } => {
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
                output.print(headings, &imports.into_iter().map(row).collect::<Vec<_>>())
            }
            Self::Show {
                database,
                id,
                output,
            } => {
                let found = database
                    .open()?
                    .read_blocking(move |session| session.import(id))?;
                let (import, refused) = found.ok_or(CommandError::UnknownImport(id))?;
                let rows: Vec<_> = refused
                    .iter()
                    .map(|row| [Number(row.line).into(), row.problem.clone().into()])
                    .collect();
                output.print(["line", "problem"], &rows)?;
                // Only the first refused rows are stored; all of them are counted.
                match import.refused.saturating_sub(refused.len() as u64) {
                    0 => {}
                    others => output.note(format_args!("and {others} more"))?,
                }
                import.stopped_at_line.map_or(Ok(()), |line| {
                    output.note(format_args!("stopped at line {line}"))
                })
            }
        }
    }
}

/// The row of an import in `import list`.
fn row(import: ImportRecord) -> [Cell; 9] {
    [
        Number(import.id).into(),
        timestamp(import.at).into(),
        import.kind.to_string().into(),
        import.operation.into(),
        import.by.into(),
        Number(import.counts.added).into(),
        Number(import.counts.changed).into(),
        Number(import.counts.unchanged).into(),
        Number(import.refused).into(),
    ]
}
