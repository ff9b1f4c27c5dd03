//! Checks of writes in another version, by day.

use chrono::NaiveDate;
use diesel::prelude::*;

use super::totals::days;
use crate::error::StorageError;
use crate::schema::shadow_checks;
use crate::session::{ProviderSession, Session};

/// The writes of a token that were checked in another version, on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckDay {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token_id: i64,
    /// The number of checked writes.
    pub checked: i64,
    /// The number of writes that the other version would accept.
    pub valid: i64,
}

/// Day, token number, checked writes and valid writes.
type Row = (NaiveDate, i64, i64, i64);

/// All checks as [`Row`]s, oldest first.
#[diesel::dsl::auto_type(no_type_alias)]
fn rows() -> _ {
    shadow_checks::table
        .order((shadow_checks::day, shadow_checks::token_id))
        .select((
            shadow_checks::day,
            shadow_checks::token_id,
            shadow_checks::checked,
            shadow_checks::valid,
        ))
}

/// Converts rows, in the same order.
fn check_days(rows: Vec<Row>) -> Vec<CheckDay> {
    rows.into_iter()
        .map(|(day, token_id, checked, valid)| CheckDay {
            day,
            token_id,
            checked,
            valid,
        })
        .collect()
}

impl Session<'_> {
    /// The checks of a version's writes in another version, for each day from `since` on, oldest
    /// first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn checks_by_day(
        &mut self,
        since: NaiveDate,
        version: &str,
        against: &str,
    ) -> Result<Vec<CheckDay>, StorageError> {
        let found = rows()
            .filter(shadow_checks::day.ge(since))
            .filter(shadow_checks::version.eq(version))
            .filter(shadow_checks::against.eq(against))
            .load::<Row>(self.connection)?;
        Ok(check_days(found))
    }
}

impl ProviderSession<'_> {
    /// Like [`Session::checks_by_day`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_checks_by_day(
        &mut self,
        since: NaiveDate,
        version: &str,
        against: &str,
    ) -> Result<Vec<CheckDay>, StorageError> {
        let tokens = self.own_token_ids()?;
        let found = rows()
            .filter(shadow_checks::day.eq_any(days(since, self.today())))
            .filter(shadow_checks::token_id.eq_any(tokens))
            .filter(shadow_checks::version.eq(version))
            .filter(shadow_checks::against.eq(against))
            .load::<Row>(self.connection)?;
        Ok(check_days(found))
    }
}
