//! Merges a list of organisations into a register while servers are running.
//!
//! A merge reads the stored organisations once and writes the differences in short transactions,
//! with pauses for other writes. A merge never removes organisations. Callers parse the files.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::base::cause::Cause;
use crate::error::StorageError;
use crate::records::organisations::{PartnerRow, SchoolRow};
use crate::schema::{schools, training_partners};
use crate::session::Session;
use crate::store::Store;

/// The number of organisations written in one transaction.
const BATCH: usize = 500;
/// The maximum time to wait for transactions that have read the organisations. Transactions of
/// servers are shorter.
const TRANSACTION_WAIT: Duration = Duration::from_secs(10);
/// The pause between two queries for those transactions.
const TRANSACTION_PAUSE: Duration = Duration::from_millis(10);

/// Selects the open transactions that have read schools. Each holds a read lock on the table until
/// it ends, including transactions that have written nothing yet and have no number.
const READERS_OF_SCHOOLS_SQL: &str = "SELECT DISTINCT virtualtransaction AS transaction FROM pg_locks \
     WHERE locktype = 'relation' AND relation = to_regclass('schools')::oid \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND mode IN ('AccessShareLock', 'RowShareLock') AND granted";

#[derive(QueryableByName)]
struct TransactionRow {
    #[diesel(sql_type = Text)]
    transaction: String,
}

/// The data of a school, except its key in this service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchoolDetails {
    /// Unique reference number, 6 digits.
    pub urn: String,
    /// Name.
    pub name: String,
    /// Postcode, if known.
    pub postcode: Option<String>,
    /// Whether the school is open.
    pub open: bool,
}

/// The data of a training partner, except its key in this service. A partner has a URN, a UKPRN or
/// both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartnerDetails {
    /// URN, if the partner is a school.
    pub urn: Option<String>,
    /// UK provider reference number, 8 digits, if the partner has one.
    pub ukprn: Option<String>,
    /// Name.
    pub name: String,
}

/// A kind of organisation with a register: schools or training partners.
pub trait Organisation: Clone + PartialEq + Send + 'static {
    /// The unique numbers of the organisation. The first one identifies the organisation.
    fn numbers(&self) -> impl Iterator<Item = &str>;

    /// The number that identifies the organisation. It never changes.
    fn key(&self) -> &str {
        self.numbers().next().unwrap_or_default()
    }

    /// All stored organisations of the kind, oldest first, with their keys in this service.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn stored(session: &mut Session<'_>) -> Result<Vec<(i64, Self)>, StorageError>;

    /// Inserts a new organisation.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or another process has inserted the organisation first.
    fn add(&self, session: &mut Session<'_>) -> Result<(), StorageError>;

    /// Updates the stored organisation with the key `id`.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or another process has stored one of the numbers first.
    fn replace(&self, id: i64, session: &mut Session<'_>) -> Result<(), StorageError>;

    /// Updates records that contain data of the organisation with the key `id`: the next portion
    /// after the key `after`. Returns the last key of the portion while there may be more records.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn update_records(
        &self,
        _id: i64,
        _session: &mut Session<'_>,
        _after: Option<i64>,
        _by: Option<&str>,
    ) -> Result<Option<i64>, StorageError> {
        Ok(None)
    }

    /// The open transactions that have read organisations and may still write records with that
    /// data.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn readers(_session: &mut Session<'_>) -> Result<Vec<String>, StorageError> {
        Ok(Vec::new())
    }
}

impl Organisation for SchoolDetails {
    fn numbers(&self) -> impl Iterator<Item = &str> {
        [self.urn.as_str()].into_iter()
    }

    fn stored(session: &mut Session<'_>) -> Result<Vec<(i64, Self)>, StorageError> {
        let rows = schools::table
            .order(schools::id)
            .load::<SchoolRow>(session.connection)?;
        Ok(rows
            .into_iter()
            .map(|(id, urn, name, postcode, open)| {
                let school = Self {
                    urn,
                    name,
                    postcode,
                    open,
                };
                (id, school)
            })
            .collect())
    }

    fn add(&self, session: &mut Session<'_>) -> Result<(), StorageError> {
        diesel::insert_into(schools::table)
            .values((
                schools::urn.eq(&self.urn),
                schools::name.eq(&self.name),
                schools::postcode.eq(&self.postcode),
                schools::open.eq(self.open),
            ))
            .execute(session.connection)?;
        Ok(())
    }

    fn replace(&self, id: i64, session: &mut Session<'_>) -> Result<(), StorageError> {
        diesel::update(schools::table.find(id))
            .set((
                schools::name.eq(&self.name),
                schools::postcode.eq(&self.postcode),
                schools::open.eq(self.open),
            ))
            .execute(session.connection)?;
        Ok(())
    }

