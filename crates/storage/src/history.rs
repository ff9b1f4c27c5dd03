//! The history of a trainee: what each request changed, when, by whom and through what.
//!
//! An entry is written in the transaction of its change, so there is none without the other. It holds every field that
//! changed, with the old and the new value, in canonical names; fields that are computed are left out. The entry of the
//! creation holds none: what was created follows from the record and the later entries, backwards. So the record and its
//! entries are enough to go back to each of its states ([`TraineeHistory::states`]). Where the first months of the history are
//! removed ([`crate::archive`]), they are enough to go back to the first entry that is left.

mod entry;
pub(crate) mod partitions;
mod rebuild;
mod written;

use chrono::{DateTime, Utc};

pub(crate) use self::entry::fields_of;
pub use self::entry::{Entry, FieldEntry, TraineeHistory};
pub(crate) use self::rebuild::agreements;
pub(crate) use self::written::Changed;
use crate::connection::inserted::{TraineeKey, insert_with_key};
use crate::error::StorageError;
use crate::schema::changes;
use crate::session::ProviderSession;
use diesel::prelude::*;

/// By what the placements of a trainee stand in an entry.
const PLACEMENTS: &str = "placements";
/// By what the degrees of a trainee stand in an entry.
const DEGREES: &str = "degrees";

/// What the entry of a creation holds, and that of an erasure. Older ones of creations hold every field that was set.
pub(crate) const NO_FIELDS: &str = "{}";

/// Through what a job came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause<'a> {
    /// The endpoint or the command.
    pub operation: &'a str,
    /// The version of the API through which it was asked.
    pub version: Option<&'a str>,
    /// The identifier of the request.
    pub request_id: Option<&'a str>,
    /// Who ran the command.
    pub by: Option<&'a str>,
}

impl<'a> Cause<'a> {
    /// An operation that no request of the API asked for.
    #[must_use]
    pub fn of(operation: &'a str) -> Self {
        Self { operation, version: None, request_id: None, by: None }
    }

    /// The same, for a command that somebody runs.
    #[must_use]
    pub fn by(self, by: &'a str) -> Self {
        Self { by: Some(by), ..self }
    }
}

impl ProviderSession<'_> {
    /// Writes down what changes in the trainee with that key; nothing when nothing does.
    pub(crate) fn remember(&mut self, trainee_key: i64, changed: &Changed<'_>) -> Result<(), StorageError> {
        match changed.to_json()? {
            Some(fields) => self.add_entry(TraineeKey::Known(trainee_key), fields),
            None => Ok(()),
        }
    }

    /// Writes down that the trainee with that key was created, or erased: an entry that names no field.
    pub(crate) fn add_entry_without_fields(&mut self, trainee_key: TraineeKey) -> Result<(), StorageError> {
        self.add_entry(trainee_key, NO_FIELDS.to_owned())
    }

    fn add_entry(&mut self, trainee_key: TraineeKey, fields: String) -> Result<(), StorageError> {
        let now: DateTime<Utc> = self.now();
        let cause = self.cause();
        let entry = (
            changes::changed_at.eq(now.naive_utc()),
            changes::token_id.eq(self.token_id()),
            changes::request_id.eq(cause.request_id.map(str::to_owned)),
            changes::version.eq(cause.version.map(str::to_owned)),
            changes::operation.eq(cause.operation.to_owned()),
            changes::fields.eq(fields),
            changes::changed_by.eq(cause.by.map(str::to_owned)),
        );
        let table = diesel::insert_into(changes::table);
        insert_with_key!(self.connection, table, changes::trainee_key, trainee_key, entry)?;
        Ok(())
    }
}
