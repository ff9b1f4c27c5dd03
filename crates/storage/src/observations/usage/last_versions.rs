//! The last used version of each token of a provider.

use std::collections::HashMap;

use chrono::{NaiveDate, NaiveDateTime};
use diesel::prelude::*;

use crate::accounts::tokens::TokenRecord;
use crate::error::StorageError;
use crate::schema::usage_by_day;
use crate::session::Session;

impl Session<'_> {
    /// The labels of the last used versions by token number. Tokens without counted requests are
    /// missing. The query lists the last days of use, so that the unique index finds the rows.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn last_versions(
        &mut self,
        tokens: &[TokenRecord],
    ) -> Result<HashMap<i64, String>, StorageError> {
        let used = tokens
            .iter()
            .filter_map(|token| Some((token.id, token.last_used_on?)));
        let (ids, days): (Vec<i64>, Vec<NaiveDate>) = used.unzip();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = usage_by_day::table
            .filter(usage_by_day::day.eq_any(days))
            .filter(usage_by_day::token_id.eq_any(ids))
            .select((
                usage_by_day::token_id,
                usage_by_day::version,
                usage_by_day::last_at,
            ))
            .load::<(i64, String, NaiveDateTime)>(self.connection)?;
        let mut latest: HashMap<i64, (NaiveDateTime, String)> = HashMap::new();
        for (token_id, version, at) in rows {
            let known = latest
                .entry(token_id)
                .or_insert_with(|| (at, version.clone()));
            if at > known.0 {
                *known = (at, version);
            }
        }
        Ok(latest
            .into_iter()
            .map(|(token_id, (_, version))| (token_id, version))
            .collect())
    }
}
