//! Errors of commands.

use std::path::PathBuf;

use adapter_kit::UnknownVersion;
use http_kit::error_chain::Causes;
use http_kit::tls::TlsError;
use registry::erasure::ErasureError;
use registry::import::ImportError;
use registry::import::reference_data::ReferenceDataError;
use storage::error::{Refusal, StorageError};
use storage::identifiers::IDENTIFIER_LENGTH;
use storage::maintenance::backup::BackupError;
use storage::maintenance::copy::CopyError;

use crate::operations::startup::StartError;

/// The reasons why a command fails.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The store failed or refused.
    #[error("{}", Causes(.0))]
    Storage(#[from] StorageError),
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] super::maintenance::database::DatabaseError),
    /// A backup could not be written or restored.
    #[error("{}", Causes(.0))]
    Backup(#[from] BackupError),
    /// A register could not be copied.
    #[error("{}", Causes(.0))]
    Copy(#[from] CopyError),
    /// The options of OpenID Connect are invalid.
    #[error(transparent)]
    OpenId(#[from] super::serve::openid::OpenIdError),
    /// The options of mails are invalid.
    #[error(transparent)]
    Mail(#[from] super::serve::mail::MailError),
    /// The options of the operators' pages are invalid.
    #[error(transparent)]
    OperatorPages(#[from] super::serve::settings::OperatorPagesError),
    /// A copied register differs from its source.
    #[error("different rows: {0}; do not use the copy")]
    NotTheSame(usize),
    /// Migrations are pending; they have been printed.
    #[error("the database schema is not up to date")]
    Pending,
    /// The data has problems; they have been printed.
    #[error("problems found: {0}")]
    ProblemsFound(usize),
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The certificate is unusable.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Metrics cannot be collected.
    #[error("cannot collect metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    /// The server failed while running.
    #[error("the server stopped: {0}")]
    Server(#[source] std::io::Error),
    /// `--demo` requires the sandbox.
    #[error("--demo (REGISTER_DEMO) works in the sandbox environment only")]
    DemoOutsideSandbox,
    /// Seeding requires the sandbox.
    #[error("`sandbox seed` works in the sandbox environment only")]
    SeedOutsideSandbox,
    /// Seeding failed.
    #[error("{0}")]
    Seed(#[from] crate::sandbox::seed::SeedError),
    /// A generated document could not be written.
    #[error("cannot write {path}: {source}")]
    Document {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file could not be imported.
    #[error("{}: {}", .file.display(), Causes(.error))]
    Import {
        /// The file.
        file: PathBuf,
        /// The reason.
        error: ImportError,
    },
    /// A file was processed, but its report could not be stored.
    #[error("the rows were processed, but the import report was not stored: {}", Causes(.0))]
    ImportNotStored(#[source] StorageError),
    /// Rows of a file were refused; the others were imported.
    #[error("rows refused: {0}; all others were imported")]
    RowsRefused(usize),
    /// Rows of a file were refused. The last one has a quote that is never closed, so it contains
    /// the rest of the file.
    #[error(
        "rows refused: {refused}; a quote in line {line} is never closed, so later rows were not read"
    )]
    RowsNotRead {
        /// The number of refused rows.
        refused: usize,
        /// The first line of the last row.
        line: u64,
    },
    /// A trainee could not be erased.
    #[error("trainee {trainee_id}: {}", Causes(.error))]
    Erasure {
        /// Identifier of the trainee.
        trainee_id: String,
        /// The reason.
        error: ErasureError,
    },
    /// An erasure was not confirmed.
    #[error("nothing was erased: not confirmed")]
    NotConfirmed,
    /// Trainees were erased, but the space of deleted rows could not be reclaimed.
    #[error("erased, but the database files may still contain deleted data; run the same command again: {}", Causes(.0))]
    SpaceNotReclaimed(#[source] StorageError),
    /// A backup was not restored, because erasures of the database to replace cannot be repeated in
    /// the backup.
    #[error(
        "nothing was replaced: erasures that cannot be repeated in the backup: {0}; save the output of \
         `trainee-register trainee erasures --output csv`, then restore to another database, or move the current one away"
    )]
    ErasuresWouldBeLost(usize),
    /// Rows of a file were refused; the others were processed.
    #[error("rows refused: {0}; all others were processed")]
    ActionsRefused(usize),
    /// Options of the simulated registry require the sandbox.
    #[error(
        "--registry (REGISTER_REGISTRY) and --registry-delay (REGISTER_REGISTRY_DELAY) work in the sandbox \
         environment only"
    )]
    RegistryOutsideSandbox,
    /// Reference data is unusable, or could not be written.
    #[error(transparent)]
    ReferenceData(#[from] ReferenceDataError),
    /// The OpenAPI document of a version cannot be generated.
    #[error("cannot generate the OpenAPI document: {0}")]
    OpenApi(#[source] serde_json::Error),
    /// A file of bodies could not be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A body is not JSON.
    #[error("{place}: the body is not valid JSON: {source}")]
    Malformed {
        /// The file, and the line if the file has one body per line.
        place: String,
        /// The syntax error.
        source: adapter_kit::read::Malformed,
    },
    /// The output could not be printed.
    #[error("cannot print: {0}")]
    Print(#[source] std::io::Error),
    /// Translated bodies lose values or have problems in the other version.
    #[error("values lost: {lost}; problems: {problems}")]
    NotClean {
        /// The number of values that were lost.
        lost: usize,
        /// The number of problems.
        problems: usize,
    },
    /// The user to change was removed or erased.
    #[error("user {id} was {}; for the date, see `user list`", if *.is_erased { "erased" } else { "removed" })]
    UserEnded {
        /// The number of the user.
        id: i64,
        /// Whether the e-mail address was erased too.
        is_erased: bool,
    },
    /// No request has the identifier. Clients can choose identifiers of another length.
    #[error("no request with the identifier {id} was found{hint}", id = .0, hint = other_length(.0))]
    UnknownRequest(String),
    /// No provider has the UKPRN.
    #[error("no provider has the UKPRN {0}; to list all providers, run `provider list`")]
    UnknownProvider(String),
    /// No trainee has the identifier.
    #[error("no trainee has the identifier {0}")]
    UnknownTrainee(String),
    /// The version is not served.
    #[error(transparent)]
    UnknownVersion(#[from] UnknownVersion),
    /// Writing an answer failed.
    #[error("cannot write the output as JSON: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// A hint about the length of identifiers that the register creates. Empty if the identifier has
/// this length.
fn other_length(identifier: &str) -> String {
    if identifier.chars().count() == IDENTIFIER_LENGTH {
        return String::new();
    }
    format!("; identifiers created by the register have {IDENTIFIER_LENGTH} characters")
}

/// The exit status of a program that SIGPIPE ends: 128 plus the number of the signal.
const PIPE_CLOSED: u8 = 141;
/// The exit status of `migrate --check` with pending migrations.
const PENDING: u8 = 3;

impl CommandError {
    /// Names the provider in the error, if no provider has this UKPRN.
    pub(super) fn with_ukprn(self, ukprn: Option<String>) -> Self {
        match (self, ukprn) {
            (Self::Storage(StorageError::Refused(Refusal::UnknownProvider)), Some(ukprn)) => {
                Self::UnknownProvider(ukprn)
            }
            (error, _) => error,
        }
    }

    /// The exit status of an error that needs no message; `None` for all other errors.
    #[must_use]
    pub fn silent_status(&self) -> Option<u8> {
        if matches!(self, Self::Pending) {
            return Some(PENDING);
        }
        self.is_pipe_closed().then_some(PIPE_CLOSED)
    }

    /// Whether the command failed only because the reader of its output has closed the pipe.
    fn is_pipe_closed(&self) -> bool {
        matches!(self, Self::Print(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}
