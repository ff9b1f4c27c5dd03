//! A diesel connection to PostgreSQL over tokio-postgres: SQLSTATE codes, time limits, pipelining
//! and TLS.
//!
//! diesel builds the queries and reads the rows; tokio-postgres speaks the protocol. Unlike
//! diesel's own connection, which uses libpq, and unlike diesel-async, this connection
//!
//! - reports the SQLSTATE of an error ([`sqlstate`]), which does not depend on the language of the
//!   server's messages;
//! - has a deadline ([`PostgresConnection::set_deadline`]) and disconnects from a server that does
//!   not answer in time;
//! - pipelines statements ([`PostgresConnection::deferring`]);
//! - reports an error for a COMMIT that the server answers with a rollback or a warning;
//! - uses TLS without a system library, and works through a transaction pooler such as PgBouncer.
//!
//! The connection blocks the calling thread, so it must not be used on the thread of an event loop.
//! The crate contains no table, no job and no rule of the register.
//!
//! # How to add a property or a capability of the connection
//!
//! 1. A parameter of the address: add it to `take_own_parameters` in `address.rs`, unless
//!    tokio-postgres reads it. An error never shows its value (test
//!    `invalid_parameter_is_named_without_its_value`).
//! 2. A setting of the session: add a field to [`Session`] and apply it in `set_up` in
//!    `connect.rs`. Behind a pooler, the setting belongs to `local_settings`, which each BEGIN
//!    sends. `crates/database/src/connection/manager.rs` chooses the value.
//! 3. A property of the server: extend `CHECK_SQL` in `connect.rs`, and add a field to `ServerInfo`
//!    and a getter in `connection.rs`.
//! 4. A capability: add a method to [`PostgresConnection`] in `connection.rs`, and use it for both
//!    databases in `crates/database/src/connection.rs`. The method sends through `transport.rs`
//!    (`run` waits for the answer, `defer` does not) and passes each outcome to `status.after`:
//!    otherwise a COMMIT may follow a failed statement.
//!
//! Test each against real servers in `tests/client.rs`, also behind a pooler (`scripts/test
//! postgres`, `scripts/test variants postgres`). In a run on SQLite these tests do nothing.

mod address;
mod commit;
mod connect;
mod connection;
mod error;
mod row;
mod statements;
mod tls;
mod transport;

pub use address::Address;
pub use connect::{Node, Session};
pub use connection::PostgresConnection;
pub use error::{ConnectError, OUTCOME_UNKNOWN, sqlstate};
