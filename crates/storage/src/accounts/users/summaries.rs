//! Summaries of all organisations, for operators.

use std::collections::HashMap;

use diesel::dsl::count_star;
use diesel::prelude::*;

use crate::accounts::providers::ProviderRecord;
use crate::error::StorageError;
use crate::schema::{tokens, users};
use crate::session::Session;

/// An organisation with the numbers of its tokens and users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganisationSummary {
    /// The organisation.
    pub provider: ProviderRecord,
    /// The number of active tokens, whether or not the organisation is closed.
    pub active_tokens: i64,
    /// The number of active users.
    pub users: i64,
}

impl Session<'_> {
    /// All organisations with their numbers of tokens and users, sorted by UKPRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn organisation_summaries(&mut self) -> Result<Vec<OrganisationSummary>, StorageError> {
        let providers = self.list_providers()?;
        let active_tokens = tokens::table
            .filter(tokens::revoked_at.is_null())
            .filter(tokens::expires_on.gt(self.today()))
            .group_by(tokens::provider_id)
            .select((tokens::provider_id, count_star()))
            .load::<(i64, i64)>(self.connection)?;
        let people = users::table
            .filter(users::removed_at.is_null())
            .group_by(users::provider_id)
            .select((users::provider_id, count_star()))
            .load::<(Option<i64>, i64)>(self.connection)?;
        let active_tokens: HashMap<i64, i64> = active_tokens.into_iter().collect();
        let people: HashMap<Option<i64>, i64> = people.into_iter().collect();
        let summary = |provider: ProviderRecord| OrganisationSummary {
            active_tokens: active_tokens.get(&provider.id).copied().unwrap_or(0),
            users: people.get(&Some(provider.id)).copied().unwrap_or(0),
            provider,
        };
        Ok(providers.into_iter().map(summary).collect())
    }
}
