//! Requests counted by day, token, version, endpoint, status and kind. Totals are kept for
//! [`KEPT_DAYS`] days, so their number is bounded by the days and does not depend on the number of
//! requests.
//!
//! Several servers add to the same rows, each in the order of the keys. They may wait for each
//! other but cannot deadlock.
//!
//! The module is independent of versions, endpoints and names. The caller must take them from a
//! bounded set.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use database::connection::{Backend, DatabaseConnection, execute_deferred};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Integer, Text, Timestamp};

use crate::accounts::tokens::TokenRecord;
use crate::error::StorageError;
use crate::schema::{request_totals, tokens};
use crate::session::{ProviderSession, Session};

/// Totals are kept for this number of days: a year, and a month to look back at it.
pub const KEPT_DAYS: i64 = 400;
/// The number of days read at a time, so that only the result is kept in memory.
const DAYS_AT_ONCE: i64 = 10;

/// The time and the identifier of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// When the request was answered.
    pub at: DateTime<Utc>,
    /// The identifier of the request.
    pub request_id: Arc<str>,
}

/// What a total counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TotalKind {
    /// All requests.
    Request,
    /// The requests with a name of another version, which is the detail.
    Name,
    /// The writes that were checked in another version, whose label is the detail. The status is
    /// the one of that version.
    Check,
    /// The checked writes with a problem. The detail is the label of that version, the code and the
    /// field, separated by spaces.
    Problem,
}

impl TotalKind {
    const ALL: [Self; 4] = [Self::Request, Self::Name, Self::Check, Self::Problem];

    const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Name => "name",
            Self::Check => "check",
            Self::Problem => "problem",
        }
    }
}

/// Requests of one kind on one day. The fields before the count are the key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestTotal {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The status of the replies; 0 in totals of the first release.
    pub status: u16,
    /// The kind.
    pub kind: TotalKind,
    /// The detail of the kind; empty for [`TotalKind::Request`].
    pub detail: String,
    /// The number of requests.
    pub requests: i64,
    /// The first of these requests.
    pub first: Seen,
    /// The last of these requests.
    pub last: Seen,
}

/// Adds to a total. Keeps the first and the last request by time, because servers add in any order.
const ADD: &str = r#"
INSERT INTO "request_totals" (day, token_id, version, endpoint, status, kind, detail, requests,
                              first_at, first_request_id, last_at, last_request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (token_id, day, version, endpoint, status, kind, detail) DO UPDATE SET
    requests = request_totals.requests + excluded.requests,
    first_request_id = CASE WHEN excluded.first_at < request_totals.first_at
                            THEN excluded.first_request_id ELSE request_totals.first_request_id END,
    first_at = CASE WHEN excluded.first_at < request_totals.first_at
                    THEN excluded.first_at ELSE request_totals.first_at END,
    last_request_id = CASE WHEN excluded.last_at >= request_totals.last_at
                           THEN excluded.last_request_id ELSE request_totals.last_request_id END,
    last_at = CASE WHEN excluded.last_at >= request_totals.last_at
                   THEN excluded.last_at ELSE request_totals.last_at END"#;

#[derive(Queryable, Selectable)]
#[diesel(table_name = request_totals)]
struct TotalRow {
    day: NaiveDate,
    token_id: i64,
    version: String,
    endpoint: String,
    status: i32,
    kind: String,
    detail: String,
    requests: i64,
    first_at: NaiveDateTime,
    first_request_id: String,
    last_at: NaiveDateTime,
    last_request_id: String,
}

impl From<TotalRow> for RequestTotal {
    fn from(row: TotalRow) -> Self {
        let kind = TotalKind::ALL
            .into_iter()
            .find(|kind| kind.name() == row.kind);
        let seen = |at: NaiveDateTime, request_id: String| Seen {
            at: at.and_utc(),
            request_id: request_id.into(),
        };
        Self {
            day: row.day,
            token_id: row.token_id,
            version: row.version,
            endpoint: row.endpoint,
            status: u16::try_from(row.status).unwrap_or_default(),
            // The table has no other kinds.
            kind: kind.unwrap_or(TotalKind::Problem),
            detail: row.detail,
            requests: row.requests,
            first: seen(row.first_at, row.first_request_id),
            last: seen(row.last_at, row.last_request_id),
        }
    }
}

/// The totals of all tokens, or only of `tokens`.
fn select_of_tokens(tokens: Option<&[i64]>) -> request_totals::BoxedQuery<'_, Backend> {
    let all = request_totals::table.into_boxed();
    match tokens {
        None => all,
        Some(tokens) => all.filter(request_totals::token_id.eq_any(tokens)),
    }
}

/// Passes the totals of some days to `add`, in the order of the days: those of all tokens, or only
/// of `tokens`.
fn for_each_total(
    connection: &mut DatabaseConnection,
    days: RangeInclusive<NaiveDate>,
    tokens: Option<&[i64]>,
    mut add: impl FnMut(RequestTotal),
) -> Result<(), StorageError> {
    let mut first = *days.start();
    while days.contains(&first) {
        let next = first + TimeDelta::days(DAYS_AT_ONCE);
        let rows = select_of_tokens(tokens)
            .filter(request_totals::day.ge(first))
            .filter(request_totals::day.lt(next))
            .order((request_totals::day, request_totals::last_at))
            .select(TotalRow::as_select())
            .load::<TotalRow>(connection)?;
        rows.into_iter().map(RequestTotal::from).for_each(&mut add);
        first = next;
    }
    Ok(())
}

