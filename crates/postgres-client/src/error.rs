//! Errors of the server and of the connection, with their SQLSTATE.

use std::error::Error as _;
use std::fmt;

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error as DieselError};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The SQLSTATE of a commit with an unknown outcome:
/// `transaction_resolution_unknown`.
pub const OUTCOME_UNKNOWN: &str = "08007";

/// The SQLSTATE of a connection that was closed, broke, or had to be given up:
/// `connection_failure`.
pub(crate) const CONNECTION_FAILURE: &str = "08006";

/// The SQLSTATE of a statement in a transaction that has failed: `in_failed_sql_transaction`.
pub(crate) const FAILED_TRANSACTION: &str = "25P02";

/// Error of connecting.
#[derive(Debug)]
pub enum ConnectError {
    /// The address, or a file that it names, cannot be used.
    Address(String),
    /// No host could be used; what each of them answered.
    Hosts(Vec<(String, HostError)>),
}

/// Error of one host.
#[derive(Debug)]
pub enum HostError {
    /// There was no connection, or it was refused.
    Refused(tokio_postgres::Error),
    /// No answer in time.
    TimedOut,
    /// The host answers, but is read-only.
    ReadOnly,
    /// The session could not be set up.
    Session(DieselError),
}

impl ConnectError {
    /// The SQLSTATE of a refused connection, if a host refused it.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        let Self::Hosts(hosts) = self else {
            return None;
        };
        hosts.iter().find_map(|(_, error)| match error {
            HostError::Refused(error) => error.code().map(SqlState::code),
            HostError::Session(error) => sqlstate(error),
            HostError::TimedOut | HostError::ReadOnly => None,
        })
    }

    /// Whether every host that answers is read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let Self::Hosts(hosts) = self else {
            return false;
        };
        hosts
            .iter()
            .any(|(_, error)| matches!(error, HostError::ReadOnly))
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(reason) => formatter.write_str(reason),
            Self::Hosts(hosts) => {
                for (number, (host, error)) in hosts.iter().enumerate() {
                    if number > 0 {
                        formatter.write_str("; ")?;
                    }
                    write!(formatter, "{host}: {error}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ConnectError {}

impl fmt::Display for HostError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => formatter.write_str(&describe(error)),
            Self::TimedOut => formatter.write_str("no answer in time"),
            Self::ReadOnly => formatter.write_str("the server is read-only"),
            Self::Session(error) => error.fmt(formatter),
        }
    }
}

/// An error of the server, or of the connection to it.
///
/// It has no details and no hint of the server: they hold values of rows.
#[derive(Debug)]
pub(crate) struct PostgresError {
    state: String,
    message: String,
    /// Whether the connection has ended. Nothing is known of what was not answered.
    is_lost: bool,
    /// Whether the connection must not be used any more: it has ended, or its transaction is in an
    /// unknown state.
    pub(crate) must_close: bool,
}

impl PostgresError {
    /// A failure of the connection.
    pub(crate) fn connection_failure(message: impl Into<String>) -> Self {
        Self {
            state: CONNECTION_FAILURE.to_owned(),
            message: message.into(),
            is_lost: true,
            must_close: true,
        }
    }

    /// A failure that the server knows nothing of.
    pub(crate) fn local(state: &str, message: impl Into<String>) -> Self {
        Self {
            state: state.to_owned(),
            message: message.into(),
            is_lost: false,
            must_close: false,
        }
    }

    /// Marks the failure of a statement that begins or ends a transaction: the state of the
    /// transaction is not known.
    pub(crate) fn at_boundary(self) -> Self {
        Self {
            must_close: true,
            ..self
        }
    }

    /// Turns the failure into one of the connection, for a statement that the failed one has
    /// nothing to do with.
    pub(crate) fn into_connection_failure(self) -> Self {
        Self::connection_failure(format!(
            "the transaction before could not be ended: {}",
            self.message
        ))
    }

    /// Marks the failure of a COMMIT. The outcome is unknown when the connection has ended, or when
    /// a pooler says that its own has.
    pub(crate) fn into_commit_failure(self) -> Self {
        let of_pooler = ["08", "57P"]
            .iter()
            .any(|class| self.state.starts_with(class));
        if self.is_lost || of_pooler {
            Self {
                state: OUTCOME_UNKNOWN.to_owned(),
                must_close: true,
                ..self
            }
        } else {
            self
        }
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(reported) => {
                let is_lost = is_fatal(reported);
                Self {
                    state: reported.code().code().to_owned(),
                    message: reported.message().to_owned(),
                    is_lost,
                    must_close: is_lost,
                }
            }
            None => Self::connection_failure(describe(&error)),
        }
    }
}

/// Whether the server ends the connection with this error. A pooler may only say so in the field
/// that a server translates.
fn is_fatal(reported: &DbError) -> bool {
    match reported.parsed_severity() {
        Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
        None => ["FATAL", "PANIC"].contains(&reported.severity()),
    }
}

impl From<PostgresError> for DieselError {
    fn from(failure: PostgresError) -> Self {
        let kind = match failure.state.as_str() {
            "23505" => DatabaseErrorKind::UniqueViolation,
            "23503" => DatabaseErrorKind::ForeignKeyViolation,
            "23502" => DatabaseErrorKind::NotNullViolation,
            "23514" => DatabaseErrorKind::CheckViolation,
            "23001" => DatabaseErrorKind::RestrictViolation,
            "23P01" => DatabaseErrorKind::ExclusionViolation,
            "40001" => DatabaseErrorKind::SerializationFailure,
            "25006" => DatabaseErrorKind::ReadOnlyTransaction,
            CONNECTION_FAILURE => DatabaseErrorKind::ClosedConnection,
            _ => DatabaseErrorKind::Unknown,
        };
        let message = format!("{} (SQLSTATE {})", failure.message, failure.state);
        Self::DatabaseError(
            kind,
            Box::new(Reported {
                state: failure.state,
                message,
            }),
        )
    }
}

/// What diesel passes on of a failure.
struct Reported {
    state: String,
    message: String,
}

impl DatabaseErrorInformation for Reported {
    fn message(&self) -> &str {
        &self.message
    }

    /// The SQLSTATE; diesel has no method for it.
    fn details(&self) -> Option<&str> {
        Some(&self.state)
    }

    fn hint(&self) -> Option<&str> {
        None
    }

    fn table_name(&self) -> Option<&str> {
        None
    }

    fn column_name(&self) -> Option<&str> {
        None
    }

    fn constraint_name(&self) -> Option<&str> {
        None
    }

    fn statement_position(&self) -> Option<i32> {
        None
    }
}

/// The SQLSTATE of an error of a [`crate::PostgresConnection`]; nothing for an error of diesel
/// itself, and for those of SQLite.
#[must_use]
pub fn sqlstate(error: &DieselError) -> Option<&str> {
    if let DieselError::DatabaseError(_, information) = error {
        information.details()
    } else {
        None
    }
}

/// An error with its causes, in one line.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(reported) = error.as_db_error() {
        return format!(
            "{} (SQLSTATE {})",
            reported.message(),
            reported.code().code()
        );
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let own = error.to_string();
        if !text.contains(&own) {
            text = format!("{text}: {own}");
        }
        cause = error.source();
    }
    text
}
