//! Making a connection: which host, what it is, and what is set there.

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

/// Asks whether the server is read-only, whether the session is that of this connection, whether
/// the server acknowledges commits that are not on the disk, which encoding the database has, and
/// which limits the server sets by itself, in milliseconds.
const CHECK_SQL: &str = "SELECT current_setting('transaction_read_only'), current_setting('register.session', true), \
     current_setting('synchronous_commit', true), current_setting('server_encoding'), \
     (SELECT setting FROM pg_settings WHERE name = 'lock_timeout'), \
     (SELECT setting FROM pg_settings WHERE name = 'statement_timeout'), \
     (SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')";

/// Settings of every session from its start: an identifying mark, the time zone of all times in the
/// database, the schema of the tables regardless of the role, and how statements are planned.
/// Options of the address win. A prepared statement is planned once. Otherwise PostgreSQL plans
/// statements with a parameter for the number of rows at each execution, which takes longer than
/// running some of them. Such a plan is made when a table may be empty, and stays while it fills:
/// so it goes through no whole table where there is an index; which of several is the best one,
/// PostgreSQL knows when it looks at the table. Where there is none, the cost of the plan says
/// nothing, and must not have it compiled.
const OPTIONS: &str = "-c register.session=1 -c TimeZone=UTC -c search_path=public \
     -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off";

/// Lets the commit of a transaction wait for the disk.
const DURABLE_SQL: &str = "SELECT set_config('synchronous_commit', 'on', true) \
                           WHERE current_setting('synchronous_commit', true) = 'off'";

/// What a connection is to do on the server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Session {
    /// How long a statement waits for a lock, at most.
    pub lock_timeout: Option<Duration>,
    /// How long a statement may run after its client has given up, at most.
    pub statement_timeout: Option<Duration>,
    /// How long a transaction may wait for its next statement, at most: its client may be gone, and
    /// it holds locks.
    pub idle_in_transaction_timeout: Option<Duration>,
    /// How long a host may take until it can be used, at most, whatever the address says.
    pub connect_timeout: Option<Duration>,
    /// Whether the server is told to refuse every write outside a transaction that says `READ
    /// WRITE`. Behind a pooler it is not: the setting may reach another session.
    pub writes_only_in_transactions: bool,
}

/// Which server will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A server that accepts writes.
    Writable,
    /// A server that accepts writes, otherwise one that reads.
    PreferWritable,
    /// The first that answers.
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
    /// Connects to the first host that will do, beginning with the one that did last.
    ///
    /// # Errors
    ///
    /// What each host answered.
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

/// Opens a connection within the time that a host has.
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

/// Learns what the server is, and makes the settings that are missing. A limit that the server sets
/// by itself is left as it is when it is shorter.
fn set_up(
    mut transport: Transport,
    session: Session,
    limit: Duration,
) -> Result<PostgresConnection, HostError> {
    let failed = |failure: PostgresError| HostError::Session(failure.into());
    transport.set_deadline(Some(std::time::Instant::now() + limit));
    let client = transport.client();
    let answer = transport
        .run(client.simple_query(CHECK_SQL))
        .map_err(failed)?;
    let row = answer.iter().find_map(|message| {
        if let SimpleQueryMessage::Row(row) = message {
            Some(row)
        } else {
            None
        }
    });
    let value = |at: usize| row.and_then(|row| row.try_get(at).ok().flatten());
    let is_read_only = value(0) == Some("on");
    // A pooler passes the setting on to no session of the server, or only to some.
    let is_pooled = value(1) != Some("1");
    let is_durable = value(2) != Some("off");
    let encoding = value(3).unwrap_or_default().to_owned();
    let scope = if is_pooled { "LOCAL" } else { "SESSION" };
    let mut settings = Vec::new();
    for (at, (name, limit)) in (4..).zip(session.limits()) {
        let Some(limit) = limit else { continue };
        let own = value(at)
            .and_then(|value| value.parse::<u128>().ok())
            .filter(|own| *own > 0);
        if own.is_none_or(|own| own > limit.as_millis()) {
            settings.push(format!("SET {scope} {name} = {}", limit.as_millis()));
        }
    }
    if is_pooled {
        settings.push("SET LOCAL TimeZone = 'UTC'".to_owned());
        // Sessions of the server may differ.
        settings.push(DURABLE_SQL.to_owned());
    } else if !is_durable {
        settings.push("SET synchronous_commit = 'on'".to_owned());
    }
    let writes_only_in_transactions = session.writes_only_in_transactions && !is_pooled;
    if writes_only_in_transactions {
        // Not a startup option: `is_read_only` is what the server says by itself.
        settings.push("SET default_transaction_read_only = on".to_owned());
    }
    let settings = settings.join("; ");
    if !is_pooled && !settings.is_empty() {
        let client = transport.client();
        transport
            .run(client.batch_execute(&settings))
            .map_err(failed)?;
    }
    let local_settings = if is_pooled { settings } else { String::new() };
    transport.take_warnings();
    transport.set_deadline(None);
    let server = ServerInfo {
        is_read_only,
        is_pooled,
        writes_only_in_transactions,
        encoding,
        local_settings,
    };
    Ok(PostgresConnection::new(transport, server))
}
