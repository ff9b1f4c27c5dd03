//! The history of a trainee: what each request changed, when, by whom and through what.
//!
//! An entry is written in the transaction of its change, so there is none without the other. It
//! holds every field that changed, with the old and the new value, in canonical names; fields that
//! are computed are left out. The entry of the creation holds none: what was created follows from
//! the record and the later entries, backwards. So the record and its entries are enough to go back
//! to each of its states ([`TraineeHistory::states`]). Where the first months of the history are
//! removed ([`remove`]), they are enough to go back to the first entry that is left.

mod entry;
mod history_reader;
mod month;
pub(crate) mod partitions;
mod rebuild;
mod removal;
mod written;

use database::connection::{execute_deferred, static_query};
use diesel::prelude::*;
use domain::{NestedRecord, RecordField as _, for_each_nested};
use stored_document::sql_dates::Timestamp;

pub use self::entry::{Entry, FieldEntry, TraineeHistory};
pub use self::month::{Month, MonthNotOver, NoMonth};
pub(crate) use self::rebuild::agreements;
pub use self::removal::{PastMonths, Removed, remove};
pub(crate) use self::written::Changed;
use crate::base::cause::Cause;
use crate::error::StorageError;
use crate::schema::changes;
use crate::session::ProviderSession;

/// Whether a path in an entry is that of a list of nested records as a whole.
fn is_nested_list(path: &str) -> bool {
    fn name<R: NestedRecord>() -> &'static str {
        R::LIST.info().name
    }
    for_each_nested!(name()).contains(&path)
}

/// What the entry of a creation holds, and that of an erasure. Older ones of creations hold every
/// field that was set.
pub(crate) const NO_FIELDS: &str = "{}";

impl ProviderSession<'_> {
    /// Writes down what changes in the trainee with that key; nothing when nothing does.
    pub(crate) fn remember(
        &mut self,
        trainee_key: i64,
        changed: &Changed<'_>,
    ) -> Result<(), StorageError> {
        match changed.to_json()? {
            Some(fields) => self.add_entry(trainee_key, &fields),
            None => Ok(()),
        }
    }

    /// Writes down that the trainee with that key was created, or erased: an entry that names no
    /// field.
    pub(crate) fn add_entry_without_fields(
        &mut self,
        trainee_key: i64,
    ) -> Result<(), StorageError> {
        self.add_entry(trainee_key, NO_FIELDS)
    }

    fn add_entry(&mut self, trainee_key: i64, fields: &str) -> Result<(), StorageError> {
        let entry = NewEntry::in_session(self, fields);
        let row = (changes::trainee_key.eq(trainee_key), entry);
        let query = static_query(diesel::insert_into(changes::table).values(row));
        execute_deferred!(self.connection, |inner| query.execute(inner))?;
        Ok(())
    }
}

/// What an entry holds besides the key of its trainee.
#[derive(Debug, Insertable)]
#[diesel(table_name = changes, treat_none_as_default_value = false)]
pub(crate) struct NewEntry<'a> {
    changed_at: Timestamp,
    token_id: Option<i64>,
    request_id: Option<&'a str>,
    version: Option<&'a str>,
    operation: &'a str,
    fields: &'a str,
    changed_by: Option<&'a str>,
}

impl<'a> NewEntry<'a> {
    /// The entry of what the job changes now.
    pub(crate) fn in_session(session: &ProviderSession<'a>, fields: &'a str) -> Self {
        let Cause {
            operation,
            version,
            request_id,
            by,
        } = session.cause();
        Self {
            changed_at: Timestamp(session.change_date().naive_utc()),
            token_id: session.token_id(),
            request_id,
            version,
            operation,
            fields,
            changed_by: by,
        }
    }
}
