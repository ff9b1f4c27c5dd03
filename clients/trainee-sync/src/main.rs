//! `trainee-sync` keeps a copy of a provider's trainees in step with the Trainee Register, and
//! sends it what is in a file.
//!
//! It is the example of a client of the register's API, and knows nothing of the server but the
//! API: no crate of the server is among its dependencies, and it names almost no field of a record.
//! What a version calls its fields, it reads in the OpenAPI document of that version. How files are
//! read and compared is shared with the settings pages of the server (`trainee_file`).
//!
//! - `pull` follows the changes ([`pull`]): each page is stored in one transaction with its cursor,
//!   so the program can be killed at any time and goes on where it was.
//! - `push` compares a file with the copy ([`plan`]), and sends what differs ([`push`]): an
//!   idempotency key is stored before the request that it belongs to is sent, so nothing is
//!   registered twice.
//! - `diff` shows what `push` would do ([`diff`]).
//! - `translate` shows a file as another version spells it ([`translate`]).
//!
//! Every request passes through [`client`], which sends it again where that may help.

mod cli;
mod client;
mod codes;
mod connection;
mod diff;
mod export;
mod place;
mod plan;
mod private_file;
mod progress;
mod pull;
mod push;
mod register;
mod repair;
mod report;
mod store;
mod table;
mod token;
mod translate;

use std::process::ExitCode;

/// The exit status where rows of a file were refused.
const REFUSED: u8 = 1;
/// The exit status where the program could not do what it was asked, as `clap` has it for wrong
/// options.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    private_file::restrict_new_files();
    match cli::run() {
        Ok(cli::Outcome::Complete) => ExitCode::SUCCESS,
        Ok(cli::Outcome::RowsRefused) => ExitCode::from(REFUSED),
        Err(error) => {
            // One line: the cause behind what was being done.
            eprintln!("trainee-sync: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}
