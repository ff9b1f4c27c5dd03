//! The providers of trainees, and their management by operators.
//!
//! Independent of the permissions of a provider's clients.

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::DatabaseConnection;
use diesel::prelude::*;
use domain::records::organisations::is_ukprn;
use domain::values::text::is_blank;

use crate::base::provider_lock;
use crate::error::{Refusal, StorageError};
use crate::schema::{erasures, providers};
use crate::session::Session;

/// A provider, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRecord {
    pub(crate) id: i64,
    /// The UK provider reference number, eight digits.
    pub ukprn: String,
    /// The provider's name.
    pub name: String,
    /// When the provider was added.
    pub created_at: DateTime<Utc>,
    /// When the provider was closed; `None` if it is open. The tokens of a closed provider are
    /// refused.
    pub closed_at: Option<DateTime<Utc>>,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = providers)]
struct ProviderRow {
    id: i64,
    ukprn: String,
    name: String,
    created_at: NaiveDateTime,
    closed_at: Option<NaiveDateTime>,
}

impl Session<'_> {
    /// Adds a provider.
    ///
    /// # Errors
    ///
    /// [`Refusal::InvalidUkprn`], [`Refusal::BlankProviderName`] or [`Refusal::UkprnTaken`].
    pub fn add_provider(
        &mut self,
        ukprn: &str,
        name: &str,
    ) -> Result<ProviderRecord, StorageError> {
        let name = name.trim();
        if !is_ukprn(ukprn) {
            return Err(Refusal::InvalidUkprn.into());
        }
        if is_blank(name) {
            return Err(Refusal::BlankProviderName.into());
        }
        diesel::insert_into(providers::table)
            .values((
                providers::ukprn.eq(ukprn),
                providers::name.eq(name),
                providers::created_at.eq(self.now().naive_utc()),
            ))
            .execute(self.connection)
            .map_err(taken)?;
        provider_lock::add_missing(self.connection)?;
        self.provider(ukprn)
    }

    /// Returns the provider with this UKPRN, or adds one. Does not rename an existing provider.
    ///
    /// # Errors
    ///
    /// The errors of [`Session::add_provider`].
    pub fn ensure_provider(
        &mut self,
        ukprn: &str,
        name: &str,
    ) -> Result<ProviderRecord, StorageError> {
        match self.provider(ukprn) {
            Err(StorageError::Refused(Refusal::UnknownProvider)) => self.add_provider(ukprn, name),
            found => found,
        }
    }

    /// The provider with this UKPRN.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn provider(&mut self, ukprn: &str) -> Result<ProviderRecord, StorageError> {
        if !is_ukprn(ukprn) {
            // No provider has an invalid UKPRN. PostgreSQL would reject some characters.
            return Err(Refusal::UnknownProvider.into());
        }
        let row = providers::table
            .filter(providers::ukprn.eq(ukprn))
            .select(ProviderRow::as_select())
            .first(self.connection)
            .optional()?;
        row.map(ProviderRecord::from)
            .ok_or(Refusal::UnknownProvider.into())
    }

    /// All providers, sorted by UKPRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_providers(&mut self) -> Result<Vec<ProviderRecord>, StorageError> {
        let rows = providers::table
            .order(providers::ukprn)
            .select(ProviderRow::as_select())
            .load(self.connection)?;
        Ok(rows.into_iter().map(ProviderRecord::from).collect())
    }

    /// Closes a provider: its tokens are refused from now on. Does nothing if the provider is
    /// closed.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn close_provider(&mut self, ukprn: &str) -> Result<ProviderRecord, StorageError> {
        diesel::update(
            providers::table
                .filter(providers::ukprn.eq(ukprn))
                .filter(providers::closed_at.is_null()),
        )
        .set(providers::closed_at.eq(self.now().naive_utc()))
        .execute(self.connection)?;
        self.provider(ukprn)
    }
}

impl Session<'_> {
    /// Reopens a closed provider: its tokens that have neither expired nor been revoked are
    /// accepted again. Does nothing if the provider is open.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn reopen_provider(&mut self, ukprn: &str) -> Result<ProviderRecord, StorageError> {
        diesel::update(
            providers::table
                .filter(providers::ukprn.eq(ukprn))
                .filter(providers::closed_at.is_not_null()),
        )
        .set(providers::closed_at.eq(None::<NaiveDateTime>))
        .execute(self.connection)?;
        self.provider(ukprn)
    }

    /// Renames a provider. Does nothing if the provider has this name.
    ///
    /// # Errors
    ///
    /// [`Refusal::BlankProviderName`] or [`Refusal::UnknownProvider`].
    pub fn rename_provider(
        &mut self,
        ukprn: &str,
        name: &str,
    ) -> Result<ProviderRecord, StorageError> {
        let name = name.trim();
        if is_blank(name) {
            return Err(Refusal::BlankProviderName.into());
        }
        diesel::update(
            providers::table
                .filter(providers::ukprn.eq(ukprn))
                .filter(providers::name.ne(name)),
        )
        .set(providers::name.eq(name))
        .execute(self.connection)?;
        self.provider(ukprn)
    }
}

/// Adds the providers that have erasures in another register and are missing in this one.
pub(crate) fn add_providers_with_erasures(
    register: &mut DatabaseConnection,
    other: &mut DatabaseConnection,
) -> Result<(), StorageError> {
    let has_erasures = providers::id.eq_any(erasures::table.select(erasures::provider_id));
    let found = providers::table
        .filter(has_erasures)
        .select(ProviderRow::as_select())
        .load(other)?;
    let present: Vec<String> = providers::table.select(providers::ukprn).load(register)?;
    for ProviderRow {
        ukprn,
        name,
        created_at,
        closed_at,
        ..
    } in found
    {
        if !present.contains(&ukprn) {
            diesel::insert_into(providers::table)
                .values((
                    providers::ukprn.eq(ukprn),
                    providers::name.eq(name),
                    providers::created_at.eq(created_at),
                    providers::closed_at.eq(closed_at),
                ))
                .execute(register)?;
        }
    }
    provider_lock::add_missing(register)
}

