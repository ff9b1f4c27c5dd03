//! Brings a register of organisations in step with a list of them, next to a running server.
//!
//! What is stored is read once. What differs is written in short transactions, and between two of
//! them the database is left to others. Nothing is ever removed. Knows nothing of files.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::base::cause::Cause;
use crate::error::{DatabaseError, StorageError};
use crate::records::organisations::{PartnerRow, SchoolRow};
use crate::schema::{schools, training_partners};
use crate::session::Session;
use crate::store::Store;

/// Organisations that are written in one transaction.
const BATCH: usize = 500;
/// How often a batch is tried that found the database busy.
const ATTEMPTS: usize = 5;
/// How long transactions that have read the organisations are waited for: none of a server takes
/// longer.
const TRANSACTION_WAIT: Duration = Duration::from_secs(10);
/// How long a merge waits before it looks again for those transactions.
const TRANSACTION_PAUSE: Duration = Duration::from_millis(10);

/// The transactions that have read schools and have not ended: each holds the table's lock of
/// readers until then. That also finds one that has written nothing yet, and has no number.
const READERS_OF_SCHOOLS_SQL: &str = "SELECT DISTINCT virtualtransaction AS transaction FROM pg_locks \
     WHERE locktype = 'relation' AND relation = to_regclass('schools')::oid \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
     AND mode IN ('AccessShareLock', 'RowShareLock') AND granted";

#[derive(QueryableByName)]
struct TransactionRow {
    #[diesel(sql_type = Text)]
    transaction: String,
}

/// What is stored of a school, except its number in this service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchoolDetails {
    /// Unique reference number, 6 digits.
    pub urn: String,
    /// Name.
    pub name: String,
    /// Postcode, when it is known.
    pub postcode: Option<String>,
    /// Whether the school is open.
    pub open: bool,
}

/// What is stored of a training partner, except its number in this service. It has a URN, a UKPRN
/// or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartnerDetails {
    /// URN, when the partner is a school.
    pub urn: Option<String>,
    /// UK provider reference number, 8 digits, when the partner has one.
    pub ukprn: Option<String>,
    /// Name.
    pub name: String,
}

/// An organisation of which there is a register.
pub trait Organisation: Clone + PartialEq + Send + 'static {
    /// The numbers that no two organisations share. The first one identifies the organisation.
    fn numbers(&self) -> impl Iterator<Item = &str>;

    /// The number that identifies the organisation, and never changes.
    fn key(&self) -> &str {
        self.numbers().next().unwrap_or_default()
    }

    /// All that are stored, oldest first, each with its number in this service.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn stored(session: &mut Session<'_>) -> Result<Vec<(i64, Self)>, StorageError>;

    /// Stores one that was not there.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or another process was faster.
    fn add(&self, session: &mut Session<'_>) -> Result<(), StorageError>;

    /// Changes the one that has this number.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or another process was faster.
    fn replace(&self, id: i64, session: &mut Session<'_>) -> Result<(), StorageError>;

    /// Changes the records that hold what is said of the one with this number: the next of them
    /// behind a key. Returns the last key while there may be more.
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

    /// The open transactions that may write records with what they have read of organisations.
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
        let school = |(id, urn, name, postcode, open)| {
            (
                id,
                Self {
                    urn,
                    name,
                    postcode,
                    open,
                },
            )
        };
        Ok(rows.into_iter().map(school).collect())
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

    /// A placement holds the name and the postcode of its school.
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

    /// On SQLite there are none: who reads a school to write a placement has the write lock.
    fn readers(session: &mut Session<'_>) -> Result<Vec<String>, StorageError> {
        let DatabaseConnection::Postgres(inner) = &mut *session.connection else {
            return Ok(Vec::new());
        };
        let found = diesel::sql_query(READERS_OF_SCHOOLS_SQL).load::<TransactionRow>(inner)?;
        Ok(found.into_iter().map(|row| row.transaction).collect())
    }
}

impl Organisation for PartnerDetails {
    /// The URN and the UKPRN. One has 6 digits and the other 8, so they cannot be confused.
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

/// What a merge came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merged {
    /// Organisations that were not stored before.
    pub added: usize,
    /// Organisations that were stored otherwise.
    pub changed: usize,
    /// Organisations that were stored just so.
    pub unchanged: usize,
}

/// A merge on its way. Each organisation may be given to it once.
pub struct Merge<'a, O> {
    store: &'a Store,
    stored: HashMap<String, (i64, O)>,
    /// The keys of the organisations that have a number, without those whose key it is.
    holders: HashMap<String, HashSet<String>>,
    /// What is to be written next; what is stored already comes with its number.
    waiting: Vec<(Option<i64>, O)>,
    merged: Merged,
    /// Who imports, for the history of the records that change.
    by: Option<String>,
    /// Transactions that were waited for in vain, such as that of a `pg_dump`: they are not waited
    /// for again.
    long_readers: HashSet<String>,
}

