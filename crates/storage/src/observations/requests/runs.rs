//! Imports of a provider by its software, called runs: a batch, or the single requests of one token
//! without a pause of ten minutes. Uploads have reports of their own.
//!
//! Runs are not stored. A query walks along the requests of the provider, newest first, and counts
//! them by run until a page is full. A run is identified by its oldest request, so that the number
//! stays while the run goes on.

use std::collections::HashMap;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use database::connection::Backend;
use diesel::prelude::*;

use super::RecordResult;
use super::listing::{RequestPage, RequestPosition, RequestRow};
use crate::error::StorageError;
use crate::schema::requests;
use crate::session::ProviderSession;

/// The most runs, or requests of a run, on a page.
pub const PAGE: usize = 20;
/// The most requests that are counted for a page.
pub const MAX_COUNTED: usize = 50_000;
/// The number of requests read at a time.
const CHUNK: usize = 2_500;
/// A longer pause ends a run.
const PAUSE: TimeDelta = TimeDelta::minutes(10);

/// What the requests of a run have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RunKey {
    token_id: i64,
    version: String,
    /// The identifier of the batch; `None` for single requests.
    batch: Option<String>,
}

/// The numbers of records of a run, by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// New trainees.
    pub registered: i64,
    /// Accepted changes of records.
    pub changed: i64,
    /// Refused as duplicates.
    pub already_registered: i64,
    /// Refused for other reasons.
    pub refused: i64,
    /// Refused with `validate-only`.
    pub refused_checks: i64,
    /// Accepted with `validate-only`: nothing was stored.
    pub checked: i64,
    /// Answered with the reply to an earlier request with the same idempotency key.
    pub repeated: i64,
}

impl RunCounts {
    /// The number of all records.
    #[must_use]
    pub const fn total(&self) -> i64 {
        self.registered
            + self.changed
            + self.already_registered
            + self.refused
            + self.refused_checks
            + self.checked
            + self.repeated
    }

    fn count(&mut self, result: RecordResult) {
        *match result {
            RecordResult::Registered => &mut self.registered,
            RecordResult::Changed => &mut self.changed,
            RecordResult::AlreadyRegistered => &mut self.already_registered,
            RecordResult::Refused => &mut self.refused,
            RecordResult::RefusedCheck => &mut self.refused_checks,
            RecordResult::Checked => &mut self.checked,
            RecordResult::Repeated => &mut self.repeated,
        } += 1;
    }
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The number of the run: that of its oldest request.
    pub id: i64,
    /// The token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The identifier of the request with the batch; `None` for single requests.
    pub batch: Option<String>,
    /// When the first request was answered.
    pub started_at: DateTime<Utc>,
    /// When the last request was answered.
    pub ended_at: DateTime<Utc>,
    /// The numbers of records.
    pub counts: RunCounts,
    /// The position of the newest request.
    newest: RequestPosition,
}

impl Run {
    /// A run that ends with a request.
    fn ending(key: RunKey, newest: RequestPosition) -> Self {
        let RunKey {
            token_id,
            version,
            batch,
        } = key;
        Self {
            id: newest.id,
            token_id,
            version,
            batch,
            started_at: newest.answered_at,
            ended_at: newest.answered_at,
            counts: RunCounts::default(),
            newest,
        }
    }

    /// Whether an older or newer request at this time is too far away to belong to the run.
    fn is_apart(&self, at: DateTime<Utc>) -> bool {
        self.started_at - at > PAUSE || at - self.ended_at > PAUSE
    }
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, the last one to end first.
    pub runs: Vec<Run>,
    /// The position before the next page; `None` on the last page.
    pub next: Option<RequestPosition>,
    /// Whether all requests of these runs were counted; otherwise only the newest were.
    pub is_complete: bool,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = requests)]
struct Counted {
    id: i64,
    answered_at: NaiveDateTime,
    #[diesel(select_expression = requests::token_id.assume_not_null())]
    token_id: i64,
    version: String,
    in_batch: bool,
    request_id: String,
    result: String,
}

impl Counted {
    fn position(&self) -> RequestPosition {
        RequestPosition {
            answered_at: self.answered_at.and_utc(),
            id: self.id,
        }
    }

    fn into_key(self) -> RunKey {
        RunKey {
            token_id: self.token_id,
            version: self.version,
            batch: self.in_batch.then_some(self.request_id),
        }
    }
}

/// Collects runs while requests are added, newest first.
#[derive(Default)]
struct Walk {
    /// The runs, the last one to end first.
    runs: Vec<Run>,
    /// The index of the oldest run of each key.
    oldest: HashMap<RunKey, usize>,
}

impl Walk {
    fn add(&mut self, request: Counted) {
        let position = request.position();
        let result = RecordResult::named(&request.result);
        let key = request.into_key();
        let at = position.answered_at;
        let known = self.oldest.get(&key).copied();
        let index = known
            .filter(|index| self.runs.get(*index).is_some_and(|run| !run.is_apart(at)))
            .unwrap_or_else(|| {
                self.oldest.insert(key.clone(), self.runs.len());
                self.runs.push(Run::ending(key, position));
                self.runs.len() - 1
            });
        if let Some(run) = self.runs.get_mut(index) {
            run.id = position.id;
            run.started_at = at;
            run.counts.count(result);
        }
    }

