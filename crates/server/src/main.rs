//! The program `trainee-register`.

use std::process::ExitCode;

use clap::Parser as _;
use server::cli::CommandLine;
use server::logs;

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    logs::begin(command_line.log_format());
    match command_line.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trainee-register: {error}");
            ExitCode::FAILURE
        }
    }
}
