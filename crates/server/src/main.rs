//! The program `trainee-register`.

use std::process::ExitCode;

use clap::Parser as _;
use server::cli::CommandLine;

fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    match CommandLine::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("trainee-register: {error}");
            ExitCode::FAILURE
        }
    }
}
