//! Adapts rows of tokio-postgres to diesel.

use std::error::Error;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use diesel::backend::Backend;
use diesel::pg::{Pg, PgValue, TypeOidLookup};
use diesel::result::QueryResult;
use diesel::row::{Field, PartialRow, Row, RowIndex, RowSealed};
use tokio_postgres::types::{FromSql, Type};

/// The rows of a result.
#[derive(Debug)]
pub struct Rows {
    rows: IntoIter<tokio_postgres::Row>,
    columns: Arc<[ColumnType]>,
}

impl Rows {
    /// The rows of one result, which all have the same columns.
    pub(crate) fn new(rows: Vec<tokio_postgres::Row>) -> Self {
        let types = |row: &tokio_postgres::Row| {
            row.columns()
                .iter()
                .map(|column| ColumnType::from_type(column.type_()))
                .collect()
        };
        let columns = rows.first().map(types).unwrap_or_default();
        Self {
            rows: rows.into_iter(),
            columns,
        }
    }
}

impl Iterator for Rows {
    type Item = QueryResult<PostgresRow>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(Ok(PostgresRow {
            row: self.rows.next()?,
            columns: Arc::clone(&self.columns),
        }))
    }
}

/// One row.
#[derive(Debug)]
pub struct PostgresRow {
    row: tokio_postgres::Row,
    columns: Arc<[ColumnType]>,
}

/// The OID of a column's type.
#[derive(Debug)]
struct ColumnType(NonZeroU32);

impl ColumnType {
    /// The OID of a type.
    fn from_type(known: &Type) -> Self {
        // No type has the OID 0 or 1.
        Self(NonZeroU32::new(known.oid()).unwrap_or(NonZeroU32::MIN))
    }
}

impl TypeOidLookup for ColumnType {
    fn lookup(&self) -> NonZeroU32 {
        self.0
    }
}

impl RowSealed for PostgresRow {}

impl RowIndex<usize> for PostgresRow {
    fn idx(&self, index: usize) -> Option<usize> {
        (index < self.columns.len()).then_some(index)
    }
}

impl<'a> RowIndex<&'a str> for PostgresRow {
    fn idx(&self, name: &'a str) -> Option<usize> {
        self.row
            .columns()
            .iter()
            .position(|column| column.name() == name)
    }
}

impl<'a> Row<'a, Pg> for PostgresRow {
    type InnerPartialRow = Self;
    type Field<'b>
        = PostgresField<'b>
    where
        Self: 'b,
        'a: 'b;

    fn field_count(&self) -> usize {
        self.columns.len()
    }

    fn get<'b, I>(&'b self, index: I) -> Option<Self::Field<'b>>
    where
        'a: 'b,
        Self: RowIndex<I>,
    {
        let index = self.idx(index)?;
        Some(PostgresField {
            row: &self.row,
            index,
            column: self.columns.get(index)?,
        })
    }

    fn partial_row(&self, range: Range<usize>) -> PartialRow<'_, Self::InnerPartialRow> {
        PartialRow::new(self, range)
    }
}

/// One value of a row.
#[derive(Debug)]
pub struct PostgresField<'a> {
    row: &'a tokio_postgres::Row,
    index: usize,
    column: &'a ColumnType,
}

impl<'a> Field<'a, Pg> for PostgresField<'a> {
    fn field_name(&self) -> Option<&str> {
        self.row
            .columns()
            .get(self.index)
            .map(tokio_postgres::Column::name)
    }

    fn value(&self) -> Option<<Pg as Backend>::RawValue<'_>> {
        value_bytes(self.row, self.index).map(|bytes| PgValue::new(bytes, self.column))
    }
}

/// A value of a row in the server's binary form; `None` for a null.
pub(crate) fn value_bytes(row: &tokio_postgres::Row, index: usize) -> Option<&[u8]> {
    let Bytes(bytes) = row.try_get(index).ok()?;
    bytes
}

/// A value in the server's binary form; `None` for a null.
struct Bytes<'a>(Option<&'a [u8]>);

impl<'a> FromSql<'a> for Bytes<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
