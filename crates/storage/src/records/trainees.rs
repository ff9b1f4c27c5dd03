//! Finding, adding and changing the trainees of one provider.
//!
//! A trainee is one row. The row has the record as a JSON document, and columns derived from the
//! document for searching, ordering, counting and unique constraints. Callers must check whether a
//! change is allowed.

use database::connection::{static_query, static_update, with_inner};
use diesel::prelude::*;
use diesel::result::Error as DieselError;
use domain::duplicate::DuplicateKey;
use domain::{State, Trainee};
use stored_document::sql_dates::Day;
use stored_document::{Extra, JsonText, Parsed};

use crate::base::trainee_row::{TRAINEE_ROW, TraineeRow, is_visible};
use crate::error::StorageError;
use crate::identifiers::can_be_identifier;
use crate::records::history::Changed;
use crate::schema::trainees;
use crate::session::ProviderSession;
pub use stored_document::{Nested, ReadTrainee};

mod all_visible;
mod batches;
mod change_feed;
mod columns;
mod documents;
mod erasing;
mod inserting;
mod listing;
mod provider_keys;
mod registry;
mod schools;
mod searching;

pub use all_visible::VisibleTrainees;
pub use batches::BatchEntry;
pub use change_feed::{Change, ChangePage, ChangePlace, ChangeQuery};
use columns::Derived;
pub use erasing::RelatedRecord;
pub use listing::{CursorPage, ListCursor, ListTotals, Page};
pub use provider_keys::{ProviderKey, ProviderKeyPage, ProviderKeyPosition};
pub use registry::{Awaited, QueueEntry, QueuePosition, UnreadableQueuePosition, Waiting};

/// A stored trainee that a job may change.
#[derive(Debug, Clone)]
pub struct StoredTrainee {
    /// The record.
    pub record: Trainee,
    pub(crate) key: i64,
    revision: i64,
    extra: Extra,
}

impl StoredTrainee {
    /// Whether the trainee is visible to its provider: neither a draft nor discarded.
    fn is_visible(&self) -> bool {
        self.record.discarded_at.is_none()
            && self.record.state.is_some_and(|state| state != State::Draft)
    }
}

/// A stored trainee for showing.
#[derive(Debug, Clone)]
pub struct TraineeDocument {
    key: i64,
    record: JsonText,
}

impl TraineeDocument {
    /// The fields of the trainee, borrowed from the document.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptRow`] when the document is not a valid trainee.
    pub fn read(&self, nested: Nested) -> Result<ReadTrainee<'_>, StorageError> {
        self.record.fields(nested).ok_or(corrupt(self.key))
    }

    /// The trainee as a struct.
    #[cfg(test)]
    pub(crate) fn parsed(&self) -> Trainee {
        self.record.parsed().unwrap().trainee
    }
}

/// The error for the trainee with this key.
fn corrupt(key: i64) -> StorageError {
    StorageError::CorruptRow {
        table: "trainees",
        id: key,
    }
}

/// The trainees of a provider that are visible to it.
#[diesel::dsl::auto_type(no_type_alias)]
pub(crate) fn visible(provider_id: i64) -> _ {
    trainees::provider_id.eq(provider_id).and(is_visible())
}

/// The provider's trainee with the identifier.
#[diesel::dsl::auto_type(no_type_alias)]
fn select_by_id<'a>(provider_id: i64, trainee_id: &'a str) -> _ {
    trainees::table
        .filter(trainees::trainee_id.eq(trainee_id))
        .filter(trainees::provider_id.eq(provider_id))
}

/// Converts a row. `Err` if the document is unreadable.
fn stored((key, revision, document): TraineeRow) -> Result<StoredTrainee, StorageError> {
    let Parsed { trainee, extra } = document.parsed().ok_or(corrupt(key))?;
    Ok(StoredTrainee {
        record: trainee,
        key,
        revision,
        extra,
    })
}

