//! The registry's queue for operators: waiting trainees with their providers and times.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use domain::lifecycle::Action;

use super::{longest_waiting, states};
use crate::error::StorageError;
use crate::schema::{providers, trainees};
use crate::session::Session;

/// The result that a trainee waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// A teacher reference number.
    Trn,
    /// The confirmation of an award.
    Award,
}

/// A trainee in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueEntry {
    /// Identifier of the record.
    pub trainee_id: String,
    /// The time when the trainee started to wait.
    pub since: DateTime<Utc>,
    /// The UKPRN of the provider.
    pub provider_ukprn: String,
    /// The name of the provider.
    pub provider_name: String,
    key: i64,
}

impl QueueEntry {
    /// The position of the entry in the queue.
    #[must_use]
    pub fn position(&self) -> QueuePosition {
        QueuePosition {
            since: self.since,
            key: self.key,
        }
    }
}

/// A position in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePosition {
    since: DateTime<Utc>,
    key: i64,
}

/// The text is not a position in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a place in the queue")]
pub struct UnreadableQueuePosition;

impl fmt::Display for QueuePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.since.timestamp_micros(), self.key)
    }
}

impl FromStr for QueuePosition {
    type Err = UnreadableQueuePosition;

    fn from_str(text: &str) -> Result<Self, UnreadableQueuePosition> {
        let (micros, key) = text.split_once('-').ok_or(UnreadableQueuePosition)?;
        let micros = micros.parse().map_err(|_| UnreadableQueuePosition)?;
        let since = DateTime::from_timestamp_micros(micros).ok_or(UnreadableQueuePosition)?;
        Ok(Self {
            since,
            key: key.parse().map_err(|_| UnreadableQueuePosition)?,
        })
    }
}

/// Identifier, time, key and provider of a waiting trainee.
type Row = (String, Option<NaiveDateTime>, i64, i64);

/// Loads a query for waiting trainees of one provider, or of all. A macro, because the types of the
/// queries differ.
macro_rules! load_queue {
    ($query:expr, $since:ident, $provider:expr, $connection:expr) => {{
        let query = $query.select((
            trainees::trainee_id,
            trainees::$since,
            trainees::id,
            trainees::provider_id,
        ));
        match $provider {
            // An expression instead of the column: the query then uses the index of waiting
            // trainees, in its order, and not an index that starts with the provider.
            Some(provider) => query
                .filter(sql::<BigInt>("provider_id + 0").eq(provider))
                .load::<Row>($connection)?,
            None => query.load::<Row>($connection)?,
        }
    }};
}

impl Session<'_> {
    /// Up to `limit` waiting trainees of one provider, or of all, longest first. Starts after the
    /// position `after`, or with the first one.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`](crate::error::Refusal::UnknownProvider) when no provider has
    /// the UKPRN. Otherwise when the database does not answer.
    pub fn registry_queue(
        &mut self,
        awaited: Awaited,
        provider_ukprn: Option<&str>,
        after: Option<QueuePosition>,
        limit: i64,
    ) -> Result<Vec<QueueEntry>, StorageError> {
        let provider: Option<i64> = match provider_ukprn {
            Some(ukprn) => Some(self.provider(ukprn)?.id),
            None => None,
        };
        let position = after.map_or_else(Default::default, |position| {
            (position.since.naive_utc(), position.key)
        });
        // Dates of changes may be slightly ahead of the clock.
        let until = self.now() + TimeDelta::days(1);
        let rows = match awaited {
            Awaited::Trn => {
                let query =
                    longest_waiting!(submitted_for_trn_at, without trn, until, position, limit);
                let query = query.filter(trainees::state.eq_any(states(Action::IssueTrn, false)));
                load_queue!(query, submitted_for_trn_at, provider, self.connection)
            }
            Awaited::Award => {
                let query = longest_waiting!(
                    recommended_for_award_at,
                    without awarded_at,
                    until,
                    position,
                    limit
                );
                // The query uses the partial index only if it repeats the condition of the index.
                let query = query.filter(trainees::recommended_for_award_at.is_not_null());
                let query = query.filter(trainees::state.eq_any(states(Action::Award, true)));
                load_queue!(query, recommended_for_award_at, provider, self.connection)
            }
        };
        let ids: HashSet<i64> = rows.iter().map(|(.., provider_id)| *provider_id).collect();
        let names = providers::table
            .filter(providers::id.eq_any(ids))
            .select((providers::id, (providers::ukprn, providers::name)))
            .load::<(i64, (String, String))>(self.connection)?;
        let names: HashMap<i64, (String, String)> = names.into_iter().collect();
        Ok(rows
            .into_iter()
            .filter_map(|(trainee_id, since, key, provider_id)| {
                let (provider_ukprn, provider_name) = names.get(&provider_id)?.clone();
                Some(QueueEntry {
                    trainee_id,
                    since: since?.and_utc(),
                    provider_ukprn,
                    provider_name,
                    key,
                })
            })
            .collect())
    }
}
