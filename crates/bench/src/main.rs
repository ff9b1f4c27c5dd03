//! The program of `make bench`: its options and the order of measurements.

#![expect(
    clippy::disallowed_methods,
    reason = "a measurement waits on threads of its own"
)]

use std::fs;
use std::path::Path;
use std::rc::Rc;

use clap::Parser as _;

mod benchmark;
mod database;
mod http;
mod limit;
mod load;
mod options;
mod outcome;
mod pages;
mod plain;
mod process;
mod register;
mod report;
mod scenario;

use benchmark::Benchmark;
use options::{Command, Options};
use outcome::Outcome;
use register::Program;

fn main() -> Outcome<()> {
    let options = Options::parse();
    if let Some(Command::Limit { path, port }) = &options.command {
        return limit::serve(path, *port);
    }
    let Some(register) = &options.register else {
        println!("bench: no program to measure; run `make bench`");
        return Ok(());
    };
    fs::create_dir_all(&options.folder)?;
    let program = |path: &Path| Program::at(path, &options.folder).map(Rc::new);
    let (register, before) = (
        program(register)?,
        options.before.as_deref().map(program).transpose()?,
    );
    let mut report = report::introduction(&options);
    for kind in &options.database {
        let benchmark = Benchmark::prepare(&options, kind, &register, before.as_ref())?;
        report += &report::section(kind, &benchmark.run(&options)?);
    }
    println!("{report}");
    fs::write(options.folder.join("report.md"), &report)?;
    options
        .into
        .as_deref()
        .map_or(Ok(()), |file| report::put_into(file, &report))
}
