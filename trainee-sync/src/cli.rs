//! The command line.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::connection::{Connection, ConnectionOptions, PlaceOptions};
use crate::pull;

/// The most changes that a reply can have.
const MOST_CHANGES: u64 = 500;

/// Keep a CSV folder or an SQLite file in step with the Trainee Register
#[derive(Debug, Parser)]
#[command(
    name = "trainee-sync",
    after_help = concat!("trainee-sync ", env!("CARGO_PKG_VERSION"), ". The token comes from TRAINEE_REGISTER_TOKEN or --token-file.")
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring the copy up to date: all trainees the first time, and then what has changed
    Pull(PullOptions),
}

#[derive(Debug, Args)]
struct PullOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    place: PlaceOptions,
    /// Go on until the program is ended: changes arrive within a second
    #[arg(long)]
    follow: bool,
    /// Changes in a reply, at most
    #[arg(long, value_name = "N", default_value_t = MOST_CHANGES, value_parser = clap::value_parser!(u64).range(1..=MOST_CHANGES))]
    page_size: u64,
}

/// What a command came to.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Complete,
    RowsRefused,
}

impl Outcome {
    /// Depends on how many rows were refused.
    pub(crate) fn of_refused(refused: usize) -> Self {
        if refused == 0 { Self::Complete } else { Self::RowsRefused }
    }
}

/// Runs the command of the command line.
pub(crate) fn run() -> Result<Outcome> {
    match Cli::parse().command {
        Command::Pull(options) => {
            let mut connection = Connection::open(&options.connection, &options.place)?;
            let page_size = usize::try_from(options.page_size)?;
            let pulled = if options.follow {
                pull::follow(&mut connection, page_size)?
            } else {
                pull::pull(&mut connection, page_size)?
            };
            println!(
                "{} trainees: {} stored, {} removed ({})",
                connection.store.count()?,
                pulled.stored,
                pulled.removed,
                connection.client.summary()
            );
            Ok(Outcome::Complete)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn options_are_consistent() {
        Cli::command().debug_assert();
    }
}
