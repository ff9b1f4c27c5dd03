//! The changes of a provider's trainees, of all cycles, in an order that agrees with that of their
//! commits.
//!
//! A trainee is in the feed once, with its last change. Whoever begins without a place is shown
//! every trainee; what changes meanwhile comes behind those that were there. A discarded trainee
//! stays in the feed, so that others learn of it.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::{Backend, DatabaseConnection};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use stored_document::JsonText;

use super::TraineeDocument;
use super::documents::{self, RecordText};
use crate::base::trainee_row::is_not_draft;
use crate::error::StorageError;
use crate::records::change_generation::Generation;
use crate::records::change_position::{IsFinal, Settled, Snapshot, Standing, queue_standing};
use crate::schema::trainees;
use crate::session::ProviderSession;

/// A place in the feed: behind a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangePlace {
    /// The generation in which the position means something.
    generation: Generation,
    position: i64,
    key: i64,
    /// What the first reply saw. Trainees that had been discarded then were never shown, so nobody
    /// needs to hear of them.
    began: Snapshot,
}

/// A change in the feed.
#[derive(Debug)]
pub struct Change {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// When the trainee was discarded, if it was.
    pub discarded_at: Option<DateTime<Utc>>,
    /// The trainee as it is now.
    pub trainee: TraineeDocument,
    position: i64,
}

/// Changes behind a place.
#[derive(Debug)]
pub struct ChangePage {
    /// The changes; there may be none.
    pub changes: Vec<Change>,
    place: ChangePlace,
    has_more: bool,
}

impl ChangePage {
    /// The place behind so many of the changes, and whether there are more behind it.
    #[must_use]
    pub fn position_after(&self, count: usize) -> (ChangePlace, bool) {
        let last = count.checked_sub(1).and_then(|last| self.changes.get(last));
        match last.filter(|_| count < self.changes.len()) {
            Some(last) => {
                let (position, key) = (last.position, last.trainee.key);
                (
                    ChangePlace {
                        position,
                        key,
                        ..self.place.clone()
                    },
                    true,
                )
            }
            None => (self.place.clone(), self.has_more),
        }
    }
}

/// What a client asks the feed for.
#[derive(Debug, Clone, Copy)]
pub struct ChangeQuery<'a> {
    /// Behind which place; from the beginning without one.
    pub after: Option<&'a ChangePlace>,
    /// The most changes.
    pub limit: i64,
    /// Up to where changes are final, whatever transaction is still open.
    pub settled: Settled,
}

/// A row: position, key, identifier, and when the trainee was discarded.
type Row = (i64, i64, String, Option<NaiveDateTime>);

impl ProviderSession<'_> {
    /// The changes behind a place; `None` when the place is one of an older generation, or of none
    /// that this register has come to.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn changes(&mut self, query: ChangeQuery<'_>) -> Result<Option<ChangePage>, StorageError> {
        let provider = self.provider().id;
        let (position, key) = query
            .after
            .map_or((0, i64::MIN), |place| (place.position, place.key));
        let discarded_from = query
            .after
            .map_or(i64::MAX, |place| place.began.oldest_open);
        let standing = queue_standing(self.connection)?;
        let behind = trainees::changed_in.gt(position).or(trainees::id.gt(key));
        let is_reported = trainees::discarded_at
            .is_null()
            .or(trainees::changed_in.ge(discarded_from));
        let page = trainees::table
            .into_boxed()
            .filter(trainees::provider_id.eq(provider))
            .filter(trainees::changed_in.ge(position))
            .filter(behind)
            .filter(is_not_draft())
            .filter(is_reported)
            .order((trainees::changed_in, trainees::id))
            .limit(query.limit + 1);
        let mut found = rows_of(self.connection, provider, page, query.settled)?;
        let standing = standing(self.connection)?;
        let Standing {
            snapshot,
            next,
            generation,
        } = standing;
        if let Some(place) = query.after
            && (!place.generation.is_current(&generation)? || place.position >= next)
        {
            return Ok(None);
        }
        let most = usize::try_from(query.limit).unwrap_or(usize::MAX);
        let has_more = found.len() > most;
        found.truncate(most);
        let (position, key) = found
            .last()
            .map_or((position, key), |((position, key, ..), _)| {
                (*position, *key)
            });
        let began = query.after.map_or(snapshot, |place| place.began.clone());
        found.retain(|((position, _, _, discarded_at), _)| {
            discarded_at.is_none() || !began.sees(*position)
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
            generation,
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

/// The rows of a page, each with its record.
fn rows_of(
    connection: &mut DatabaseConnection,
    provider: i64,
    page: trainees::BoxedQuery<'static, Backend>,
    settled: Settled,
) -> Result<Vec<(Row, JsonText)>, StorageError> {
    let columns = (
        trainees::changed_in,
        trainees::id,
        trainees::trainee_id,
        trainees::discarded_at,
    );
    if connection.is_remote() {
        let page = page
            .filter(IsFinal { settled })
            .select((columns, RecordText));
        let found: Vec<(Row, String)> = page.load(connection)?;
        return Ok(found
            .into_iter()
            .map(|(row, record)| (row, JsonText(record)))
            .collect());
    }
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

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use diesel::connection::SimpleConnection as _;
    use test_support::Kind;

    use super::*;
    use crate::base::cause::Cause;
    use crate::testing::{Register, UKPRN};

    #[test]
    fn what_was_settled_says_nothing_on_another_timeline() {
        if Kind::from_environment() != Kind::Postgres {
            return;
        }
        let register = Register::with_provider();
        let mut open = register.second_connection();
        open.batch_execute("BEGIN; SELECT pg_current_xact_id()")
            .unwrap();
        register.add_trainee("trainee");
        let seen = register
            .read(|session| session.open_transactions())
            .unwrap()
            .unwrap();
        let (position, timeline) = (seen.next, seen.timeline.unwrap());
        let shown = |settled| {
            let changes = |session: &mut crate::session::Session<'_>| {
                let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                Ok(provider
                    .changes(ChangeQuery {
                        after: None,
                        limit: 10,
                        settled,
                    })?
                    .unwrap()
                    .changes
                    .len())
            };
            register.read(changes).unwrap()
        };
        assert_eq!(shown(Settled::default()), 0);
        assert_eq!(
            shown(Settled {
                position,
                timeline: timeline + 1
            }),
            0
        );
        assert_eq!(shown(Settled { position, timeline }), 1);
        open.batch_execute("COMMIT").unwrap();
        // Transactions of other tests are open on the same server for moments.
        let deadline = Instant::now() + Duration::from_secs(20);
        while shown(Settled::default()) == 0 {
            assert!(
                Instant::now() < deadline,
                "the change is not shown although the transaction has ended"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}
