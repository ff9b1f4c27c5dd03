//! The statements. This file is a module of `sqlite.rs` and of `postgres.rs`, which say how the
//! databases differ.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use sqlx::Arguments as _;
use sqlx::error::BoxDynError;
use sqlx::{AssertSqlSafe, FromRow as _, Pool, Row as _};

use super::{ARRAY, BEGIN, BYTES, Db, GROUP, KEY, LOCK};
use crate::records::{Degree, FullTrainee, Placement, Trainee};
use crate::registration::{DuplicateKey, Organisations, is_school, today};
use crate::store::{List, Status, Store};

type Arguments = <Db as sqlx::Database>::Arguments;
type Row = <Db as sqlx::Database>::Row;
type Connection = <Db as sqlx::Database>::Connection;

const SCHEMA: &str = include_str!("schema.sql");

/// The columns of a trainee and, each as a JSON array of arrays, of its nested records.
static FULL: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, \
         (SELECT CAST({GROUP}({ARRAY}({}) ORDER BY id) AS TEXT) \
          FROM placements WHERE trainee = trainees.id), \
         (SELECT CAST({GROUP}({ARRAY}({}) ORDER BY graduation_year, id) AS TEXT) \
          FROM degrees WHERE trainee = trainees.id) \
         FROM trainees",
        Trainee::COLUMNS.join(", "),
        Placement::COLUMNS.join(", "),
        Degree::COLUMNS.join(", "),
    )
});

static FIND: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} WHERE ukprn = (SELECT ukprn FROM tokens WHERE digest = $1) AND trainee_id = $2",
        *FULL
    )
});

static DUPLICATES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "{} WHERE ukprn = $1 AND date_of_birth = $2 AND training_route = $3 \
         AND academic_cycle = $4 AND last_name_key = $5 \
         AND ((first_names_key = $6 AND first_names_key <> '') OR email_key = $7) \
         ORDER BY id",
        *FULL
    )
});

static INSERT: LazyLock<String> = LazyLock::new(|| {
    let keys = [
        "academic_cycle",
        "last_name_key",
        "first_names_key",
        "email_key",
    ];
    let columns = [Trainee::COLUMNS, &keys].concat();
    format!("{} RETURNING id", insert("trainees", &columns, 1))
});

/// Returns an INSERT of this number of rows.
fn insert(table: &str, columns: &[&str], rows: usize) -> String {
    let mut sql = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=columns.len() {
            let comma = if column == 1 { "" } else { ", " };
            let _ = write!(sql, "{comma}${}", row * columns.len() + column);
        }
        sql.push(')');
    }
    sql
}

#[derive(Debug, Clone)]
pub(crate) struct Database {
    reads: Pool<Db>,
    writes: Pool<Db>,
}

impl Database {
    pub(super) fn new(reads: Pool<Db>, writes: Pool<Db>) -> Self {
        Self { reads, writes }
    }
}

impl Store for Database {
    async fn provider(&self, token: &[u8]) -> sqlx::Result<Option<String>> {
        sqlx::query_scalar("SELECT ukprn FROM tokens WHERE digest = $1")
            .bind(token)
            .fetch_optional(&self.reads)
            .await
    }

    async fn trainee(&self, token: &[u8], trainee_id: &str) -> sqlx::Result<Option<FullTrainee>> {
        let row = sqlx::query(FIND.as_str())
            .bind(token)
            .bind(trainee_id)
            .fetch_optional(&self.reads)
            .await?;
        row.as_ref().map(full_trainee).transpose()
    }

    async fn page(&self, token: &[u8], list: &List) -> sqlx::Result<(Vec<Trainee>, i64)> {
        let (filter, arguments) = page_arguments(token, list).map_err(sqlx::Error::Encode)?;
        let order = if list.is_ascending { "ASC" } else { "DESC" };
        let sql = format!(
            "SELECT {}, (SELECT count(*) FROM trainees WHERE {filter}) FROM trainees \
             WHERE {filter} ORDER BY updated_at {order}, id {order} LIMIT $1 OFFSET $2",
            Trainee::COLUMNS.join(", ")
        );
        let rows = sqlx::query_with(AssertSqlSafe(sql), arguments)
            .fetch_all(&self.reads)
            .await?;
        let total = match rows.first() {
            Some(row) => row.try_get(Trainee::COLUMNS.len())?,
            None => 0,
        };
        let trainees = rows
            .iter()
            .map(Trainee::from_row)
            .collect::<Result<_, _>>()?;
        Ok((trainees, total))
    }

