//! Errors of the server and of the connection, with their SQLSTATE.

use std::error::Error as _;
use std::fmt;

use diesel::result::{DatabaseErrorInformation, DatabaseErrorKind, Error as DieselError};
use tokio_postgres::error::{DbError, Severity, SqlState};

/// The SQLSTATE of a commit with an unknown outcome: `transaction_resolution_unknown`.
pub const OUTCOME_UNKNOWN: &str = "08007";

/// The SQLSTATE of a connection that was closed or lost: `connection_failure`.
pub(crate) const CONNECTION_FAILURE: &str = "08006";

/// The SQLSTATE of a statement in a transaction that has failed: `in_failed_sql_transaction`.
pub(crate) const FAILED_TRANSACTION: &str = "25P02";

/// Failure to connect.
#[derive(Debug)]
pub enum ConnectError {
    /// The address, or a file that it names, is invalid.
    Address(String),
    /// No host could be used; the name and the error of each host.
    Hosts(Vec<(String, HostError)>),
}

/// Reason why a host could not be used.
#[derive(Debug)]
pub enum HostError {
    /// The connection failed or was refused.
    Refused(tokio_postgres::Error),
    /// The host did not answer in time.
    TimedOut,
    /// The host answers, but is read-only.
    ReadOnly,
    /// The session could not be set up.
    Session(DieselError),
}

impl ConnectError {
    /// The SQLSTATE of the first host that refused the connection with one; `None` if no host did.
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

    /// Whether a host answered and is read-only.
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
/// Omits the details and the hint of the server, because they contain values of rows.
#[derive(Debug)]
pub(crate) struct PostgresError {
    state: String,
    message: String,
    /// Whether the connection has ended. The outcome of unanswered statements is then unknown.
    is_lost: bool,
    /// Whether the connection must not be used again: it has ended, or its transaction is in an
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

    /// A failure that was found without the server.
    pub(crate) fn local(state: &str, message: impl Into<String>) -> Self {
        Self {
            state: state.to_owned(),
            message: message.into(),
            is_lost: false,
            must_close: false,
        }
    }

    /// Marks the failure of a statement that begins or ends a transaction. The state of the
    /// transaction is then unknown.
    pub(crate) fn at_boundary(self) -> Self {
        Self {
            must_close: true,
            ..self
        }
    }

    /// Converts the failure of an earlier transaction's end into a failure of the connection, for a
    /// later statement that reports it.
    pub(crate) fn into_connection_failure(self) -> Self {
        Self::connection_failure(format!(
            "ending the previous transaction failed: {}",
            self.message
        ))
    }

    /// Converts the failure of a COMMIT. The outcome is unknown if the connection has ended, or if
    /// a pooler reports that its connection to the server has ended.
    pub(crate) fn into_commit_failure(self) -> Self {
        let is_reported_by_pooler = self.state.starts_with("08") || self.state.starts_with("57P");
        if self.is_lost || is_reported_by_pooler {
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

/// Whether the server closes the connection after this error. Some poolers send the severity only
/// in the field that servers translate.
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

/// The information about a failure that diesel passes on.
struct Reported {
    state: String,
    message: String,
}

impl DatabaseErrorInformation for Reported {
    fn message(&self) -> &str {
        &self.message
    }

    /// The SQLSTATE. diesel has no method for it.
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

/// The SQLSTATE of an error of a [`crate::PostgresConnection`]; `None` for errors of diesel itself
/// and of SQLite.
#[must_use]
pub fn sqlstate(error: &DieselError) -> Option<&str> {
    if let DieselError::DatabaseError(_, information) = error {
        information.details()
    } else {
        None
    }
}

/// The text of an error and of its causes, in one line.
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
        let cause_text = error.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        cause = error.source();
    }
    text
}
