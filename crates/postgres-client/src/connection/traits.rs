//! Implementations of diesel's traits for a connection.

use std::any::Any;

use diesel::connection::{
    AnsiTransactionManager, CacheSize, Connection, ConnectionSealed, DefaultLoadingMode,
    Instrumentation, InstrumentationEvent, LoadConnection, MultiConnectionHelper, SimpleConnection,
    StrQueryHelper, TransactionManager as _,
};
use diesel::expression::QueryMetadata;
use diesel::migration::{CREATE_MIGRATIONS_TABLE, MigrationConnection};
use diesel::pg::{GetPgMetadataCache, Pg, PgMetadataCache, PgMetadataLookup};
use diesel::query_builder::{Query, QueryFragment, QueryId};
use diesel::r2d2::R2D2Connection;
use diesel::result::{ConnectionError, ConnectionResult, QueryResult};
use diesel::sql_types::TypeMetadata;

use super::PostgresConnection;
use crate::address::Address;
use crate::connect::{Node, Session};
use crate::row::{PostgresRow, Rows};

impl SimpleConnection for PostgresConnection {
    fn batch_execute(&mut self, sql: &str) -> QueryResult<()> {
        self.instrumentation
            .on_connection_event(InstrumentationEvent::start_query(&StrQueryHelper::new(sql)));
        let outcome = self
            .execute_text(sql)
            .map_err(|failure| self.failed(failure));
        let error = outcome.as_ref().err();
        self.instrumentation
            .on_connection_event(InstrumentationEvent::finish_query(
                &StrQueryHelper::new(sql),
                error,
            ));
        outcome
    }
}

impl ConnectionSealed for PostgresConnection {}

impl Connection for PostgresConnection {
    type Backend = Pg;
    type TransactionManager = AnsiTransactionManager;

    /// Connects to any host of the address, with default settings.
    fn establish(url: &str) -> ConnectionResult<Self> {
        let address = url
            .parse::<Address>()
            .map_err(|error| ConnectionError::BadConnection(error.to_string()))?;
        Self::connect(&address, &Session::default(), Node::Any)
            .map_err(|error| ConnectionError::BadConnection(error.to_string()))
    }

    fn execute_returning_count<T>(&mut self, source: &T) -> QueryResult<usize>
    where
        T: QueryFragment<Pg> + QueryId,
    {
        self.reporting(source, |connection| {
            let bound = connection.bind(source)?;
            connection
                .execute_bound(bound)
                .map_err(|failure| connection.failed(failure))
        })
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
        self.reporting(&source, |connection| {
            let bound = connection.bind(&source)?;
            connection
                .load_bound(bound)
                .map_err(|failure| connection.failed(failure))
        })
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
        self.is_closed() || AnsiTransactionManager::is_broken_transaction_manager(self)
    }
}

impl MultiConnectionHelper for PostgresConnection {
    fn to_any<'a>(lookup: &mut <Pg as TypeMetadata>::MetadataLookup) -> &mut (dyn Any + 'a) {
        lookup.as_any()
    }

    fn from_any(lookup: &mut dyn Any) -> Option<&mut <Pg as TypeMetadata>::MetadataLookup> {
        lookup
            .downcast_mut::<Self>()
            .map(|connection| connection as &mut dyn PgMetadataLookup)
    }
}
