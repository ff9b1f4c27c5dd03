//! What was sent: idempotency keys, values that the register shows otherwise than they were sent,
//! and the records that changes were made to.
//!
//! An idempotency key is stored before its request is sent. A run that finds a key without an
//! outcome sends the same request with the same key again, and receives the outcome.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use data_encoding::HEXLOWER;
use rusqlite::{OptionalExtension as _, params};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use trainee_file::{AcceptedValue, Memory, NestedRow, SentNested};

use super::{Store, parse_record};
use crate::table::json_text;

/// How long the register remembers a key, in seconds, less an hour for the way of the request.
const KEY_LIFETIME_SECS: i64 = 23 * 3600;
/// Random bytes of a key.
const KEY_BYTES: usize = 16;

/// A request that makes a record, as it was sent before.
#[derive(Debug, PartialEq, Clone)]
pub(crate) struct SentRequest {
    pub(crate) key: String,
    /// The trainee that it made or was about, once the register has said so.
    pub(crate) trainee_id: Option<String>,
    /// Whether the register still knows the key.
    pub(crate) is_remembered: bool,
}

/// Identifies the text of a request.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part.len().to_le_bytes());
        sha.update(part.as_bytes());
    }
    HEXLOWER.encode(&sha.finalize())
}

/// Identifies the request that adds a nested record to a trainee.
pub(crate) fn nested_digest(nested: &NestedRow, trainee_id: &str) -> String {
    digest(&[
        trainee_id,
        nested.list.name,
        &nested.number.to_string(),
        &json_text(nested.body()),
    ])
}

impl Memory for Store {
    type Error = anyhow::Error;

