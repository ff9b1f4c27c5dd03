//! The first counted day, and the last request in a version. Both queries use the unique index,
//! which begins with the day, and read no rows in between: the first day is at the beginning of the
//! index, and the last use is searched from its end. For an unused version, this reads the whole
//! index.

use chrono::{NaiveDate, NaiveDateTime};
use database::connection::{Backend, DatabaseConnection};
use diesel::dsl::{max, min};
use diesel::prelude::*;

use super::Seen;
use super::totals::{ALL_REQUESTS, days};
use crate::error::StorageError;
use crate::schema::usage_by_day;
use crate::session::{ProviderSession, Session};

/// The counts since a day, of all tokens or only of `tokens`. With `tokens`, the query lists the
/// days up to `today`, so that the index leads only to the rows of these tokens.
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

/// The first day with counts since a day, of all tokens or only of `tokens`; `None` if there is
/// none.
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
    /// The first day with counted requests since a day, for all tokens or only for these. `None` if
    /// there is none.
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
        let today = self.today();
        let tokens = self.own_token_ids()?;
        first_day(self.connection, since, today, Some(&tokens))
    }
}
