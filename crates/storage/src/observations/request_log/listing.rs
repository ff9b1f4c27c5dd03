//! Pages of a provider's requests, newest first.
//!
//! A page begins after the position of the last request of the previous page, so its cost does not
//! depend on its position. Filters are evaluated along the index of the provider, which is at most
//! as long as the log.

use std::cmp::Reverse;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::Bool;

use super::entry::{LoggedRequest, Outcome, read_problems};
use crate::base::sender::Sender;
use crate::error::StorageError;
use crate::schema::request_log;
use crate::session::ProviderSession;

/// The most requests on a page.
pub const PAGE: usize = 20;
/// Escapes wildcards in a LIKE pattern.
const ESCAPE: char = '\\';

/// Selects requests. `None` in a field selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// Requests answered at this time or later.
    pub from: Option<DateTime<Utc>>,
    /// Requests answered before this time.
    pub until: Option<DateTime<Utc>>,
    /// Requests with this outcome.
    pub outcome: Option<Outcome>,
    /// Requests with one of these statuses.
    pub statuses: Option<RangeInclusive<u16>>,
    /// Requests to this endpoint.
    pub endpoint: Option<String>,
    /// Requests in the version with this label.
    pub version: Option<String>,
    /// Requests with the token of this number.
    pub token_id: Option<i64>,
    /// Requests with a problem with this code.
    pub code: Option<String>,
    /// The request with this identifier.
    pub request_id: Option<String>,
}

/// The position of a request in the log of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPosition {
    pub(super) answered_at: DateTime<Utc>,
    pub(super) id: i64,
}

/// Failure to parse a [`LogPosition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the log of requests")]
pub struct UnreadablePosition;

impl fmt::Display for LogPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}-{}",
            self.answered_at.timestamp_millis(),
            self.id
        )
    }
}

impl FromStr for LogPosition {
    type Err = UnreadablePosition;

    fn from_str(text: &str) -> Result<Self, UnreadablePosition> {
        let (millis, id) = text.split_once('-').ok_or(UnreadablePosition)?;
        let millis = millis.parse().map_err(|_| UnreadablePosition)?;
        let answered_at = DateTime::from_timestamp_millis(millis).ok_or(UnreadablePosition)?;
        Ok(Self {
            answered_at,
            id: id.parse().map_err(|_| UnreadablePosition)?,
        })
    }
}

/// A page of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPage {
    /// The requests, newest first.
    pub requests: Vec<LoggedRequest>,
    /// The position before the next page; `None` on the last page.
    pub next: Option<LogPosition>,
}

#[derive(Queryable)]
pub(super) struct Row {
    id: i64,
    answered_at: NaiveDateTime,
    token_id: Option<i64>,
    user_id: Option<i64>,
    version: String,
    endpoint: String,
    method: String,
    status: i32,
    item: Option<i32>,
    request_id: String,
    problems: String,
    problems_left_out: i32,
    record_key: Option<String>,
}

impl Row {
    pub(super) fn position(&self) -> LogPosition {
        LogPosition {
            answered_at: self.answered_at.and_utc(),
            id: self.id,
        }
    }
}

impl From<Row> for LoggedRequest {
    fn from(row: Row) -> Self {
        Self {
            answered_at: row.answered_at.and_utc(),
            sender: Sender::from_columns(row.token_id, row.user_id),
            version: row.version,
            endpoint: row.endpoint,
            method: row.method,
            status: u16::try_from(row.status).unwrap_or_default(),
            item: row.item.and_then(|item| u32::try_from(item).ok()),
            request_id: row.request_id,
            problems: read_problems(&row.problems),
            problems_left_out: u32::try_from(row.problems_left_out).unwrap_or_default(),
            record_key: row.record_key,
        }
    }
}