impl ProviderSession<'_> {
    /// The visible trainee of the provider with this identifier, for showing; `None` when there is
    /// none. Identifiers are case-sensitive.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn show_trainee(
        &mut self,
        trainee_id: &str,
    ) -> Result<Option<TraineeDocument>, StorageError> {
        // Authentication may have loaded the trainee.
        if let Some(found) = self.take_found(trainee_id) {
            return Ok(found.map(|(key, _, record)| TraineeDocument { key, record }));
        }
        if !can_be_identifier(trainee_id) {
            return Ok(None);
        }
        let query = static_query(
            select_by_id(self.provider().id, trainee_id)
                .filter(is_visible())
                .select((trainees::id, trainees::record)),
        );
        let found = with_inner!(self.connection, |inner| query
            .get_result::<(i64, JsonText)>(inner))
        .optional()?;
        Ok(found.map(|(key, record)| TraineeDocument { key, record }))
    }

    /// The visible trainee of the provider with this identifier, for changing; `None` when there is
    /// none. Identifiers are case-sensitive.
    ///
    /// A job that may write locks the provider until it has ended. Sets
    /// [`ProviderSession::change_date`] to a time after the trainee's last change.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn find_trainee(
        &mut self,
        trainee_id: &str,
    ) -> Result<Option<StoredTrainee>, StorageError> {
        Ok(self
            .find_hidden_trainee(trainee_id)?
            .filter(StoredTrainee::is_visible))
    }

    /// Like [`ProviderSession::find_trainee`], but also finds drafts and discarded trainees.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn find_hidden_trainee(
        &mut self,
        trainee_id: &str,
    ) -> Result<Option<StoredTrainee>, StorageError> {
        if !can_be_identifier(trainee_id) {
            return Ok(None);
        }
        self.lock_records()?;
        // Authentication may have loaded the trainee.
        let found = match self.take_found(trainee_id) {
            Some(found) => found,
            None => self.load_trainee(trainee_id)?,
        };
        let found = found.map(stored).transpose()?;
        if let Some(trainee) = &found {
            self.come_after(trainee.record.updated_at);
        }
        Ok(found)
    }

    /// Loads the row of the trainee with the identifier.
    fn load_trainee(&mut self, trainee_id: &str) -> Result<Option<TraineeRow>, StorageError> {
        let query = static_query(select_by_id(self.provider().id, trainee_id).select(TRAINEE_ROW));
        let found = with_inner!(self.connection, |inner| query
            .get_result::<TraineeRow>(inner));
        Ok(found.optional()?)
    }

    /// The visible trainees that `trainee` is a duplicate of, oldest first (contract, section 4.8).
    ///
    /// A job that may write locks the provider, so that no other job can add a duplicate until it
    /// has ended.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn duplicates_of(
        &mut self,
        trainee: &Trainee,
    ) -> Result<Vec<TraineeDocument>, StorageError> {
        self.lock_records()?;
        let duplicate_key = DuplicateKey::from_trainee(trainee, self.today());
        let provider = self.provider().id;
        // Empty texts are equal in SQL, but do not make two trainees duplicates.
        let same_names = trainees::first_names_folded
            .ne("")
            .and(trainees::first_names_folded.eq(duplicate_key.first_names.as_str()));
        let same_email = trainees::email_folded
            .ne("")
            .and(trainees::email_folded.eq(duplicate_key.email.as_str()));
        let query = static_query(
            trainees::table
                .filter(visible(provider))
                .filter(trainees::date_of_birth.eq(duplicate_key.date_of_birth.map(Day)))
                .filter(trainees::training_route.eq(duplicate_key.training_route.as_deref()))
                .filter(trainees::academic_cycle.eq(duplicate_key.academic_cycle))
                .filter(trainees::last_name_folded.eq(duplicate_key.last_name.as_str()))
                .filter(same_names.or(same_email))
                // Keys are not in the order of creation: sequences may allocate them in blocks.
                .order((trainees::created_at, trainees::id))
                .select((trainees::id, trainees::record)),
        );
        let rows = with_inner!(self.connection, |inner| query
            .load::<(i64, JsonText)>(inner))?;
        Ok(rows
            .into_iter()
            .map(|(key, record)| TraineeDocument { key, record })
            .collect())
    }

    /// Whether the provider has a visible trainee.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_trainees(&mut self) -> Result<bool, StorageError> {
        let first = trainees::table
            .filter(visible(self.provider().id))
            .select(trainees::id)
            .first::<i64>(self.connection);
        Ok(first.optional()?.is_some())
    }

    /// Replaces the record of a trainee, including placements and degrees, and writes an entry of
    /// the history.
    ///
    /// # Errors
    ///
    /// When the trainee has changed since it was found, or the database does not answer.
    pub fn update_trainee(
        &mut self,
        stored: &StoredTrainee,
        changed: &Trainee,
    ) -> Result<(), StorageError> {
        let extra = stored
            .extra
            .after(&stored.record, changed, self.change_date());
        self.replace_record(stored, changed, &extra)?;
        self.link_schools(stored.key, &stored.record, changed)?;
        self.remember(stored.key, &Changed::between(&stored.record, changed))
    }

    /// Replaces the document and the derived columns of a trainee, and increments the revision. Fails
    /// if the trainee has changed since it was found: a job must find it under the lock.
    fn replace_record(
        &mut self,
        stored: &StoredTrainee,
        record: &Trainee,
        extra: &Extra,
    ) -> Result<(), StorageError> {
        // Identifies this update, so that the statement stays prepared.
        struct ReplaceRecord;
        let filter = trainees::id
            .eq(stored.key)
            .and(trainees::provider_id.eq(self.provider().id))
            .and(trainees::revision.eq(stored.revision));
        let changes = (
            trainees::revision.eq(stored.revision + 1),
            trainees::position.eq(self.take_position()?),
            trainees::record.eq(JsonText::from_trainee(record, extra)?),
            Derived::from_trainee(record, self.today()),
        );
        let update = static_update::<ReplaceRecord, _, _, _>(trainees::table, filter, changes);
        let replaced = with_inner!(self.connection, |inner| update.execute(inner))?;
        if replaced == 1 {
            Ok(())
        } else {
            Err(DieselError::NotFound.into())
        }
    }
}

#[cfg(test)]
mod tests;