impl<'a, O: Organisation> Merge<'a, O> {
    /// Reads what is stored. Blocks, as the other methods do.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn begin(store: &'a Store) -> Result<Self, StorageError> {
        let mut stored = HashMap::new();
        let mut holders = HashMap::new();
        for (id, organisation) in store.read_blocking(O::stored)? {
            hold_numbers(&mut holders, &organisation);
            // Of several with one key the oldest counts, as it does where one is looked for.
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

    /// The same, with who imports.
    #[must_use]
    pub fn by(self, by: &str) -> Self {
        Self {
            by: Some(by.to_owned()),
            ..self
        }
    }

    /// The number of the organisation that another one has: one that is stored, or that was taken
    /// before.
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

    /// Takes one organisation, and now and then writes those that wait.
    ///
    /// # Errors
    ///
    /// When the database does not answer. What was written before stays.
    pub fn take(&mut self, organisation: O) -> Result<(), StorageError> {
        let id = match self.stored.get(organisation.key()) {
            Some((_, stored)) if *stored == organisation => {
                self.merged.unchanged += 1;
                return Ok(());
            }
            Some((id, stored)) => {
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
        // The database is left alone for as long as it was taken, so that a running server is not
        // blocked.
        thread::sleep(began.elapsed());
        Ok(())
    }

    /// Writes the rest.
    ///
    /// # Errors
    ///
    /// When the database does not answer. What was written before stays.
    pub fn finish(&mut self) -> Result<Merged, StorageError> {
        self.write()?;
        Ok(self.merged)
    }

    /// What was written so far, with those that were stored just so.
    #[must_use]
    pub fn merged(&self) -> Merged {
        self.merged
    }

    /// Whether organisations wait to be written.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Writes those that wait. Records are changed before the organisation, so that what was
    /// interrupted is found to differ the next time, and again behind it, for those that were
    /// written meanwhile. A record that is written with what was stored before is not there to be
    /// found until its transaction has ended, so that is waited for in between.
    fn write(&mut self) -> Result<(), StorageError> {
        let batch = std::mem::take(&mut self.waiting);
        if batch.is_empty() {
            return Ok(());
        }
        let changed: Vec<(i64, O)> = batch
            .iter()
            .filter_map(|(id, one)| Some(((*id)?, one.clone())))
            .collect();
        self.update_records(&changed)?;
        let added = batch.len() - changed.len();
        self.attempt(move |session| {
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

    /// Waits until the transactions have ended that may have read the organisations as they were
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
            // One that has begun since reads what is stored now.
            let open: HashSet<_> = self.store.read_blocking(O::readers)?.into_iter().collect();
            readers.retain(|reader| open.contains(reader));
        }
        Ok(())
    }

    fn update_records(&self, changed: &[(i64, O)]) -> Result<(), StorageError> {
        for (id, organisation) in changed {
            let mut after = None;
            loop {
                let (id, organisation, by) = (*id, organisation.clone(), self.by.clone());
                let began = Instant::now();
                after = self.attempt(move |session| {
                    organisation.update_records(id, session, after, by.as_deref())
                })?;
                if after.is_none() {
                    break;
                }
                thread::sleep(began.elapsed());
            }
        }
        Ok(())
    }

    /// Runs a job, and again where the database was busy: nothing was kept then, and the server
    /// that was at work may well be done the next time.
    fn attempt<T: Send + 'static>(
        &self,
        job: impl Fn(&mut Session<'_>) -> Result<T, StorageError> + Clone + Send + 'static,
    ) -> Result<T, StorageError> {
        let mut attempts = 1;
        loop {
            match self.store.write_blocking(job.clone()) {
                Err(StorageError::Database(DatabaseError::Busy)) if attempts < ATTEMPTS => {
                    attempts += 1
                }
                outcome => return outcome,
            }
        }
    }
}

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
