//! The commands that write and restore backups.

use std::path::PathBuf;

use clap::Args;
use storage::maintenance::backup::{self, BackupError};

use crate::cli::records::trainees;
use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register backup /backup/register.db")]
pub(crate) struct Backup {
    #[command(flatten)]
    database: Database,
    /// Backup file to write
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register restore /backup/register.db")]
pub(crate) struct Restore {
    #[command(flatten)]
    database: Database,
    /// Backup file to restore
    file: PathBuf,
    /// Replace the existing database. All its data is deleted
    #[arg(long)]
    force: bool,
}

impl Backup {
    /// Writes and checks the backup, and prints its size.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let Database {
            database_url,
            expected,
        } = &self.database;
        let backed_up = progress::while_running("writing the backup", || {
            backup::back_up(database_url, &self.file, self.force, expected.environment)
        });
        let bytes = backed_up.map_err(|error| {
            let BackupError::Storage(error) = error else {
                return error.into();
            };
            CommandError::from(self.database.open_error(error))
        })?;
        eprintln!("wrote and checked {} ({bytes} bytes)", self.file.display());
        Ok(())
    }
}

impl Restore {
    /// Restores the backup. Before the database is replaced, its erasures are repeated in the
    /// backup, so that the list of erasures cannot be lost.
    pub(crate) fn run(self, by: &str) -> Result<(), CommandError> {
        let Database {
            database_url,
            expected,
        } = &self.database;
        let prepared = progress::while_running("copying and checking the backup", || {
            backup::prepare_restore(database_url, &self.file, self.force, expected.environment)
        })?;
        let erasures = prepared.erasures.as_deref().unwrap_or_else(|_| {
            eprintln!(
                "cannot read the erasures of the replaced database: repeat them from your list with \
                 `trainee-register trainee erase --again`"
            );
            &[]
        });
        let repeated = match erasures {
            [] => None,
            erasures => {
                let copy = prepared.open()?;
                Some(progress::while_running("repeating erasures", || {
                    trainees::erase_in_copy(&copy, erasures, by)
                })?)
            }
        };
        let restored = prepared.put_in_place()?;
        eprintln!(
            "restored {}; migrations applied: {}",
            self.file.display(),
            restored.applied.len()
        );
        repeated.map_or(Ok(()), output::line)
    }
}
