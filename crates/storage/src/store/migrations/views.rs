//! Views over the documents, for whoever looks into the database: the fields of trainees, placements and degrees as columns.
//!
//! They follow from the dictionary, so they are made anew by each migration of the schema.

use std::fmt::Write as _;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use domain::record::Record;
use domain::{Degree, Kind, Placement, RecordField as _, Trainee};

use crate::connection::DatabaseConnection;
use crate::error::StorageError;

/// The views, each with the list of the document that it shows; the first shows the trainees themselves.
const VIEWS: [&str; 3] = ["trainee_fields", "placement_fields", "degree_fields"];

/// Removes the views.
pub(super) const REMOVE_SQL: &str = "DROP VIEW IF EXISTS trainee_fields; DROP VIEW IF EXISTS placement_fields; \
                                     DROP VIEW IF EXISTS degree_fields";

/// Makes the views, in place of those that exist.
pub(super) fn make(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    connection.batch_execute(REMOVE_SQL)?;
    let is_sqlite = connection.either(false, true);
    let [trainees, placements, degrees] = VIEWS;
    let sql = if is_sqlite {
        [
            format!("CREATE VIEW {trainees} AS SELECT id, provider_id{} FROM trainees", sqlite::<Trainee>("record")),
            nested(placements, &sqlite::<Placement>("item.value"), "json_each(trainees.record, '$.placements') item"),
            nested(degrees, &sqlite::<Degree>("item.value"), "json_each(trainees.record, '$.degrees') item"),
        ]
    } else {
        [
            format!("CREATE VIEW {trainees} AS SELECT id, provider_id{} FROM trainees", postgres::<Trainee>("record")),
            nested(placements, &postgres::<Placement>("item"), "json_array_elements(record -> 'placements') item"),
            nested(degrees, &postgres::<Degree>("item"), "json_array_elements(record -> 'degrees') item"),
        ]
    };
    Ok(connection.batch_execute(&sql.join(";\n"))?)
}

/// Whether the views show the fields of this program, in their types.
pub(super) fn are_current(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let [trainees, placements, degrees] = VIEWS;
    Ok(is_current::<Trainee>(connection, trainees, "id")?
        && is_current::<Placement>(connection, placements, "trainee_key")?
        && is_current::<Degree>(connection, degrees, "trainee_key")?)
}

fn is_current<R: Record>(connection: &mut DatabaseConnection, view: &str, key: &str) -> Result<bool, StorageError> {
    // What SQLite shows of a document has no type.
    let typed = connection.either(true, false);
    let shown =
        |name: &str, cast: &'static str| if typed { format!("{name} {}", type_name(cast)) } else { name.to_owned() };
    let keys = [key, "provider_id"].map(|name| shown(name, "::bigint"));
    let expected: Vec<String> =
        keys.into_iter().chain(fields::<R>().map(|(name, kind)| shown(name, cast(kind)))).collect();
    let sql = connection.either(
        "SELECT column_name || ' ' || data_type AS name FROM information_schema.columns \
         WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position",
        "SELECT name FROM pragma_table_info(?) ORDER BY cid",
    );
    let found = match connection {
        DatabaseConnection::Postgres(inner) => diesel::sql_query(sql).bind::<Text, _>(view).load::<Column>(inner)?,
        DatabaseConnection::Sqlite(inner) => diesel::sql_query(sql).bind::<Text, _>(view).load::<Column>(inner)?,
    };
    Ok(found.into_iter().map(|column| column.name).eq(expected))
}

#[derive(QueryableByName)]
struct Column {
    #[diesel(sql_type = Text)]
    name: String,
}

fn nested(view: &str, columns: &str, items: &str) -> String {
    format!(
        "CREATE VIEW {view} AS SELECT trainees.id AS trainee_key, trainees.provider_id{columns} FROM trainees, {items}"
    )
}

/// The stored fields of a record, with their kinds.
fn fields<R: Record>() -> impl Iterator<Item = (&'static str, Kind)> {
    let stored = R::Field::ALL.iter().filter(|field| field.is_stored());
    stored.map(|field| (field.info().name, field.info().kind)).filter(|(_, kind)| *kind != Kind::Records)
}

fn sqlite<R: Record>(json: &str) -> String {
    fields::<R>().fold(String::new(), |mut columns, (name, _)| {
        let _ = write!(columns, ", {json} ->> '$.{name}' AS {name}");
        columns
    })
}

fn postgres<R: Record>(json: &str) -> String {
    fields::<R>().fold(String::new(), |mut columns, (name, kind)| {
        let cast = cast(kind);
        let _ = write!(columns, ", ({json} ->> '{name}'){cast} AS {name}");
        columns
    })
}

/// How PostgreSQL is to read a value of a document.
fn cast(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer | Kind::Year => "::bigint",
        Kind::Boolean => "::boolean",
        Kind::Date => "::date",
        Kind::Timestamp => "::timestamptz",
        Kind::Text | Kind::TextList | Kind::Document | Kind::Uuid | Kind::Records => "",
    }
}

/// What PostgreSQL calls the type of such a value.
fn type_name(cast: &'static str) -> &'static str {
    match cast {
        "" => "text",
        "::timestamptz" => "timestamp with time zone",
        other => other.trim_start_matches(':'),
    }
}
