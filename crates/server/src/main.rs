//! The program `trainee-register`.

use std::process::ExitCode;

use server::cli::CommandLine;
use server::logs;

/// The status of a program that the system ends because nobody reads what it prints (128 and SIGPIPE).
const NOBODY_READS: u8 = 141;

fn main() -> ExitCode {
    let command_line = CommandLine::from_environment();
    let _log = logs::begin(command_line.log_format(), command_line.log_writing());
    match command_line.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.nobody_reads() => ExitCode::from(NOBODY_READS),
        Err(error) => {
            logs::print(&format!("trainee-register: {error}"));
            ExitCode::FAILURE
        }
    }
}
