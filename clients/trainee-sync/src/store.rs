//! The database of a copy: the records as they were received, the cursor behind them, and what was
//! sent.
//!
//! A page of changes and its cursor are stored in one transaction that is on the disk when it ends.
//! So wherever the program is killed, the cursor says exactly what the copy has.
//!
//! When the register was restored from a backup the copy begins again: a new pass over all
//! trainees. What the pass has not shown at its end is no longer there, and is removed; until then
//! the old records stay, and the pass can be interrupted.

mod columns;
mod sent;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use serde_json::Value;

pub(crate) use columns::Columns;
pub(crate) use sent::{digest, nested_digest};

use crate::private_file::create_or_restrict;
use crate::register::Changes;

/// Marks a database as one of this program.
const APPLICATION_ID: i32 = 0x5452_5359;
/// The form of the tables. A program that needs another one says so.
const SCHEMA_VERSION: i32 = 1;
/// How long a write waits for readers of the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const SCHEMA: &str = "
    CREATE TABLE sync_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE sync_records (trainee_id TEXT PRIMARY KEY, record TEXT NOT NULL, pass INTEGER NOT NULL) STRICT;
    CREATE TABLE sync_columns (list TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (list, position)) STRICT;
    CREATE TABLE sync_sent (digest TEXT PRIMARY KEY, idempotency_key TEXT NOT NULL, sent_at INTEGER NOT NULL,
        trainee_id TEXT) STRICT;
    CREATE TABLE sync_accepted (trainee_id TEXT NOT NULL, field TEXT NOT NULL, sent TEXT NOT NULL, shown TEXT NOT NULL,
        PRIMARY KEY (trainee_id, field)) STRICT;
    CREATE TABLE sync_bases (trainee_id TEXT PRIMARY KEY, updated_at TEXT NOT NULL, record TEXT NOT NULL) STRICT;
";

/// What a copy is of. It does not change.
#[derive(Debug, PartialEq, Clone)]
pub(crate) struct Identity {
    pub(crate) register: String,
    pub(crate) version: String,
    pub(crate) ukprn: String,
    pub(crate) environment: String,
}

/// What a page of changes did to the copy.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
pub(crate) struct Applied {
    pub(crate) stored: usize,
    pub(crate) removed: usize,
}

/// The database of a copy.
pub(crate) struct Store {
    connection: Connection,
    columns: Columns,
}

