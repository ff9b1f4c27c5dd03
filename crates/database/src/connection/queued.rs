//! Queues queries. On PostgreSQL a queued query is sent together with the next statement, so that
//! both take one round trip.

use std::marker::PhantomData;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LoadQuery;
use postgres_client::{PostgresConnection, QueuedRows};

use super::database_connection::DatabaseConnection;
use crate::error::DatabaseError;

/// A queued query. [`QueryQueue::take`] returns its rows.
#[must_use]
pub struct QueuedQuery<Q, U> {
    query: Q,
    rows: QueuedState<U>,
}

enum QueuedState<U> {
    /// The rows were loaded at once.
    Loaded(Vec<U>),
    /// The rows arrive with the answer to a later statement.
    Sent(QueuedRows, PhantomData<U>),
}

/// A borrowed query. A queued query is used twice: to send it and to read its rows.
pub struct Borrowed<'a, Q>(&'a Q);

/// A connection that queues queries.
pub trait QueryQueue: Connection + Sized {
    /// The connection to PostgreSQL; `None` on SQLite.
    fn postgres(&mut self) -> Option<&mut PostgresConnection>;

    /// Queues a query on PostgreSQL, and runs it at once on SQLite.
    fn queue<Q, U>(&mut self, query: Q) -> Result<QueuedQuery<Q, U>, DatabaseError>
    where
        for<'q> Borrowed<'q, Q>: LoadQuery<'q, Self, U>,
    {
        if let Some(postgres) = self.postgres() {
            postgres.queue_next();
        }
        let loaded = Borrowed(&query)
            .internal_load(self)
            .and_then(|rows| rows.collect::<QueryResult<_>>());
        // Called before an error is returned: otherwise a later call would take these rows.
        let sent = self.postgres().and_then(PostgresConnection::queued);
        let loaded = loaded?;
        let rows = sent.map_or(QueuedState::Loaded(loaded), |rows| {
            QueuedState::Sent(rows, PhantomData)
        });
        Ok(QueuedQuery { query, rows })
    }

    /// Returns the rows of a queued query. If no later statement was answered, this waits for
    /// PostgreSQL.
    fn take<Q, U>(&mut self, queued: QueuedQuery<Q, U>) -> Result<Vec<U>, DatabaseError>
    where
        for<'q> Borrowed<'q, Q>: LoadQuery<'q, Self, U>,
    {
        let sent = match queued.rows {
            QueuedState::Loaded(rows) => return Ok(rows),
            QueuedState::Sent(sent, _) => sent,
        };
        if let Some(postgres) = self.postgres() {
            postgres.take_next(sent)?;
        }
        Ok(Borrowed(&queued.query)
            .internal_load(self)?
            .collect::<QueryResult<_>>()?)
    }
}

impl QueryQueue for DatabaseConnection {
    fn postgres(&mut self) -> Option<&mut PostgresConnection> {
        if let Self::Postgres(inner) = self {
            Some(inner)
        } else {
            None
        }
    }
}

impl QueryQueue for PostgresConnection {
    fn postgres(&mut self) -> Option<&mut PostgresConnection> {
        Some(self)
    }
}

impl<Q: QueryId> QueryId for Borrowed<'_, Q> {
    type QueryId = Q::QueryId;
    const HAS_STATIC_QUERY_ID: bool = Q::HAS_STATIC_QUERY_ID;
}

impl<Q: Query> Query for Borrowed<'_, Q> {
    type SqlType = Q::SqlType;
}

impl<DB: diesel::backend::Backend, Q: QueryFragment<DB>> QueryFragment<DB> for Borrowed<'_, Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, backend: &DB) -> QueryResult<bool> {
        self.0.is_safe_to_cache_prepared(backend)
    }
}

impl<Q, C> RunQueryDsl<C> for Borrowed<'_, Q> {}
