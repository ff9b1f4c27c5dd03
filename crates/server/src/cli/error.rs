//! Why a command did not do what it was asked.

use std::path::PathBuf;

use adapter_kit::UnknownVersion;
use http_kit::error_chain::Causes;
use http_kit::tls::TlsError;
use registry::actions::RegistryActionError;
use registry::erasure::ErasureError;
use registry::import::ImportError;
use registry::import::reference_data::ReferenceDataError;
use storage::error::StorageError;
use storage::identifiers::IDENTIFIER_LENGTH;
use storage::maintenance::backup::BackupError;
use storage::maintenance::copy::CopyError;

use crate::operations::startup::StartError;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The store failed, or refused.
    #[error("{}", Causes(.0))]
    Storage(#[from] StorageError),
    /// The database cannot be opened.
    #[error(transparent)]
    Database(#[from] super::maintenance::database::DatabaseError),
    /// A backup was not made, or not put back.
    #[error("{}", Causes(.0))]
    Backup(#[from] BackupError),
    /// A register was not copied.
    #[error("{}", Causes(.0))]
    Copy(#[from] CopyError),
    /// People cannot sign in by OpenID Connect as the options say.
    #[error(transparent)]
    OpenId(#[from] super::serve::openid::OpenIdError),
    /// Operators cannot have their pages where the options say.
    #[error(transparent)]
    OperatorPages(#[from] super::serve::settings::OperatorPagesError),
    /// A register was copied, and is not the same.
    #[error("rows that are not the same: {0}; do not use the copy")]
    NotTheSame(usize),
    /// The database is not up to date. What is pending was printed.
    #[error("the database is not up to date")]
    Pending,
    /// Something is wrong with the data.
    #[error("problems found: {0}")]
    ProblemsFound(usize),
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Metrics cannot be collected.
    #[error("cannot collect metrics: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    /// The server could not be run.
    #[error("the server stopped: {0}")]
    Server(#[source] std::io::Error),
    /// The demo belongs to the sandbox.
    #[error("--demo works in the sandbox environment only")]
    DemoOutsideSandbox,
    /// Invented trainees belong to the sandbox.
    #[error("`sandbox seed` adds invented trainees, which a production register refuses")]
    SeedOutsideSandbox,
    /// The sandbox could not be filled.
    #[error("{0}")]
    Seed(#[from] crate::sandbox::seed::SeedError),
    /// A generated document could not be written.
    #[error("cannot write {path}: {source}")]
    Document {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file was not imported.
    #[error("{}: {}", .file.display(), Causes(.error))]
    Import {
        /// The file.
        file: PathBuf,
        /// Why.
        error: ImportError,
    },
    /// A file was done, and what became of its rows was not stored.
    #[error("the rows were done, but their report was not stored among the imports: {}", Causes(.0))]
    ImportNotStored(#[source] StorageError),
    /// Rows of a file were refused; the others were imported.
    #[error("rows refused: {0}; all others were imported")]
    RowsRefused(usize),
    /// Rows of a file were refused, the last of which takes in the rest of the file.
    #[error(
        "rows refused: {refused}; no row after line {line} was read, where a quote is opened and never closed"
    )]
    RowsNotRead {
        /// How many.
        refused: usize,
        /// The line on which the last one begins.
        line: u64,
    },
    /// Something was not done to a trainee.
    #[error("trainee {trainee_id}: {}", Causes(.error))]
    RegistryAction {
        /// Identifier of the trainee.
        trainee_id: String,
        /// Why.
        error: RegistryActionError,
    },
    /// A trainee was not erased.
    #[error("trainee {trainee_id}: {}", Causes(.error))]
    Erasure {
        /// Identifier of the trainee.
        trainee_id: String,
        /// Why.
        error: ErasureError,
    },
    /// An erasure was not confirmed.
    #[error("nothing was erased: it was not confirmed")]
    NotConfirmed,
    /// Trainees were erased, and the space of rows that are gone was not reclaimed.
    #[error("erased, but the files of the database may hold traces of it: give the same command again: {}", Causes(.0))]
    SpaceNotReclaimed(#[source] StorageError),
    /// A backup was not put in place: erasures of the replaced database cannot be made again in it.
    #[error(
        "nothing was replaced: erasures that cannot be made again in the backup: {0}; keep the list that \
         `trainee-register trainee erasures --output csv` writes, and restore to another database, or move the present one away"
    )]
    ErasuresWouldBeLost(usize),
    /// Rows of a file were refused; the others were processed.
    #[error("rows refused: {0}; all others were done")]
    ActionsRefused(usize),
    /// The registry is played in the sandbox.
    #[error(
        "--registry and --registry-delay belong to the sandbox environment: in production nobody plays the registry"
    )]
    RegistryOutsideSandbox,
    /// Reference data cannot be used or written.
    #[error(transparent)]
    ReferenceData(#[from] ReferenceDataError),
    /// Contracts cannot be compared.
    #[error(transparent)]
    Contract(#[from] crate::contracts::ContractError),
    /// What is served does not keep what was promised.
    #[error(
        "promises broken: {broken}; additions that the change log does not mention: {unmentioned}"
    )]
    ContractBroken {
        /// How many changes break a client.
        broken: usize,
        /// How many additions are mentioned nowhere.
        unmentioned: usize,
    },
    /// A file of bodies could not be read.
    #[error("cannot read {file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A body is no JSON.
    #[error("{place}: the body is not valid JSON: {source}")]
    Malformed {
        /// The file, and the line where each body has one.
        place: String,
        /// Why.
        source: adapter_kit::read::Malformed,
    },
    /// The output could not be printed.
    #[error("cannot print: {0}")]
    Print(#[source] std::io::Error),
    /// Bodies were translated, and another version does not take them as they are.
    #[error("values lost: {lost}; problems: {problems}")]
    NotClean {
        /// The number of values that were lost.
        lost: usize,
        /// The number of problems.
        problems: usize,
    },
    /// No import has the number.
    #[error("no import has the number {0}")]
    UnknownImport(i64),
    /// A user who is to be changed has no access any more.
    #[error("user {id} was {}: `user list` shows when", if *.is_erased { "erased" } else { "removed" })]
    UserEnded {
        /// The number of the user.
        id: i64,
        /// Whether the e-mail address was erased too.
        is_erased: bool,
    },
    /// No request with the identifier is found. Clients can choose identifiers of another length.
    #[error("no request with the identifier {id} was found{hint}", id = .0, hint = other_length(.0))]
    UnknownRequest(String),
    /// No trainee has the identifier.
    #[error("no trainee has the identifier {0}")]
    UnknownTrainee(String),
    /// A version that is not served.
    #[error(transparent)]
    UnknownVersion(#[from] UnknownVersion),
    /// A chart could not be drawn.
    #[error("cannot draw the chart: {0}")]
    Chart(#[source] askama::Error),
    /// An answer could not be written.
    #[error("cannot write the answer: {0}")]
    Unwritable(#[source] serde_json::Error),
}

/// What to say of an identifier that the register has not given.
fn other_length(identifier: &str) -> String {
    if identifier.chars().count() == IDENTIFIER_LENGTH {
        return String::new();
    }
    format!("; an identifier that the register gives has {IDENTIFIER_LENGTH} characters")
}

/// The status of a program that the system ends because nobody reads what it prints (128 and
/// SIGPIPE).
const NOBODY_READS: u8 = 141;
/// The status when something is pending (`migrate --check`).
const PENDING: u8 = 3;

impl CommandError {
    /// The status that says everything, so that nothing needs to be printed.
    #[must_use]
    pub fn silent_status(&self) -> Option<u8> {
        if matches!(self, Self::Pending) {
            return Some(PENDING);
        }
        self.nobody_reads().then_some(NOBODY_READS)
    }

    /// Whether the command only failed because whoever reads what it prints has stopped reading.
    fn nobody_reads(&self) -> bool {
        matches!(self, Self::Print(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}
