//! Since when requests are counted, and the last one to a version. Both are looked up along the
//! unique index, which begins with the day, and no row between is read: the first day is at its
//! beginning, and the last use is searched for from its end. For an unused version, that is the
//! whole index.

use chrono::{NaiveDate, NaiveDateTime};
use database::connection::{Backend, DatabaseConnection};
use diesel::dsl::{max, min};
use diesel::prelude::*;

use super::Seen;
use super::totals::{ALL_REQUESTS, days};
use crate::error::StorageError;
use crate::schema::usage_by_day;
use crate::session::{ProviderSession, Session};

/// The counts since a day of all tokens, or of these alone. For these, days are enumerated, as in
/// [`ProviderSession::own_usage_since`].
fn counts<'a>(
    since: NaiveDate,
    today: NaiveDate,
    tokens: Option<&'a [i64]>,
) -> usage_by_day::BoxedQuery<'a, Backend> {
    let all = usage_by_day::table.into_boxed();
    match tokens {
        None => all.filter(usage_by_day::day.ge(since)),
        Some(tokens) => all
            .filter(usage_by_day::day.eq_any(days(since, today)))
            .filter(usage_by_day::token_id.eq_any(tokens)),
    }
}

fn first_day(
    connection: &mut DatabaseConnection,
    since: NaiveDate,
    today: NaiveDate,
    tokens: Option<&[i64]>,
) -> Result<Option<NaiveDate>, StorageError> {
    Ok(counts(since, today, tokens)
        .select(min(usage_by_day::day))
        .get_result(connection)?)
}

impl Session<'_> {
    /// The first day with counted requests since then, for all tokens or only for these. `None`
    /// without any.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn first_counted_day(
        &mut self,
        since: NaiveDate,
        tokens: Option<&[i64]>,
    ) -> Result<Option<NaiveDate>, StorageError> {
        let today = self.today();
        first_day(self.connection, since, today, tokens)
    }

    /// The last request to a version since a day, with all tokens or with these alone, and the
    /// number of its token; nothing where there was none.
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
        let of_version = |since, today| {
            let counts = counts(since, today, tokens).filter(usage_by_day::name.eq(ALL_REQUESTS));
            counts.filter(usage_by_day::version.eq(version))
        };
        let last_day: Option<NaiveDate> = of_version(since, self.today())
            .select(max(usage_by_day::day))
            .get_result(self.connection)?;
        let Some(day) = last_day else { return Ok(None) };
        let last = of_version(day, day)
            .order((
                usage_by_day::last_at.desc(),
                usage_by_day::last_request_id.desc(),
            ))
            .select((
                usage_by_day::token_id,
                usage_by_day::last_at,
                usage_by_day::last_request_id,
            ))
            .first::<(i64, NaiveDateTime, String)>(self.connection)
            .optional()?;
        Ok(last.map(|(token, at, request_id)| {
            (
                token,
                Seen {
                    at: at.and_utc(),
                    request_id: request_id.into(),
                },
            )
        }))
    }
}

impl ProviderSession<'_> {
    /// Like [`Session::first_counted_day`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_first_counted_day(
        &mut self,
        since: NaiveDate,
    ) -> Result<Option<NaiveDate>, StorageError> {
        let (today, tokens) = (self.today(), self.own_token_ids()?);
        first_day(self.connection, since, today, Some(&tokens))
    }
}
