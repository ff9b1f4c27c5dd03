//! Merges a list of organisations into a register while servers are running.
//!
//! A merge reads the stored organisations once and writes the differences in short transactions,
//! with pauses for other writes. A merge never removes organisations. Callers parse the files.
//!
//! Placements contain the name and the postcode of their school. After a change of schools is
//! committed, the merge locks each provider in turn and updates its placements. A registration that
//! has read the former name is committed before that, and a later one reads the new name. Until all
//! providers are updated, the register names the changed schools as due, so that the next import
//! completes an interrupted one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use diesel::prelude::*;

use crate::base::cause::Cause;
use crate::base::register_setting;
use crate::error::StorageError;
use crate::records::organisations::{PartnerRow, SchoolRow};
use crate::schema::{schools, training_partners};
use crate::session::Session;
use crate::store::{Store, WriteScope};

/// The number of organisations written in one transaction.
const BATCH: usize = 500;
/// The name of the setting with the keys of the schools whose placements are due for an update, as a
/// JSON list.
const DUE: &str = "schools_to_copy";

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

    /// Remembers that records contain former data of these organisations. Records of most kinds
    /// contain none.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn set_due(_session: &mut Session<'_>, _ids: &[i64]) -> Result<(), StorageError> {
        Ok(())
    }

    /// The organisations whose data in records is due for an update.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn due(_session: &mut Session<'_>) -> Result<Vec<i64>, StorageError> {
        Ok(Vec::new())
    }

    /// Updates records of a provider that contain data of the organisations with these keys: the
    /// next portion after the key `after`. Returns the last key of the portion while there may be
    /// more records.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    fn update_records(
        _session: &mut Session<'_>,
        _ids: &[i64],
        _provider: i64,
        _after: Option<i64>,
        _by: Option<&str>,
    ) -> Result<Option<i64>, StorageError> {
        Ok(None)
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

    fn set_due(session: &mut Session<'_>, ids: &[i64]) -> Result<(), StorageError> {
        // A list of numbers is always JSON.
        let ids = serde_json::to_string(ids).unwrap_or_default();
        register_setting::write(session.connection, DUE, &ids)
    }

    fn due(session: &mut Session<'_>) -> Result<Vec<i64>, StorageError> {
        let due = register_setting::read(session.connection, DUE)?;
        let corrupt = |_| StorageError::CorruptSetting { name: DUE };
        due.map_or_else(
            || Ok(Vec::new()),
            |ids| serde_json::from_str(&ids).map_err(corrupt),
        )
    }

    fn update_records(
        session: &mut Session<'_>,
        ids: &[i64],
        provider: i64,
        after: Option<i64>,
        by: Option<&str>,
    ) -> Result<Option<i64>, StorageError> {
        let cause = Cause {
            by,
            ..Cause::new("school import")
        };
        session.update_placements_of_schools(ids, provider, after, cause)
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
    #[expect(
        clippy::disallowed_methods,
        reason = "an import pauses on its own thread"
    )]
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

    /// Writes the remaining organisations, and completes an interrupted import. Returns the final
    /// numbers.
    ///
    /// # Errors
    ///
    /// When the database does not answer. Earlier batches stay written.
    pub fn finish(&mut self) -> Result<Merged, StorageError> {
        self.write()?;
        self.update_records(self.store.read_blocking(O::due)?)?;
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

    /// Writes the waiting organisations, then updates the records that contain their data.
    fn write(&mut self) -> Result<(), StorageError> {
        let batch = std::mem::take(&mut self.waiting);
        if batch.is_empty() {
            return Ok(());
        }
        let added = batch.iter().filter(|(id, _)| id.is_none()).count();
        let changed = batch.len() - added;
        let due = self.store.write_blocking(move |session| {
            let mut due = O::due(session)?;
            due.extend(batch.iter().filter_map(|(id, _)| *id));
            if !due.is_empty() {
                O::set_due(session, &due)?;
            }
            for (id, organisation) in &batch {
                match id {
                    Some(id) => organisation.replace(*id, session)?,
                    None => organisation.add(session)?,
                }
            }
            Ok::<_, StorageError>(due)
        })?;
        self.merged.added += added;
        self.merged.changed += changed;
        self.update_records(due)
    }

    /// Updates the records that contain data of these organisations, provider by provider, in
    /// portions with pauses.
    #[expect(
        clippy::disallowed_methods,
        reason = "an import pauses on its own thread"
    )]
    fn update_records(&self, due: Vec<i64>) -> Result<(), StorageError> {
        if due.is_empty() {
            return Ok(());
        }
        let due: Arc<[i64]> = due.into();
        for provider in self
            .store
            .read_blocking(|session| session.provider_keys())?
        {
            let mut after = None;
            loop {
                let due = Arc::clone(&due);
                let by = self.by.clone();
                let began = Instant::now();
                let update = move |session: &mut Session<'_>| {
                    O::update_records(session, &due, provider, after, by.as_deref())
                };
                after = self
                    .store
                    .write_blocking_in(WriteScope::Provider(provider), update)?;
                if after.is_none() {
                    break;
                }
                // Pause for as long as the portion took, so that running servers can write.
                thread::sleep(began.elapsed());
            }
        }
        self.store
            .write_blocking(|session| O::set_due(session, &[]))
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
