//! The options of `make bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Measures a register over loopback, against a limit program and an earlier register, in turn.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// The program that is measured
    #[arg(long, value_name = "PATH")]
    pub(crate) register: Option<PathBuf>,
    /// What the report calls it
    #[arg(long, value_name = "TEXT", default_value = "this program")]
    pub(crate) register_name: String,
    /// The program that it is compared with
    #[arg(long, value_name = "PATH")]
    pub(crate) before: Option<PathBuf>,
    /// What the report calls that
    #[arg(long, value_name = "TEXT", default_value = "the program before")]
    pub(crate) before_name: String,
    /// Trainees in the registers; the first size is compared with all else
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "10000,1000000"
    )]
    pub(crate) trainees: Vec<usize>,
    /// Kinds of database: sqlite, postgres
    #[arg(
        long,
        value_name = "KIND,...",
        value_delimiter = ',',
        default_value = "sqlite,postgres"
    )]
    pub(crate) database: Vec<String>,
    /// What is measured: get, list, since, copy, changes, post, batch, put, start, memory; "list"
    /// stands for all whose names begin so [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Also serve the first register while a browser opens this number of pages of the settings a
    /// second
    #[arg(long, value_name = "PER_SECOND")]
    pub(crate) pages: Option<u8>,
    /// Seconds of a turn; the first quarter is not counted
    #[arg(long, default_value = "4")]
    pub(crate) seconds: u64,
    /// How often all take their turn
    #[arg(long, default_value = "5")]
    pub(crate) rounds: usize,
    /// Seconds of mixed load before memory is measured
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub(crate) memory_seconds: u64,
    /// Where filled registers are kept, on the file system that is measured
    #[arg(long, value_name = "PATH", default_value = "target/bench")]
    pub(crate) folder: PathBuf,
    /// A document whose text between two marks is replaced with the report
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    pub(crate) bench: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the limit program
    #[command(hide = true)]
    Limit { path: String, port: u16 },
}

impl Options {
    /// Whether a thing of this name is to be measured.
    pub(crate) fn is_requested(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|prefix| name.starts_with(prefix))
    }

    pub(crate) fn turn(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}
