//! What can go wrong in storage, grouped by who can act: the operator, the user at the command line
//! or on a page of the settings, the caller of the API, or us.
//!
//! Knows nothing of HTTP. No variant holds a person's data, a token or the address of a database
//! server.

use diesel::result::Error as DieselError;

pub use database::error::DatabaseError;

use crate::base::token::{Environment, UnknownEnvironment};

mod refusal;

pub use refusal::Refusal;

/// A job or an operation of the store that failed.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),

    /// The database server is a standby, whose timeline is not known: a cursor may have outlived
    /// its generation.
    #[error("the database server is a standby, where no cursor can be continued")]
    CursorOnStandby,
    /// The database schema cannot be brought up to date.
    #[error("migrations failed")]
    Migration(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The schema has a migration that this program does not know.
    #[error(
        "database has migration {version}, which this program does not know: use the program that applied it, or let \
         that one take it back with `trainee-register migrate --to {newest}`"
    )]
    SchemaNewer {
        /// The migration.
        version: String,
        /// The last one that this program knows.
        newest: String,
    },
    /// No migration of the program has this name.
    #[error("no migration is called {name}; known are {known}")]
    UnknownMigration {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// Taking migrations back would drop tables that hold records.
    #[error(
        "the migrations that would be taken back hold records, in the tables {tables}: make a backup, then give the same \
         command with --force, by which these records are lost"
    )]
    RecordsWouldBeLost {
        /// The names of the tables.
        tables: String,
    },
    /// The database holds no register.
    #[error(
        "{database} holds no register: check --database-url; `trainee-register serve`, `migrate` and `provider add` \
         create one"
    )]
    NoRegister {
        /// What to call the database.
        database: String,
    },
    /// The register is in another schema of PostgreSQL than the one that the connection uses.
    #[error(
        "the database has a register in the schema {schema}: move its tables to the schema public, or name the schema in \
         the address, as in postgres://USER@HOST/NAME?options=-c%20search_path%3D{schema}"
    )]
    OtherSchema {
        /// The name of the schema.
        schema: String,
    },
    /// The schema lacks a migration of this program.
    #[error(
        "{database} has the schema of an older program, without migration {migration}: make a backup, then bring it up to \
         date with `trainee-register migrate`"
    )]
    SchemaOlder {
        /// What to call the database.
        database: String,
        /// The first migration that it lacks.
        migration: String,
    },
    /// The database has tables of a register that no released program has made.
    #[error(
        "{database} has a layout from before the first release and cannot be used: start with an empty database"
    )]
    LayoutBeforeRelease {
        /// What to call the database.
        database: String,
    },
    /// Documents hold fields that the program does not know.
    #[error(
        "records have fields of a newer program (record schema {recorded}, this program knows {known}): use the newer program"
    )]
    RecordsNewer {
        /// The number that the database records.
        recorded: String,
        /// The number of this program.
        known: i64,
    },
    /// Migrations left rows that refer to rows which are not there. They were undone.
    #[error(
        "migrations were undone: {rows} rows of table {table} refer to rows of table {owner} that do not exist; look for \
         them with `trainee-register check` of the program that was used before"
    )]
    BrokenReferences {
        /// The table that refers.
        table: String,
        /// The table in which the rows are missing.
        owner: String,
        /// How many rows refer to missing ones.
        rows: i64,
    },
    /// Another environment than that of the register was requested.
    #[error(
        "the environment of this register is {recorded}, not {requested}: leave --environment (REGISTER_ENVIRONMENT) out, \
         or choose another database"
    )]
    OtherEnvironment {
        /// What the database records.
        recorded: Environment,
        /// What was requested.
        requested: Environment,
    },
    /// The database is the target of a copy that has not come to its end.
    #[error("database is the target of an unfinished copy: begin again with an empty database")]
    UnfinishedCopy,
    /// The operating system gave no random bytes.
    #[error("no random bytes are available")]
    NoRandomness(#[from] getrandom::Error),

    // The user at the command line or on a page of the settings can act.
    /// The request cannot be carried out as sent.
    #[error(transparent)]
    Refused(#[from] Refusal),

    // The caller can act.
    /// The record was changed by another request after it was read.
    #[error("record was changed meanwhile")]
    Stale,

    // We can act: these are defects.
    /// A stored row is not what the code that wrote it could have written.
    #[error("row {id} of table {table} is corrupt")]
    CorruptRow {
        /// The table's name.
        table: &'static str,
        /// The row's key.
        id: i64,
    },
    /// A setting of the register is not what the code that wrote it could have written.
    #[error("setting {name} of the register is corrupt")]
    CorruptSetting {
        /// The setting's name.
        name: &'static str,
    },
    /// The invented organisations that ship with the crate cannot be read.
    #[error("invented organisations are unreadable")]
    SandboxOrganisations(#[source] csv::Error),
}

impl From<DieselError> for StorageError {
    fn from(error: DieselError) -> Self {
        DatabaseError::from(error).into()
    }
}

/// The error of a job: its own, or that of the store.
pub trait JobError: From<StorageError> + Send + 'static {
    /// The error of the store, if it is one. It decides whether the job may be run again.
    fn storage_error(&self) -> Option<&StorageError>;
}

impl JobError for StorageError {
    fn storage_error(&self) -> Option<&StorageError> {
        Some(self)
    }
}

impl StorageError {
    /// Whether the job would have stored a value twice that must be unique.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unique_violation())
    }

    /// Whether the job was not done and may succeed when it is tried again: to repeat it does
    /// nothing twice.
    pub fn is_repeatable(&self) -> bool {
        self.is_temporary() && !matches!(self, Self::Database(DatabaseError::OutcomeUnknown(_)))
    }

    /// Whether the same job may succeed when it is tried again.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Database(error) => error.is_temporary(),
            Self::CursorOnStandby => true,
            Self::Migration(_)
            | Self::SchemaNewer { .. }
            | Self::UnknownMigration { .. }
            | Self::RecordsWouldBeLost { .. }
            | Self::NoRegister { .. }
            | Self::OtherSchema { .. }
            | Self::SchemaOlder { .. }
            | Self::LayoutBeforeRelease { .. }
            | Self::RecordsNewer { .. }
            | Self::BrokenReferences { .. }
            | Self::OtherEnvironment { .. }
            | Self::UnfinishedCopy
            | Self::NoRandomness(_)
            | Self::Refused(_)
            | Self::Stale
            | Self::CorruptRow { .. }
            | Self::CorruptSetting { .. }
            | Self::SandboxOrganisations(_) => false,
        }
    }
}

impl From<UnknownEnvironment> for StorageError {
    fn from(_: UnknownEnvironment) -> Self {
        Self::Refused(Refusal::UnknownEnvironment)
    }
}
