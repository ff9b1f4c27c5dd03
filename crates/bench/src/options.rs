//! The options of `make bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Compares a server over loopback with a limit program, the plain service and an earlier server.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Server program to measure
    #[arg(long, value_name = "PATH")]
    pub(crate) register: Option<PathBuf>,
    /// Name of the measured server in the report
    #[arg(long, value_name = "TEXT", default_value = "this program")]
    pub(crate) register_name: String,
    /// Earlier server program for comparison
    #[arg(long, value_name = "PATH")]
    pub(crate) before: Option<PathBuf>,
    /// Name of the earlier server in the report
    #[arg(long, value_name = "TEXT", default_value = "the earlier program")]
    pub(crate) before_name: String,
    /// Plain service to compare with, on a copy of the first register (bench/plain)
    #[arg(long, value_name = "PATH")]
    pub(crate) plain: Option<PathBuf>,
    /// Register sizes in trainees; the first size is compared with the others
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "10000,1000000"
    )]
    pub(crate) trainees: Vec<usize>,
    /// Databases: sqlite, postgres
    #[arg(
        long,
        value_name = "KIND,...",
        value_delimiter = ',',
        default_value = "sqlite,postgres"
    )]
    pub(crate) database: Vec<String>,
    /// Measurements: get, list, since, copy, changes, post, nine-to-one, batch, put, start, memory;
    /// a name also selects longer names, such as "list-gzip" for "list" [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Also measure while a browser opens this number of settings pages per second, with the first
    /// size
    #[arg(long, value_name = "PER_SECOND")]
    pub(crate) pages: Option<u8>,
    /// Seconds per measurement; the first quarter is not counted
    #[arg(long, default_value = "4")]
    pub(crate) seconds: u64,
    /// Number of rounds
    #[arg(long, default_value = "5")]
    pub(crate) rounds: usize,
    /// Seconds of mixed load before memory is measured
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub(crate) memory_seconds: u64,
    /// Folder for filled registers, on the file system to measure
    #[arg(long, value_name = "PATH", default_value = "target/bench")]
    pub(crate) folder: PathBuf,
    /// Document to update with the report, between its two marker comments
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
