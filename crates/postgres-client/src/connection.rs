//! The connection, as diesel uses it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Instant;

use diesel::connection::{
    AnsiTransactionManager, CacheSize, Connection, ConnectionSealed, DefaultLoadingMode, DynInstrumentation,
    Instrumentation, InstrumentationEvent, LoadConnection, MultiConnectionHelper, SimpleConnection, StrQueryHelper,
    TransactionManager as _, TransactionManagerStatus,
};
use diesel::debug_query;
use diesel::expression::QueryMetadata;
use diesel::migration::{CREATE_MIGRATIONS_TABLE, MigrationConnection};
use diesel::pg::{GetPgMetadataCache, Pg, PgMetadataCache, PgMetadataLookup, PgQueryBuilder};
use diesel::query_builder::{Query, QueryBuilder as _, QueryFragment, QueryId};
use diesel::r2d2::R2D2Connection;
use diesel::result::{ConnectionError, ConnectionResult, QueryResult};
use diesel::sql_types::TypeMetadata;
use futures_util::TryStreamExt as _;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row, Statement};

use crate::address::Address;
use crate::commit::{Boundary, Soundness, require_no_warning};
use crate::connect::{self, Node, Session};
use crate::error::{ConnectError, Failure};
use crate::expectation::{Expectation, RawRows};
use crate::row::{PostgresRow, Rows};
use crate::statements::{Bound, Form, Parameter, parameters};
use crate::wire::Wire;

/// A connection to PostgreSQL.
pub struct PostgresConnection {
    wire: Box<Wire>,
    /// The statements that the server keeps prepared. Behind a transaction pooler there are none: the next one may reach
    /// another session of the server.
    prepared: HashMap<Key, Statement>,
    traits: Traits,
    soundness: Soundness,
    /// Whether statements are deferred at the moment.
    defers: bool,
    expectation: Expectation,
    /// Whether whoever uses the connection asks at the end whether all is as expected.
    trusts: bool,
    /// The rows of the last query that was to be remembered.
    remembered: Remembered,
    transaction: AnsiTransactionManager,
    metadata: Box<PgMetadataCache>,
    instrumentation: DynInstrumentation,
}

/// What was learnt of the server when the connection was made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traits {
    pub(crate) is_read_only: bool,
    /// Whether a pooler stands between, so that the session is not this connection's own.
    pub(crate) is_pooled: bool,
    /// Settings that each transaction makes for itself, behind a pooler.
    pub(crate) local_settings: String,
}

/// What is to be remembered.
#[derive(Debug)]
enum Remembered {
    No,
    /// The rows of the next query.
    Next,
    Rows(RawRows),
}

/// By what a prepared statement is found.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// The type of a query whose text follows from it.
    Query(TypeId),
    Text(String, Vec<u32>),
}

impl PostgresConnection {
    pub(crate) fn over(wire: Wire, traits: Traits) -> Self {
        Self {
            wire: Box::new(wire),
            prepared: HashMap::new(),
            traits,
            soundness: Soundness::default(),
            defers: false,
            expectation: Expectation::default(),
            trusts: false,
            remembered: Remembered::No,
            transaction: AnsiTransactionManager::default(),
            metadata: Box::new(PgMetadataCache::new()),
            instrumentation: DynInstrumentation::none(),
        }
    }

    /// Connects to the first host that will do, beginning with the one that did last.
    ///
    /// # Errors
    ///
    /// What each host answered.
    pub fn connect(address: &Address, session: &Session, node: Node) -> Result<Self, ConnectError> {
        connect::connect(address, session, node)
    }

