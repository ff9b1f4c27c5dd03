//! The commands that make backups and put them back.

use std::path::PathBuf;

use clap::Args;
use storage::backup;

use super::{CommandError, Database};

#[derive(Debug, Args)]
pub(super) struct Backup {
    #[command(flatten)]
    database: Database,
    /// File to write
    file: PathBuf,
    /// Replace the file when it is there already
    #[arg(long, env = "REGISTER_FORCE")]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    database: Database,
    /// Backup to read
    file: PathBuf,
    /// Replace the database when it is there already; what it holds is lost
    #[arg(long, env = "REGISTER_FORCE")]
    force: bool,
}

impl Backup {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let bytes = backup::back_up(&self.database.database_url, &self.file, self.force)?;
        eprintln!("wrote {} ({bytes} bytes), checked", self.file.display());
        Ok(())
    }
}

impl Restore {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let change = backup::restore(&self.database.database_url, &self.file, self.force)?;
        eprintln!("restored {}; migrations applied: {}", self.file.display(), change.applied.len());
        Ok(())
    }
}
