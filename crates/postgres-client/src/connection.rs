//! The connection: sends and defers statements.
//!
//! **A failed BEGIN never leads to a write.** The connection pipelines statements as separate
//! message groups. PostgreSQL would therefore run the statements behind a failed BEGIN, each as its
//! own transaction. Three rules prevent this:
//!
//! - BEGIN of a writing transaction is pipelined only if the server refuses all writes outside
//!   transactions that were begun with `READ WRITE`
//!   ([`crate::Session::writes_only_in_transactions`]). Otherwise, and always behind a pooler, the
//!   connection waits for the answer to BEGIN ([`PostgresConnection::before_writes`]). The same holds
//!   for each statement that fails if the transaction has ended unseen.
//! - If BEGIN fails, its error is reported, not the results of later statements.
//! - If a deferred BEGIN, COMMIT or ROLLBACK fails, the connection is closed, because the state of
//!   its transaction is unknown.
//!
//! A job whose BEGIN has failed has therefore changed nothing and can be run again.

mod traits;

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::time::Instant;

use diesel::connection::{
    AnsiTransactionManager, DynInstrumentation, InstrumentationEvent, TransactionManager as _,
    TransactionManagerStatus,
};
use diesel::debug_query;
use diesel::pg::{Pg, PgMetadataCache, PgQueryBuilder};
use diesel::query_builder::{QueryBuilder as _, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use futures_util::TryStreamExt as _;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row, Statement};

use crate::commit::{StatementKind, TransactionStatus, require_no_warning};
use crate::error::PostgresError;
use crate::row::Rows;
use crate::statements::{BoundStatement, Form, Parameter, parameters};
use crate::transport::Transport;

/// A connection to PostgreSQL.
pub struct PostgresConnection {
    transport: Box<Transport>,
    /// Prepared statements. Empty behind a pooler: the next statement may run in another session of
    /// the server.
    prepared: HashMap<Key, Statement>,
    server: ServerInfo,
    status: TransactionStatus,
    /// Whether executed statements are deferred, see [`PostgresConnection::deferring`].
    defers: bool,
    /// The number of executed statements, without queries.
    executed: u64,
    transaction: AnsiTransactionManager,
    metadata: Box<PgMetadataCache>,
    instrumentation: DynInstrumentation,
}

/// Properties of the server, read when the connection was made.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerInfo {
    pub(crate) is_read_only: bool,
    /// Whether a pooler is in between. Transactions may then run in different sessions of the
    /// server.
    pub(crate) is_pooled: bool,
    /// Whether the server refuses writes outside transactions that were begun with `READ WRITE`.
    pub(crate) writes_only_in_transactions: bool,
    /// The encoding of the database, as PostgreSQL names it.
    pub(crate) encoding: String,
    /// Statements that apply the settings in each transaction behind a pooler; empty otherwise.
    pub(crate) local_settings: String,
}

/// The most statements that are deferred at once.
const MAX_DEFERRED: usize = 64;

/// The key of a prepared statement.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// The type of a query that always has the same text.
    Query(TypeId),
    /// The text of a query, and the types of its parameters.
    Text(String, Vec<u32>),
}

impl PostgresConnection {
    /// A connection over an open transport, before its first statement.
    pub(crate) fn new(transport: Transport, server: ServerInfo) -> Self {
        Self {
            transport: Box::new(transport),
            prepared: HashMap::new(),
            server,
            status: TransactionStatus::default(),
            defers: false,
            executed: 0,
            transaction: AnsiTransactionManager::default(),
            metadata: Box::new(PgMetadataCache::new()),
            instrumentation: DynInstrumentation::default_instrumentation(),
        }
    }

