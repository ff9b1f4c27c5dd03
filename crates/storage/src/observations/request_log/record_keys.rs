//! The keys of records in the request log: the setting of a provider, and removing keys.

use std::collections::BTreeSet;

use database::connection::DatabaseConnection;
use diesel::prelude::*;

use crate::accounts::users::{ActivityKind, Actor, Subject};
use crate::error::StorageError;
use crate::schema::{providers, request_log};
use crate::session::{ProviderSession, Session};

impl Session<'_> {
    /// Switches the storage of record keys of an organisation on or off. Off also removes all
    /// stored keys.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`](crate::error::Refusal::UnknownProvider).
    pub fn set_record_key_logging(
        &mut self,
        by: Actor<'_>,
        ukprn: &str,
        is_on: bool,
    ) -> Result<(), StorageError> {
        // Locks the row that `Session::add_requests` locks, so no key is added after this job.
        let organisation = self.organisation_to_change(ukprn)?;
        diesel::update(providers::table.find(organisation.id))
            .set(providers::logs_record_keys.eq(is_on))
            .execute(self.connection)?;
        if !is_on {
            let entries = request_log::table
                .filter(request_log::provider_id.eq(organisation.id))
                .filter(request_log::record_key.is_not_null());
            diesel::update(entries)
                .set(request_log::record_key.eq(None::<String>))
                .execute(self.connection)?;
        }
        self.record_activity(
            by,
            Some(organisation.id),
            ActivityKind::RecordKeyLoggingChanged,
            Subject::Organisation(ukprn),
            if is_on { "on" } else { "off" },
        )
    }
}

impl ProviderSession<'_> {
    /// Whether the log of the provider stores the keys of records.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn logs_record_keys(&mut self) -> Result<bool, StorageError> {
        let setting = providers::table
            .find(self.provider().id)
            .select(providers::logs_record_keys);
        Ok(setting.get_result(self.connection)?)
    }

    /// Removes these keys from the log. Locks the log until the transaction ends.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub(crate) fn remove_record_keys(
        &mut self,
        keys: &BTreeSet<String>,
    ) -> Result<(), StorageError> {
        let provider_id = self.provider().id;
        // `Session::add_requests` locks the same row. SQLite needs no lock.
        if let DatabaseConnection::Postgres(inner) = &mut *self.connection {
            let row = providers::table
                .find(provider_id)
                .select(providers::id)
                .for_no_key_update();
            row.get_result::<i64>(inner)?;
        }
        let entries = request_log::table
            .filter(request_log::provider_id.eq(provider_id))
            .filter(request_log::record_key.eq_any(keys));
        diesel::update(entries)
            .set(request_log::record_key.eq(None::<String>))
            .execute(self.connection)?;
        Ok(())
    }
}