    /// Whether the server was a standby, or otherwise read-only, when the connection was made.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.traits.is_read_only
    }

    /// Whether the connection cannot be used any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.wire.is_lost()
    }

    /// Whether a pooler stands between this connection and the server, such as PgBouncer.
    #[must_use]
    pub fn is_pooled(&self) -> bool {
        self.traits.is_pooled
    }

    /// How often an answer of the server was waited for since the connection was made.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.wire.round_trips()
    }

    /// Until when a statement may take. What is not answered then is given up, and the connection with it.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.wire.set_deadline(deadline);
    }

    /// Defers the statements that `send` executes: each is sent together with the next one that is not deferred, before it,
    /// and a failure is that of the next one. How many rows a deferred statement changes is not known: it returns 0.
    ///
    /// # Errors
    ///
    /// Those of `send`.
    pub fn deferring<T>(&mut self, send: impl FnOnce(&mut Self) -> QueryResult<T>) -> QueryResult<T> {
        let before = std::mem::replace(&mut self.defers, true);
        let outcome = send(self);
        self.defers = before;
        outcome
    }

    /// Sends what was deferred, without waiting for the answers.
    pub fn flush(&mut self) {
        self.wire.flush();
    }

    /// Gives the connection up.
    pub fn give_up(&mut self) {
        self.wire.give_up();
    }

    /// The settings that each transaction makes for itself behind a pooler, as statements; nothing otherwise.
    #[must_use]
    pub fn local_settings(&self) -> &str {
        &self.traits.local_settings
    }

    /// Says whether [`PostgresConnection::is_as_expected`] will be asked.
    pub fn set_trusting(&mut self, trusts: bool) {
        self.trusts = trusts;
    }

    /// Whether [`PostgresConnection::expect`] may be used.
    #[must_use]
    pub fn trusts(&self) -> bool {
        self.trusts
    }

    /// Remembers the rows of the next query, for [`PostgresConnection::remembered`].
    pub fn remember_next(&mut self) {
        self.remembered = Remembered::Next;
    }

    /// The rows that were to be remembered; nothing when the query has failed.
    pub fn remembered(&mut self) -> Option<RawRows> {
        match std::mem::replace(&mut self.remembered, Remembered::No) {
            Remembered::Rows(rows) => Some(rows),
            Remembered::No | Remembered::Next => None,
        }
    }

    /// Sends a query together with the next statement, and goes on as if it had these rows. Whether it has them tells
    /// [`PostgresConnection::is_as_expected`], which must be asked before anything leaves the program that rests on them.
    ///
    /// # Errors
    ///
    /// When the query cannot be prepared.
    pub fn expect<T>(&mut self, query: &T, rows: RawRows) -> QueryResult<()>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        let bound = self.bind(query)?;
        let client = self.wire.client();
        let met = self.expectation.begin();
        self.wire.defer(async move {
            if RawRows::of(&load(&client, &bound).await?) == rows {
                met.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
        Ok(())
    }

    /// Whether every query since the last time had the rows that were expected of it.
    ///
    /// # Errors
    ///
    /// When one of them was not sent yet, and fails.
    pub fn is_as_expected(&mut self) -> QueryResult<bool> {
        if self.expectation.is_open() && !self.expectation.is_met() {
            self.wire.run(async { Ok(()) }).map_err(|failure| self.failed(failure))?;
        }
        Ok(self.expectation.end())
    }

    /// What a query is for the server: prepared, unless it cannot be.
    fn bind<T>(&mut self, query: &T) -> QueryResult<Bound>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        let (parameters, types) = parameters(query, self)?;
        let form = self.form(query, &types)?;
        Ok(Bound { form, parameters, types })
    }

    fn form<T>(&mut self, query: &T, types: &[Type]) -> QueryResult<Form>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        if self.traits.is_pooled || !query.is_safe_to_cache_prepared(&Pg)? {
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
        let client = self.wire.client();
        let prepared = self.wire.run(client.prepare_typed(&sql, types));
        self.soundness.after(Boundary::None, &prepared);
        let statement = prepared.map_err(|failure| self.failed(failure))?;
        self.prepared.insert(key, statement.clone());
        Ok(Form::Prepared(statement))
    }

    /// Takes note of a failed statement.
    fn failed(&mut self, failure: Failure) -> diesel::result::Error {
        let status = AnsiTransactionManager::transaction_manager_status_mut(self);
        if failure.is_fatal {
            status.set_in_error();
        } else if let TransactionManagerStatus::Valid(valid) = status
            && let Some(open) = valid.in_transaction.as_mut()
        {
            open.requires_rollback_maybe_up_to_top_level = true;
        }
        failure.into()
    }

    fn execute_text(&mut self, sql: &str) -> Result<(), Failure> {
        let boundary = Boundary::of(sql);
        let client = self.wire.client();
        if boundary == Boundary::Commit {
            return self.commit(sql);
        }
        let with_settings = (boundary == Boundary::Begin && !self.traits.local_settings.is_empty())
            .then(|| format!("{sql}; {}", self.traits.local_settings));
        let sql = with_settings.unwrap_or_else(|| sql.to_owned());
        if self.defers {
            if boundary == Boundary::Begin {
                self.soundness = Soundness::default();
            }
            self.wire.defer(async move { client.batch_execute(&sql).await });
            return Ok(());
        }
        let outcome = self.wire.run(client.batch_execute(&sql));
        self.soundness.after(boundary, &outcome);
        outcome
    }

    fn commit(&mut self, sql: &str) -> Result<(), Failure> {
        self.soundness.require()?;
        let client = self.wire.client();
        if self.defers {
            let sql = sql.to_owned();
            self.wire.defer(async move { client.batch_execute(&sql).await });
            return Ok(());
        }
        self.wire.take_warnings();
        let outcome = self.wire.run(client.batch_execute(sql)).map_err(Failure::of_commit);
        self.soundness.after(Boundary::Commit, &outcome);
        outcome.and_then(|()| require_no_warning(&self.wire.take_warnings()))
    }

    fn execute_bound(&mut self, bound: Bound) -> Result<usize, Failure> {
        let client = self.wire.client();
        if self.defers {
            self.wire.defer(async move { execute(&client, &bound).await.map(drop) });
            return Ok(0);
        }
        let outcome = self.wire.run(execute(&client, &bound));
        self.soundness.after(Boundary::None, &outcome);
        Ok(usize::try_from(outcome?).unwrap_or(usize::MAX))
    }

    fn load_bound(&mut self, bound: Bound) -> Result<Rows, Failure> {
        let client = self.wire.client();
        let outcome = self.wire.run(load(&client, &bound));
        self.soundness.after(Boundary::None, &outcome);
        if let (Remembered::Next, Ok(rows)) = (&self.remembered, &outcome) {
            self.remembered = Remembered::Rows(RawRows::of(rows));
        }
        outcome.map(Rows::of)
    }
}

