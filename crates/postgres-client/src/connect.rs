//! Connects: chooses a host, checks the server and applies the settings of the session.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::SimpleQueryMessage;

use crate::address::{Address, HostAddress};
use crate::connection::{PostgresConnection, ServerInfo};
use crate::error::{ConnectError, HostError, PostgresError};
use crate::transport::Transport;

/// The SQLSTATE of poolers for an unsupported setting: `protocol_violation`.
const PROTOCOL_VIOLATION: &str = "08P01";

/// Returns whether the server is read-only, whether the session has the options of this connection,
/// whether the server acknowledges commits before they are on the disk, the encoding of the
/// database, and the time limits that the server sets itself, in milliseconds.
const CHECK_SQL: &str = "SELECT current_setting('transaction_read_only'), current_setting('register.session', true), \
     current_setting('synchronous_commit', true), current_setting('server_encoding'), \
     (SELECT setting FROM pg_settings WHERE name = 'lock_timeout'), \
     (SELECT setting FROM pg_settings WHERE name = 'statement_timeout'), \
     (SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')";

/// Startup options of every session. Options in the address override them.
///
/// - `register.session` shows whether the options reached the session; a pooler may drop them.
/// - `TimeZone` is the time zone of all times in the database; `search_path` is the schema of the
///   tables, whatever the role.
/// - With `plan_cache_mode` PostgreSQL plans a prepared statement once. It would otherwise plan
///   statements with a parameter for the number of rows at each execution, which can take longer
///   than the execution.
/// - With `enable_seqscan=off` a plan uses an index where one exists. The plan is kept, and it may
///   be made while the table is still empty, when a sequential scan looks cheaper.
/// - `jit` is off: where no index exists, `enable_seqscan=off` inflates the estimated cost, and
///   PostgreSQL would compile the plan because of that cost.
const OPTIONS: &str = "-c register.session=1 -c TimeZone=UTC -c search_path=public \
     -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off";

/// Makes the commit of the transaction wait until it is on the disk.
const DURABLE_SQL: &str = "SELECT set_config('synchronous_commit', 'on', true) \
                           WHERE current_setting('synchronous_commit', true) = 'off'";

/// The settings of a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session {
    /// How long a statement waits for a lock.
    pub lock_timeout: Option<Duration>,
    /// How long the server runs a statement. This ends statements of clients that stopped waiting.
    pub statement_timeout: Option<Duration>,
    /// How long an open transaction may be idle. This releases the locks of clients that are gone.
    pub idle_in_transaction_timeout: Option<Duration>,
    /// The time limit to connect to a host. The shorter one of this limit and that of the address
    /// applies.
    pub connect_timeout: Option<Duration>,
    /// Makes the server refuse writes outside transactions that were begun with `READ WRITE`.
    /// Ignored behind a pooler, where the setting could reach sessions of other clients.
    pub writes_only_in_transactions: bool,
}

/// Which server to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A server that accepts writes.
    Writable,
    /// A server that accepts writes; a read-only server if there is none.
    PreferWritable,
    /// The first server that answers.
    Any,
}

