//! Commands about the program itself: shell completions and manual pages.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::{CommandError, CommandLine};

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register completions bash")]
pub(super) struct Completions {
    /// Shell to print completions for
    shell: Shell,
}

impl Completions {
    /// Prints the completion script of the shell.
    pub(super) fn run(self) -> Result<(), CommandError> {
        let mut command = CommandLine::complete_command();
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut script);
        let mut out = io::stdout().lock();
        out.write_all(&script)
            .and_then(|()| out.flush())
            .map_err(CommandError::Print)
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register man man1")]
pub(super) struct Man {
    /// Folder to write into; created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Writes one page for each command, such as `trainee-register-token-issue.1`.
    pub(super) fn run(self) -> Result<(), CommandError> {
        let write = || {
            std::fs::create_dir_all(&self.folder)?;
            clap_mangen::generate_to(CommandLine::complete_command(), &self.folder)
        };
        write().map_err(|source| CommandError::Document {
            path: self.folder.display().to_string(),
            source,
        })
    }
}
