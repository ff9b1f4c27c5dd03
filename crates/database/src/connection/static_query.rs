//! Queries whose SQL is determined by their type.
//!
//! Before each execution diesel walks through a query to check whether it may stay prepared. A
//! static query always may, and this walk takes longer than finding the prepared statement if a row
//! has many columns. On SQLite only queries that return rows benefit: for other statements diesel
//! still walks through the query.

use std::marker::PhantomData;

use diesel::backend::Backend;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A query that stays prepared. Made by [`static_query`].
#[derive(Debug, Clone, Copy)]
pub struct StaticQuery<Q>(Q);

/// Makes a query stay prepared without a check at each execution. Does not compile for a query
/// whose SQL is not determined by its type.
pub fn static_query<Q: QueryId>(query: Q) -> StaticQuery<Q> {
    const {
        assert!(
            Q::HAS_STATIC_QUERY_ID,
            "the SQL of this query does not follow from its type"
        );
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

/// An update that stays prepared. Made by [`static_update`].
#[derive(Debug, Clone, Copy)]
pub struct StaticUpdate<Id, Table, Filter, Changes> {
    table: Table,
    filter: Filter,
    changes: Changes,
    id: PhantomData<Id>,
}

/// Updates the filtered rows of a table with a statement that stays prepared. diesel prepares its
/// own updates at each execution, since changes may omit columns. Here the SQL of the changes must
/// not depend on the values, and `Id` must be a type that only this update uses.
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