/// The first day since `since` with a total; `None` if there is none.
fn first_day(
    connection: &mut DatabaseConnection,
    since: NaiveDate,
    tokens: Option<&[i64]>,
) -> Result<Option<NaiveDate>, StorageError> {
    let days = select_of_tokens(tokens).filter(request_totals::day.ge(since));
    let first = days.select(diesel::dsl::min(request_totals::day));
    Ok(first.get_result(connection)?)
}

impl Session<'_> {
    /// Adds to the totals.
    pub(super) fn add_totals(&mut self, totals: &[RequestTotal]) -> Result<(), StorageError> {
        // The first fields are the key, so this sorts by key.
        let mut totals: Vec<&RequestTotal> = totals.iter().collect();
        totals.sort_unstable();
        for total in totals {
            let add = diesel::sql_query(ADD)
                .bind::<Date, _>(total.day)
                .bind::<BigInt, _>(total.token_id)
                .bind::<Text, _>(total.version.clone())
                .bind::<Text, _>(total.endpoint.clone())
                .bind::<Integer, _>(i32::from(total.status))
                .bind::<Text, _>(total.kind.name())
                .bind::<Text, _>(total.detail.clone())
                .bind::<BigInt, _>(total.requests)
                .bind::<Timestamp, _>(total.first.at.naive_utc())
                .bind::<Text, _>(total.first.request_id.to_string())
                .bind::<Timestamp, _>(total.last.at.naive_utc())
                .bind::<Text, _>(total.last.request_id.to_string());
            execute_deferred!(self.connection, |inner| add.execute(inner))?;
        }
        Ok(())
    }

    /// Passes the totals since a day to `add`, in the order of the days.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn totals_since(
        &mut self,
        since: NaiveDate,
        add: impl FnMut(RequestTotal),
    ) -> Result<(), StorageError> {
        let today = self.today();
        for_each_total(self.connection, since..=today, None, add)
    }

    /// The first day since `since` with a request of any token, or only of `tokens`; `None` if there
    /// is none.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn first_counted_day(
        &mut self,
        since: NaiveDate,
        tokens: Option<&[i64]>,
    ) -> Result<Option<NaiveDate>, StorageError> {
        first_day(self.connection, since, tokens)
    }

    /// The last request in a version since a day, of all tokens or only of these, with the number
    /// of its token. `None` if there is none.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn last_use(
        &mut self,
        since: NaiveDate,
        version: &str,
        tokens: Option<&[i64]>,
    ) -> Result<Option<(i64, Seen)>, StorageError> {
        let last = select_of_tokens(tokens)
            .filter(request_totals::day.ge(since))
            .filter(request_totals::version.eq(version))
            .filter(request_totals::kind.eq(TotalKind::Request.name()))
            .order((
                request_totals::day.desc(),
                request_totals::last_at.desc(),
                request_totals::last_request_id.desc(),
            ))
            .select(TotalRow::as_select())
            .first::<TotalRow>(self.connection)
            .optional()?;
        Ok(last
            .map(RequestTotal::from)
            .map(|total| (total.token_id, total.last)))
    }

    /// The labels of the last used versions by token number. Tokens without counted requests are
    /// missing.
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
        let rows = select_of_tokens(Some(&ids))
            .filter(request_totals::day.eq_any(days))
            .order(request_totals::last_at)
            .select((request_totals::token_id, request_totals::version));
        // A later row replaces an earlier one.
        let rows = rows.load::<(i64, String)>(self.connection)?;
        Ok(rows.into_iter().collect())
    }

    /// Removes up to `most` totals of expired days. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_totals(&mut self, most: i64) -> Result<usize, StorageError> {
        let oldest = self.today() - TimeDelta::days(KEPT_DAYS);
        let old = request_totals::table
            .filter(request_totals::day.lt(oldest))
            .order(request_totals::day)
            .select(request_totals::id)
            .limit(most);
        let old = old.load::<i64>(self.connection)?;
        if old.is_empty() {
            return Ok(0);
        }
        let old = request_totals::table.filter(request_totals::id.eq_any(old));
        Ok(diesel::delete(old).execute(self.connection)?)
    }
}

impl ProviderSession<'_> {
    /// Like [`Session::totals_since`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_totals_since(
        &mut self,
        since: NaiveDate,
        add: impl FnMut(RequestTotal),
    ) -> Result<(), StorageError> {
        let (today, own) = (self.today(), self.own_token_ids()?);
        for_each_total(self.connection, since..=today, Some(&own), add)
    }

    /// Like [`Session::first_counted_day`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_first_counted_day(
        &mut self,
        since: NaiveDate,
    ) -> Result<Option<NaiveDate>, StorageError> {
        let own = self.own_token_ids()?;
        first_day(self.connection, since, Some(&own))
    }

    /// The numbers of all tokens of the provider, in any order.
    fn own_token_ids(&mut self) -> Result<Vec<i64>, StorageError> {
        let own = tokens::table
            .filter(tokens::provider_id.eq(self.provider().id))
            .select(tokens::id);
        Ok(own.load(self.connection)?)
    }
}
