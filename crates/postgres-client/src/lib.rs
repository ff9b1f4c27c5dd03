//! A connection to PostgreSQL for diesel, over tokio-postgres.
//!
//! diesel builds the queries and reads the rows; tokio-postgres speaks the protocol. In contrast to diesel's own connection,
//! which is over libpq, and to diesel-async, this one
//!
//! - reports the SQLSTATE of an error ([`sqlstate`]), which is the same in every language of the server;
//! - has a deadline ([`PostgresConnection::set_deadline`]): a server that does not answer is disconnected;
//! - sends statements together ([`PostgresConnection::deferring`], [`PostgresConnection::queue_next`]);
//! - never takes a COMMIT for a success that the server answered with a rollback or a warning;
//! - connects by TLS without a system library, and works through a transaction pooler such as PgBouncer.
//!
//! It blocks the calling thread, which must not be one of an event loop. Knows nothing of the register.

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