    async fn organisations(
        &self,
        schools: &[&str],
        partner: Option<&str>,
    ) -> sqlx::Result<Organisations> {
        let mut found = Organisations::default();
        for urn in schools {
            let school = sqlx::query_as("SELECT name, postcode FROM schools WHERE urn = $1")
                .bind(*urn)
                .fetch_optional(&self.reads)
                .await?;
            found
                .schools
                .extend(school.map(|school| ((*urn).to_owned(), school)));
        }
        if let Some(number) = partner {
            found.partner =
                sqlx::query_as("SELECT urn, ukprn FROM partners WHERE urn = $1 OR ukprn = $1")
                    .bind(number)
                    .fetch_optional(&self.reads)
                    .await?;
        }
        Ok(found)
    }

    async fn register(&self, new: &FullTrainee) -> sqlx::Result<Vec<FullTrainee>> {
        let key = DuplicateKey::from_trainee(&new.trainee);
        let mut transaction = self.writes.begin_with(BEGIN).await?;
        if let Some(lock) = LOCK {
            let trainee = &new.trainee;
            sqlx::query(lock)
                .bind(format!(
                    "{} {} {}",
                    trainee.ukprn, trainee.date_of_birth, key.last_name
                ))
                .execute(&mut *transaction)
                .await?;
        }
        let duplicates = duplicates(&mut transaction, &new.trainee, &key).await?;
        if duplicates.is_empty() {
            insert_trainee(&mut transaction, new, &key).await?;
            transaction.commit().await?;
        }
        Ok(duplicates)
    }

    async fn create(&self) -> sqlx::Result<()> {
        let schema = SCHEMA.replace("{key}", KEY).replace("{bytes}", BYTES);
        sqlx::raw_sql(AssertSqlSafe(schema))
            .execute(&self.writes)
            .await?;
        Ok(())
    }

    async fn fill(
        &self,
        tokens: Vec<(Vec<u8>, String)>,
        trainees: Vec<FullTrainee>,
    ) -> sqlx::Result<()> {
        let mut transaction = self.writes.begin().await?;
        for (digest, ukprn) in tokens {
            sqlx::query("INSERT INTO tokens (digest, ukprn) VALUES ($1, $2)")
                .bind(digest)
                .bind(ukprn)
                .execute(&mut *transaction)
                .await?;
        }
        let mut organisations = SeenOrganisations::default();
        for full in trainees {
            let key = DuplicateKey::from_trainee(&full.trainee);
            insert_trainee(&mut transaction, &full, &key).await?;
            organisations.add(full);
        }
        organisations.insert(&mut transaction).await?;
        transaction.commit().await
    }
}

/// The organisations that trainees name.
#[derive(Debug, Default)]
struct SeenOrganisations {
    schools: HashMap<String, (String, Option<String>)>,
    partners: HashSet<(Option<String>, Option<String>)>,
}

impl SeenOrganisations {
    fn add(&mut self, full: FullTrainee) {
        for placement in full.placements {
            if let Some(urn) = placement.urn.filter(|urn| is_school(urn)) {
                self.schools
                    .insert(urn, (placement.name, placement.postcode));
            }
        }
        let trainee = full.trainee;
        if let Some(urn) = trainee.employing_school_urn {
            self.schools.entry(urn).or_default();
        }
        let partner = (trainee.training_partner_urn, trainee.training_partner_ukprn);
        if partner != (None, None) {
            self.partners.insert(partner);
        }
    }

