//! Row locks that transactions on PostgreSQL use for mutual exclusion.
//!
//! The locks are rows of tables. Transaction poolers and distributed engines have no advisory
//! locks, or have them for each node. SQLite needs no locks: it runs one write at a time.
//!
//! Registrations and TRNs use a fixed number of rows, chosen by digest (lock striping). Locking
//! inserts and updates no row, so the table neither grows nor collects dead rows. Two resources may
//! share a row; one transaction then waits for the other without need. These rules prevent
//! deadlocks:
//!
//! - A transaction waits for at most one of these rows, and waits before it locks a trainee.
//! - A transaction waits for the row of the operators before any other row.
//! - A transaction that locks several of these rows, for several registrations, does not wait.
//! - A transaction that has locked a trainee does not wait ([`try_lock_trn`]).
//!
//! Each idempotency key has its own row: a request must be refused only because of its own key.

use chrono::NaiveDateTime;
use data_encoding::HEXLOWER;
use database::connection::{Borrowed, DatabaseConnection, QueryQueue as _, QueuedQuery};
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::query_dsl::methods::LoadQuery;
use domain::Trn;
use domain::duplicate::DuplicateKey;
use postgres_client::PostgresConnection;
use sha2::{Digest as _, Sha256};

use crate::error::{DatabaseError, StorageError};
use crate::schema::{idempotency_locks, lock_stripes};

/// The number of rows in `lock_stripes` that the migration inserts.
const STRIPES: u64 = 4_096;

