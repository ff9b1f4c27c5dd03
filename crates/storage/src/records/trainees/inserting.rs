//! Inserts a trainee together with the rows that refer to it: the schools of its placements and the
//! first entry of its history.
//!
//! On PostgreSQL one statement inserts all rows, so the job does not wait for the key of the new
//! row.

use database::connection::fixed_expression::fixed_expressions;
use database::connection::{DatabaseConnection, static_query};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt};
use domain::{State, Trainee};
use postgres_client::PostgresConnection;
use stored_document::{Extra, JsonText};

use super::columns::Derived;
use super::schools::schools_of;
use crate::error::StorageError;
use crate::records::history::{NO_FIELDS, NewEntry};
use crate::schema::{changes, trainees};
use crate::session::ProviderSession;

impl ProviderSession<'_> {
    /// Inserts a trainee with placements and degrees.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn insert_trainee(&mut self, trainee: &Trainee) -> Result<(), StorageError> {
        // If the new record is withdrawn, the document also has the state before the withdrawal.
        let in_training = if trainee.trn.is_some() {
            State::TrnReceived
        } else {
            State::SubmittedForTrn
        };
        let before = Trainee {
            state: Some(in_training),
            ..Trainee::default()
        };
        let extra = Extra::default().after(&before, trainee, self.change_date());
        let position = self.take_position()?;
        let row = diesel::insert_into(trainees::table)
            .values((
                trainees::provider_id.eq(self.provider().id),
                trainees::trainee_id.eq(trainee.trainee_id.as_deref().unwrap_or_default()),
                trainees::revision.eq(1_i64),
                trainees::position.eq(position),
                trainees::record.eq(JsonText::from_trainee(trainee, &extra)?),
                Derived::from_trainee(trainee, self.today()),
            ))
            .returning(trainees::id);
        let entry = NewEntry::in_session(self, NO_FIELDS);
        match &mut *self.connection {
            DatabaseConnection::Postgres(inner) => {
                let schools = schools_of(trainee).into_iter().collect();
                let entry = diesel::insert_into(changes::table)
                    .values((changes::trainee_key.eq(InsertedKey), entry));
                let all = static_query(InsertWithRelated {
                    row,
                    schools,
                    entry,
                });
                inner.deferring(|inner| all.execute(inner))?;
                Ok(())
            }
            DatabaseConnection::Sqlite(inner) => {
                let key = static_query(row).get_result(inner)?;
                self.link_schools(key, &Trainee::default(), trainee)?;
                self.add_entry_without_fields(key)
            }
        }
    }
}

fixed_expressions! {
    /// The key of the trainee that an [`InsertWithRelated`] inserts.
    InsertedKey: BigInt = "(SELECT id FROM inserted)";
}

/// A statement that inserts a trainee and the rows that refer to its key.
#[derive(QueryId)]
struct InsertWithRelated<Row, Entry> {
    /// The statement that inserts the trainee and returns the key.
    row: Row,
    /// The keys of the schools of the placements.
    schools: Vec<i64>,
    /// The statement that inserts the entry of the history for the [`InsertedKey`].
    entry: Entry,
}

impl<Row: QueryFragment<Pg>, Entry: QueryFragment<Pg>> QueryFragment<Pg>
    for InsertWithRelated<Row, Entry>
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH inserted AS (");
        self.row.walk_ast(out.reborrow())?;
        out.push_sql(
            "), linked AS (INSERT INTO placement_schools (trainee_key, school_id) \
             SELECT inserted.id, school.id FROM inserted, unnest(",
        );
        out.push_bind_param::<Array<BigInt>, _>(&self.schools)?;
        out.push_sql("::bigint[]) AS school (id)) ");
        self.entry.walk_ast(out.reborrow())
    }
}

impl<Row, Entry> RunQueryDsl<PostgresConnection> for InsertWithRelated<Row, Entry> {}