impl Store {
    /// Opens the database, and makes it where it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !path.exists() {
            drop(create_or_restrict(path)?);
        }
        let unusable = || {
            format!(
                "{} is not a copy that this program can use; name another file or folder",
                path.display()
            )
        };
        let mut connection = Connection::open(path).with_context(unusable)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Nothing is changed in a file of something else, nor who can read it.
        let is_empty = require_own_or_empty(&connection).with_context(unusable)?;
        drop(create_or_restrict(path)?);
        // Readers of the file and this program do not wait for each other, and what is committed is
        // on the disk.
        connection
            .pragma_update(None, "journal_mode", "WAL")
            .with_context(unusable)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        if is_empty {
            create_tables(&mut connection).with_context(unusable)?;
        }
        let columns = Columns::read(&connection)?;
        Ok(Self {
            connection,
            columns,
        })
    }

    /// What the copy is of; none before the first pull.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        let state = |name| read_state(&self.connection, name);
        Ok(
            match (
                state("register")?,
                state("version")?,
                state("ukprn")?,
                state("environment")?,
            ) {
                (Some(register), Some(version), Some(ukprn), Some(environment)) => Some(Identity {
                    register,
                    version,
                    ukprn,
                    environment,
                }),
                _ => None,
            },
        )
    }

    /// Says once and for all what the copy is of.
    pub(crate) fn set_identity(&mut self, identity: &Identity) -> Result<()> {
        let transaction = self.connection.transaction()?;
        write_state(&transaction, "register", &identity.register)?;
        write_state(&transaction, "version", &identity.version)?;
        write_state(&transaction, "ukprn", &identity.ukprn)?;
        write_state(&transaction, "environment", &identity.environment)?;
        Ok(transaction.commit()?)
    }

    /// The cursor behind what is stored; none where the copy begins.
    pub(crate) fn cursor(&self) -> Result<Option<String>> {
        read_state(&self.connection, "after")
    }

    /// Stores a page and its cursor. The last page of a pass removes what the pass has not shown.
    pub(crate) fn apply(&mut self, page: &Changes) -> Result<Applied> {
        let mut applied = Applied::default();
        let transaction = self.connection.transaction()?;
        let pass = read_pass(&transaction)?;
        let mut columns = self.columns.clone();
        for change in &page.data {
            if let Some(trainee) = &change.trainee {
                columns.learn(trainee);
                let mut statement = transaction.prepare_cached(
                    "INSERT OR REPLACE INTO sync_records (trainee_id, record, pass) VALUES (?, ?, ?)",
                )?;
                statement.execute(params![change.trainee_id, trainee.to_string(), pass])?;
                applied.stored += 1;
            } else {
                applied.removed += remove(&transaction, &change.trainee_id)?;
            }
        }
        if !page.meta.has_more {
            let mut statement =
                transaction.prepare_cached("SELECT trainee_id FROM sync_records WHERE pass < ?")?;
            let unseen = statement
                .query_map([pass], |row| row.get(0))?
                .collect::<Result<Vec<String>, _>>()?;
            for trainee_id in unseen {
                applied.removed += remove(&transaction, &trainee_id)?;
            }
        }
        if columns != self.columns {
            columns.write(&transaction)?;
        }
        write_state(&transaction, "after", &page.meta.after)?;
        transaction.commit()?;
        self.columns = columns;
        Ok(applied)
    }

    /// Begins a new pass over all trainees.
    pub(crate) fn begin_again(&mut self) -> Result<()> {
        let transaction = self.connection.transaction()?;
        let pass = read_pass(&transaction)? + 1;
        write_state(&transaction, "pass", &pass.to_string())?;
        transaction.execute("DELETE FROM sync_state WHERE name = 'after'", [])?;
        Ok(transaction.commit()?)
    }

    /// How many trainees there are.
    pub(crate) fn count(&self) -> Result<usize> {
        let count: i64 =
            self.connection
                .query_row("SELECT count(*) FROM sync_records", [], |row| row.get(0))?;
        Ok(usize::try_from(count)?)
    }

    /// A trainee as the register showed it.
    pub(crate) fn record(&self, trainee_id: &str) -> Result<Option<Value>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT record FROM sync_records WHERE trainee_id = ?")?;
        let record: Option<String> = statement
            .query_row([trainee_id], |row| row.get(0))
            .optional()?;
        record.map(|record| parse_record(&record)).transpose()
    }

    /// Every trainee, by identifier.
    pub(crate) fn each_record(&self, mut each: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        let mut statement = self
            .connection
            .prepare("SELECT record FROM sync_records ORDER BY trainee_id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(&parse_record(row.get_ref(0)?.as_str()?)?)?;
        }
        Ok(())
    }

    /// The fields that records have had.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The cursor of what the CSV files show.
    pub(crate) fn exported(&self) -> Result<Option<String>> {
        read_state(&self.connection, "exported")
    }

    /// Says that the CSV files show what the copy has.
    pub(crate) fn set_exported(&self, cursor: &str) -> Result<()> {
        write_state(&self.connection, "exported", cursor)
    }
}

fn parse_record(record: &str) -> Result<Value> {
    serde_json::from_str(record).context("the copy is damaged; remove it and run pull again")
}

/// Whether the database is empty. One that is neither empty nor of this program is refused.
fn require_own_or_empty(connection: &Connection) -> Result<bool> {
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (APPLICATION_ID, SCHEMA_VERSION) => Ok(false),
        (APPLICATION_ID, _) => bail!("another release of trainee-sync made it"),
        (0, _) if tables == 0 => Ok(true),
        _ => bail!("it is a database of something else"),
    }
}

fn create_tables(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(transaction.commit()?)
}

/// Removes a trainee with what is known of it, so that the same person can be registered again.
fn remove(transaction: &Transaction<'_>, trainee_id: &str) -> Result<usize> {
    for table in ["sync_sent", "sync_accepted", "sync_bases"] {
        transaction.execute(
            &format!("DELETE FROM {table} WHERE trainee_id = ?"),
            [trainee_id],
        )?;
    }
    Ok(transaction.execute(
        "DELETE FROM sync_records WHERE trainee_id = ?",
        [trainee_id],
    )?)
}