    fn accepted(&self, trainee_id: &str) -> Result<Vec<AcceptedValue>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT field, sent, shown FROM sync_accepted WHERE trainee_id = ?")?;
        let rows = statement.query_map([trainee_id], |row| {
            Ok(AcceptedValue {
                field: row.get(0)?,
                sent: row.get(1)?,
                shown: row.get(2)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn sent_nested(&self, trainee_id: &str, nested: &NestedRow) -> Result<SentNested> {
        Ok(match self.sent(&nested_digest(nested, trainee_id))? {
            Some(sent) if sent.trainee_id.is_some() => SentNested::Added,
            Some(sent) if sent.is_remembered => SentNested::Unanswered,
            Some(_) | None => SentNested::No,
        })
    }

    fn base(&self, trainee_id: &str, updated_at: &str) -> Result<Option<Value>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT record FROM sync_bases WHERE trainee_id = ? AND updated_at = ?",
        )?;
        let record: Option<String> = statement
            .query_row([trainee_id, updated_at], |row| row.get(0))
            .optional()?;
        record.map(|record| parse_record(&record)).transpose()
    }
}

impl Store {
    /// The request with this digest, if it was sent before.
    pub(crate) fn sent(&self, digest: &str) -> Result<Option<SentRequest>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT idempotency_key, sent_at, trainee_id FROM sync_sent WHERE digest = ?",
        )?;
        let row: Option<(String, i64, Option<String>)> = statement
            .query_row([digest], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((key, sent_at, trainee_id)) = row else {
            return Ok(None);
        };
        let is_remembered = unix_time()? - sent_at < KEY_LIFETIME_SECS;
        Ok(Some(SentRequest {
            key,
            trainee_id,
            is_remembered,
        }))
    }

    /// The keys of requests that are about to be sent, in their order: those of before, or new
    /// ones. They are on the disk when this returns.
    pub(crate) fn keys(&mut self, digests: &[&str]) -> Result<Vec<String>> {
        let now = unix_time()?;
        let mut known = Vec::with_capacity(digests.len());
        for digest in digests {
            known.push(
                self.sent(digest)?
                    .filter(|sent| sent.is_remembered)
                    .map(|sent| sent.key),
            );
        }
        let transaction = self.connection.transaction()?;
        let mut keys = Vec::with_capacity(digests.len());
        for (digest, known) in digests.iter().zip(known) {
            let key = match known {
                Some(key) => key,
                None => {
                    let key = new_key()?;
                    transaction.execute(
                        "INSERT OR REPLACE INTO sync_sent (digest, idempotency_key, sent_at) VALUES (?, ?, ?)",
                        params![digest, key, now],
                    )?;
                    key
                }
            };
            keys.push(key);
        }
        transaction.commit()?;
        Ok(keys)
    }

    /// Says which trainee requests made or were about.
    pub(crate) fn set_outcomes(&mut self, outcomes: &[(String, String)]) -> Result<()> {
        let now = unix_time()?;
        let transaction = self.connection.transaction()?;
        for (digest, trainee_id) in outcomes {
            // There is no row yet where the record was there without this program.
            transaction.execute(
                "INSERT INTO sync_sent (digest, idempotency_key, sent_at, trainee_id) VALUES (?, '', ?, ?)
                 ON CONFLICT (digest) DO UPDATE SET trainee_id = excluded.trainee_id",
                params![digest, now, trainee_id],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Forgets requests that were refused: nothing came of them, and their keys are free.
    pub(crate) fn forget_sent(&mut self, digests: &[String]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for digest in digests {
            transaction.execute("DELETE FROM sync_sent WHERE digest = ?", [digest])?;
        }
        Ok(transaction.commit()?)
    }

    /// Remembers how the register shows what was sent, by trainee.
    pub(crate) fn set_accepted(&mut self, accepted: &[(String, AcceptedValue)]) -> Result<()> {
        if accepted.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        for (trainee_id, value) in accepted {
            transaction.execute(
                "INSERT OR REPLACE INTO sync_accepted (trainee_id, field, sent, shown) VALUES (?, ?, ?, ?)",
                params![trainee_id, value.field, value.sent, value.shown],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Remembers the record that a change is begun on. It is on the disk when this returns.
    pub(crate) fn set_base(
        &self,
        trainee_id: &str,
        updated_at: &str,
        record: &Value,
    ) -> Result<()> {
        self.connection.execute(
            "INSERT OR REPLACE INTO sync_bases (trainee_id, updated_at, record) VALUES (?, ?, ?)",
            params![trainee_id, updated_at, record.to_string()],
        )?;
        Ok(())
    }
}

fn new_key() -> Result<String> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes)
        .ok()
        .context("this machine has no random numbers")?;
    Ok(HEXLOWER.encode(&bytes))
}

fn unix_time() -> Result<i64> {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("the clock of this machine is wrong")?;
    Ok(i64::try_from(since.as_secs())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("copy.db")).unwrap();
        (folder, store)
    }

    #[test]
    fn request_keeps_its_key_until_the_register_forgets_it() {
        let (_folder, mut store) = store();
        let keys = store.keys(&["a", "b"]).unwrap();
        assert_ne!(keys[0], keys[1]);
        assert_eq!(
            store.keys(&["b", "a"]).unwrap(),
            [keys[1].clone(), keys[0].clone()]
        );
        store
            .connection
            .execute(
                "UPDATE sync_sent SET sent_at = sent_at - 90000 WHERE digest = 'a'",
                [],
            )
            .unwrap();
        assert!(!store.sent("a").unwrap().unwrap().is_remembered);
        let again = store.keys(&["a", "b"]).unwrap();
        assert!(again[0] != keys[0] && again[1] == keys[1]);
    }

    #[test]
    fn outcome_and_refusal_of_a_request_are_stored() {
        let (_folder, mut store) = store();
        store.keys(&["a", "b"]).unwrap();
        store
            .set_outcomes(&[
                ("a".to_owned(), "T".to_owned()),
                ("c".to_owned(), "U".to_owned()),
            ])
            .unwrap();
        assert_eq!(
            store.sent("a").unwrap().unwrap().trainee_id.as_deref(),
            Some("T")
        );
        assert_eq!(
            store.sent("c").unwrap().unwrap().trainee_id.as_deref(),
            Some("U")
        );
        store.forget_sent(&["b".to_owned()]).unwrap();
        assert_eq!(store.sent("b").unwrap(), None);
    }

    #[test]
    fn parts_of_a_digest_are_kept_apart() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["ab", "c"]), digest(&["ab", "c"]));
    }

    #[test]
    fn base_is_that_of_its_time() {
        let (_folder, store) = store();
        store
            .set_base("T", "1", &serde_json::json!({ "a": 1 }))
            .unwrap();
        assert_eq!(store.base("T", "1").unwrap().unwrap()["a"], 1);
        assert_eq!(store.base("T", "2").unwrap(), None);
    }
}
