//! Rows that a transaction locks on PostgreSQL, so that no other one does the same at the same
//! time.
//!
//! They are rows of tables and nothing else: a transaction pooler or a distributed engine has no
//! advisory locks, or has them for each of its nodes. On SQLite nothing is locked: writes come one
//! after the other.
//!
//! What is waited for has one of a fixed number of rows (lock striping), by its digest: nothing is
//! inserted or updated, so the table neither grows nor is left with dead rows. Two things may share
//! a row; then one waits for the other for no reason. That makes no deadlock: a transaction waits
//! for one of these rows at most, and only before it locks a trainee; that of the operators is
//! waited for before any other. One that holds more of them, for several registrations, waits for
//! none; and who already holds a trainee does not wait ([`try_lock_trn`]).
//!
//! Each idempotency key has its own row: a request is refused because of its key, and must not be
//! because of another one.

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

/// The rows of `lock_stripes`, as the migration makes them.
const STRIPES: u64 = 4_096;

/// Lets no other transaction look for or add a duplicate of the same person until this one ends,
/// and runs `load`, which sees what is there once the row is locked, in one message. A transaction
/// that may not wait fails with [`DatabaseError::Busy`] where another one holds the row.
pub(crate) fn with_duplicates_locked<T>(
    connection: &mut DatabaseConnection,
    provider_id: i64,
    duplicate_key: &DuplicateKey,
    may_wait: bool,
    load: impl Fn(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    let DatabaseConnection::Postgres(inner) = &mut *connection else {
        return load(connection);
    };
    let date_of_birth = duplicate_key
        .date_of_birth
        .map(|day| day.to_string())
        .unwrap_or_default();
    let parts = [
        // Part of the digest that chooses the row. It must not change: servers of two releases that
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
            lock(connection, &parts)?;
            load(connection)
        }
    }
}

/// Runs `load`, whose queries are sent together with the queued query that locks a row; `None` when
/// there was no row to lock.
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
        return Ok(Some(loaded));
    };
    Ok(if inner.take(locked)?.is_empty() {
        None
    } else {
        Some(loaded)
    })
}

/// Lets no other transaction issue the number until this one ends.
pub(crate) fn lock_trn(connection: &mut DatabaseConnection, trn: &Trn) -> Result<(), StorageError> {
    lock(connection, &trn_parts(trn))
}

/// As [`DatabaseConnection::lock_trn`], without waiting: whether it is locked now. It may be
/// refused for another number.
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

/// Lets no other transaction change who the operators of the service are until this one ends.
pub(crate) fn lock_operators(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    lock(connection, &[b"operators"])
}

/// Waits until no other transaction holds the row of what the parts say together, and holds it
/// until this one ends.
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
        // The table was emptied; going on without a lock would be wrong.
        let own_row =
            diesel::insert_into(lock_stripes::table).values(lock_stripes::stripe.eq(stripe));
        own_row.on_conflict_do_nothing().execute(inner)?;
        row.get_result::<i32>(inner)?;
    }
    Ok(())
}

/// Locks the row of an idempotency key and runs `load`, in one message; `None` when another
/// transaction handles a request with the same key. Otherwise none does until this one ends, and
/// `load` sees what is there once the row is locked.
///
/// An insert that is not committed can only be waited for, and a waiting job cannot answer that a
/// request is in flight. So the row of the key is committed first, together with what the
/// transaction has done so far, and a new transaction goes on and locks the row. All of that is one
/// message. That commit waits for no disk and no standby: a row that is lost is inserted again.
///
/// Whether the row is locked is known before anything else is done: a request that went on would
/// wait for what the first one has locked, and keep a connection of the pool.
///
/// A row that is found locked is locked by a request with the same key: removing old rows
/// ([`crate::session::Session::remove_old_idempotency_locks`]) locks none that was dated within
/// `oldest`, and a row that is older gets a new date here before it is locked.
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
    // Digits, letters and punctuation of ours alone: nothing that a client sends stands in the
    // statements as it is.
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

fn trn_parts(trn: &Trn) -> [&[u8]; 2] {
    [b"trn", trn.as_str().as_bytes()]
}

/// The digest of what the parts say together.
fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// Which row stands for what the parts say together.
fn stripe(parts: &[&[u8]]) -> i32 {
    let mut number = [0; 8];
    number.copy_from_slice(digest(parts).get(..8).unwrap_or_default());
    i32::try_from(u64::from_be_bytes(number) % STRIPES).unwrap_or_default()
}

#[cfg(test)]
mod tests;
