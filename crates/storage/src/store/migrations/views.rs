//! Views over the documents, for whoever looks into the database: the fields of trainees, placements and degrees as columns.
//!
//! They follow from the dictionary, so they are made anew by each migration of the schema.

use std::fmt::Write as _;

use diesel::connection::SimpleConnection as _;
use domain::dictionary::Record;
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
        let cast = match kind {
            Kind::Integer | Kind::Year => "::bigint",
            Kind::Flag => "::boolean",
            Kind::Date => "::date",
            Kind::Moment => "::timestamptz",
            Kind::Text | Kind::Texts | Kind::Document | Kind::Uuid | Kind::Records => "",
        };
        let _ = write!(columns, ", ({json} ->> '{name}'){cast} AS {name}");
        columns
    })
}
