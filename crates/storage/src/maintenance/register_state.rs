//! Counts for the first pages of operators and organisations, and the time of the last backup.

use chrono::{DateTime, Utc};
use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use domain::State;
use domain::values::iso_8601::timestamp;

use crate::base::register_setting::read;
use crate::error::StorageError;
use crate::observations::requests::RecordResult;
use crate::records::trainees::visible;
use crate::schema::{mails, requests, trainees};
use crate::session::{ProviderSession, Session};

/// The name of the setting with the time of the last backup.
const LAST_BACKUP: &str = "last_backup";
/// Records a setting outside a transaction.
const RECORD: &str = "INSERT INTO register_settings (name, value) VALUES (?, ?) \
                      ON CONFLICT (name) DO UPDATE SET value = excluded.value";

/// What an operator looks at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterState {
    /// Trainees of all providers without a TRN.
    pub waiting_for_trn: i64,
    /// Refused requests with a token of any provider since midnight UTC, without checks.
    pub refused_today: i64,
    /// Mails that are not sent yet.
    pub waiting_mails: i64,
    /// Mails that are not sent yet, with a failed attempt.
    pub failing_mails: i64,
    /// The last backup by this program.
    pub backup: LastBackup,
}

/// The last backup of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastBackup {
    /// No backup was made yet.
    Missing,
    /// The time of the last backup.
    At(DateTime<Utc>),
    /// The register is in PostgreSQL, which has its own tools.
    ByPostgres,
}

impl Session<'_> {
    /// The state of the register.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn register_state(&mut self) -> Result<RegisterState, StorageError> {
        let midnight = self.today().and_time(chrono::NaiveTime::MIN);
        let waiting = trainees::table
            .filter(trainees::state.eq(State::SubmittedForTrn.name()))
            .filter(trainees::discarded_at.is_null());
        let refused = requests::table
            .filter(is_refused())
            .filter(requests::answered_at.ge(midnight));
        let unsent = mails::table.filter(mails::finished_at.is_null());
        let failing = unsent.filter(mails::attempts.gt(0));
        Ok(RegisterState {
            waiting_for_trn: waiting.count().get_result(self.connection)?,
            refused_today: refused.count().get_result(self.connection)?,
            waiting_mails: unsent.count().get_result(self.connection)?,
            failing_mails: failing.count().get_result(self.connection)?,
            backup: last_backup(self.connection)?,
        })
    }
}

impl ProviderSession<'_> {
    /// The number of visible trainees without a TRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_waiting_for_trn(&mut self) -> Result<i64, StorageError> {
        let waiting = trainees::table
            .filter(visible(self.provider().id))
            .filter(trainees::state.eq(State::SubmittedForTrn.name()));
        Ok(waiting.count().get_result(self.connection)?)
    }

    /// The number of refused requests since a time, without those that were only to be checked.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_refused(&mut self, since: DateTime<Utc>) -> Result<i64, StorageError> {
        let refused = requests::table
            .filter(requests::provider_id.eq(self.provider().id))
            .filter(is_refused())
            .filter(requests::answered_at.ge(since.naive_utc()));
        Ok(refused.count().get_result(self.connection)?)
    }
}

/// Whether a request was refused that was not only to be checked.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_refused() -> _ {
    let check: &'static str = RecordResult::RefusedCheck.name();
    requests::refused.and(requests::result.ne(check))
}

fn last_backup(connection: &mut DatabaseConnection) -> Result<LastBackup, StorageError> {
    if connection.is_remote() {
        return Ok(LastBackup::ByPostgres);
    }
    let recorded = read(connection, LAST_BACKUP)?;
    let at = recorded.and_then(|text| DateTime::parse_from_rfc3339(&text).ok());
    Ok(match at {
        Some(at) => LastBackup::At(at.to_utc()),
        None => LastBackup::Missing,
    })
}

/// Records the time of a backup of a SQLite register.
pub(super) fn record_backup(
    connection: &mut DatabaseConnection,
    at: DateTime<Utc>,
) -> Result<(), StorageError> {
    diesel::sql_query(RECORD)
        .bind::<Text, _>(LAST_BACKUP)
        .bind::<Text, _>(timestamp(at))
        .execute(connection)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Register;

    #[test]
    fn backup_is_missing_until_recorded() {
        let register = Register::with_provider();
        let state = || register.read(|session| session.register_state()).unwrap();
        let before = state();
        assert_eq!(before.waiting_for_trn, 0);
        if before.backup == LastBackup::ByPostgres {
            return;
        }
        assert_eq!(before.backup, LastBackup::Missing);
        let at = DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        register
            .write(move |session| record_backup(session.connection, at))
            .unwrap();
        assert_eq!(state().backup, LastBackup::At(at));
        register.add_trainee("trainee");
        assert_eq!(state().waiting_for_trn, 1);
    }
}
