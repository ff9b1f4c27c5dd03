//! What a transaction waits for on PostgreSQL, so that no other one does the same at the same time.
//!
//! On SQLite nothing needs to be done: writes come one after the other.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use domain::Trn;
use domain::duplicate::Likeness;
use sha2::{Digest as _, Sha256};

use super::DatabaseConnection;
use crate::error::StorageError;

#[diesel::declare_sql_function]
extern "SQL" {
    /// Waits for the lock. What it returns is nothing, and is not read.
    fn pg_advisory_xact_lock(key: BigInt) -> Bool;
    /// Whether the lock was free.
    fn pg_try_advisory_xact_lock(key: BigInt) -> Bool;
}

impl DatabaseConnection {
    /// Lets no other transaction look for or add a duplicate of the same person until this one ends.
    pub(crate) fn lock_likeness(&mut self, provider_id: i64, likeness: &Likeness) -> Result<(), StorageError> {
        self.lock(&[
            b"likeness",
            &provider_id.to_be_bytes(),
            likeness.date_of_birth.map(|day| day.to_string()).unwrap_or_default().as_bytes(),
            likeness.training_route.as_deref().unwrap_or_default().as_bytes(),
            &likeness.academic_cycle.to_be_bytes(),
            likeness.last_name.as_bytes(),
        ])
    }

    /// Lets no other transaction issue the number until this one ends.
    pub(crate) fn lock_trn(&mut self, trn: &Trn) -> Result<(), StorageError> {
        self.lock(&[b"trn", trn.as_str().as_bytes()])
    }

    /// Waits until no other transaction holds the lock on what the parts say together, and holds it until this one ends.
    fn lock(&mut self, parts: &[&[u8]]) -> Result<(), StorageError> {
        let Self::Postgres(inner) = self else { return Ok(()) };
        inner.deferring(|inner| diesel::select(pg_advisory_xact_lock(lock_key(parts))).execute(inner))?;
        Ok(())
    }

    /// Whether no other transaction handles a request with the same key; then none does until this one ends.
    pub(crate) fn try_lock_reply(&mut self, provider_id: i64, idempotency_key: &str) -> Result<bool, StorageError> {
        let Self::Postgres(inner) = self else { return Ok(true) };
        let key = lock_key(&[b"reply", &provider_id.to_be_bytes(), idempotency_key.as_bytes()]);
        Ok(diesel::select(pg_try_advisory_xact_lock(key)).get_result(inner)?)
    }
}

/// The number by which PostgreSQL knows a lock on what the parts say together.
fn lock_key(parts: &[&[u8]]) -> i64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part);
    }
    let mut key = [0; 8];
    key.copy_from_slice(hasher.finalize().get(..8).unwrap_or_default());
    i64::from_be_bytes(key)
}
