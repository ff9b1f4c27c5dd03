//! Queries whose SQL follows from their type alone.
//!
//! Before each execution diesel walks through a query to see whether it may stay prepared. Of such
//! a query it always may, and the walk through all columns of a row takes longer than to look the
//! statement up. On SQLite that spares queries which return rows: to execute one, diesel still
//! walks through a reference to it.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A query that stays prepared; made by [`static_query`].
#[derive(Debug, Clone, Copy)]
pub struct StaticQuery<Q>(Q);

/// Lets a query stay prepared without a look at its parts. One whose SQL does not follow from its
/// type does not compile.
pub fn static_query<Q: QueryId>(query: Q) -> StaticQuery<Q> {
    const {
        assert!(
            Q::HAS_STATIC_QUERY_ID,
            "the SQL of this query does not follow from its type"
        )
    };
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

/// An update that stays prepared; made by [`static_update`].
#[derive(Debug, Clone, Copy)]
pub struct StaticUpdate<Id, Table, Filter, Changes> {
    table: Table,
    filter: Filter,
    changes: Changes,
    id: PhantomData<Id>,
}

/// Updates the rows of a table that pass a filter, by a statement that stays prepared. diesel's own
/// update is prepared at each execution, since changes may leave out columns: the SQL of these must
/// be the same whatever the values are, and `Id` is a type that belongs to this update alone.
pub fn static_update<
    Id: 'static,
    Table: QuerySource,
    Filter,
    Changes: AsChangeset<Target = Table>,
>(
    table: Table,
    filter: Filter,
    changes: Changes,
) -> StaticUpdate<Id, Table::FromClause, Filter, Changes::Changeset> {
    StaticUpdate {
        table: table.from_clause(),
        filter,
        changes: changes.as_changeset(),
        id: PhantomData,
    }
}

impl<Id: 'static, Table, Filter, Changes> QueryId for StaticUpdate<Id, Table, Filter, Changes> {
    type QueryId = Id;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<DB, Id, Table, Filter, Changes> QueryFragment<DB> for StaticUpdate<Id, Table, Filter, Changes>
where
    DB: Backend,
    Table: QueryFragment<DB>,
    Filter: QueryFragment<DB>,
    Changes: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("UPDATE ");
        self.table.walk_ast(out.reborrow())?;
        out.push_sql(" SET ");
        self.changes.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        self.filter.walk_ast(out)
    }
}

impl<Id, Table, Filter, Changes, Connection> RunQueryDsl<Connection>
    for StaticUpdate<Id, Table, Filter, Changes>
{
}