    /// Whether the server was a standby, or otherwise read-only, when the connection was made.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.server.is_read_only
    }

    /// Whether the connection was closed or lost. It must then be dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.transport.is_closed()
    }

    /// Whether a pooler, such as PgBouncer, is between this connection and the server.
    #[must_use]
    pub fn is_pooled(&self) -> bool {
        self.server.is_pooled
    }

    /// The encoding of the database, as PostgreSQL names it, such as `UTF8`.
    #[must_use]
    pub fn encoding(&self) -> &str {
        &self.server.encoding
    }

    /// The number of round trips since the connection was made.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.transport.round_trips()
    }

    /// The number of statements executed since the connection was made, without queries and
    /// including deferred statements.
    #[must_use]
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Sets the deadline for answers. A statement without an answer at that time fails, and the
    /// connection is closed.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.transport.set_deadline(deadline);
    }

    /// Defers the statements that `send` executes. They are sent, in order, together with the next
    /// statement that is not deferred, which reports their failure. A deferred statement returns 0
    /// as the number of changed rows.
    ///
    /// # Errors
    ///
    /// The errors of `send`.
    pub fn deferring<T>(
        &mut self,
        send: impl FnOnce(&mut Self) -> QueryResult<T>,
    ) -> QueryResult<T> {
        let before = std::mem::replace(&mut self.defers, true);
        let outcome = send(self);
        self.defers = before;
        outcome
    }

    /// Sends statements that must succeed before a statement may write: a BEGIN with `READ WRITE`,
    /// or one that fails outside a transaction.
    ///
    /// The statements are deferred if the server refuses writes outside such transactions.
    /// Otherwise this waits for their answer, and a failure closes the connection.
    ///
    /// # Errors
    ///
    /// The errors of `send`.
    pub fn before_writes<T>(
        &mut self,
        send: impl FnOnce(&mut Self) -> QueryResult<T>,
    ) -> QueryResult<T> {
        if self.server.writes_only_in_transactions {
            return self.deferring(send);
        }
        send(self).inspect_err(|_| self.close())
    }

    /// Sends the deferred statements without waiting for the answers.
    pub fn flush(&mut self) {
        self.transport.flush();
    }

    /// Marks the connection as closed. Later statements fail.
    pub fn close(&mut self) {
        self.transport.close();
    }

    /// The statements that apply the settings in each transaction behind a pooler; empty otherwise.
    #[must_use]
    pub fn local_settings(&self) -> &str {
        &self.server.local_settings
    }

    /// Sends a query, and reports its start and end to the instrumentation of the connection. For a
    /// deferred statement, these are the start and end of sending.
    fn reporting<T, R>(
        &mut self,
        query: &T,
        send: impl FnOnce(&mut Self) -> QueryResult<R>,
    ) -> QueryResult<R>
    where
        T: QueryFragment<Pg>,
    {
        self.instrumentation
            .on_connection_event(InstrumentationEvent::start_query(&debug_query::<Pg, _>(
                query,
            )));
        let outcome = send(self);
        let error = outcome.as_ref().err();
        self.instrumentation
            .on_connection_event(InstrumentationEvent::finish_query(
                &debug_query::<Pg, _>(query),
                error,
            ));
        outcome
    }

    /// Collects the parameters of a query, and prepares the query if possible.
    fn bind<T>(&mut self, query: &T) -> QueryResult<BoundStatement>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        let (parameters, types) = parameters(query, self)?;
        let form = self.form(query, &types)?;
        Ok(BoundStatement {
            form,
            parameters,
            types,
        })
    }

    /// Prepares a query, unless it is prepared already. Returns the text of the query behind a
    /// pooler, and for a query that must not stay prepared.
    fn form<T>(&mut self, query: &T, types: &[Type]) -> QueryResult<Form>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        if self.server.is_pooled || !query.is_safe_to_cache_prepared(&Pg)? {
            return Ok(Form::Text(text(query)?));
        }
        let key = match T::query_id() {
            Some(id) => Key::Query(id),
            None => Key::Text(text(query)?, types.iter().map(Type::oid).collect()),
        };
        if let Some(statement) = self.prepared.get(&key) {
            return Ok(Form::Prepared(statement.clone()));
        }
        let sql = match &key {
            Key::Query(_) => text(query)?,
            Key::Text(sql, _) => sql.clone(),
        };
        let client = self.transport.client();
        let prepared = self.transport.run(client.prepare_typed(&sql, types));
        self.status.after(StatementKind::Other, &prepared);
        let statement = prepared.map_err(|failure| self.failed(failure))?;
        self.instrumentation
            .on_connection_event(InstrumentationEvent::cache_query(&sql));
        self.prepared.insert(key, statement.clone());
        Ok(Form::Prepared(statement))
    }

    /// Marks the transaction as failed, and converts the error.
    fn failed(&mut self, failure: PostgresError) -> DieselError {
        let status = AnsiTransactionManager::transaction_manager_status_mut(self);
        if failure.must_close {
            status.set_in_error();
        } else if let TransactionManagerStatus::Valid(valid) = status
            && let Some(open) = valid.in_transaction.as_mut()
        {
            open.requires_rollback_maybe_up_to_top_level = true;
        }
        failure.into()
    }

    /// Executes statements without parameters. Deferred ones must begin or end a transaction.
    fn execute_text(&mut self, sql: &str) -> Result<(), PostgresError> {
        self.executed += 1;
        let kind = StatementKind::from_sql(sql);
        let client = self.transport.client();
        if kind == StatementKind::Commit {
            return self.commit(sql);
        }
        // Behind a pooler, each transaction applies the settings.
        let with_settings = (kind == StatementKind::Begin
            && !self.server.local_settings.is_empty())
        .then(|| format!("{sql}; {}", self.server.local_settings));
        let sql = with_settings.unwrap_or_else(|| sql.to_owned());
        if self.defers {
            if kind == StatementKind::Begin {
                // If BEGIN fails, the connection is closed.
                self.status = TransactionStatus::default();
            }
            self.transport
                .defer_boundary(async move { client.batch_execute(&sql).await });
            return Ok(());
        }
        let outcome = self.transport.run(client.batch_execute(&sql));
        self.status.after(kind, &outcome);
        outcome
    }

    /// Executes a COMMIT. Fails if the transaction has failed, and unless the answer makes certain
    /// that the transaction was committed.
    fn commit(&mut self, sql: &str) -> Result<(), PostgresError> {
        self.status.require()?;
        let client = self.transport.client();
        if self.defers {
            let sql = sql.to_owned();
            self.transport
                .defer_boundary(async move { client.batch_execute(&sql).await });
            return Ok(());
        }
        self.transport.take_warnings();
        let outcome = self
            .transport
            .run(client.batch_execute(sql))
            .map_err(PostgresError::into_commit_failure);
        self.status.after(StatementKind::Commit, &outcome);
        outcome.and_then(|()| require_no_warning(&self.transport.take_warnings()))
    }

    /// Executes a statement. Returns the number of changed rows; 0 for a deferred statement. A
    /// statement is not deferred if [`MAX_DEFERRED`] others are: each takes some kilobytes.
    fn execute_bound(&mut self, bound: BoundStatement) -> Result<usize, PostgresError> {
        self.executed += 1;
        let client = self.transport.client();
        if self.defers && self.transport.deferred() < MAX_DEFERRED {
            self.transport
                .defer(async move { execute(&client, &bound).await.map(drop) });
            return Ok(0);
        }
        let outcome = self.transport.run(execute(&client, &bound));
        self.status.after(StatementKind::Other, &outcome);
        Ok(usize::try_from(outcome?).unwrap_or(usize::MAX))
    }

    /// Runs a query and waits for its rows.
    fn load_bound(&mut self, bound: BoundStatement) -> Result<Rows, PostgresError> {
        let client = self.transport.client();
        let outcome = self.transport.run(load(&client, &bound));
        self.status.after(StatementKind::Other, &outcome);
        outcome.map(Rows::new)
    }
}

