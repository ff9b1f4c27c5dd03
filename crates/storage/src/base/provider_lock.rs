//! The locks that put the changes of one provider into their order.
//!
//! Each provider has a row with the position and the date of the last change of its records. A
//! transaction that changes records locks this row first (`database::positions`): `SELECT ... FOR
//! UPDATE` on PostgreSQL, the one writer on SQLite. What a reader has seen at a position is
//! therefore complete up to it.
//!
//! A transaction that issues a teacher reference number or changes operators also locks the row of
//! the service, after that of a provider. A transaction about users or recorded requests locks rows of
//! `providers`, in the order of their numbers ([`lock_settings`]). No transaction locks anything else.

use chrono::{DateTime, Utc};
use database::connection::fixed_expression::fixed_expressions;
use database::connection::{DatabaseConnection, execute_deferred, static_query};
use database::positions::{LastChange, LockedAt, PositionTable};
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;
use stored_document::sql_dates::Timestamp;

use crate::error::{DatabaseError, StorageError};
use crate::schema::{provider_positions, providers};

/// The key of the row of the service. No provider has this key.
const SERVICE: i64 = 0;

/// Locks providers and stores their last changes.
pub(crate) const POSITIONS: PositionTable = PositionTable { lock, store };

/// Locks the row of a provider until the transaction ends. Returns its last change, and the clock of
/// a PostgreSQL server.
fn lock(connection: &mut DatabaseConnection, provider: i64) -> Result<LockedAt, DatabaseError> {
    let last = (provider_positions::position, provider_positions::changed_at);
    let row = provider_positions::table.find(provider);
    type Last = (i64, Option<Timestamp>);
    let found = match connection {
        DatabaseConnection::Postgres(inner) => row
            .select((last, ClockTimestamp))
            .for_update()
            .get_result::<(Last, DateTime<Utc>)>(inner)
            .optional()?
            .map(|(last, now)| (last, Some(now))),
        // A transaction that writes has the only write lock of the file.
        DatabaseConnection::Sqlite(inner) => static_query(row.select(last))
            .get_result::<Last>(inner)
            .optional()?
            .map(|last| (last, None)),
    };
    let ((position, date), now) = found.ok_or_else(|| missing(provider))?;
    let date = date.map(|date| date.0.and_utc());
    Ok((LastChange { position, date }, now))
}

fixed_expressions! {
    /// The present time of a PostgreSQL server.
    ClockTimestamp: Timestamptz = "clock_timestamp()";
}

/// Stores the last change of a locked provider.
fn store(
    connection: &mut DatabaseConnection,
    provider: i64,
    last: LastChange,
) -> Result<(), DatabaseError> {
    let update = diesel::update(provider_positions::table.find(provider)).set((
        provider_positions::position.eq(last.position),
        provider_positions::changed_at.eq(last.date.map(|date| Timestamp(date.naive_utc()))),
    ));
    execute_deferred!(connection, |inner| update.execute(inner))?;
    Ok(())
}

/// The error for a provider without a row.
pub(crate) fn missing(provider: i64) -> DatabaseError {
    DatabaseError::DatabaseFault(
        format!("table provider_positions has no row for provider {provider}").into(),
    )
}

/// Locks the row of the service until the transaction ends. Not needed on SQLite, which runs one
/// write at a time.
pub(crate) fn lock_service(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let DatabaseConnection::Postgres(inner) = connection else {
        return Ok(());
    };
    let row = provider_positions::table
        .find(SERVICE)
        .select(provider_positions::provider_id)
        .for_update()
        .get_result::<i64>(inner)
        .optional()?;
    row.map(drop).ok_or_else(|| missing(SERVICE).into())
}

/// Locks the settings and users of a provider until the transaction ends. Not needed on SQLite, which
/// runs one write at a time.
pub(crate) fn lock_settings(
    connection: &mut DatabaseConnection,
    provider: i64,
) -> Result<(), StorageError> {
    if let DatabaseConnection::Postgres(inner) = connection {
        let row = providers::table
            .find(provider)
            .select(providers::id)
            .for_no_key_update();
        row.get_result::<i64>(inner)?;
    }
    Ok(())
}

/// Inserts the rows of providers that have none.
pub(crate) fn add_missing(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    diesel::sql_query(
        "INSERT INTO provider_positions (provider_id, position) SELECT id, 0 FROM providers \
         WHERE id NOT IN (SELECT provider_id FROM provider_positions)",
    )
    .execute(connection)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use test_support::Kind;

    use super::*;
    use crate::base::cause::Cause;
    use crate::error::Refusal;
    use crate::session::Session;
    use crate::testing::{OTHER, Register, UKPRN};

    /// Registers a trainee of a provider.
    fn add(session: &mut Session<'_>, ukprn: &str, id: &str) -> Result<(), StorageError> {
        let mut provider = session.open_provider(ukprn, Cause::new("test"))?.unwrap();
        let date = Some(provider.change_date());
        provider.insert_trainee(&domain::Trainee {
            trainee_id: Some(id.to_owned()),
            state: Some(domain::State::SubmittedForTrn),
            created_at: date,
            updated_at: date,
            ..domain::Trainee::default()
        })
    }

    /// The position of a provider.
    fn position(register: &Register, ukprn: &'static str) -> i64 {
        let standing = register.read(|session| {
            let mut provider = session.open_provider(ukprn, Cause::new("test"))?.unwrap();
            provider.standing()
        });
        standing.unwrap().position
    }

    #[test]
    fn each_kept_change_takes_next_position() {
        let register = Register::with_two_providers();
        assert_eq!(position(&register, UKPRN), 0);
        let both = |session: &mut Session<'_>| {
            add(session, UKPRN, "one")?;
            add(session, UKPRN, "two")
        };
        register.write(both).unwrap();
        let refused = register.write(|session| {
            add(session, UKPRN, "refused")?;
            Err::<(), _>(Refusal::UnknownProvider.into())
        });
        refused.unwrap_err();
        register
            .write(|session| add(session, OTHER, "other"))
            .unwrap();
        // Another process continues after the committed changes.
        let other = register.another_store();
        other
            .write_blocking(|session| add(session, UKPRN, "three"))
            .unwrap();
        assert_eq!(position(&register, UKPRN), 3);
        assert_eq!(position(&register, OTHER), 1);
    }

    #[test]
    fn job_that_reads_cannot_change_records() {
        let register = Register::with_two_providers();
        let refused = register.read(|session| add(session, UKPRN, "one"));
        let Err(StorageError::Database(DatabaseError::ProviderNotLocked)) = refused else {
            panic!("{refused:?}")
        };
    }

    #[test]
    fn job_changing_two_providers_fails_on_postgresql() {
        let register = Register::with_two_providers();
        let both = register.write(|session| {
            add(session, UKPRN, "one")?;
            add(session, OTHER, "two")
        });
        match Kind::from_environment() {
            Kind::Postgres => assert!(
                matches!(
                    both,
                    Err(StorageError::Database(DatabaseError::SecondProvider))
                ),
                "{both:?}"
            ),
            // SQLite has one lock for all providers.
            Kind::Sqlite => both.unwrap(),
        }
    }
}