/// The columns of a [`Row`].
#[diesel::dsl::auto_type(no_type_alias)]
pub(super) fn columns() -> _ {
    (
        request_log::id,
        request_log::answered_at,
        request_log::token_id,
        request_log::user_id,
        request_log::version,
        request_log::endpoint,
        request_log::method,
        request_log::status,
        request_log::item,
        request_log::request_id,
        request_log::problems,
        request_log::problems_left_out,
        request_log::record_key,
    )
}

impl ProviderSession<'_> {
    /// A page of the provider's requests, newest first, after a position; `None` for the first
    /// page.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn requests(
        &mut self,
        filter: &RequestFilter,
        after: Option<LogPosition>,
    ) -> Result<RequestPage, StorageError> {
        let mut rows = Vec::new();
        for outcome in Outcome::ALL {
            if filter.outcome.is_none_or(|wanted| wanted == outcome) {
                rows.extend(self.page(filter, outcome, after)?);
            }
        }
        rows.sort_unstable_by_key(|row| Reverse(row.position()));
        // `page` returns one request more than a page if there is another page.
        let is_last = rows.len() <= PAGE;
        rows.truncate(PAGE);
        let next = rows.last().filter(|_| !is_last).map(Row::position);
        Ok(RequestPage {
            requests: rows.into_iter().map(LoggedRequest::from).collect(),
            next,
        })
    }

    /// The requests of a page with one outcome, and one more if there is another page. All filters
    /// use the same statement, so that a connection keeps only one prepared.
    fn page(
        &mut self,
        filter: &RequestFilter,
        outcome: Outcome,
        after: Option<LogPosition>,
    ) -> Result<Vec<Row>, StorageError> {
        macro_rules! is_wanted {
            ($column:ident, $wanted:expr) => {{
                let wanted = $wanted;
                let is_any = wanted.is_none().into_sql::<Bool>();
                request_log::$column
                    .eq(wanted.unwrap_or_default())
                    .or(is_any)
            }};
        }
        let from = filter.from.unwrap_or(DateTime::UNIX_EPOCH).naive_utc();
        let until = filter
            .until
            .unwrap_or_else(|| self.now() + chrono::TimeDelta::days(1))
            .naive_utc();
        // On the first page, all requests before `until` follow: no number exceeds the largest one.
        let behind = after.map_or(until, |position| position.answered_at.naive_utc());
        let number = after.map_or(i64::MAX, |position| position.id);
        let (lowest, highest) = filter.statuses.clone().unwrap_or(0..=999).into_inner();
        let rows = request_log::table
            .filter(request_log::provider_id.eq(self.provider().id))
            .filter(request_log::accepted.eq(outcome.is_accepted()))
            .filter(request_log::answered_at.ge(from))
            .filter(request_log::answered_at.lt(until))
            .filter(request_log::answered_at.le(behind))
            .filter(
                request_log::answered_at
                    .lt(behind)
                    .or(request_log::id.lt(number)),
            )
            .filter(request_log::status.between(i32::from(lowest), i32::from(highest)))
            .filter(is_wanted!(endpoint, filter.endpoint.as_deref()))
            .filter(is_wanted!(version, filter.version.as_deref()))
            .filter(is_wanted!(token_id, filter.token_id).assume_not_null())
            .filter(is_wanted!(request_id, filter.request_id.as_deref()))
            .filter(
                request_log::problems
                    .like(pattern(filter.code.as_deref()))
                    .escape(ESCAPE),
            )
            .order((request_log::answered_at.desc(), request_log::id.desc()))
            .limit(i64::try_from(PAGE + 1).unwrap_or(i64::MAX))
            .select(columns());
        Ok(rows.load::<Row>(self.connection)?)
    }
}

/// A LIKE pattern for stored problems with this code, or for all if `code` is `None`.
fn pattern(code: Option<&str>) -> String {
    let Some(code) = code else {
        return "%".to_owned();
    };
    // A problem is stored as `["code","field"]`.
    let mut pattern = "%[\"".to_owned();
    for character in code.chars() {
        if ['%', '_', ESCAPE].contains(&character) {
            pattern.push(ESCAPE);
        }
        pattern.push(character);
    }
    pattern + "\",%"
}