async fn load(client: &Client, bound: &Bound) -> Result<Vec<Row>, tokio_postgres::Error> {
    let rows = match &bound.form {
        Form::Prepared(statement) => client.query_raw(statement, bound.parameters.iter().map(as_sql)).await?,
        Form::Text(sql) => client.query_typed_raw(sql, bound.typed()).await?,
    };
    rows.try_collect().await
}

fn as_sql(parameter: &Parameter) -> &(dyn tokio_postgres::types::ToSql + Sync) {
    parameter
}

async fn execute(client: &Client, bound: &Bound) -> Result<u64, tokio_postgres::Error> {
    match &bound.form {
        Form::Prepared(statement) => client.execute_raw(statement, bound.parameters.iter().map(as_sql)).await,
        Form::Text(sql) => {
            let typed: Vec<_> = bound.typed().collect();
            client.execute_typed(sql, &typed).await
        }
    }
}

fn text(query: &impl QueryFragment<Pg>) -> QueryResult<String> {
    let mut builder = PgQueryBuilder::default();
    query.to_sql(&mut builder, &Pg)?;
    Ok(builder.finish())
}

impl fmt::Debug for PostgresConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PostgresConnection").field("traits", &self.traits).finish_non_exhaustive()
    }
}

impl SimpleConnection for PostgresConnection {
    fn batch_execute(&mut self, sql: &str) -> QueryResult<()> {
        self.instrumentation.on_connection_event(InstrumentationEvent::start_query(&StrQueryHelper::new(sql)));
        let outcome = self.execute_text(sql).map_err(|failure| self.failed(failure));
        let error = outcome.as_ref().err();
        self.instrumentation.on_connection_event(InstrumentationEvent::finish_query(&StrQueryHelper::new(sql), error));
        outcome
    }
}