    async fn insert(self, connection: &mut Connection) -> sqlx::Result<()> {
        for (urn, (name, postcode)) in self.schools {
            sqlx::query(
                "INSERT INTO schools (urn, name, postcode) VALUES ($1, $2, $3) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(urn)
            .bind(name)
            .bind(postcode)
            .execute(&mut *connection)
            .await?;
        }
        for (urn, ukprn) in self.partners {
            sqlx::query("INSERT INTO partners (urn, ukprn) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(urn)
                .bind(ukprn)
                .execute(&mut *connection)
                .await?;
        }
        Ok(())
    }
}

async fn duplicates(
    connection: &mut Connection,
    trainee: &Trainee,
    key: &DuplicateKey,
) -> sqlx::Result<Vec<FullTrainee>> {
    let rows = sqlx::query(DUPLICATES.as_str())
        .bind(&trainee.ukprn)
        .bind(trainee.date_of_birth)
        .bind(&trainee.training_route)
        .bind(key.academic_cycle)
        .bind(&key.last_name)
        .bind(&key.first_names)
        .bind(&key.email)
        .fetch_all(connection)
        .await?;
    rows.iter().map(full_trainee).collect()
}

async fn insert_trainee(
    connection: &mut Connection,
    new: &FullTrainee,
    key: &DuplicateKey,
) -> sqlx::Result<()> {
    let arguments = trainee_arguments(&new.trainee, key).map_err(sqlx::Error::Encode)?;
    let row = sqlx::query_with(INSERT.as_str(), arguments)
        .fetch_one(&mut *connection)
        .await?;
    let id: i64 = row.try_get(0)?;
    let placements = nested_arguments(id, &new.placements, Placement::add_to);
    insert_nested(connection, "placements", Placement::COLUMNS, placements).await?;
    let degrees = nested_arguments(id, &new.degrees, Degree::add_to);
    insert_nested(connection, "degrees", Degree::COLUMNS, degrees).await
}

fn trainee_arguments(trainee: &Trainee, key: &DuplicateKey) -> Result<Arguments, BoxDynError> {
    let mut arguments = Arguments::default();
    trainee.add_to(&mut arguments)?;
    arguments.add(key.academic_cycle)?;
    arguments.add(&key.last_name)?;
    arguments.add(&key.first_names)?;
    arguments.add(&key.email)?;
    Ok(arguments)
}

/// Returns the number of records and their values, each after the key of the trainee.
fn nested_arguments<T>(
    trainee: i64,
    records: &[T],
    add_to: impl Fn(&T, &mut Arguments) -> Result<(), BoxDynError>,
) -> Result<(usize, Arguments), BoxDynError> {
    let mut arguments = Arguments::default();
    for record in records {
        arguments.add(trainee)?;
        add_to(record, &mut arguments)?;
    }
    Ok((records.len(), arguments))
}

async fn insert_nested(
    connection: &mut Connection,
    table: &str,
    columns: &[&str],
    values: Result<(usize, Arguments), BoxDynError>,
) -> sqlx::Result<()> {
    let (rows, arguments) = values.map_err(sqlx::Error::Encode)?;
    if rows > 0 {
        let sql = insert(table, &[&["trainee"], columns].concat(), rows);
        sqlx::query_with(AssertSqlSafe(sql), arguments)
            .execute(connection)
            .await?;
    }
    Ok(())
}

fn full_trainee(row: &Row) -> sqlx::Result<FullTrainee> {
    let column = Trainee::COLUMNS.len();
    Ok(FullTrainee {
        trainee: Trainee::from_row(row)?,
        placements: array(row, column)?,
        degrees: array(row, column + 1)?,
    })
}

/// Returns the records of a JSON array; none if the column is null.
fn array<T: serde::de::DeserializeOwned>(row: &Row, column: usize) -> sqlx::Result<Vec<T>> {
    let text: Option<&str> = row.try_get(column)?;
    match text {
        Some(text) => serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(error.into())),
        None => Ok(Vec::new()),
    }
}

/// Returns the condition of a list and the values of its statement: limit, offset, and those of
/// the condition.
fn page_arguments(token: &[u8], list: &List) -> Result<(String, Arguments), BoxDynError> {
    let mut arguments = Arguments::default();
    arguments.add(list.limit)?;
    arguments.add(list.offset)?;
    arguments.add(token)?;
    arguments.add(list.academic_cycle)?;
    let provider = "(SELECT ukprn FROM tokens WHERE digest = $3)";
    let mut filter = format!("ukprn = {provider} AND academic_cycle = $4");
    if let Some(since) = list.since {
        arguments.add(since)?;
        let _ = write!(filter, " AND updated_at >= ${}", arguments.len());
    }
    if let Some(has_trn) = list.has_trn {
        filter.push_str(if has_trn {
            " AND trn IS NOT NULL"
        } else {
            " AND trn IS NULL"
        });
    }
    match list.status {
        None => {}
        Some(Status::Deferred) => filter.push_str(" AND state = 'deferred'"),
        Some(Status::Awarded) => filter.push_str(" AND state = 'awarded'"),
        Some(Status::Withdrawn) => filter.push_str(" AND state = 'withdrawn'"),
        Some(Status::InTraining) => {
            arguments.add(today())?;
            let _ = write!(
                filter,
                " AND state IN ('submitted_for_trn', 'trn_received', 'recommended_for_award') \
                 AND itt_start_date <= ${}",
                arguments.len()
            );
        }
        Some(Status::CourseNotYetStarted) => {
            arguments.add(today())?;
            let _ = write!(
                filter,
                " AND state NOT IN ('deferred', 'withdrawn') AND itt_start_date > ${}",
                arguments.len()
            );
        }
    }
    Ok((filter, arguments))
}
