//! The program `trainee-register`.

use std::process::ExitCode;

use http_kit::logging;
use server::cli::CommandLine;

fn main() -> ExitCode {
    let command_line = CommandLine::from_environment();
    let _log = logging::start(
        command_line.log_format(),
        command_line.log_writing(),
        command_line.log_level(),
    );
    match command_line.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.silent_status() {
            Some(status) => ExitCode::from(status),
            None => {
                logging::print(&format!("trainee-register: {error}"));
                ExitCode::FAILURE
            }
        },
    }
}
