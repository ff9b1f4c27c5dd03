//! The commands that make backups and put them back.

use std::path::PathBuf;

use clap::Args;
use storage::backup;
use storage::error::StorageError;

use super::{CommandError, Database};

#[derive(Debug, Args)]
pub(super) struct Backup {
    #[command(flatten)]
    database: Database,
    /// File to write
    file: PathBuf,
    /// Replace the file when it is there already
    #[arg(long, env = "REGISTER_BACKUP_FORCE")]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    database: Database,
    /// Backup to read
    file: PathBuf,
    /// Replace the database when it is there already; what it holds is lost
    #[arg(long, env = "REGISTER_RESTORE_FORCE")]
    force: bool,
}

impl Backup {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let Database { database_url, expected } = &self.database;
        let bytes = backup::back_up(database_url, &self.file, self.force, expected.environment)?;
        eprintln!("wrote {} ({bytes} bytes), checked", self.file.display());
        Ok(())
    }
}

impl Restore {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let Database { database_url, expected } = &self.database;
        let restored = backup::restore(database_url, &self.file, self.force, expected.environment)?;
        eprintln!("restored {}; migrations applied: {}", self.file.display(), restored.schema.applied.len());
        if restored.environment.is_none() {
            eprintln!("{}", StorageError::EnvironmentNotRecorded);
        }
        Ok(())
    }
}
