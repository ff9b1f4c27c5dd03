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
    /// Add and change schools as a file says; a running server goes on meanwhile
    ///
    /// The file holds comma-separated values with a header row, in UTF-8 or Windows-1252, such as
    /// the national extract of schools. The columns `URN` (6 digits), `EstablishmentName`,
    /// `Postcode` and `EstablishmentStatus (name)` are read, in any order; others are ignored. A
    /// school is open when its status begins with `Open`. A row with a URN that stands for no
    /// school (000000, 900000, 900010, 900020 or 900030) is refused.
    ///
    /// Schools are identified by their URN. A school that is not in the file stays as it is, and
    /// nothing is removed. A row that cannot be used is reported with its line and the others are
    /// imported; the exit status is then 1. The same file can be imported again at any time.
    Import(Import),
}

#[derive(Debug, Subcommand)]
pub(super) enum PartnerCommand {
    /// Add and change training partners as a file says; a running server goes on meanwhile
    ///
    /// The file holds comma-separated values with a header row, in UTF-8 or Windows-1252. The
    /// columns `URN` (6 digits), `UKPRN` (8 digits) and `Name` are read, in any order; others are
    /// ignored. Each row has a URN, a UKPRN or both. A row is refused when its URN stands for no
    /// school (000000, 900000, 900010, 900020 or 900030), or when another training partner has its
    /// UKPRN.
    ///
    /// Training partners are identified by their URN, and those without one by their UKPRN. A
    /// partner that is not in the file stays as it is, and nothing is removed. A row that cannot be
    /// used is reported with its line and the others are imported; the exit status is then 1. The
    /// same file can be imported again at any time.
    Import(Import),
}

#[derive(Debug, Args)]
pub(super) struct Import {
    #[command(flatten)]
    database: Database,
    /// File to import
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
    fn run<O: ImportableOrganisation>(self, by: &str) -> Result<(), CommandError> {
        let failed = |error| CommandError::Import {
            file: self.file.clone(),
            error,
        };
        let (file, length) = open(&self.file).map_err(failed)?;
        let store = self.database.open_to_write()?;
        let bar = progress::bar(length, "{percent}% of the file");
        let report = import::<O>(&store, bar.wrap_read(file), by);
        bar.finish_and_clear();
        let report = report.map_err(failed)?;
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
            return Err(failed(reason));
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

/// A file, and how long it is.
pub(super) fn open(path: &Path) -> Result<(File, u64), ImportError> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}