impl From<ProviderRow> for ProviderRecord {
    fn from(row: ProviderRow) -> Self {
        Self {
            id: row.id,
            ukprn: row.ukprn,
            name: row.name,
            created_at: row.created_at.and_utc(),
            closed_at: row.closed_at.map(|time| time.and_utc()),
        }
    }
}

/// Converts a unique violation to [`Refusal::UkprnTaken`]. The UKPRN is the only unique column that
/// an operator fills.
fn taken(error: diesel::result::Error) -> StorageError {
    use diesel::result::{DatabaseErrorKind, Error};
    if let Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _) = error {
        Refusal::UkprnTaken.into()
    } else {
        error.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::tokens::NewToken;
    use crate::accounts::users::Actor;
    use crate::testing::{NEW_TOKEN, Register, UKPRN};

    #[test]
    fn provider_is_added_once() {
        let register = Register::new();
        let added = register
            .write(|session| session.add_provider(UKPRN, " Ashdown University "))
            .unwrap();
        assert_eq!(
            (added.ukprn.as_str(), added.name.as_str()),
            (UKPRN, "Ashdown University")
        );

        let again = register
            .write(|session| session.add_provider(UKPRN, "Another"))
            .unwrap_err();
        assert!(matches!(again, StorageError::Refused(Refusal::UkprnTaken)));
        let ensured = register
            .write(|session| session.ensure_provider(UKPRN, "Another"))
            .unwrap();
        assert_eq!(ensured, added);
        assert_eq!(
            register.read(|session| session.list_providers()).unwrap(),
            [added]
        );
    }

    #[test]
    fn provider_needs_eight_digit_ukprn_and_name() {
        let register = Register::new();
        for ukprn in ["1000000", "100000001", "1000000x", "", "１２３４５６７８"] {
            let refused = register
                .write(move |session| session.ensure_provider(ukprn, "A provider"))
                .unwrap_err();
            assert!(
                matches!(refused, StorageError::Refused(Refusal::InvalidUkprn)),
                "{ukprn}"
            );
        }
        for blank in ["  ", "\u{200b}\u{3164}"] {
            let refused = register
                .write(move |session| session.add_provider(UKPRN, blank))
                .unwrap_err();
            assert!(
                matches!(refused, StorageError::Refused(Refusal::BlankProviderName)),
                "{blank:?}"
            );
        }
    }

    #[test]
    fn repeated_rename_and_reopen_change_nothing() {
        let register = Register::with_provider();
        for _ in 0..2 {
            let renamed = register
                .write(|session| session.rename_provider(UKPRN, " Beech University "))
                .unwrap();
            assert_eq!(renamed.name, "Beech University");
        }
        register
            .write(|session| session.close_provider(UKPRN))
            .unwrap();
        for _ in 0..2 {
            let reopened = register
                .write(|session| session.reopen_provider(UKPRN))
                .unwrap();
            assert_eq!(
                (reopened.closed_at, reopened.name.as_str()),
                (None, "Beech University")
            );
        }
        for blank in [" ", "\u{2060}"] {
            let refused = register
                .write(move |session| session.rename_provider(UKPRN, blank))
                .unwrap_err();
            assert!(
                matches!(refused, StorageError::Refused(Refusal::BlankProviderName)),
                "{blank:?}"
            );
        }
        for unknown in [
            register
                .write(|session| session.rename_provider("10000009", "Unknown"))
                .unwrap_err(),
            register
                .write(|session| session.reopen_provider("10000009"))
                .unwrap_err(),
        ] {
            assert!(matches!(
                unknown,
                StorageError::Refused(Refusal::UnknownProvider)
            ));
        }
    }

    #[test]
    fn reopened_provider_accepts_its_active_tokens_again() {
        let register = Register::with_provider();
        let (kept, _) = register.issue_token(NEW_TOKEN).unwrap();
        let (revoked, record) = register.issue_token(NEW_TOKEN).unwrap();
        let expires_on = "2026-03-03".parse().ok();
        let (expired, _) = register
            .issue_token(NewToken {
                expires_on,
                ..NEW_TOKEN
            })
            .unwrap();
        register
            .write(|session| session.close_provider(UKPRN))
            .unwrap();
        register
            .write(move |session| session.revoke_token(record.id, Actor::operator("operator")))
            .unwrap();
        register.clock.set("2026-03-03");
        assert!(
            ![&kept, &revoked, &expired]
                .into_iter()
                .any(|token| register.accepts(token))
        );
        register
            .write(|session| session.reopen_provider(UKPRN))
            .unwrap();
        assert_eq!(
            [&kept, &revoked, &expired].map(|token| register.accepts(token)),
            [true, false, false]
        );
    }

    #[test]
    fn closing_provider_twice_keeps_first_time() {
        let register = Register::new();
        register
            .write(|session| session.add_provider(UKPRN, "A provider"))
            .unwrap();
        let closed = register
            .write(|session| session.close_provider(UKPRN))
            .unwrap();
        assert!(closed.closed_at.is_some());
        assert_eq!(
            register
                .write(|session| session.close_provider(UKPRN))
                .unwrap(),
            closed
        );
    }
}