fn read_state(connection: &Connection, name: &str) -> Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT value FROM sync_state WHERE name = ?")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

fn write_state(connection: &Connection, name: &str, value: &str) -> Result<()> {
    connection.execute(
        "INSERT OR REPLACE INTO sync_state (name, value) VALUES (?, ?)",
        [name, value],
    )?;
    Ok(())
}

/// The number of the present pass.
fn read_pass(connection: &Connection) -> Result<i64> {
    Ok(read_state(connection, "pass")?.map_or(Ok(0), |pass| pass.parse())?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(after: &str, has_more: bool, changes: &[(&str, Option<Value>)]) -> Changes {
        let data: Vec<Value> = changes
            .iter()
            .map(|(trainee_id, trainee)| json!({ "trainee_id": trainee_id, "trainee": trainee }))
            .collect();
        serde_json::from_value(
            json!({ "data": data, "meta": { "after": after, "has_more": has_more } }),
        )
        .unwrap()
    }

    fn trainee(trainee_id: &str, email: &str) -> Option<Value> {
        Some(
            json!({ "trainee_id": trainee_id, "email": email, "placements": [{ "placement_id": "P", "urn": null }] }),
        )
    }

    fn identifiers(store: &Store) -> Vec<String> {
        let mut found = Vec::new();
        let mut each = |record: &Value| {
            found.push(record["trainee_id"].as_str().unwrap().to_owned());
            Ok(())
        };
        store.each_record(&mut each).unwrap();
        found
    }

    #[test]
    fn changes_replace_and_remove_records_and_move_the_cursor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        let mut store = Store::open(&path).unwrap();
        assert_eq!(store.cursor().unwrap(), None);
        store
            .apply(&page(
                "1",
                true,
                &[("A", trainee("A", "a@x")), ("B", trainee("B", "b@x"))],
            ))
            .unwrap();
        drop(store);
        let mut store = Store::open(&path).unwrap();
        assert_eq!(store.cursor().unwrap().as_deref(), Some("1"));
        let applied = store
            .apply(&page(
                "2",
                false,
                &[("A", trainee("A", "new@x")), ("B", None), ("C", None)],
            ))
            .unwrap();
        assert_eq!(
            applied,
            Applied {
                stored: 1,
                removed: 1
            }
        );
        assert_eq!(store.record("A").unwrap().unwrap()["email"], "new@x");
        assert_eq!(identifiers(&store), ["A"]);
    }

    #[test]
    fn restarted_pass_removes_unseen_trainees_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("copy.db")).unwrap();
        let all = ["A", "B", "C"].map(|id| (id, trainee(id, "x")));
        store.apply(&page("1", false, &all)).unwrap();
        store.begin_again().unwrap();
        assert_eq!(store.cursor().unwrap(), None);
        store
            .apply(&page("2", true, &[("A", trainee("A", "y"))]))
            .unwrap();
        assert_eq!(identifiers(&store), ["A", "B", "C"]);
        let applied = store
            .apply(&page("3", false, &[("D", trainee("D", "y"))]))
            .unwrap();
        assert_eq!(
            applied,
            Applied {
                stored: 1,
                removed: 2
            }
        );
        assert_eq!(identifiers(&store), ["A", "D"]);
    }

    #[test]
    fn views_show_records_by_column() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("copy.db")).unwrap();
        store
            .apply(&page("1", false, &[("A", trainee("A", "a@x"))]))
            .unwrap();
        let connection = &store.connection;
        let email: String = connection
            .query_row("SELECT email FROM trainees", [], |row| row.get(0))
            .unwrap();
        assert_eq!(email, "a@x");
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let placement: (String, String, Option<String>) = connection
            .query_row(
                "SELECT trainee_id, placement_id, urn FROM placements",
                [],
                read,
            )
            .unwrap();
        assert_eq!(placement, ("A".to_owned(), "P".to_owned(), None));
    }

    #[test]
    fn file_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE t (a)")
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(Store::open(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::write(&path, "no database at all, but a text of some length").unwrap();
        assert!(Store::open(&path).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_database() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let mut store = Store::open(&path).unwrap();
        store
            .apply(&page("1", false, &[("A", trainee("A", "a@x"))]))
            .unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(
                entry.metadata().unwrap().permissions().mode() & 0o077,
                0,
                "{entry:?}"
            );
        }
    }
}