/// Sends a query and receives its rows.
async fn load(client: &Client, bound: &BoundStatement) -> Result<Vec<Row>, tokio_postgres::Error> {
    let rows = match &bound.form {
        Form::Prepared(statement) => {
            client
                .query_raw(statement, bound.parameters.iter().map(as_sql))
                .await?
        }
        Form::Text(sql) => client.query_typed_raw(sql, bound.typed()).await?,
    };
    rows.try_collect().await
}

/// The parameter as a trait object, which tokio-postgres expects.
fn as_sql(parameter: &Parameter) -> &(dyn tokio_postgres::types::ToSql + Sync) {
    parameter
}

/// Sends a statement and receives the number of changed rows.
async fn execute(client: &Client, bound: &BoundStatement) -> Result<u64, tokio_postgres::Error> {
    match &bound.form {
        Form::Prepared(statement) => {
            client
                .execute_raw(statement, bound.parameters.iter().map(as_sql))
                .await
        }
        Form::Text(sql) => {
            let typed: Vec<_> = bound.typed().collect();
            client.execute_typed(sql, &typed).await
        }
    }
}

/// The SQL of a query.
fn text(query: &impl QueryFragment<Pg>) -> QueryResult<String> {
    let mut builder = PgQueryBuilder::default();
    query.to_sql(&mut builder, &Pg)?;
    Ok(builder.finish())
}

impl fmt::Debug for PostgresConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresConnection")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
