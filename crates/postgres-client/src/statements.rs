//! Statements with their parameters, ready to be sent.

use std::error::Error;
use std::fmt;

use diesel::pg::{Pg, PgMetadataLookup, PgTypeMetadata};
use diesel::query_builder::bind_collector::RawBytesBindCollector;
use diesel::query_builder::{QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use tokio_postgres::Statement;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type};

/// A parameter in the server's binary form.
pub(crate) struct Parameter(Option<Vec<u8>>);

impl fmt::Debug for Parameter {
    /// Omits the value: tokio-postgres logs parameters at verbose log levels, and they are personal
    /// data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("_")
    }
}

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(
        &self,
        known: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.to_sql(known, out)
    }
}

/// Whether a statement is prepared.
pub(crate) enum Form {
    /// Prepared on the server.
    Prepared(Statement),
    /// Sent as text with each execution.
    Text(String),
}

/// A statement with its parameters.
pub(crate) struct BoundStatement {
    pub(crate) form: Form,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) types: Vec<Type>,
}

impl BoundStatement {
    /// The parameters with their types.
    pub(crate) fn typed(&self) -> impl Iterator<Item = (&(dyn ToSql + Sync), Type)> {
        self.parameters
            .iter()
            .map(|parameter| parameter as &(dyn ToSql + Sync))
            .zip(self.types.iter().cloned())
    }
}

/// Collects the parameters of a query and their types.
pub(crate) fn parameters<T>(
    query: &T,
    lookup: &mut (dyn PgMetadataLookup + 'static),
) -> QueryResult<(Vec<Parameter>, Vec<Type>)>
where
    T: QueryFragment<Pg> + QueryId,
{
    let mut collector = RawBytesBindCollector::<Pg>::new();
    query.collect_binds(&mut collector, lookup, &Pg)?;
    let types = collector
        .metadata
        .iter()
        .map(type_of)
        .collect::<QueryResult<_>>()?;
    Ok((collector.binds.into_iter().map(Parameter).collect(), types))
}

/// The type of a parameter. `Err` if diesel has not found its OID.
fn type_of(metadata: &PgTypeMetadata) -> QueryResult<Type> {
    let oid = metadata
        .oid()
        .map_err(|error| DieselError::SerializationError(Box::new(error)))?;
    // tokio-postgres knows only the built-in types. Only the OID is sent to the server.
    let unknown = || {
        Type::new(
            format!("type {oid}"),
            oid,
            Kind::Simple,
            "public".to_owned(),
        )
    };
    Ok(Type::from_oid(oid).unwrap_or_else(unknown))
}
