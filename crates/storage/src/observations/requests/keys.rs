//! The keys of records in the record of requests: the setting of a provider, and erasing a person.

use std::collections::BTreeSet;

use diesel::prelude::*;

use crate::accounts::users::{ActivityKind, Actor, Subject};
use crate::base::provider_lock::lock_settings;
use crate::error::StorageError;
use crate::schema::{providers, requests};
use crate::session::{ProviderSession, Session};

impl Session<'_> {
    /// Switches the storage of record keys of an organisation on or off. Off also removes all
    /// stored keys, and the problems of their requests.
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
        // Locks the row that `Session::record_requests` locks, so no key is added after this job.
        let organisation = self.organisation_to_change(ukprn)?;
        diesel::update(providers::table.find(organisation.id))
            .set(providers::logs_record_keys.eq(is_on))
            .execute(self.connection)?;
        if !is_on {
            // Messages may repeat values, which only rows with a key may do.
            let with_key = requests::table
                .filter(requests::provider_id.eq(organisation.id))
                .filter(requests::record_key.is_not_null());
            diesel::update(with_key)
                .set((
                    requests::record_key.eq(None::<String>),
                    requests::problems.eq(None::<String>),
                ))
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
    /// Whether the keys of the provider's records are stored.
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

    /// Removes the requests with these keys. Locks the setting of the provider until the
    /// transaction ends.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub(crate) fn remove_requests_of(
        &mut self,
        keys: &BTreeSet<String>,
    ) -> Result<(), StorageError> {
        let provider_id = self.provider().id;
        // `Session::record_requests` locks the same row.
        lock_settings(self.connection, provider_id)?;
        let of_person = requests::table
            .filter(requests::provider_id.eq(provider_id))
            .filter(requests::record_key.eq_any(keys));
        diesel::delete(of_person).execute(self.connection)?;
        Ok(())
    }
}
