//! Queries whose rows are not needed at once: on PostgreSQL each is sent together with the next statement, so that the two are
//! one round trip.

use std::marker::PhantomData;

use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::LoadQuery;
use postgres_client::{PostgresConnection, QueuedRows};

use super::DatabaseConnection;
use crate::error::StorageError;

/// A query that was queued; [`Queue::take`] returns its rows.
#[must_use]
pub(crate) struct Queued<Q, U> {
    query: Q,
    rows: Rows<U>,
}

/// Takes what was queued with several queries, or with one whose type has no name.
pub(crate) type Later<T> = Box<dyn FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>>;

enum Rows<U> {
    /// They were loaded at once.
    Loaded(Vec<U>),
    /// They arrive with the answer to a later statement.
    Sent(QueuedRows, PhantomData<U>),
}

/// A query that is made a second time, to read the rows that it has.
pub(crate) struct Borrowed<'a, Q>(&'a Q);

/// A connection that queues queries.
pub(crate) trait Queue: Connection + Sized {
    /// The connection to PostgreSQL that it is or holds.
    fn postgres(&mut self) -> Option<&mut PostgresConnection>;

    /// Queues a query on PostgreSQL, and runs it at once on SQLite.
    fn queue<Q, U>(&mut self, query: Q) -> Result<Queued<Q, U>, StorageError>
    where
        for<'q> Borrowed<'q, Q>: LoadQuery<'q, Self, U>,
    {
        if let Some(postgres) = self.postgres() {
            postgres.queue_next();
        }
        let loaded = Borrowed(&query).internal_load(self)?.collect::<QueryResult<_>>()?;
        let sent = self.postgres().and_then(PostgresConnection::queued);
        let rows = sent.map_or(Rows::Loaded(loaded), |rows| Rows::Sent(rows, PhantomData));
        Ok(Queued { query, rows })
    }

    /// The rows of a query that was queued. On PostgreSQL they have arrived where a later statement was answered, and are waited
    /// for otherwise.
    fn take<Q, U>(&mut self, queued: Queued<Q, U>) -> Result<Vec<U>, StorageError>
    where
        for<'q> Borrowed<'q, Q>: LoadQuery<'q, Self, U>,
    {
        let sent = match queued.rows {
            Rows::Loaded(rows) => return Ok(rows),
            Rows::Sent(sent, _) => sent,
        };
        if let Some(postgres) = self.postgres() {
            postgres.take_next(sent)?;
        }
        Ok(Borrowed(&queued.query).internal_load(self)?.collect::<QueryResult<_>>()?)
    }
}

impl Queue for DatabaseConnection {
    fn postgres(&mut self) -> Option<&mut PostgresConnection> {
        if let Self::Postgres(inner) = self { Some(inner) } else { None }
    }
}

impl Queue for PostgresConnection {
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
