//! How a database would carry out a statement.

use diesel::SqliteConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use postgres_client::PostgresConnection;
use test_support::{Database, Kind};

/// Tables that grow with the trainees, or with the days.
pub(super) const GROWING: [&str; 6] = [
    "trainees",
    "placement_schools",
    "changes",
    "replies",
    "requests",
    "request_totals",
];

#[derive(QueryableByName)]
struct SqliteLine {
    #[diesel(sql_type = Text)]
    detail: String,
}

#[derive(QueryableByName)]
struct PostgresLine {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    line: String,
}

/// Asks a database for its plans.
pub(super) enum Explainer {
    Sqlite(SqliteConnection),
    Postgres(PostgresConnection),
}

impl Explainer {
    pub(super) fn connect(database: &Database) -> Self {
        match database.kind() {
            Kind::Sqlite => {
                let path = database.url().strip_prefix("sqlite://").unwrap();
                Self::Sqlite(SqliteConnection::establish(path).unwrap())
            }
            Kind::Postgres => {
                let mut connection = PostgresConnection::establish(database.url()).unwrap();
                // Plans are made as for the program: once, and along an index wherever there is
                // one. How many rows there are must be known: of a table that it has never looked
                // at, PostgreSQL takes all indexes to be worth the same.
                connection.batch_execute("ANALYZE").unwrap();
                Self::Postgres(connection)
            }
        }
    }

    /// The lines of the plan.
    pub(super) fn plan(&mut self, statement: &str) -> Vec<String> {
        match self {
            Self::Sqlite(connection) => {
                let lines = diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}"))
                    .load::<SqliteLine>(connection);
                lines
                    .unwrap_or_else(|error| panic!("{statement}: {error}"))
                    .into_iter()
                    .map(|line| line.detail)
                    .collect()
            }
            Self::Postgres(connection) => {
                let values = (1..)
                    .take_while(|number| statement.contains(&format!("${number}")))
                    .map(|_| "NULL");
                let values = values.collect::<Vec<_>>().join(", ");
                let values = if values.is_empty() {
                    values
                } else {
                    format!("({values})")
                };
                connection
                    .batch_execute(&format!("PREPARE explained AS {statement}"))
                    .unwrap();
                let lines =
                    diesel::sql_query(format!("EXPLAIN (COSTS OFF) EXECUTE explained{values}"))
                        .load::<PostgresLine>(connection);
                connection.batch_execute("DEALLOCATE explained").unwrap();
                lines
                    .unwrap_or_else(|error| panic!("{statement}: {error}"))
                    .into_iter()
                    .map(|line| line.line)
                    .collect()
            }
        }
    }

    /// The lines of the plan that say that all rows of a growing table are gone through, or all of
    /// a provider.
    pub(super) fn walks(&mut self, statement: &str) -> Vec<String> {
        let plan = self.plan(statement);
        let is_growing = |line: &str| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| {
                GROWING
                    .iter()
                    .any(|table| word == *table || word.starts_with(&format!("{table}_")))
            })
        };
        let walks = |(at, line): (usize, &String)| {
            let next = plan.get(at + 1).map_or("", |next| next.trim_start());
            let everything = match self {
                Self::Sqlite(_) => line.starts_with("SCAN ") || line.ends_with("(provider_id=?)"),
                Self::Postgres(_) => {
                    let by_index = ["Index Scan", "Index Only Scan"]
                        .iter()
                        .any(|scan| line.contains(scan));
                    line.contains("Seq Scan")
                        || by_index
                            && !next.strip_prefix("Index Cond: ").is_some_and(|condition| {
                                // A condition on the provider alone has no second part.
                                !condition.starts_with("(provider_id = $")
                            })
                }
            };
            everything && is_growing(line)
        };
        plan.iter()
            .enumerate()
            .filter(|at| walks(*at))
            .map(|(_, line)| line.clone())
            .collect()
    }
}
