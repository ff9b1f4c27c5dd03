//! Trainees of one provider: finding, adding and changing them.
//!
//! A trainee is one row of columns named like the fields, and rows of its own for disabilities, withdrawals, placements
//! and degrees. Whether a change is allowed is not asked here.

use diesel::prelude::*;
use domain::duplicate::Likeness;
use domain::{State, Trainee};

use crate::connection::Backend;
use crate::error::StorageError;
use crate::history::Changed;
use crate::schema::trainees;
use crate::session::ProviderSession;

mod columns;
mod imported;
mod listing;
mod load;
mod nested;
mod parts;
mod registry;
mod sweep;

use columns::Columns;
pub use listing::Page;
pub(crate) use listing::miscounted;
use load::{Nested, Row, load};
pub use registry::Waiting;
pub use sweep::Swept;

/// A trainee as it is stored.
#[derive(Debug, Clone)]
pub struct StoredTrainee {
    /// The record.
    pub record: Trainee,
    pub(crate) key: i64,
    revision: i64,
}

/// The trainees that a provider can see: its own, neither drafts nor discarded ones.
#[diesel::dsl::auto_type(no_type_alias)]
fn visible(provider_id: i64) -> _ {
    trainees::provider_id.eq(provider_id).and(trainees::discarded_at.is_null()).and(trainees::state.ne("draft"))
}

/// What is selected of a trainee.
#[diesel::dsl::auto_type(no_type_alias)]
fn row() -> _ {
    let columns: diesel::dsl::AsSelect<Columns, Backend> = Columns::as_select();
    (trainees::id, trainees::revision, trainees::trainee_id, trainees::imported_facts, columns)
}

