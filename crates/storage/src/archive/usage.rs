//! The counts of usage by month: counted, written to a file, removed. They are few, so a day is read at once.

use std::collections::BTreeMap;

use chrono::{NaiveDate, NaiveDateTime};
use diesel::dsl::{count_star, min};
use diesel::prelude::*;
use serde_json::json;

use super::file::Draft;
use super::history::Count;
use super::line::date;
use super::{Archive, ArchiveError, ArchivedMonth, Kind, Month, manifest};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::schema::{ShadowCheckRow, ShadowProblemRow, UsageRow, shadow_checks, shadow_problems, usage_by_day};

/// Rows of each table that are removed in one transaction.
const REMOVED: i64 = 500;

/// The rows of each month that are dated before an end.
pub(super) fn counts(
    connection: &mut DatabaseConnection,
    end: NaiveDateTime,
) -> Result<BTreeMap<Month, Count>, StorageError> {
    let end = end.date();
    let mut counts = BTreeMap::<Month, Count>::new();
    macro_rules! count {
        ($table:ident) => {{
            let mut from = NaiveDate::MIN.max(NaiveDate::default() - chrono::TimeDelta::days(36_500));
            loop {
                let days = $table::table.filter($table::day.ge(from).and($table::day.lt(end)));
                let Some(day) = days.select(min($table::day)).first::<Option<NaiveDate>>(connection)? else { break };
                let month = Month::of(day);
                let next = month.next().first_day();
                let rows = $table::table.filter($table::day.ge(month.first_day()).and($table::day.lt(next)));
                let count = counts.entry(month).or_insert(Count::NONE);
                count.entries += rows.select(count_star()).first::<i64>(connection)?;
                from = next;
            }
        }};
    }
    count!(usage_by_day);
    count!(shadow_checks);
    count!(shadow_problems);
    Ok(counts)
}

/// Writes the rows of a month, a day after the other.
pub(super) fn write(connection: &mut DatabaseConnection, month: Month, draft: &mut Draft) -> Result<(), ArchiveError> {
    let days = month.first_day().iter_days().take_while(|day| *day < month.next().first_day());
    for day in days {
        let date_of_day = day.to_string();
        macro_rules! rows {
            ($table:ident as $row:ident) => {
                $table::table
                    .filter($table::day.eq(day))
                    .order($table::id)
                    .load::<$row>(connection)
                    .map_err(StorageError::from)?
            };
        }
        for row in rows!(usage_by_day as UsageRow) {
            let (first_at, last_at) = (date(row.first_at), date(row.last_at));
            draft.add(&json!({
                "table": "usage_by_day", "day": date_of_day, "id": row.id, "token_id": row.token_id, "version": row.version,
                "endpoint": row.endpoint, "name": row.name, "requests": row.requests, "first_at": first_at,
                "first_request_id": row.first_request_id, "last_at": last_at, "last_request_id": row.last_request_id,
            }))?;
        }
        for row in rows!(shadow_checks as ShadowCheckRow) {
            draft.add(&json!({
                "table": "shadow_checks", "day": date_of_day, "id": row.id, "token_id": row.token_id, "version": row.version,
                "against": row.against, "checked": row.checked, "valid": row.valid,
            }))?;
        }
        for row in rows!(shadow_problems as ShadowProblemRow) {
            draft.add(&json!({
                "table": "shadow_problems", "day": date_of_day, "id": row.id, "token_id": row.token_id, "version": row.version,
                "against": row.against, "field": row.field, "code": row.code, "writes": row.writes,
            }))?;
        }
    }
    Ok(())
}

/// Whether what would be archived of a month now is what was archived.
pub(super) fn is_as_archived(connection: &mut DatabaseConnection, month: &ArchivedMonth) -> Result<bool, ArchiveError> {
    let mut present = Draft::of_digest();
    write(connection, month.month, &mut present)?;
    Ok(present.done().digest == month.digest)
}

impl Archive<'_> {
    /// Removes a month of usage whose file is verified. What would be archived of it now must be what was archived.
    pub(super) fn remove_usage(&mut self, month: &mut ArchivedMonth) -> Result<(), ArchiveError> {
        let (from, to) = (month.month.first_day(), month.month.next().first_day());
        let oldest = self.now().date_naive() - chrono::TimeDelta::days(crate::usage::KEPT_DAYS);
        if month.removal_begun_at.is_none() {
            // Of a month that is so old the servers may have removed a part already.
            if from >= oldest && !is_as_archived(&mut self.connection, month)? {
                return Err(ArchiveError::Changed { kind: Kind::Usage, month: month.month });
            }
            let now = self.now();
            self.write_transaction(|connection| manifest::begin_removal(connection, month, now))?;
        }
        self.remove_in_batches(|connection, _| {
            macro_rules! remove {
                ($table:ident) => {{
                    let rows = $table::table.filter($table::day.ge(from).and($table::day.lt(to)));
                    let keys = rows.order($table::day).select($table::id).limit(REMOVED).load::<i64>(connection)?;
                    diesel::delete($table::table.filter($table::id.eq_any(keys))).execute(connection)?
                }};
            }
            let removed = remove!(usage_by_day).max(remove!(shadow_checks)).max(remove!(shadow_problems));
            Ok((removed > 0).then_some(0))
        })?;
        let now = self.now();
        self.write_transaction(|connection| manifest::end_removal(connection, month, now))
    }
}