impl ConnectionSealed for PostgresConnection {}

impl Connection for PostgresConnection {
    type Backend = Pg;
    type TransactionManager = AnsiTransactionManager;

    /// Connects to any host of the address, with the settings of the server.
    fn establish(url: &str) -> ConnectionResult<Self> {
        let address = url.parse::<Address>().map_err(|error| ConnectionError::BadConnection(error.to_string()))?;
        Self::connect(&address, &Session::default(), Node::Any)
            .map_err(|error| ConnectionError::BadConnection(error.to_string()))
    }

    fn execute_returning_count<T>(&mut self, source: &T) -> QueryResult<usize>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        self.instrumentation.on_connection_event(InstrumentationEvent::start_query(&debug_query::<Pg, _>(source)));
        let outcome =
            self.bind(source).and_then(|bound| self.execute_bound(bound).map_err(|failure| self.failed(failure)));
        let error = outcome.as_ref().err();
        self.instrumentation
            .on_connection_event(InstrumentationEvent::finish_query(&debug_query::<Pg, _>(source), error));
        outcome
    }

    fn transaction_state(&mut self) -> &mut AnsiTransactionManager {
        &mut self.transaction
    }

    fn instrumentation(&mut self) -> &mut dyn Instrumentation {
        &mut *self.instrumentation
    }

    fn set_instrumentation(&mut self, instrumentation: impl Instrumentation) {
        self.instrumentation = instrumentation.into();
    }

    fn set_prepared_statement_cache_size(&mut self, _: CacheSize) {}
}

impl LoadConnection<DefaultLoadingMode> for PostgresConnection {
    type Cursor<'conn, 'query> = Rows;
    type Row<'conn, 'query> = PostgresRow;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> QueryResult<Rows>
    where
        T: Query + QueryFragment<Pg> + QueryId + 'query,
        Pg: QueryMetadata<T::SqlType>,
    {
        self.instrumentation.on_connection_event(InstrumentationEvent::start_query(&debug_query::<Pg, _>(&source)));
        let outcome =
            self.bind(&source).and_then(|bound| self.load_bound(bound).map_err(|failure| self.failed(failure)));
        let error = outcome.as_ref().err();
        self.instrumentation
            .on_connection_event(InstrumentationEvent::finish_query(&debug_query::<Pg, _>(&source), error));
        outcome
    }
}

impl GetPgMetadataCache for PostgresConnection {
    fn get_metadata_cache(&mut self) -> &mut PgMetadataCache {
        &mut self.metadata
    }
}

impl MigrationConnection for PostgresConnection {
    fn setup(&mut self) -> QueryResult<usize> {
        self.batch_execute(CREATE_MIGRATIONS_TABLE).map(|()| 0)
    }
}

impl R2D2Connection for PostgresConnection {
    fn ping(&mut self) -> QueryResult<()> {
        self.batch_execute("SELECT 1")
    }

    fn is_broken(&mut self) -> bool {
        self.is_lost() || AnsiTransactionManager::is_broken_transaction_manager(self)
    }
}

impl MultiConnectionHelper for PostgresConnection {
    fn to_any<'a>(lookup: &mut <Pg as TypeMetadata>::MetadataLookup) -> &mut (dyn Any + 'a) {
        lookup.as_any()
    }

    fn from_any(lookup: &mut dyn Any) -> Option<&mut <Pg as TypeMetadata>::MetadataLookup> {
        lookup.downcast_mut::<Self>().map(|connection| connection as &mut dyn PgMetadataLookup)
    }
}
