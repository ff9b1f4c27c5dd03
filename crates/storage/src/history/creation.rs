//! A trainee and the entry of its creation in one statement of PostgreSQL.
//!
//! Each statement costs the server a message, a snapshot and a plan; and the entry needs the key of the row before it.

use chrono::NaiveDateTime;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};
use postgres_client::PostgresConnection;

use super::{CREATION, Cause};

/// Inserts a trainee, and the entry that it was created.
#[derive(Debug, QueryId)]
pub(crate) struct InsertWithEntry<T> {
    /// The `INSERT` of one trainee.
    trainee: T,
    changed_at: NaiveDateTime,
    token_id: Option<i64>,
    request_id: Option<String>,
    version: Option<String>,
    operation: String,
    fields: &'static str,
    changed_by: Option<String>,
}

impl<T> InsertWithEntry<T> {
    pub(crate) fn of(trainee: T, changed_at: NaiveDateTime, token_id: Option<i64>, cause: Cause<'_>) -> Self {
        Self {
            trainee,
            changed_at,
            token_id,
            request_id: cause.request_id.map(str::to_owned),
            version: cause.version.map(str::to_owned),
            operation: cause.operation.to_owned(),
            fields: CREATION,
            changed_by: cause.by.map(str::to_owned),
        }
    }
}

impl<T: QueryFragment<Pg>> QueryFragment<Pg> for InsertWithEntry<T> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH trainee AS (");
        self.trainee.walk_ast(out.reborrow())?;
        out.push_sql(
            " RETURNING id) INSERT INTO changes \
             (trainee_key, changed_at, token_id, request_id, version, operation, fields, changed_by) SELECT trainee.id, ",
        );
        out.push_bind_param::<Timestamp, _>(&self.changed_at)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.token_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Text>, _>(&self.request_id)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Text>, _>(&self.version)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(&self.operation)?;
        out.push_sql(", ");
        out.push_bind_param::<Text, _>(self.fields)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Text>, _>(&self.changed_by)?;
        out.push_sql(" FROM trainee");
        Ok(())
    }
}

impl<T> RunQueryDsl<PostgresConnection> for InsertWithEntry<T> {}