    /// Whether `count` runs that end before `end` are complete when the walk has come to `at`.
    fn has(&self, count: usize, end: Option<RequestPosition>, at: DateTime<Utc>) -> bool {
        let mut listed = self.listed(end);
        let first = listed.by_ref().take(count);
        let complete = first.filter(|run| run.is_apart(at)).count();
        complete == count && listed.next().is_some()
    }

    /// The runs that end before a position. The others were listed on an earlier page.
    fn listed(&self, end: Option<RequestPosition>) -> impl Iterator<Item = &Run> {
        self.runs
            .iter()
            .filter(move |run| end.is_none_or(|end| run.newest < end))
    }
}

impl ProviderSession<'_> {
    /// Up to `most` of the provider's runs, the last one to end first, after a position; `None` for
    /// the first ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn runs(
        &mut self,
        after: Option<RequestPosition>,
        most: usize,
    ) -> Result<RunPage, StorageError> {
        let mut walk = Walk::default();
        let mut counted = 0;
        // Requests that are a little newer tell which runs an earlier page has listed.
        let start = after.map_or_else(
            || self.now() + TimeDelta::days(1),
            |end| end.answered_at + PAUSE,
        );
        let mut behind = RequestPosition {
            answered_at: start,
            id: i64::MAX,
        };
        let is_complete = loop {
            let requests = self.counted_before(behind)?;
            let count = requests.len();
            counted += count;
            for request in requests {
                behind = request.position();
                walk.add(request);
            }
            if count < CHUNK || walk.has(most, after, behind.answered_at) {
                break true;
            }
            if counted >= MAX_COUNTED {
                break false;
            }
        };
        let mut listed: Vec<Run> = walk.listed(after).take(most + 1).cloned().collect();
        let is_last = listed.len() <= most;
        listed.truncate(most);
        let next = listed.last().filter(|_| !is_last).map(|run| run.newest);
        Ok(RunPage {
            runs: listed,
            next,
            is_complete,
        })
    }

    /// The run that begins with the request of this number; `None` if the provider has no such
    /// request.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn run(&mut self, id: i64) -> Result<Option<Run>, StorageError> {
        let first = requests::table
            .filter(requests::id.eq(id))
            .filter(requests::provider_id.eq(self.provider().id))
            .filter(requests::token_id.is_not_null())
            .select(Counted::as_select())
            .first::<Counted>(self.connection)
            .optional()?;
        let Some(first) = first else { return Ok(None) };
        let position = first.position();
        let mut run = Run::ending(first.into_key(), position);
        let later = self
            .select_of_run(&run)
            .filter(requests::answered_at.ge(run.started_at.naive_utc()))
            .order((requests::answered_at, requests::id))
            .limit(i64::try_from(MAX_COUNTED).unwrap_or(i64::MAX))
            .select((requests::answered_at, requests::id, requests::result))
            .load::<(NaiveDateTime, i64, String)>(self.connection)?;
        for (at, id, result) in later {
            let at = at.and_utc();
            if run.is_apart(at) {
                break;
            }
            // Several requests may have the time of the first one.
            if (at, id) >= (position.answered_at, position.id) {
                run.ended_at = at;
                run.counts.count(RecordResult::named(&result));
            }
        }
        Ok(Some(run))
    }

    /// Up to `most` refused requests of a run, oldest first, after a position; `None` for the first
    /// ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn refused_in_run(
        &mut self,
        run: &Run,
        after: Option<RequestPosition>,
        most: usize,
    ) -> Result<RequestPage, StorageError> {
        let (at, id) = after.map_or((run.started_at.naive_utc(), run.id - 1), |position| {
            (position.answered_at.naive_utc(), position.id)
        });
        let refused = self
            .select_of_run(run)
            .filter(requests::refused)
            .filter(requests::answered_at.ge(at))
            .filter(requests::answered_at.le(run.ended_at.naive_utc()))
            .filter(requests::answered_at.gt(at).or(requests::id.gt(id)))
            .order((requests::answered_at, requests::id))
            .limit(i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX))
            .select(RequestRow::as_select());
        let rows = refused.load::<RequestRow>(self.connection)?;
        Ok(RequestPage::from_rows(rows, most))
    }

    /// The requests with the token, the version and the batch of a run, at any time.
    fn select_of_run<'r>(&self, run: &'r Run) -> requests::BoxedQuery<'r, Backend> {
        let found = requests::table
            .filter(requests::provider_id.eq(self.provider().id))
            .filter(requests::version.eq(&run.version))
            .filter(requests::in_batch.eq(run.batch.is_some()))
            .filter(requests::token_id.eq(run.token_id))
            .into_boxed();
        match &run.batch {
            Some(batch) => found.filter(requests::request_id.eq(batch)),
            None => found,
        }
    }

    /// The next [`CHUNK`] requests of the provider before a position, newest first.
    fn counted_before(&mut self, end: RequestPosition) -> Result<Vec<Counted>, StorageError> {
        let at = end.answered_at.naive_utc();
        let rows = requests::table
            .filter(requests::provider_id.eq(self.provider().id))
            .filter(requests::token_id.is_not_null())
            .filter(requests::answered_at.le(at))
            .filter(requests::answered_at.lt(at).or(requests::id.lt(end.id)))
            .order((requests::answered_at.desc(), requests::id.desc()))
            .limit(i64::try_from(CHUNK).unwrap_or(i64::MAX))
            .select(Counted::as_select());
        Ok(rows.load::<Counted>(self.connection)?)
    }
}
