//! The commands that make backups and put them back.

use std::path::PathBuf;

use clap::Args;
use storage::maintenance::backup::{self, BackupError};

use crate::cli::records::trainees;
use crate::cli::{CommandError, Database, output, progress};

#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    database: Database,
    /// File to write
    file: PathBuf,
    /// Replace the file when it is there already
    #[arg(long, env = "REGISTER_BACKUP_FORCE")]
    force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    database: Database,
    /// Backup to read
    file: PathBuf,
    /// Replace the database when it is there already; what it holds is lost
    #[arg(long, env = "REGISTER_RESTORE_FORCE")]
    force: bool,
}

impl Backup {
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
        eprintln!("wrote {} ({bytes} bytes), checked", self.file.display());
        Ok(())
    }
}

impl Restore {
    /// Restores the backup, and erases again whom the database that is replaced had erased: before
    /// it is replaced, so that its list of them is there until that is done.
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
                "the erasures of the replaced database cannot be read: use your list of them with `trainee-register \
                 trainee erase --again`"
            );
            &[]
        });
        let again = match erasures {
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
            restored.schema.applied.len()
        );
        again.map_or(Ok(()), output::line)
    }
}
