//! The most frequent refusals of a provider: refused requests by version, endpoint, status, code
//! and field.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use super::entry::read_problems;
use crate::error::StorageError;
use crate::observations::usage::Seen;
use crate::schema::request_log;
use crate::session::ProviderSession;

/// The most kinds of refusals that are returned.
pub const MAX_REFUSALS: usize = 20;
/// The most requests that are counted, starting with the newest.
pub const MAX_COUNTED: usize = 20_000;
/// The number of requests read at a time.
const CHUNK: usize = 1_000;

/// Refused requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The status of the replies.
    pub status: u16,
    /// The code of the problem; empty if there is none.
    pub code: String,
    /// The name of the field in the version, without positions in lists: `placements[].urn`. Empty
    /// if there is none.
    pub field: String,
    /// The number of requests.
    pub requests: u64,
    /// The newest of these requests.
    pub newest: Seen,
}

/// The most frequent refusals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    /// The most frequent kinds, the most frequent first.
    pub kinds: Vec<Refusal>,
    /// The number of counted requests.
    pub counted: usize,
    /// Whether all refused requests were counted; otherwise only the newest were.
    pub is_complete: bool,
}

/// The kind of a refusal. Requests of one kind are counted together.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    version: String,
    endpoint: String,
    status: i32,
    code: String,
    field: String,
}

/// Number, time, version, endpoint, status, request identifier and stored problems.
type Row = (i64, NaiveDateTime, String, String, i32, String, String);

impl ProviderSession<'_> {
    /// The most frequent refusals of the provider's requests since a time.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn refused_most(&mut self, since: DateTime<Utc>) -> Result<Refusals, StorageError> {
        let mut kinds: HashMap<Kind, (u64, Seen)> = HashMap::new();
        let mut counted = 0;
        // Begins before the newest request.
        let mut after = (
            self.now().naive_utc() + chrono::TimeDelta::days(1),
            i64::MAX,
        );
        loop {
            let rows = self.refused_before(since, after)?;
            let count = rows.len();
            for (id, at, version, endpoint, status, request_id, problems) in rows {
                after = (at, id);
                for (code, field) in distinct_problems(&problems) {
                    let kind = Kind {
                        version: version.clone(),
                        endpoint: endpoint.clone(),
                        status,
                        code,
                        field,
                    };
                    // The first request of a kind is its newest.
                    let newest = || Seen {
                        at: at.and_utc(),
                        request_id: request_id.as_str().into(),
                    };
                    kinds.entry(kind).or_insert_with(|| (0, newest())).0 += 1;
                }
            }
            counted += count;
            if count < CHUNK || counted >= MAX_COUNTED {
                return Ok(Refusals {
                    kinds: most_frequent(kinds),
                    counted,
                    is_complete: count < CHUNK,
                });
            }
        }
    }

    /// The next [`CHUNK`] refused requests since a time, newest first, after the request with this
    /// time and number.
    fn refused_before(
        &mut self,
        since: DateTime<Utc>,
        (at, id): (NaiveDateTime, i64),
    ) -> Result<Vec<Row>, StorageError> {
        let rows = request_log::table
            .filter(request_log::provider_id.eq(self.provider().id))
            .filter(request_log::accepted.eq(false))
            .filter(request_log::answered_at.ge(since.naive_utc()))
            .filter(request_log::answered_at.le(at))
            .filter(request_log::answered_at.lt(at).or(request_log::id.lt(id)))
            .order((request_log::answered_at.desc(), request_log::id.desc()))
            .limit(i64::try_from(CHUNK).unwrap_or(i64::MAX))
            .select((
                request_log::id,
                request_log::answered_at,
                request_log::version,
                request_log::endpoint,
                request_log::status,
                request_log::request_id,
                request_log::problems,
            ));
        Ok(rows.load::<Row>(self.connection)?)
    }
}

/// The code and the field of each different problem of a request, without positions. One pair of
/// empty texts for a request without problems.
fn distinct_problems(stored: &str) -> BTreeSet<(String, String)> {
    let mut found: BTreeSet<_> = read_problems(stored)
        .into_iter()
        .map(|problem| (problem.code, without_positions(&problem.field)))
        .collect();
    if found.is_empty() {
        found.insert((String::new(), String::new()));
    }
    found
}

/// The most frequent kinds, the most frequent first; among equals, the one with the newest request.
fn most_frequent(kinds: HashMap<Kind, (u64, Seen)>) -> Vec<Refusal> {
    let refusal = |(kind, (requests, newest))| {
        let Kind {
            version,
            endpoint,
            status,
            code,
            field,
        } = kind;
        let status = u16::try_from(status).unwrap_or_default();
        Refusal {
            version,
            endpoint,
            status,
            code,
            field,
            requests,
            newest,
        }
    };
    let mut refusals: Vec<Refusal> = kinds.into_iter().map(refusal).collect();
    refusals.sort_by(|one, other| {
        let rank = |refusal: &Refusal| (Reverse(refusal.requests), Reverse(refusal.newest.at));
        // Kinds of the same rank are sorted too, so that each call returns them in one order.
        let rest = |refusal: &Refusal| {
            (
                refusal.endpoint.clone(),
                refusal.code.clone(),
                refusal.field.clone(),
                refusal.version.clone(),
            )
        };
        rank(one)
            .cmp(&rank(other))
            .then_with(|| rest(one).cmp(&rest(other)))
    });
    refusals.truncate(MAX_REFUSALS);
    refusals
}

/// Removes the positions from a path: `placements[1].urn` becomes `placements[].urn`.
fn without_positions(path: &str) -> String {
    // Whether the character is between brackets.
    let mut inside = false;
    path.chars()
        .filter(|character| {
            inside = (inside || *character == '[') && *character != ']';
            !(inside && character.is_ascii_digit())
        })
        .collect()
}