    /// Updates placements, which contain the name and the postcode of their school.
    fn update_records(
        &self,
        id: i64,
        session: &mut Session<'_>,
        after: Option<i64>,
        by: Option<&str>,
    ) -> Result<Option<i64>, StorageError> {
        let cause = Cause {
            by,
            ..Cause::new("school import")
        };
        session.update_placements_of_school(
            (id, &self.name, self.postcode.as_deref()),
            after,
            cause,
        )
    }

    /// Empty on SQLite: a transaction that reads a school to write a placement has the write lock.
    fn readers(session: &mut Session<'_>) -> Result<Vec<String>, StorageError> {
        let DatabaseConnection::Postgres(inner) = &mut *session.connection else {
            return Ok(Vec::new());
        };
        let found = diesel::sql_query(READERS_OF_SCHOOLS_SQL).load::<TransactionRow>(inner)?;
        Ok(found.into_iter().map(|row| row.transaction).collect())
    }
}

impl Organisation for PartnerDetails {
    /// The URN and the UKPRN. Their lengths differ: 6 and 8 digits.
    fn numbers(&self) -> impl Iterator<Item = &str> {
        [self.urn.as_deref(), self.ukprn.as_deref()]
            .into_iter()
            .flatten()
    }

    fn stored(session: &mut Session<'_>) -> Result<Vec<(i64, Self)>, StorageError> {
        let rows = training_partners::table
            .order(training_partners::id)
            .load::<PartnerRow>(session.connection)?;
        Ok(rows
            .into_iter()
            .map(|(id, urn, ukprn, name)| (id, Self { urn, ukprn, name }))
            .collect())
    }

    fn add(&self, session: &mut Session<'_>) -> Result<(), StorageError> {
        diesel::insert_into(training_partners::table)
            .values((
                training_partners::urn.eq(&self.urn),
                training_partners::ukprn.eq(&self.ukprn),
                training_partners::name.eq(&self.name),
            ))
            .execute(session.connection)?;
        Ok(())
    }

    fn replace(&self, id: i64, session: &mut Session<'_>) -> Result<(), StorageError> {
        diesel::update(training_partners::table.find(id))
            .set((
                training_partners::ukprn.eq(&self.ukprn),
                training_partners::name.eq(&self.name),
            ))
            .execute(session.connection)?;
        Ok(())
    }
}

/// The numbers of organisations that a merge added, changed and left unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// New organisations.
    pub added: usize,
    /// Stored organisations that were updated.
    pub changed: usize,
    /// Stored organisations that needed no update.
    pub unchanged: usize,
}

/// A running merge. Pass each organisation of the list to [`Merge::take`] once.
pub struct Merge<'a, O> {
    store: &'a Store,
    stored: HashMap<String, (i64, O)>,
    /// For each number other than a key: the keys of the organisations with that number.
    holders: HashMap<String, HashSet<String>>,
    /// The next organisations to write, with the stored key if they exist already.
    waiting: Vec<(Option<i64>, O)>,
    merged: Merged,
    /// The user who imports, for the history of updated records.
    by: Option<String>,
    /// Transactions that outlasted [`TRANSACTION_WAIT`], such as that of a `pg_dump`. The merge
    /// does not wait for them again.
    long_readers: HashSet<String>,
}

