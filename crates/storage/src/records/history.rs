//! The history of a trainee: one entry for each request that changed the trainee, with time, token
//! or user, and operation.
//!
//! The transaction of a change also writes its entry. An entry holds the old and the new value of
//! every changed field under its canonical name, except computed fields. The entry of a creation
//! holds no fields: undoing the later entries on the record yields the created values. The record
//! and its entries are therefore sufficient to rebuild each earlier state
//! ([`TraineeHistory::states`]). After the removal of past months ([`remove`]), the states from the
//! first remaining entry on can be rebuilt.

mod entry;
mod history_reader;
mod month;
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
pub use self::removal::{PastMonths, remove};
pub(crate) use self::written::Changed;
use crate::base::cause::Cause;
use crate::error::StorageError;
use crate::schema::changes;
use crate::session::ProviderSession;

/// Whether a path in an entry names a whole list of nested records.
fn is_nested_list(path: &str) -> bool {
    fn name<R: NestedRecord>() -> &'static str {
        R::LIST.info().name
    }
    for_each_nested!(name()).contains(&path)
}

/// The fields of the entry of a creation or an erasure. Entries that older programs wrote for
/// creations hold every field that was set.
pub(crate) const NO_FIELDS: &str = "{}";

impl ProviderSession<'_> {
    /// Writes an entry with the changed fields of a trainee. Writes nothing when no field changed.
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

    /// Writes an entry without fields, for the creation or the erasure of a trainee.
    pub(crate) fn add_entry_without_fields(
        &mut self,
        trainee_key: i64,
    ) -> Result<(), StorageError> {
        self.add_entry(trainee_key, NO_FIELDS)
    }

    /// Writes an entry with `fields`, the JSON of the changed fields.
    fn add_entry(&mut self, trainee_key: i64, fields: &str) -> Result<(), StorageError> {
        let entry = NewEntry::in_session(self, fields);
        let row = (changes::trainee_key.eq(trainee_key), entry);
        let query = static_query(diesel::insert_into(changes::table).values(row));
        execute_deferred!(self.connection, |inner| query.execute(inner))?;
        Ok(())
    }
}

/// The columns of an entry, except the key of the trainee.
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
    /// The entry of a change that the job makes now.
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
