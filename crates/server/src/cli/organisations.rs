//! Commands about schools and training partners.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use registry::import::{
    ImportError, ImportableOrganisation, NO_ROWS, RefusedRow, RowProblem, Stopped, import,
};
use storage::records::organisations::merge::{PartnerDetails, SchoolDetails};

use super::{CommandError, Database};
use crate::cli::{output, progress};

#[derive(Debug, Subcommand)]
pub(super) enum SchoolCommand {
    /// Import schools from a CSV file; servers can keep running
    ///
    /// The file is CSV with a header row, in UTF-8 or Windows-1252, such as the national extract of
    /// schools. The columns `URN` (6 digits), `EstablishmentName`, `Postcode` and
    /// `EstablishmentStatus (name)` are read, in any order; other columns are ignored. A school is
    /// open if its status begins with `Open`. Rows with a reserved URN (000000, 900000, 900010,
    /// 900020 or 900030) are refused.
    ///
    /// Schools are identified by URN. Schools missing from the file do not change. If rows are
    /// refused, the command prints their line numbers, imports the other rows, and exits with
    /// status 1. The same file can be imported again at any time.
    #[command(after_help = "Example: trainee-register school import schools.csv")]
    Import(Import),
}

#[derive(Debug, Subcommand)]
pub(super) enum PartnerCommand {
    /// Import training partners from a CSV file; servers can keep running
    ///
    /// The file is CSV with a header row, in UTF-8 or Windows-1252. The columns `URN` (6 digits),
    /// `UKPRN` (8 digits) and `Name` are read, in any order; other columns are ignored. Each row
    /// needs a URN, a UKPRN or both. Rows with a reserved URN (000000, 900000, 900010, 900020 or
    /// 900030), or with the UKPRN of another training partner, are refused.
    ///
    /// Training partners are identified by URN, or by UKPRN if they have no URN. Training partners
    /// missing from the file do not change. If rows are refused, the command prints their line
    /// numbers, imports the other rows, and exits with status 1. The same file can be imported
    /// again at any time.
    #[command(after_help = "Example: trainee-register partner import training_partners.csv")]
    Import(Import),
}

#[derive(Debug, Args)]
pub(super) struct Import {
    #[command(flatten)]
    database: Database,
    /// CSV file to import
    file: PathBuf,
}

impl SchoolCommand {
    pub(super) fn run(self, by: &str) -> Result<(), CommandError> {
        let Self::Import(import) = self;
        import.run::<SchoolDetails>(by)
    }
}

impl PartnerCommand {
    pub(super) fn run(self, by: &str) -> Result<(), CommandError> {
        let Self::Import(import) = self;
        import.run::<PartnerDetails>(by)
    }
}

impl Import {
    /// Imports a file of organisations, and prints how many rows were added, changed, unchanged and
    /// refused. Fails if not all rows were imported.
    fn run<O: ImportableOrganisation>(self, by: &str) -> Result<(), CommandError> {
        let import_error = |error| CommandError::Import {
            file: self.file.clone(),
            error,
        };
        let (file, length) = open(&self.file).map_err(import_error)?;
        let store = self.database.open_to_write()?;
        let bar = progress::bar(length, "{percent}% of the file");
        let report = import::<O>(&store, bar.wrap_read(file), by);
        bar.finish_and_clear();
        let report = report.map_err(import_error)?;
        output::line(format_args!("added      {}", report.merged.added))?;
        output::line(format_args!("changed    {}", report.merged.changed))?;
        output::line(format_args!("unchanged  {}", report.merged.unchanged))?;
        output::line(format_args!("refused    {}", report.refused.len()))?;
        for refused in &report.refused {
            output::line(format_args!("line {}: {}", refused.line, refused.problem))?;
        }
        if report.is_empty() {
            output::line(NO_ROWS)?;
        }
        if let Some(Stopped { line, reason }) = report.stopped {
            output::line(format_args!("stopped at line {line}"))?;
            return Err(import_error(reason));
        }
        report.stored.map_err(CommandError::ImportNotStored)?;
        match (report.refused.len(), report.refused.last()) {
            (
                refused,
                Some(RefusedRow {
                    line,
                    problem: RowProblem::Unclosed,
                }),
            ) => Err(CommandError::RowsNotRead {
                refused,
                line: *line,
            }),
            (0, _) => Ok(()),
            (refused, _) => Err(CommandError::RowsRefused(refused)),
        }
    }
}

/// Opens a file, and returns it with its length in bytes.
pub(super) fn open(path: &Path) -> Result<(File, u64), ImportError> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}
