//! Errors of storage, grouped by who can act: the operator, the user at the command line or on a
//! page of the settings, the caller of the API, or the developers.
//!
//! This module does not depend on HTTP. No variant holds personal data, a token or the address of a
//! database server.

use diesel::result::Error as DieselError;

pub use database::error::{DatabaseError, JobError};

use crate::base::token::{Environment, UnknownEnvironment};

mod refusal;

pub use refusal::Refusal;

/// The error of a job or of an operation of the store.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),

    /// The database server is a standby. No cursor can be checked there, because the timeline of
    /// the server is unknown.
    #[error("the database server is a standby, where no cursor can be continued")]
    CursorOnStandby,
    /// The database schema cannot be brought up to date.
    #[error("migrations failed")]
    Migration(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The schema has a migration that this program does not know.
    #[error(
        "database has migration {version}, which this program does not know: use the program that applied it, or \
         restore a backup from before the migration"
    )]
    SchemaNewer {
        /// The migration.
        version: String,
    },
    /// The database holds no register.
    #[error(
        "{database} holds no register: check --database-url (REGISTER_DATABASE_URL); `trainee-register serve`, \
         `migrate` and `provider add` create one"
    )]
    NoRegister {
        /// The name of the database in messages.
        database: String,
    },
    /// The connection uses a schema of PostgreSQL other than that of the register.
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
        /// The name of the database in messages.
        database: String,
        /// The first missing migration.
        migration: String,
    },
    /// The tables of the register were created by a program from before the first release.
    #[error(
        "{database} has a layout from before the first release and cannot be used: start with an empty database"
    )]
    LayoutBeforeRelease {
        /// The name of the database in messages.
        database: String,
    },
    /// Documents hold fields that the program does not know.
    #[error(
        "records have fields of a newer program (record schema {recorded}, this program knows {known}): use the newer program"
    )]
    RecordsNewer {
        /// The number of the record schema in the database.
        recorded: String,
        /// The number of the record schema of this program.
        known: i64,
    },
    /// Migrations left rows with broken references. The migrations were rolled back.
    #[error(
        "migrations were undone: {rows} rows of table {table} refer to rows of table {owner} that do not exist; look for \
         them with `trainee-register check` of the program that was used before"
    )]
    BrokenReferences {
        /// The referring table.
        table: String,
        /// The table with missing rows.
        owner: String,
        /// The number of rows with a broken reference.
        rows: i64,
    },
    /// The requested environment is not that of the register.
    #[error(
        "the environment of this register is {recorded}, not {requested}: leave --environment (REGISTER_ENVIRONMENT) out, \
         or choose another database"
    )]
    OtherEnvironment {
        /// The environment of the register.
        recorded: Environment,
        /// The requested environment.
        requested: Environment,
    },
    /// The database is the target of an unfinished copy.
    #[error("database is the target of an unfinished copy: begin again with an empty database")]
    UnfinishedCopy,
    /// The operating system provided no random bytes.
    #[error("no random bytes are available")]
    NoRandomness(#[from] getrandom::Error),

    // The user at the command line or on a page of the settings can act.
    /// The request cannot be carried out as sent.
    #[error(transparent)]
    Refused(#[from] Refusal),

    // The developers can act: these are defects.
    /// A stored row has a value that this program never writes.
    #[error("row {id} of table {table} is corrupt")]
    CorruptRow {
        /// The table's name.
        table: &'static str,
        /// The row's key.
        id: i64,
    },
    /// A setting of the register has a value that this program never writes.
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

impl JobError for StorageError {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Database(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

impl StorageError {
    /// Whether the job violated a unique constraint.
    pub fn is_unique_violation(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unique_violation())
    }

    /// Whether the job was rolled back and a retry may succeed. Retrying is safe: the job cannot
    /// take effect twice.
    pub fn is_repeatable(&self) -> bool {
        self.is_temporary() && !matches!(self, Self::Database(DatabaseError::OutcomeUnknown(_)))
    }

    /// Whether a retry of the same job may succeed. Includes jobs with an unknown outcome.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Database(error) => error.is_temporary(),
            Self::CursorOnStandby => true,
            Self::Migration(_)
            | Self::SchemaNewer { .. }
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
