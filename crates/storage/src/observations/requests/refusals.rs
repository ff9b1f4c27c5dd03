//! The most frequent problems of a provider: refused requests by version, endpoint, status, code
//! and field.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use super::listing::read_problems;
use crate::error::StorageError;
use crate::observations::totals::Seen;
use crate::schema::requests;
use crate::session::ProviderSession;

/// The most kinds of refusals that are returned.
pub const MAX_REFUSALS: usize = 20;
/// The most requests that are counted, starting with the newest.
pub const MAX_COUNTED: usize = 10_000;

/// What refused requests of one kind have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefusalKind {
    /// The endpoint.
    pub endpoint: String,
    /// The code of the problem; empty if there is none.
    pub code: String,
    /// The name of the field in the version, without positions in lists: `placements[].urn`. Empty
    /// if there is none.
    pub field: String,
    /// The label of the version.
    pub version: String,
    /// The status of the replies.
    pub status: u16,
}

/// Refused requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind.
    pub kind: RefusalKind,
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

/// Time, version, endpoint, status, request identifier and stored problems.
type RefusedRow = (NaiveDateTime, String, String, i32, String, Option<String>);

impl ProviderSession<'_> {
    /// The most frequent refusals of the provider's requests since a time.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn refused_most(&mut self, since: DateTime<Utc>) -> Result<Refusals, StorageError> {
        let newest = requests::table
            .filter(requests::provider_id.eq(self.provider().id))
            .filter(requests::refused)
            .filter(requests::answered_at.ge(since.naive_utc()))
            .order((requests::answered_at.desc(), requests::id.desc()))
            .limit(i64::try_from(MAX_COUNTED).unwrap_or(i64::MAX))
            .select((
                requests::answered_at,
                requests::version,
                requests::endpoint,
                requests::status,
                requests::request_id,
                requests::problems,
            ));
        let rows = newest.load::<RefusedRow>(self.connection)?;
        let counted = rows.len();
        let mut kinds: HashMap<RefusalKind, (u64, Seen)> = HashMap::new();
        for (at, version, endpoint, status, request_id, problems) in rows {
            for (code, field) in distinct_problems(problems.as_deref()) {
                let kind = RefusalKind {
                    version: version.clone(),
                    endpoint: endpoint.clone(),
                    status: u16::try_from(status).unwrap_or_default(),
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
        let refusal = |(kind, (requests, newest))| Refusal {
            kind,
            requests,
            newest,
        };
        let mut kinds: Vec<Refusal> = kinds.into_iter().map(refusal).collect();
        kinds.sort_by(|one, other| {
            let rank = |refusal: &Refusal| (Reverse(refusal.requests), Reverse(refusal.newest.at));
            let by_rank = rank(one).cmp(&rank(other));
            by_rank.then_with(|| one.kind.cmp(&other.kind))
        });
        kinds.truncate(MAX_REFUSALS);
        Ok(Refusals {
            kinds,
            counted,
            is_complete: counted < MAX_COUNTED,
        })
    }
}

/// The code and the field of each different problem of a request, without positions. One pair of
/// empty texts for a request without problems.
fn distinct_problems(stored: Option<&str>) -> BTreeSet<(String, String)> {
    let mut found: BTreeSet<_> = read_problems(stored)
        .into_iter()
        .map(|problem| (problem.code, without_positions(&problem.field)))
        .collect();
    if found.is_empty() {
        found.insert((String::new(), String::new()));
    }
    found
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
