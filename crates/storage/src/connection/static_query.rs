//! Queries whose SQL follows from their type alone.
//!
//! Before each execution diesel walks through a query to see whether it may stay prepared. Of such a query it always may, and
//! the walk through all columns of a row takes longer than to look the statement up.

use diesel::RunQueryDsl;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::QueryResult;

/// A query that stays prepared; made by [`static_query`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaticQuery<Q>(Q);

/// Lets a query stay prepared without a look at its parts. One whose SQL does not follow from its type does not compile.
pub(crate) fn static_query<Q: QueryId>(query: Q) -> StaticQuery<Q> {
    const { assert!(Q::HAS_STATIC_QUERY_ID, "the SQL of this query does not follow from its type") };
    StaticQuery(query)
}

impl<Q: QueryId> QueryId for StaticQuery<Q> {
    type QueryId = Q::QueryId;
    const HAS_STATIC_QUERY_ID: bool = Q::HAS_STATIC_QUERY_ID;
}

impl<Q: Query> Query for StaticQuery<Q> {
    type SqlType = Q::SqlType;
}

impl<DB: Backend, Q: QueryFragment<DB>> QueryFragment<DB> for StaticQuery<Q> {
    fn walk_ast<'b>(&'b self, pass: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(pass)
    }

    fn is_safe_to_cache_prepared(&self, _: &DB) -> QueryResult<bool> {
        Ok(true)
    }
}

impl<Q, Connection> RunQueryDsl<Connection> for StaticQuery<Q> {}
