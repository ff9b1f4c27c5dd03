//! Pages of a provider's requests, newest first.
//!
//! A page begins after the position of the last request of the previous page, so its cost does not
//! depend on its position. Filters are evaluated along the index of the provider.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use database::connection::Backend;
use diesel::prelude::*;

use super::{RecordResult, RecordedProblem, RecordedRequest};
use crate::base::sender::Sender;
use crate::error::StorageError;
use crate::schema::requests;
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
    /// Refused requests, or accepted ones.
    pub is_refused: Option<bool>,
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

/// The position of a request among those of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestPosition {
    pub(super) answered_at: DateTime<Utc>,
    pub(super) id: i64,
}

/// Failure to parse a [`RequestPosition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the list of requests")]
pub struct UnreadablePosition;

impl fmt::Display for RequestPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.answered_at.timestamp_millis();
        write!(formatter, "{millis}-{}", self.id)
    }
}

impl FromStr for RequestPosition {
    type Err = UnreadablePosition;

    fn from_str(text: &str) -> Result<Self, UnreadablePosition> {
        let (millis, id) = text.split_once('-').ok_or(UnreadablePosition)?;
        let millis = millis.parse().map_err(|_| UnreadablePosition)?;
        Ok(Self {
            answered_at: DateTime::from_timestamp_millis(millis).ok_or(UnreadablePosition)?,
            id: id.parse().map_err(|_| UnreadablePosition)?,
        })
    }
}

/// A page of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPage {
    /// The requests.
    pub requests: Vec<RecordedRequest>,
    /// The position before the next page; `None` on the last page.
    pub next: Option<RequestPosition>,
}

impl RequestPage {
    /// The first `most` of the rows. The query must have asked for one more.
    pub(super) fn from_rows(mut rows: Vec<RequestRow>, most: usize) -> Self {
        let is_last = rows.len() <= most;
        rows.truncate(most);
        let next = rows.last().filter(|_| !is_last).map(RequestRow::position);
        Self {
            requests: rows.into_iter().map(RecordedRequest::from).collect(),
            next,
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = requests)]
pub(super) struct RequestRow {
    id: i64,
    answered_at: NaiveDateTime,
    token_id: Option<i64>,
    user_id: Option<i64>,
    version: String,
    endpoint: String,
    status: i32,
    result: String,
    request_id: String,
    in_batch: bool,
    item: Option<i32>,
    record_key: Option<String>,
    names: Option<String>,
    problems: Option<String>,
    problems_left_out: i32,
    newest_problems: Option<String>,
}

impl RequestRow {
    fn position(&self) -> RequestPosition {
        RequestPosition {
            answered_at: self.answered_at.and_utc(),
            id: self.id,
        }
    }
}

impl From<RequestRow> for RecordedRequest {
    fn from(row: RequestRow) -> Self {
        let names = row.names.as_deref().map(serde_json::from_str);
        let newest_problems = row.newest_problems.as_deref().map(serde_json::from_str);
        Self {
            answered_at: row.answered_at.and_utc(),
            sender: Sender::from_columns(row.token_id, row.user_id),
            version: row.version,
            endpoint: row.endpoint,
            status: u16::try_from(row.status).unwrap_or_default(),
            result: RecordResult::named(&row.result),
            request_id: row.request_id,
            in_batch: row.in_batch,
            item: row.item.and_then(|item| u32::try_from(item).ok()),
            record_key: row.record_key,
            names: names.and_then(Result::ok).unwrap_or_default(),
            problems: read_problems(row.problems.as_deref()),
            problems_left_out: u32::try_from(row.problems_left_out).unwrap_or_default(),
            newest_problems: newest_problems.and_then(Result::ok),
        }
    }
}

/// Reads stored problems. Returns none for a text of another form.
pub(super) fn read_problems(stored: Option<&str>) -> Vec<RecordedProblem> {
    let problems: Option<Vec<[String; 3]>> =
        stored.and_then(|stored| serde_json::from_str(stored).ok());
    let problem = |[code, field, message]: [String; 3]| RecordedProblem {
        code,
        field,
        message,
        without_value: None,
    };
    problems
        .unwrap_or_default()
        .into_iter()
        .map(problem)
        .collect()
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
        after: Option<RequestPosition>,
    ) -> Result<RequestPage, StorageError> {
        let rows = self
            .found(filter, after)
            .order((requests::answered_at.desc(), requests::id.desc()))
            .limit(i64::try_from(PAGE + 1).unwrap_or(i64::MAX))
            .select(RequestRow::as_select());
        let rows = rows.load::<RequestRow>(self.connection)?;
        Ok(RequestPage::from_rows(rows, PAGE))
    }

    /// The provider's requests that match a filter, after a position.
    fn found<'f>(
        &self,
        filter: &'f RequestFilter,
        after: Option<RequestPosition>,
    ) -> requests::BoxedQuery<'f, Backend> {
        // Without a filter, all requests are before this time.
        let until = filter.until.unwrap_or(self.now() + TimeDelta::days(1));
        let mut found = requests::table
            .filter(requests::provider_id.eq(self.provider().id))
            .filter(requests::answered_at.lt(until.naive_utc()))
            .into_boxed();
        if let Some(from) = filter.from {
            found = found.filter(requests::answered_at.ge(from.naive_utc()));
        }
        if let Some(RequestPosition { answered_at, id }) = after {
            let at = answered_at.naive_utc();
            let is_before = requests::answered_at.lt(at).or(requests::id.lt(id));
            found = found.filter(requests::answered_at.le(at)).filter(is_before);
        }
        match filter.is_refused {
            Some(true) => found = found.filter(requests::refused),
            Some(false) => found = found.filter(diesel::dsl::not(requests::refused)),
            None => {}
        }
        if let Some(statuses) = &filter.statuses {
            let (lowest, highest) = (i32::from(*statuses.start()), i32::from(*statuses.end()));
            found = found.filter(requests::status.between(lowest, highest));
        }
        if let Some(endpoint) = &filter.endpoint {
            found = found.filter(requests::endpoint.eq(endpoint));
        }
        if let Some(version) = &filter.version {
            found = found.filter(requests::version.eq(version));
        }
        if let Some(token_id) = filter.token_id {
            found = found.filter(requests::token_id.eq(token_id));
        }
        if let Some(code) = &filter.code {
            let is_found = requests::problems.like(pattern(code)).escape(ESCAPE);
            found = found.filter(requests::refused).filter(is_found);
        }
        if let Some(request_id) = &filter.request_id {
            found = found.filter(requests::request_id.eq(request_id));
        }
        found
    }
}

/// A LIKE pattern for stored problems with this code.
fn pattern(code: &str) -> String {
    // A problem is stored as `["code","field","message"]`.
    let mut pattern = "%[\"".to_owned();
    for character in code.chars() {
        if ['%', '_', ESCAPE].contains(&character) {
            pattern.push(ESCAPE);
        }
        pattern.push(character);
    }
    pattern + "\",%"
}
