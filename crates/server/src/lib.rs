//! The Trainee Register: an HTTP server for every API version, and its command line.
//!
//! Mounts the adapters of all versions and composes the parts into one program: commands, options,
//! listeners, start and stop. The server knows no field of a record, and no version except through
//! the list of them ([`versions`]).
//!
//! # How to add a command, an option, a background task or a listener
//!
//! - A command: a file below `cli/`, a variant of `Command` in `cli.rs` and the arm that the
//!   compiler asks for. A command that changes nothing and shows no records is in `UNRECORDED`. It
//!   prints through `cli/output.rs`; its errors are in `cli/error.rs`. If it opens a register, add
//!   it to the lists in `tests/program/opening.rs` and `environment.rs`.
//! - An option: a field with `env = "REGISTER_..."` (test
//!   `every_option_has_an_environment_variable_of_its_name`). One of `serve` is in `cli/serve.rs`
//!   or `cli/serve/`, reaches requests through `app_state.rs`, and has a row in
//!   `docs/operations.md` (test `every_option_of_serve_stands_on_the_page_for_operators`).
//! - A background task: a function `start`, called in `start_background_tasks` of `cli/serve.rs`;
//!   no test finds a missing call. Work that must not be lost is finished in `finish` of
//!   `operations/shutdown.rs`. The removal of old rows is a line in `REMOVALS` of
//!   `operations/maintenance.rs`.
//! - A listener: an option, and `startup::listen` in `cli/serve.rs`; routes in `routes.rs`;
//!   middleware and limits in `operations/serve.rs`; the end in `operations/shutdown.rs`. Test it
//!   in `tests/program/observing/health.rs` and `tests/browser/resources.rs`.

// What a command prints goes through `cli/output.rs`, where it is an error when nobody reads it,
// and no panic.
#![warn(clippy::print_stdout)]

pub mod app_state;
pub mod cli;
pub mod contracts;
pub mod operations;
pub mod routes;
pub mod sandbox;
