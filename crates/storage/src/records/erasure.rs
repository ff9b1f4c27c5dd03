//! The list of erased trainees, with time, operator and ground. It contains the identifier of a
//! trainee but no personal data.
//!
//! `trainees/erasing.rs` erases a trainee.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDateTime, Utc};
use database::catalog;
use database::connection::DatabaseConnection;
use diesel::prelude::*;

use crate::error::StorageError;
use crate::schema::{erasures, providers};
use crate::session::{ProviderSession, Session};

/// The operation of an erasure's entry in the history.
pub const OPERATION: &str = "trainee erase";

/// The name of the table, to search for it in a database that may not hold a register.
const TABLE: &str = "erasures";

/// The erasure of a trainee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// The time of the erasure. If a restored backup brought the trainee back, the time of the
    /// first erasure.
    pub erased_at: DateTime<Utc>,
    /// The operator who ran the command.
    pub by: String,
    /// The ground for the erasure.
    pub ground: String,
    /// The number of removed entries of the history.
    pub entries: i64,
}

/// A request to erase a trainee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureOrder {
    /// The operator who orders the erasure.
    pub by: String,
    /// The ground for the erasure.
    pub ground: String,
    /// The time of an earlier erasure, if a restored backup brought the trainee back.
    pub erased_at: Option<DateTime<Utc>>,
}

/// Trainee identifier, UKPRN, time, operator, ground and number of entries.
type Row = (String, String, NaiveDateTime, String, String, i64);

/// Converts a row.
fn erasure((trainee_id, ukprn, erased_at, by, ground, entries): Row) -> Erasure {
    Erasure {
        trainee_id,
        ukprn,
        erased_at: erased_at.and_utc(),
        by,
        ground,
        entries,
    }
}

/// Selects all erasures with their providers as [`Row`]s.
#[diesel::dsl::auto_type(no_type_alias)]
fn rows() -> _ {
    erasures::table.inner_join(providers::table).select((
        erasures::trainee_id,
        providers::ukprn,
        erasures::erased_at,
        erasures::erased_by,
        erasures::ground,
        erasures::entries,
    ))
}

/// The erasure of a trainee; `None` when the trainee was not erased.
pub(crate) fn find(
    connection: &mut DatabaseConnection,
    trainee_id: &str,
) -> Result<Option<Erasure>, StorageError> {
    let found = rows()
        .filter(erasures::trainee_id.eq(trainee_id))
        .first::<Row>(connection)
        .optional()?;
    Ok(found.map(erasure))
}

/// The identifiers of the trainees that were erased at a time or later.
pub(crate) fn since(
    connection: &mut DatabaseConnection,
    at: DateTime<Utc>,
) -> Result<HashSet<String>, StorageError> {
    let found = erasures::table
        .filter(erasures::erased_at.ge(at.naive_utc()))
        .select(erasures::trainee_id);
    Ok(found.load::<String>(connection)?.into_iter().collect())
}

/// Returns the identifiers among `ids` whose trainees were erased.
pub(crate) fn among(
    connection: &mut DatabaseConnection,
    ids: &[&str],
) -> Result<HashSet<String>, StorageError> {
    let found = erasures::table
        .filter(erasures::trainee_id.eq_any(ids))
        .select(erasures::trainee_id);
    Ok(found.load::<String>(connection)?.into_iter().collect())
}

/// The erasures recorded in a database, oldest first; empty when it holds no register.
pub(crate) fn recorded_in(
    connection: &mut DatabaseConnection,
) -> Result<Vec<Erasure>, StorageError> {
    if !catalog::tables(connection)?
        .iter()
        .any(|table| table == TABLE)
    {
        return Ok(Vec::new());
    }
    let rows = rows().order(erasures::id).load::<Row>(connection)?;
    Ok(rows.into_iter().map(erasure).collect())
}

impl Session<'_> {
    /// The erasures of one provider, or of all providers when `ukprn` is `None`, oldest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn erasures(&mut self, ukprn: Option<&str>) -> Result<Vec<Erasure>, StorageError> {
        let rows = rows()
            .order((erasures::erased_at, erasures::id))
            .load::<Row>(self.connection)?;
        let all = rows.into_iter().map(erasure);
        Ok(all
            .filter(|erasure| ukprn.is_none_or(|ukprn| erasure.ukprn == ukprn))
            .collect())
    }

    /// The erasure of a trainee of any provider; `None` when the trainee was not erased.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn erasure_of(&mut self, trainee_id: &str) -> Result<Option<Erasure>, StorageError> {
        find(self.connection, trainee_id)
    }
}

impl ProviderSession<'_> {
    /// The erasure of a trainee; `None` when the trainee was not erased.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn erasure_of(&mut self, trainee_id: &str) -> Result<Option<Erasure>, StorageError> {
        find(self.connection, trainee_id)
    }

    /// Records the erasure of a trainee. `entries` is the number of removed entries of the history.
    /// The trainee may be missing in the register: a restored backup may be older than the trainee.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or the erasure is already recorded.
    pub fn record_erasure(
        &mut self,
        trainee_id: &str,
        order: &ErasureOrder,
        entries: i64,
    ) -> Result<Erasure, StorageError> {
        let erased_at = order.erased_at.unwrap_or(self.now());
        diesel::insert_into(erasures::table)
            .values((
                erasures::provider_id.eq(self.provider().id),
                erasures::trainee_id.eq(trainee_id),
                erasures::erased_at.eq(erased_at.naive_utc()),
                erasures::erased_by.eq(&order.by),
                erasures::ground.eq(&order.ground),
                erasures::entries.eq(entries),
            ))
            .execute(self.connection)?;
        Ok(Erasure {
            trainee_id: trainee_id.to_owned(),
            ukprn: self.provider().ukprn.clone(),
            erased_at,
            by: order.by.clone(),
            ground: order.ground.clone(),
            entries,
        })
    }
}
