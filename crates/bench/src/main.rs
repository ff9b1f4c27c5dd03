//! The program of `make bench`: its options, and the order in which it measures.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use clap::{Parser, Subcommand};

mod benchmark;
mod database;
mod http;
mod limit;
mod load;
mod pages;
mod process;
mod register;
mod report;
mod scenario;

use benchmark::Benchmark;
use register::Program;

/// What anything here gives that can fail; a benchmark that cannot go on ends.
type Outcome<T> = Result<T, Box<dyn Error>>;

/// Measures a register over loopback, against a limit program and an earlier register, in turn.
#[derive(Debug, Parser)]
struct Options {
    /// The program that is measured
    #[arg(long, value_name = "PATH")]
    register: Option<PathBuf>,
    /// What the report calls it
    #[arg(long, value_name = "TEXT", default_value = "this program")]
    register_name: String,
    /// The program that it is compared with
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// What the report calls that
    #[arg(long, value_name = "TEXT", default_value = "the program before")]
    before_name: String,
    /// Trainees in the registers; the first size is compared with all else
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "10000,1000000")]
    trainees: Vec<usize>,
    /// Kinds of database: sqlite, postgres
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', default_value = "sqlite,postgres")]
    database: Vec<String>,
    /// What is measured: get, list, since, copy, changes, post, batch, put, start, memory; "list" stands for all whose
    /// names begin so [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Also serve the first register while somebody opens so many pages of the settings a second
    #[arg(long, value_name = "PER_SECOND")]
    pages: Option<u8>,
    /// Seconds of a turn, the first quarter of which is not counted
    #[arg(long, default_value = "4")]
    seconds: u64,
    /// How often all take their turn
    #[arg(long, default_value = "5")]
    rounds: usize,
    /// Seconds of mixed load before memory is measured
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    memory_seconds: u64,
    /// Where filled registers are kept, on the file system that is measured
    #[arg(long, value_name = "PATH", default_value = "target/bench")]
    folder: PathBuf,
    /// A document in which the report takes the place of what stands between its two marks
    #[arg(long, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Cargo says this to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the limit program
    #[command(hide = true)]
    Limit { path: String, port: u16 },
}

impl Options {
    /// Whether a thing of this name is to be measured.
    fn is_requested(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|prefix| name.starts_with(prefix))
    }

    fn turn(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn main() -> Outcome<()> {
    let options = Options::parse();
    if let Some(Command::Limit { path, port }) = &options.command {
        return limit::serve(path, *port);
    }
    let Some(register) = &options.register else {
        println!("bench: not measured; `make bench` names the programs");
        return Ok(());
    };
    fs::create_dir_all(&options.folder)?;
    let program = |path: &Path| Program::at(path, &options.folder).map(Rc::new);
    let (register, before) = (program(register)?, options.before.as_deref().map(program).transpose()?);
    let mut report = report::introduction(&options);
    for kind in &options.database {
        let benchmark = Benchmark::prepare(&options, kind, &register, before.as_ref())?;
        report += &report::section(kind, &benchmark.run(&options)?);
    }
    println!("{report}");
    fs::write(options.folder.join("report.md"), &report)?;
    options.into.as_deref().map_or(Ok(()), |file| report::put_into(file, &report))
}
