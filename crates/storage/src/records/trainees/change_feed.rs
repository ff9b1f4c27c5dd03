//! The change feed of a provider: the changes of its trainees of all cycles, in the order of their
//! commits.
//!
//! Each trainee is in the feed once, at the position of its last change. A client that starts
//! without a position receives all trainees. A trainee that changes later moves to the end of the
//! feed. Discarded trainees stay in the feed, so that clients learn of their removal.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::{Backend, DatabaseConnection};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use stored_document::JsonText;

use super::TraineeDocument;
use super::documents::{self, RecordText};
use crate::base::standing::Generation;
use crate::base::trainee_row::is_not_draft;
use crate::error::StorageError;
use crate::records::positions::Standing;
use crate::schema::trainees;
use crate::session::ProviderSession;

/// A position in the feed, after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangePlace {
    /// The generation of the position.
    generation: Generation,
    position: i64,
    key: i64,
    /// The last position when the client requested its first page. The feed skips trainees that were
    /// discarded before it, because the client has never received them.
    began: i64,
}

/// A change in the feed.
#[derive(Debug)]
pub struct Change {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The time of discarding; `None` for a trainee that is not discarded.
    pub discarded_at: Option<DateTime<Utc>>,
    /// The present record of the trainee.
    pub trainee: TraineeDocument,
    position: i64,
}

/// A page of the feed.
#[derive(Debug)]
pub struct ChangePage {
    /// The changes; there may be none.
    pub changes: Vec<Change>,
    place: ChangePlace,
    has_more: bool,
}

impl ChangePage {
    /// Returns the position after the first `count` changes of the page, and whether the feed has
    /// more changes after it. Use it when a reply contains only a part of the page.
    #[must_use]
    pub fn position_after(&self, count: usize) -> (ChangePlace, bool) {
        let last = count.checked_sub(1).and_then(|last| self.changes.get(last));
        match last.filter(|_| count < self.changes.len()) {
            Some(last) => {
                let place = ChangePlace {
                    position: last.position,
                    key: last.trainee.key,
                    ..self.place.clone()
                };
                (place, true)
            }
            None => (self.place.clone(), self.has_more),
        }
    }
}

/// A query for a page of the feed.
#[derive(Debug, Clone, Copy)]
pub struct ChangeQuery<'a> {
    /// The position to continue from; `None` for the beginning of the feed.
    pub after: Option<&'a ChangePlace>,
    /// The maximum number of changes.
    pub limit: i64,
    /// What this transaction sees of the provider's changes.
    pub standing: &'a Standing,
}

/// Position, key, identifier and time of discarding of a trainee.
type Row = (i64, i64, String, Option<NaiveDateTime>);

impl ProviderSession<'_> {
    /// The next page of the feed. Returns `None` when the position is of an older generation, or
    /// ahead of the last position of this register.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn changes(&mut self, query: ChangeQuery<'_>) -> Result<Option<ChangePage>, StorageError> {
        let Standing {
            position: last,
            generation,
        } = query.standing;
        if let Some(place) = query.after
            && (!place.generation.is_current(generation)? || place.position > *last)
        {
            return Ok(None);
        }
        let provider = self.provider().id;
        let (position, key) = query
            .after
            .map_or((0, i64::MIN), |place| (place.position, place.key));
        let began = query.after.map_or(*last, |place| place.began);
        let is_after = trainees::position.gt(position).or(trainees::id.gt(key));
        let is_reported = trainees::discarded_at
            .is_null()
            .or(trainees::position.gt(began));
        let page = trainees::table
            .into_boxed()
            .filter(trainees::provider_id.eq(provider))
            .filter(trainees::position.ge(position))
            .filter(is_after)
            .filter(is_not_draft())
            .filter(is_reported)
            .order((trainees::position, trainees::id))
            .limit(query.limit + 1);
        let mut found = load_page(self.connection, provider, page)?;
        let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let has_more = found.len() > limit;
        found.truncate(limit);
        let (position, key) = found
            .last()
            .map_or((position, key), |((position, key, ..), _)| {
                (*position, *key)
            });
        let changes = found.into_iter().map(
            |((position, key, trainee_id, discarded_at), record)| Change {
                position,
                trainee_id,
                discarded_at: discarded_at.map(|time| time.and_utc()),
                trainee: TraineeDocument { key, record },
            },
        );
        let place = ChangePlace {
            generation: generation.clone(),
            position,
            key,
            began,
        };
        Ok(Some(ChangePage {
            changes: changes.collect(),
            place,
            has_more,
        }))
    }
}

/// Loads the rows of a page with their records.
fn load_page(
    connection: &mut DatabaseConnection,
    provider: i64,
    page: trainees::BoxedQuery<'static, Backend>,
) -> Result<Vec<(Row, JsonText)>, StorageError> {
    let columns = (
        trainees::position,
        trainees::id,
        trainees::trainee_id,
        trainees::discarded_at,
    );
    if connection.is_remote() {
        let found: Vec<(Row, String)> = page.select((columns, RecordText)).load(connection)?;
        return Ok(found
            .into_iter()
            .map(|(row, record)| (row, JsonText(record)))
            .collect());
    }
    // SQLite finds the rows inside an index, then reads the documents by key.
    let rows: Vec<Row> = page.select(columns).load(connection)?;
    let keys: Vec<i64> = rows.iter().map(|(_, key, ..)| *key).collect();
    let read = documents::load_by_keys(connection, provider, &keys)?
        .into_iter()
        .map(|(key, .., record)| (key, record));
    let mut records: HashMap<i64, JsonText> = read.collect();
    Ok(rows
        .into_iter()
        .filter_map(|row| records.remove(&row.1).map(|record| (row, record)))
        .collect())
}
