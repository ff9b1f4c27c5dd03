//! The keys that a provider has given its trainees, for finding a trainee without its identifier.

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use domain::{RecordField as _, TraineeField};

use super::visible;
use crate::error::StorageError;
use crate::schema::trainees;
use crate::session::ProviderSession;

/// The number of trainees on a page.
const PAGE: i64 = 2_000;

/// A position among the trainees of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderKeyPosition {
    change: i64,
    key: i64,
}

/// A trainee with a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProviderKey {
    /// The key, `provider_trainee_id`.
    pub key: String,
    /// The identifier of the trainee.
    pub trainee_id: String,
}

/// A page of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderKeyPage {
    /// The keys; trainees without one are left out.
    pub keys: Vec<ProviderKey>,
    /// The position of the last trainee of the page; `None` if the page has none.
    pub last: Option<ProviderKeyPosition>,
    /// Whether no further page exists yet. Later changes are after the position.
    pub is_last: bool,
}

impl ProviderSession<'_> {
    /// A page of the keys of the visible trainees, after a position; `None` for the first page. A
    /// trainee that changes between two pages may be on both.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn provider_keys(
        &mut self,
        after: Option<ProviderKeyPosition>,
    ) -> Result<ProviderKeyPage, StorageError> {
        let (change, key) = after.map_or((i64::MIN, i64::MIN), |place| (place.change, place.key));
        let name = TraineeField::provider_trainee_id.info().name;
        let found = trainees::table
            .filter(visible(self.provider().id))
            .filter(trainees::position.ge(change))
            .filter(trainees::position.gt(change).or(trainees::id.gt(key)))
            .order((trainees::position, trainees::id))
            .limit(PAGE)
            .select((
                trainees::position,
                trainees::id,
                trainees::trainee_id,
                sql::<Nullable<Text>>("record ->> ").bind::<Text, _>(name),
            ))
            .load::<(i64, i64, String, Option<String>)>(self.connection)?;
        let is_last = i64::try_from(found.len()).is_ok_and(|rows| rows < PAGE);
        let last = found.last().map(|(change, key, ..)| ProviderKeyPosition {
            change: *change,
            key: *key,
        });
        let mut keys = Vec::with_capacity(found.len());
        for (_, _, trainee_id, key) in found {
            if let Some(key) = key {
                keys.push(ProviderKey { key, trainee_id });
            }
        }
        Ok(ProviderKeyPage {
            keys,
            last,
            is_last,
        })
    }
}
