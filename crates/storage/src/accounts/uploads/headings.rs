//! The names that an organisation has chosen for the headings of its files.

use database::connection::DatabaseConnection;
use diesel::prelude::*;

use super::Uploader;
use crate::error::StorageError;
use crate::schema::upload_headings;
use crate::session::Session;

/// Adds or replaces the names of an organisation.
macro_rules! put_names {
    ($provider_id:expr, $names:expr, $connection:expr) => {
        diesel::insert_into(upload_headings::table)
            .values((
                upload_headings::provider_id.eq($provider_id),
                upload_headings::names.eq($names),
            ))
            .on_conflict(upload_headings::provider_id)
            .do_update()
            .set(upload_headings::names.eq($names))
            .execute($connection)?
    };
}

impl Session<'_> {
    /// The chosen names of the user's organisation, as the caller has stored them; blank if there are
    /// none.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn find_heading_names(&mut self, by: Uploader) -> Result<String, StorageError> {
        let found = upload_headings::table
            .find(by.provider_id)
            .select(upload_headings::names)
            .first(self.connection)
            .optional()?;
        Ok(found.unwrap_or_default())
    }

    /// Replaces the chosen names of the user's organisation.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn store_heading_names(&mut self, by: Uploader, names: &str) -> Result<(), StorageError> {
        match self.connection {
            DatabaseConnection::Postgres(inner) => put_names!(by.provider_id, names, inner),
            DatabaseConnection::Sqlite(inner) => put_names!(by.provider_id, names, inner),
        };
        Ok(())
    }
}