impl<'a, O: Organisation> Merge<'a, O> {
    /// Starts a merge and reads the stored organisations. Blocks the thread, like the other
    /// methods.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin(store: &'a Store) -> Result<Self, StorageError> {
        let mut stored = HashMap::new();
        let mut holders = HashMap::new();
        for (id, organisation) in store.read_blocking(O::stored)? {
            hold_numbers(&mut holders, &organisation);
            // Of several organisations with one key, the oldest applies, like in requests.
            stored
                .entry(organisation.key().to_owned())
                .or_insert((id, organisation));
        }
        Ok(Self {
            store,
            stored,
            holders,
            waiting: Vec::with_capacity(BATCH),
            merged: Merged::default(),
            by: None,
            long_readers: HashSet::new(),
        })
    }

    /// Sets the user who imports.
    #[must_use]
    pub fn by(self, by: &str) -> Self {
        Self {
            by: Some(by.to_owned()),
            ..self
        }
    }

    /// Returns a number of the organisation that belongs to another organisation, either stored or
    /// taken before; `None` when there is no such conflict.
    #[must_use]
    pub fn number_in_use<'o>(&self, organisation: &'o O) -> Option<&'o str> {
        let key = organisation.key();
        organisation.numbers().find(|number| {
            let is_key_of_other = *number != key && self.stored.contains_key(*number);
            is_key_of_other
                || self
                    .holders
                    .get(*number)
                    .is_some_and(|keys| keys.iter().any(|holder| holder != key))
        })
    }

    /// Adds an organisation to the merge, and writes a batch when 500 organisations wait.
    ///
    /// # Errors
    ///
    /// When the database does not answer. Earlier batches stay written.
    pub fn take(&mut self, organisation: O) -> Result<(), StorageError> {
        let id = match self.stored.get(organisation.key()) {
            Some((_, stored)) if *stored == organisation => {
                self.merged.unchanged += 1;
                return Ok(());
            }
            Some((id, stored)) => {
                // Releases the stored numbers: the organisation may lose one of them.
                for number in stored.numbers() {
                    if let Some(keys) = self.holders.get_mut(number) {
                        keys.remove(organisation.key());
                    }
                }
                Some(*id)
            }
            None => None,
        };
        hold_numbers(&mut self.holders, &organisation);
        self.waiting.push((id, organisation));
        if self.waiting.len() < BATCH {
            return Ok(());
        }
        let began = Instant::now();
        self.write()?;
        // Pause for as long as the batch took, so that running servers can write.
        thread::sleep(began.elapsed());
        Ok(())
    }

    /// Writes the remaining organisations and returns the final numbers.
    ///
    /// # Errors
    ///
    /// When the database does not answer. Earlier batches stay written.
    pub fn finish(&mut self) -> Result<Merged, StorageError> {
        self.write()?;
        Ok(self.merged)
    }

    /// The numbers of organisations so far, without waiting ones.
    #[must_use]
    pub fn merged(&self) -> Merged {
        self.merged
    }

    /// Whether organisations wait to be written.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes the waiting organisations.
    ///
    /// 1. Updates the records of changed organisations. If the merge is interrupted after that, the
    ///    organisation still differs and the next merge repeats its update.
    /// 2. Writes the organisations.
    /// 3. Waits for transactions that have read the organisations as stored before.
    /// 4. Updates the records again, for records that these transactions have written.
    fn write(&mut self) -> Result<(), StorageError> {
        let batch = std::mem::take(&mut self.waiting);
        if batch.is_empty() {
            return Ok(());
        }
        let changed: Vec<(i64, O)> = batch
            .iter()
            .filter_map(|(id, organisation)| Some(((*id)?, organisation.clone())))
            .collect();
        self.update_records(&changed)?;
        let added = batch.len() - changed.len();
        self.store.write_blocking(move |session| {
            batch.iter().try_for_each(|(id, organisation)| match id {
                Some(id) => organisation.replace(*id, session),
                None => organisation.add(session),
            })
        })?;
        self.merged.added += added;
        self.merged.changed += changed.len();
        if !changed.is_empty() {
            self.wait_for_readers()?;
        }
        self.update_records(&changed)
    }

    /// Waits, up to [`TRANSACTION_WAIT`], for transactions that may have read the organisations as
    /// stored before.
    fn wait_for_readers(&mut self) -> Result<(), StorageError> {
        let began = Instant::now();
        let mut readers: HashSet<_> = self.store.read_blocking(O::readers)?.into_iter().collect();
        readers.retain(|reader| !self.long_readers.contains(reader));
        while !readers.is_empty() {
            if began.elapsed() > TRANSACTION_WAIT {
                self.long_readers.extend(readers);
                break;
            }
            thread::sleep(TRANSACTION_PAUSE);
            // Ignore newer transactions: they read the present data.
            let open: HashSet<_> = self.store.read_blocking(O::readers)?.into_iter().collect();
            readers.retain(|reader| open.contains(reader));
        }
        Ok(())
    }

    /// Updates the records that contain data of these organisations, in portions with pauses.
    fn update_records(&self, changed: &[(i64, O)]) -> Result<(), StorageError> {
        for (id, organisation) in changed {
            let mut after = None;
            loop {
                let id = *id;
                let organisation = organisation.clone();
                let by = self.by.clone();
                let began = Instant::now();
                after = self.store.write_blocking(move |session| {
                    organisation.update_records(id, session, after, by.as_deref())
                })?;
                if after.is_none() {
                    break;
                }
                // Pause for as long as the portion took, so that running servers can write.
                thread::sleep(began.elapsed());
            }
        }
        Ok(())
    }
}

/// Adds the organisation to the holders of each of its numbers, except the key.
fn hold_numbers<O: Organisation>(holders: &mut HashMap<String, HashSet<String>>, organisation: &O) {
    for number in organisation.numbers().skip(1) {
        holders
            .entry(number.to_owned())
            .or_default()
            .insert(organisation.key().to_owned());
    }
}

#[cfg(test)]
mod tests;