impl Session {
    /// The limits, in the order of [`CHECK_SQL`].
    fn limits(self) -> [(&'static str, Option<Duration>); 3] {
        [
            ("lock_timeout", self.lock_timeout),
            ("statement_timeout", self.statement_timeout),
            (
                "idle_in_transaction_session_timeout",
                self.idle_in_transaction_timeout,
            ),
        ]
    }
}

impl PostgresConnection {
    /// Connects to the first suitable host, starting with the host that was used last.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Hosts`] with the error of each host.
    pub fn connect(address: &Address, session: &Session, node: Node) -> Result<Self, ConnectError> {
        let node = if address.requires_writable {
            Node::Writable
        } else {
            node
        };
        let mut failed = Vec::new();
        let mut read_only = None;
        for (number, host) in address.hosts() {
            match attempt(address, host, *session) {
                Ok(connection) if node == Node::Any || !connection.is_read_only() => {
                    address.remember(number);
                    return Ok(connection);
                }
                Ok(connection) => {
                    if node == Node::PreferWritable && read_only.is_none() {
                        read_only = Some(connection);
                    }
                    failed.push((host.name.clone(), HostError::ReadOnly));
                }
                Err(error) => {
                    if matches!(error, HostError::TimedOut | HostError::Session(_)) {
                        host.avoid();
                    }
                    failed.push((host.name.clone(), error));
                }
            }
        }
        read_only.ok_or(ConnectError::Hosts(failed))
    }
}

/// Connects to one host with the startup options. If a pooler refuses the options, connects without
/// them.
fn attempt(
    address: &Address,
    host: &HostAddress,
    session: Session,
) -> Result<PostgresConnection, HostError> {
    let mut with_options = host.config.clone();
    with_options.options(match host.config.get_options() {
        Some(given) => format!("{OPTIONS} {given}"),
        None => OPTIONS.to_owned(),
    });
    let limit = session
        .connect_timeout
        .map_or(address.connect_timeout, |limit| {
            limit.min(address.connect_timeout)
        });
    let transport = match open(address, &with_options, limit) {
        Err(HostError::Refused(error))
            if error
                .code()
                .is_some_and(|code| code.code() == PROTOCOL_VIOLATION) =>
        {
            open(address, &host.config, limit)?
        }
        outcome => outcome?,
    };
    set_up(transport, session, limit)
}

/// Opens a connection to one host within a time limit.
fn open(
    address: &Address,
    config: &tokio_postgres::Config,
    limit: Duration,
) -> Result<Transport, HostError> {
    let runtime = runtime()?;
    let opened =
        runtime.block_on(async { timeout(limit, config.connect(address.tls.clone())).await });
    match opened {
        Ok(Ok((client, driver))) => Ok(Transport::new(runtime, client, driver)),
        Ok(Err(error)) => {
            runtime.shutdown_background();
            Err(HostError::Refused(error))
        }
        Err(_) => {
            runtime.shutdown_background();
            Err(HostError::TimedOut)
        }
    }
}

/// A runtime for one connection, on the calling thread.
fn runtime() -> Result<Runtime, HostError> {
    let built = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(1)
        .build();
    built.map_err(|error| {
        HostError::Session(PostgresError::connection_failure(error.to_string()).into())
    })
}

/// The answer to [`CHECK_SQL`].
struct ServerCheck {
    is_read_only: bool,
    is_pooled: bool,
    /// Whether the server acknowledges commits only when they are on the disk.
    is_durable: bool,
    encoding: String,
    /// The limits that the server sets itself, in milliseconds, in the order of
    /// [`Session::limits`]. `None` for no limit.
    limits: [Option<u128>; 3],
}

/// Checks the server and applies missing settings. A shorter time limit of the server stays.
fn set_up(
    mut transport: Transport,
    session: Session,
    limit: Duration,
) -> Result<PostgresConnection, HostError> {
    transport.set_deadline(Some(std::time::Instant::now() + limit));
    let check = check_server(&mut transport).map_err(session_error)?;
    let writes_only_in_transactions = session.writes_only_in_transactions && !check.is_pooled;
    let mut settings = missing_settings(&check, session);
    if writes_only_in_transactions {
        // Not a startup option: `is_read_only` must show the server's own setting.
        settings.push("SET default_transaction_read_only = on".to_owned());
    }
    let settings = settings.join("; ");
    if !check.is_pooled && !settings.is_empty() {
        let client = transport.client();
        transport
            .run(client.batch_execute(&settings))
            .map_err(session_error)?;
    }
    // Behind a pooler, each transaction applies the settings again.
    let local_settings = if check.is_pooled {
        settings
    } else {
        String::new()
    };
    transport.take_warnings();
    transport.set_deadline(None);
    let server = ServerInfo {
        is_read_only: check.is_read_only,
        is_pooled: check.is_pooled,
        writes_only_in_transactions,
        encoding: check.encoding,
        local_settings,
    };
    Ok(PostgresConnection::new(transport, server))
}

/// Converts an error of setting up the session.
fn session_error(failure: PostgresError) -> HostError {
    HostError::Session(failure.into())
}

/// Runs [`CHECK_SQL`] and reads its answer.
fn check_server(transport: &mut Transport) -> Result<ServerCheck, PostgresError> {
    let client = transport.client();
    let answer = transport.run(client.simple_query(CHECK_SQL))?;
    let row = answer.iter().find_map(|message| {
        if let SimpleQueryMessage::Row(row) = message {
            Some(row)
        } else {
            None
        }
    });
    let value = |at: usize| row.and_then(|row| row.try_get(at).ok().flatten());
    let limit = |at: usize| {
        value(at)
            .and_then(|value| value.parse::<u128>().ok())
            .filter(|milliseconds| *milliseconds > 0)
    };
    Ok(ServerCheck {
        is_read_only: value(0) == Some("on"),
        // A pooler does not pass startup options on to all sessions of the server.
        is_pooled: value(1) != Some("1"),
        is_durable: value(2) != Some("off"),
        encoding: value(3).unwrap_or_default().to_owned(),
        limits: [limit(4), limit(5), limit(6)],
    })
}

/// Statements that set what the server does not have yet: for the session, or behind a pooler for
/// each transaction.
fn missing_settings(check: &ServerCheck, session: Session) -> Vec<String> {
    let scope = if check.is_pooled { "LOCAL" } else { "SESSION" };
    let mut settings = Vec::new();
    for ((name, limit), of_server) in session.limits().into_iter().zip(check.limits) {
        let Some(limit) = limit else { continue };
        if of_server.is_none_or(|milliseconds| milliseconds > limit.as_millis()) {
            settings.push(format!("SET {scope} {name} = {}", limit.as_millis()));
        }
    }
    if check.is_pooled {
        settings.push("SET LOCAL TimeZone = 'UTC'".to_owned());
        // Other sessions of the server may have another value.
        settings.push(DURABLE_SQL.to_owned());
    } else if !check.is_durable {
        settings.push("SET synchronous_commit = 'on'".to_owned());
    }
    settings
}
