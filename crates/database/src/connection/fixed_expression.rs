//! Expressions with fixed SQL. Each has its own type, so statements with such expressions stay
//! prepared; statements with `sql(..)` do not.

/// Declares expressions, each with its SQL type and its SQL on PostgreSQL and on SQLite. Without
/// SQL for SQLite, an expression compiles for PostgreSQL only.
#[macro_export]
macro_rules! fixed_expressions {
    ($($(#[doc = $doc:literal])+ $visibility:vis $name:ident: $type:ty = $postgres:expr $(, sqlite: $sqlite:expr)?;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, diesel::query_builder::QueryId)]
        $visibility struct $name;

        impl diesel::expression::Expression for $name {
            type SqlType = $type;
        }

        impl<Source> diesel::AppearsOnTable<Source> for $name {}

        impl<Source> diesel::SelectableExpression<Source> for $name {}

        impl diesel::expression::ValidGrouping<()> for $name {
            type IsAggregate = diesel::expression::is_aggregate::Never;
        }

        $crate::fixed_sql!($name, diesel::pg::Pg, $postgres);
        $($crate::fixed_sql!($name, diesel::sqlite::Sqlite, $sqlite);)?
    )+};
}

/// The SQL of an expression on one database.
#[doc(hidden)]
#[macro_export]
macro_rules! fixed_sql {
    ($name:ident, $backend:ty, $sql:expr) => {
        impl diesel::query_builder::QueryFragment<$backend> for $name {
            fn walk_ast<'b>(
                &'b self,
                mut out: diesel::query_builder::AstPass<'_, 'b, $backend>,
            ) -> diesel::QueryResult<()> {
                out.push_sql($sql);
                Ok(())
            }
        }
    };
}

pub use {fixed_expressions, fixed_sql};
