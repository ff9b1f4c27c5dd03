//! The Trainee Register: an HTTP server for every API version, and its command line.
//!
//! Mounts the adapters of all versions and assembles the program: commands, options, listeners,
//! start and stop. The server does not depend on fields of records, and on versions only through
//! their list ([`versions`]).
//!
//! # How to add a command, an option, a background task or a listener
//!
//! - A command: add a file below `cli/`, a variant of `Command` in `cli.rs`, and the arm that the
//!   compiler requires. List the command in `UNRECORDED` if it changes nothing and shows no
//!   records. Print through `cli/output.rs`; add errors to `cli/error.rs`. If the command opens a
//!   register, add it to the lists in `tests/program/opening.rs` and `environment.rs`.
//! - An option: add a field with `env = "REGISTER_..."` (test
//!   `every_option_has_an_environment_variable_of_its_name`). Options of `serve` belong to
//!   `cli/serve.rs` or `cli/serve/`, reach requests through `app_state.rs`, and need a row in
//!   `docs/operations/install.md` (test `operator_document_has_every_option_of_serve`).
//! - A background task: add a function `start`, and call it in `start_background_tasks` of
//!   `cli/serve.rs`; no test detects a missing call. Finish work that must not be lost in `finish`
//!   of `operations/shutdown.rs`. To remove old rows, add a line to `REMOVALS` of
//!   `operations/maintenance.rs`.
//! - A listener: add an option, and call `startup::listen` in `cli/serve.rs`. Add routes to
//!   `routes.rs`, middleware and limits to `operations/serve.rs`, and the shutdown to
//!   `operations/shutdown.rs`. Test it in `tests/program/observing/health.rs` and
//!   `tests/browser/resources.rs`.

// Commands print through `cli/output.rs`, which returns an error when the reader closes the pipe.
// `println!` would panic.
#![warn(clippy::print_stdout)]

pub mod app_state;
pub mod cli;
pub mod mail;
pub mod operations;
pub mod routes;
pub mod sandbox;