/// Locks the row of a person's duplicate key, then runs `load`. Sends the lock and the queries of
/// `load` in one message. Until the transaction ends, no other transaction can search for or add a
/// duplicate of the person.
///
/// # Errors
///
/// [`DatabaseError::Busy`] when `may_wait` is false and another transaction holds the row.
pub(crate) fn with_duplicates_locked<T>(
    connection: &mut DatabaseConnection,
    provider_id: i64,
    duplicate_key: &DuplicateKey,
    may_wait: bool,
    load: impl Fn(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let DatabaseConnection::Postgres(inner) = &mut *connection else {
        // SQLite runs one write at a time.
        return load(connection);
    };
    let date_of_birth = duplicate_key
        .date_of_birth
        .map(|day| day.to_string())
        .unwrap_or_default();
    let parts = [
        // Part of the digest that selects the row. Do not change it: servers of two releases that
        // run at the same time must lock the same row.
        b"likeness".as_slice(),
        &provider_id.to_be_bytes(),
        date_of_birth.as_bytes(),
        duplicate_key
            .training_route
            .as_deref()
            .unwrap_or_default()
            .as_bytes(),
        &duplicate_key.academic_cycle.to_be_bytes(),
        duplicate_key.last_name.as_bytes(),
    ];
    let row = lock_stripes::table
        .find(stripe(&parts))
        .select(lock_stripes::stripe)
        .for_update();
    if !may_wait {
        let locked = inner.queue::<_, i32>(row.skip_locked())?;
        return load_if_locked(connection, locked, load)?
            .ok_or(StorageError::Database(DatabaseError::Busy));
    }
    let locked = inner.queue::<_, i32>(row)?;
    match load_if_locked(connection, locked, &load)? {
        Some(loaded) => Ok(loaded),
        None => {
            // The table lacks the row. `lock` inserts it.
            lock(connection, &parts)?;
            load(connection)
        }
    }
}

/// Runs `load` and sends its queries together with the queued query that locks a row. Returns
/// `None` when the query locked no row.
fn load_if_locked<Q, U, T>(
    connection: &mut DatabaseConnection,
    locked: QueuedQuery<Q, U>,
    load: impl FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<Option<T>, StorageError>
where
    for<'q> Borrowed<'q, Q>: LoadQuery<'q, PostgresConnection, U>,
{
    let loaded = load(connection)?;
    let DatabaseConnection::Postgres(inner) = &mut *connection else {
        // SQLite needs no lock.
        return Ok(Some(loaded));
    };
    Ok(if inner.take(locked)?.is_empty() {
        None
    } else {
        Some(loaded)
    })
}

/// Prevents other transactions from issuing the TRN until this transaction ends. Waits for a
/// transaction that has locked it.
pub(crate) fn lock_trn(connection: &mut DatabaseConnection, trn: &Trn) -> Result<(), StorageError> {
    lock(connection, &trn_parts(trn))
}

/// Like [`lock_trn`], but does not wait. Returns whether the TRN is now locked. The result may be
/// `false` because another TRN shares the row.
pub(crate) fn try_lock_trn(
    connection: &mut DatabaseConnection,
    trn: &Trn,
) -> Result<bool, StorageError> {
    let DatabaseConnection::Postgres(inner) = &mut *connection else {
        return Ok(true);
    };
    let stripe = stripe(&trn_parts(trn));
    let row = lock_stripes::table
        .find(stripe)
        .select(lock_stripes::stripe)
        .for_update()
        .skip_locked();
    Ok(row.get_result::<i32>(inner).optional()?.is_some())
}

/// Prevents other transactions from changing the operators of the service until this transaction
/// ends.
pub(crate) fn lock_operators(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    lock(connection, &[b"operators"])
}

/// Locks the row of `lock_stripes` that the digest of `parts` selects, until the transaction ends.
/// Waits for a transaction that holds the row.
fn lock(connection: &mut DatabaseConnection, parts: &[&[u8]]) -> Result<(), StorageError> {
    let DatabaseConnection::Postgres(inner) = &mut *connection else {
        return Ok(());
    };
    let stripe = stripe(parts);
    let row = lock_stripes::table
        .find(stripe)
        .select(lock_stripes::stripe)
        .for_update();
    if row.get_result::<i32>(inner).optional()?.is_none() {
        // The table was emptied: insert the row, so that it can be locked.
        let own_row =
            diesel::insert_into(lock_stripes::table).values(lock_stripes::stripe.eq(stripe));
        own_row.on_conflict_do_nothing().execute(inner)?;
        row.get_result::<i32>(inner)?;
    }
    Ok(())
}

/// Locks the row of an idempotency key until the transaction ends, then runs `load`. Sends the lock
/// and the queries of `load` in one message. Returns `None` when another transaction handles a
/// request with the same key.
///
/// A second transaction would have to wait for an uncommitted insert, and a waiting job cannot
/// answer that a request is in flight. The function therefore commits the row of the key first,
/// together with the earlier statements of the transaction. A new transaction then locks the row.
/// The commit is asynchronous: a lost row is inserted again.
///
/// The caller learns whether the row is locked before the job does anything else. Without the
/// check, a second request would wait for locks of the first one and keep a connection of the pool.
///
/// Only requests with the same key lock a row that is dated after `oldest`. Removing old rows
/// ([`crate::session::Session::remove_old_idempotency_locks`]) skips such rows, and this function
/// sets a new date on an older row before it locks the row.
pub(crate) fn with_idempotency_key_locked<T>(
    connection: &mut DatabaseConnection,
    provider_id: i64,
    key: &str,
    now: NaiveDateTime,
    oldest: NaiveDateTime,
    load: impl FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<Option<T>, StorageError> {
    let DatabaseConnection::Postgres(inner) = &mut *connection else {
        return load(connection).map(Some);
    };
    // The statements contain no text from the client: the digest has only hexadecimal digits.
    let digest = HEXLOWER.encode(&digest(&[
        b"reply",
        &provider_id.to_be_bytes(),
        key.as_bytes(),
    ]));
    let settings = inner.local_settings().to_owned();
    let own_row = format!(
        "UPDATE idempotency_locks SET used_at = '{now}' WHERE digest = '{digest}' AND used_at <= '{oldest}';
         INSERT INTO idempotency_locks (digest, used_at) VALUES ('{digest}', '{now}') ON CONFLICT DO NOTHING;
         SET LOCAL synchronous_commit = off;
         COMMIT;
         BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
         {settings}"
    );
    inner.begin_writing(|inner| inner.batch_execute(&own_row))?;
    let row = idempotency_locks::table
        .find(digest)
        .select(idempotency_locks::digest)
        .for_update()
        .skip_locked();
    let locked = inner.queue::<_, String>(row)?;
    load_if_locked(connection, locked, load)
}

/// The parts of the digest that selects the row of a TRN.
fn trn_parts(trn: &Trn) -> [&[u8]; 2] {
    [b"trn", trn.as_str().as_bytes()]
}

/// The digest of the parts and their lengths. The lengths distinguish parts that are split
/// differently.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The number of the row of `lock_stripes` that the digest of the parts selects.
fn stripe(parts: &[&[u8]]) -> i32 {
    let mut number = [0; 8];
    number.copy_from_slice(digest(parts).get(..8).unwrap_or_default());
    i32::try_from(u64::from_be_bytes(number) % STRIPES).unwrap_or_default()
}

#[cfg(test)]
mod tests;
