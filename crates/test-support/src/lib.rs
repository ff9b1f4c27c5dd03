//! Databases for tests: an empty one for each test, on SQLite or PostgreSQL, that goes away with
//! the test; and processes that do, among them a provider of OpenID Connect and a
//! mail server.
//!
//! The same tests run on either database; which one it is, the environment variable
//! [`KIND_VARIABLE`] says. Knows nothing of the schema or of the register: the test migrates its
//! database. A test that needs a program of another package asks [`has_tools`] first; afterwards,
//! whatever fails here panics with a line that says what to do.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

mod cluster;
mod database;
mod demo;
mod kind;
mod mail_server;
mod npm;
mod openid_provider;
mod postgres;
mod process;
mod programs;
mod search_path;
mod statement_proxy;
mod tools;
pub mod trainee_sync;

use std::path::{Path, PathBuf};

pub use cluster::{Cluster, Settings, VARIANT_VARIABLE, Variant};
pub use database::{Database, execute, texts};
pub use demo::Demo;
pub use kind::{KIND_VARIABLE, Kind};
pub use mail_server::{MAIL_PASSWORD, MailMode, MailServer, MailTls, ReceivedMail};
pub use npm::has_npm_packages;
pub use openid_provider::OpenIdProvider;
pub use postgres::{SERVER_VARIABLE, has_postgres, has_postgres_server};
pub use process::{Process, signal};
pub use search_path::PATH_ONLY_VARIABLE;
pub use statement_proxy::{Fault, StatementProxy};
pub use tools::{SKIPPED_VARIABLE, Tool, has_tools, missing_tools, report_skipped};

/// The program `trainee-register` of the build that the calling test belongs to.
///
/// # Panics
///
/// When it is not built: a test of another package than `server` does not build it.
#[must_use]
pub fn server_program() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let program = test
        .ancestors()
        .nth(2)
        .unwrap_or(&test)
        .join("trainee-register");
    let shown = program.display();
    assert!(
        program.exists(),
        "{shown} is not built: run `cargo build --workspace` with the profile of this test"
    );
    program
}

/// The folder with all programs of PostgreSQL, where it is installed. In `PATH` there may be links
/// to some of them.
#[must_use]
pub fn postgres_programs() -> Option<PathBuf> {
    let found = programs::Programs::find()?
        .folder
        .join("initdb")
        .canonicalize()
        .ok()?;
    found.parent().map(Path::to_owned)
}

/// The kinds of database for a test that is about each of them: that of this run where the
/// environment names one, otherwise all that there are here.
///
/// # Panics
///
/// As [`all_kinds`], and as [`Kind::from_environment`].
#[must_use]
pub fn kinds() -> Vec<Kind> {
    if std::env::var_os(KIND_VARIABLE).is_none() {
        return all_kinds();
    }
    match Kind::from_environment() {
        Kind::Sqlite => vec![Kind::Sqlite],
        Kind::Postgres => all_kinds()
            .into_iter()
            .filter(|kind| *kind == Kind::Postgres)
            .collect(),
    }
}

/// The kinds of database that there are here, for a test that is about both at once. Without
/// PostgreSQL, reports its part of the calling test as skipped.
///
/// # Panics
///
/// In continuous integration without PostgreSQL.
#[must_use]
pub fn all_kinds() -> Vec<Kind> {
    if has_postgres() {
        vec![Kind::Sqlite, Kind::Postgres]
    } else {
        vec![Kind::Sqlite]
    }
}
