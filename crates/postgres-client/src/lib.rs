//! A diesel connection to PostgreSQL over tokio-postgres: SQLSTATE codes, time limits, pipelining
//! and TLS.
//!
//! diesel builds the queries and reads the rows; tokio-postgres speaks the protocol. In contrast to
//! diesel's own connection, which is over libpq, and to diesel-async, this one
//!
//! - reports the SQLSTATE of an error ([`sqlstate`]), which is the same in every language of the
//!   server;
//! - has a deadline ([`PostgresConnection::set_deadline`]): a server that does not answer is
//!   disconnected;
//! - sends statements together ([`PostgresConnection::deferring`],
//!   [`PostgresConnection::queue_next`]);
//! - never takes a COMMIT for a success that the server answered with a rollback or a warning;
//! - connects by TLS without a system library, and works through a transaction pooler such as
//!   PgBouncer.
//!
//! The connection blocks the calling thread, which must not be one of an event loop. The crate
//! knows no table, no job and nothing else of the register.
//!
//! # How to add a property or a capability of the connection
//!
//! 1. A parameter of the address: `take_own_parameters` in `address.rs`, unless tokio-postgres
//!    reads it. An error never shows its value (test
//!    `a_wrong_parameter_is_named_and_its_value_is_not_shown`).
//! 2. A setting of the session: a field of [`Session`], applied by `set_up` in `connect.rs`. Behind
//!    a pooler it is part of `local_settings`, which each BEGIN sends.
//!    `crates/database/src/connection/manager.rs` chooses the value.
//! 3. A fact about the server: `CHECK_SQL` in `connect.rs`, `ServerInfo` and a getter in
//!    `connection.rs`.
//! 4. A capability: a method of [`PostgresConnection`] in `connection.rs`, and its use on both
//!    databases in `crates/database/src/connection.rs`. It sends through `transport.rs` (`run`
//!    waits for the answer, `defer` does not) and passes each outcome to `status.after`: otherwise
//!    a COMMIT may follow a failed statement.
//!
//! Test each against real servers in `tests/client.rs`, also behind a pooler
//! (`scripts/test postgres`, `make test-postgres-variants`). On SQLite these tests do nothing.

mod address;
mod commit;
mod connect;
mod connection;
mod error;
mod password;
mod queue;
mod row;
mod statements;
mod tls;
mod transport;

pub use address::Address;
pub use connect::{Node, Session};
pub use connection::PostgresConnection;
pub use error::{ConnectError, OUTCOME_UNKNOWN, sqlstate};
pub use queue::QueuedRows;
