//! Which trainees were erased: when, by whom and on what ground. It names a trainee by the
//! identifier alone, and no person.
//!
//! How a trainee is erased is in `trainees/erasing.rs`.

use std::collections::HashSet;

use chrono::{DateTime, NaiveDateTime, Utc};
use database::catalog;
use database::connection::DatabaseConnection;
use diesel::prelude::*;

use crate::error::StorageError;
use crate::schema::{erasures, providers};
use crate::session::{ProviderSession, Session};

/// What the history says of an erasure.
pub const OPERATION: &str = "trainee erase";

/// The table, to look for it in a database that need not hold a register.
const TABLE: &str = "erasures";

/// The erasure of a trainee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// When the trainee was erased; where a restored backup brought the trainee back, the first
    /// time.
    pub erased_at: DateTime<Utc>,
    /// Who ran the command.
    pub by: String,
    /// On what ground.
    pub ground: String,
    /// How many entries of the history were removed.
    pub entries: i64,
}

/// What is to be kept of an erasure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureOrder {
    /// Who orders it.
    pub by: String,
    /// On what ground.
    pub ground: String,
    /// When the trainee was erased before, where a restored backup brought the trainee back.
    pub erased_at: Option<DateTime<Utc>>,
}

type Row = (String, String, NaiveDateTime, String, String, i64);

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

/// All erasures with their providers, as [`Row`]s.
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

/// Those of the identifiers whose trainees were erased.
pub(crate) fn among(
    connection: &mut DatabaseConnection,
    ids: &[&str],
) -> Result<HashSet<String>, StorageError> {
    let found = erasures::table
        .filter(erasures::trainee_id.eq_any(ids))
        .select(erasures::trainee_id);
    Ok(found.load::<String>(connection)?.into_iter().collect())
}

/// The erasures that a database records, oldest first; none where it holds no register.
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
    /// The erasures, oldest first; those of one provider, or all.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn erasures(&mut self, ukprn: Option<&str>) -> Result<Vec<Erasure>, StorageError> {
        let rows = rows()
            .order((erasures::erased_at, erasures::id))
            .load::<Row>(self.connection)?;
        let is_wanted = |one: &Erasure| ukprn.is_none_or(|ukprn| one.ukprn == ukprn);
        Ok(rows.into_iter().map(erasure).filter(is_wanted).collect())
    }

    /// The erasure of a trainee of whatever provider; `None` when the trainee was not erased.
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

    /// Records the erasure of a trainee with so many entries in the history. The register need not
    /// know the trainee: a restored backup may be older.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or the erasure is recorded already.
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
        let ErasureOrder { by, ground, .. } = order.clone();
        let ukprn = self.provider().ukprn.clone();
        Ok(Erasure {
            trainee_id: trainee_id.to_owned(),
            ukprn,
            erased_at,
            by,
            ground,
            entries,
        })
    }
}