impl ProviderSession<'_> {
    /// The trainee with the identifier, compared exactly, with all that belongs to it.
    ///
    /// In a job that may write, no other job changes the trainee until this one has ended: what it decides rests on the
    /// trainee as it is found here. The job's `now` is then later than the trainee's last change.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn find_trainee(&mut self, trainee_id: &str) -> Result<Option<StoredTrainee>, StorageError> {
        if trainee_id.contains('\0') {
            // No identifier has this character, and PostgreSQL refuses a query that has it.
            return Ok(None);
        }
        if self.writes() {
            self.connection.lock_trainee(self.provider().id, trainee_id)?;
        }
        let rows = trainees::table
            .filter(visible(self.provider().id))
            .filter(trainees::trainee_id.eq(trainee_id))
            .select(row())
            .load::<Row>(self.connection)?;
        let found = self.whole(rows, Nested::With)?.pop();
        if let Some(trainee) = &found {
            self.come_after(trainee.key, trainee.record.updated_at);
        }
        Ok(found)
    }

    /// The trainees that a new one would be a duplicate of, oldest first (contract, section 4.8).
    ///
    /// In a write job this is safe against another request for the same person: writes come one after the other on
    /// SQLite, and on PostgreSQL the coarse part of the rule is locked until the commit. So are the trainees that are
    /// found, because each query of such a job sees what was committed before it, and a trainee that changed between two
    /// of them would be shown half as it was and half as it is.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn duplicates_of(&mut self, trainee: &Trainee) -> Result<Vec<StoredTrainee>, StorageError> {
        let likeness = Likeness::of(trainee, self.today());
        let provider = self.provider().id;
        if self.writes() {
            self.connection.lock_likeness(provider, &likeness)?;
        }
        let mut locked = Vec::new();
        loop {
            let rows = self.rows_like(&likeness)?;
            let others = rows.iter().map(|(_, _, trainee_id, _, _)| trainee_id).filter(|id| !locked.contains(*id));
            let others: Vec<String> = others.cloned().collect();
            if others.is_empty() || !self.writes() {
                return self.whole(rows, Nested::With);
            }
            others.iter().try_for_each(|trainee_id| self.connection.lock_trainee(provider, trainee_id))?;
            locked.extend(others);
        }
    }

    /// The rows of the provider's trainees who are taken for the same person, oldest first.
    fn rows_like(&mut self, likeness: &Likeness) -> Result<Vec<Row>, StorageError> {
        let same_names =
            trainees::first_names_folded.ne("").and(trainees::first_names_folded.eq(likeness.first_names.as_str()));
        let same_email = trainees::email_folded.ne("").and(trainees::email_folded.eq(likeness.email.as_str()));
        Ok(trainees::table
            .filter(visible(self.provider().id))
            .filter(trainees::date_of_birth.eq(likeness.date_of_birth))
            .filter(trainees::training_route.eq(likeness.training_route.as_deref()))
            .filter(trainees::academic_cycle.eq(likeness.academic_cycle))
            .filter(trainees::last_name_folded.eq(likeness.last_name.as_str()))
            .filter(same_names.or(same_email))
            .order(trainees::id)
            .select(row())
            .load::<Row>(self.connection)?)
    }

    /// Whether the provider has any trainee.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_trainees(&mut self) -> Result<bool, StorageError> {
        let first =
            trainees::table.filter(visible(self.provider().id)).select(trainees::id).first::<i64>(self.connection);
        Ok(first.optional()?.is_some())
    }

    /// Adds a trainee with placements and degrees.
    ///
    /// # Errors
    ///
    /// [`StorageError::DateNotDue`], or when the database does not answer.
    pub fn insert_trainee(&mut self, trainee: &Trainee) -> Result<(), StorageError> {
        self.take_date(trainee.updated_at)?;
        let likeness = Likeness::of(trainee, self.today());
        let key = diesel::insert_into(trainees::table)
            .values((
                trainees::provider_id.eq(self.provider().id),
                trainees::trainee_id.eq(trainee.trainee_id.as_deref().unwrap_or_default()),
                trainees::revision.eq(1_i64),
                trainees::academic_cycle.eq(likeness.academic_cycle),
                trainees::last_name_folded.eq(likeness.last_name),
                trainees::first_names_folded.eq(likeness.first_names),
                trainees::email_folded.eq(likeness.email),
                trainees::imported_facts.eq(imported::facts(trainee)),
                Columns::of(trainee),
            ))
            .returning(trainees::id)
            .get_result::<i64>(self.connection)?;
        nested::insert_disabilities(self.connection, key, trainee)?;
        // A record that comes in withdrawn was in training before.
        let in_training = if trainee.trn.is_some() { State::TrnReceived } else { State::SubmittedForTrn };
        let before = Trainee { state: Some(in_training), ..Trainee::default() };
        nested::record_withdrawal(self.connection, key, &before, trainee, self.now())?;
        for placement in &trainee.placements {
            nested::insert_placement(self.connection, key, placement)?;
        }
        for degree in &trainee.degrees {
            nested::insert_degree(self.connection, key, degree)?;
        }
        let (no_trainee, no_placement, no_degree) = Default::default();
        let mut changed = Changed::default().trainee(&no_trainee, trainee);
        changed = trainee.placements.iter().fold(changed, |changed, new| changed.placement(&no_placement, new));
        changed = trainee.degrees.iter().fold(changed, |changed, new| changed.degree(&no_degree, new));
        self.remember(key, &changed)
    }

    /// Changes a trainee to what it is to be, its disabilities and its withdrawal included. Placements and degrees are
    /// left alone.
    ///
    /// # Errors
    ///
    /// [`StorageError::Stale`] when the trainee has changed since it was found; [`StorageError::DateNotDue`]; otherwise
    /// when the database does not answer.
    pub fn update_trainee(&mut self, stored: &StoredTrainee, changed: &Trainee) -> Result<(), StorageError> {
        self.take_date(changed.updated_at)?;
        let likeness = Likeness::of(changed, self.today());
        let updated = diesel::update(trainees::table)
            .filter(trainees::id.eq(stored.key))
            .filter(trainees::provider_id.eq(self.provider().id))
            .filter(trainees::revision.eq(stored.revision))
            .set((
                trainees::revision.eq(stored.revision + 1),
                trainees::academic_cycle.eq(likeness.academic_cycle),
                trainees::last_name_folded.eq(likeness.last_name),
                trainees::first_names_folded.eq(likeness.first_names),
                trainees::email_folded.eq(likeness.email),
                trainees::imported_facts.eq(imported::facts(changed)),
                Columns::of(changed),
            ))
            .execute(self.connection)?;
        if updated != 1 {
            return Err(StorageError::Stale);
        }
        if stored.record.disabilities() != changed.disabilities() {
            nested::delete_disabilities(self.connection, stored.key)?;
            nested::insert_disabilities(self.connection, stored.key, changed)?;
        }
        nested::record_withdrawal(self.connection, stored.key, &stored.record, changed, self.now())?;
        self.remember(stored.key, &Changed::default().trainee(&stored.record, changed))
    }

    fn whole(&mut self, rows: Vec<Row>, nested: Nested) -> Result<Vec<StoredTrainee>, StorageError> {
        let ukprn = self.provider().ukprn.clone();
        load(self.connection, rows, &ukprn, nested)
    }
}
