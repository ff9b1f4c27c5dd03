//! The providers whose trainees the register holds, as an operator manages them.
//!
//! Knows nothing of what a provider's clients may do.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;

use crate::error::{Refusal, StorageError};
use crate::schema::providers;
use crate::session::Session;

const UKPRN_DIGITS: usize = 8;

/// A provider as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRecord {
    pub(crate) id: i64,
    /// The UK provider reference number, eight digits.
    pub ukprn: String,
    /// The provider's name.
    pub name: String,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// When it was closed, if it was. The tokens of a closed provider are refused.
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
    pub fn add_provider(&mut self, ukprn: &str, name: &str) -> Result<ProviderRecord, StorageError> {
        let name = name.trim();
        if ukprn.len() != UKPRN_DIGITS || !ukprn.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Refusal::InvalidUkprn.into());
        }
        if name.is_empty() {
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
        self.provider(ukprn)
    }

    /// Finds the provider with this UKPRN, or adds it. The name of a provider that is found stays as it is.
    ///
    /// # Errors
    ///
    /// As [`Session::add_provider`].
    pub fn ensure_provider(&mut self, ukprn: &str, name: &str) -> Result<ProviderRecord, StorageError> {
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
        let row = providers::table
            .filter(providers::ukprn.eq(ukprn))
            .select(ProviderRow::as_select())
            .first(self.connection)
            .optional()?;
        row.map(ProviderRecord::from).ok_or(Refusal::UnknownProvider.into())
    }

    /// All providers, by UKPRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn list_providers(&mut self) -> Result<Vec<ProviderRecord>, StorageError> {
        let rows = providers::table.order(providers::ukprn).select(ProviderRow::as_select()).load(self.connection)?;
        Ok(rows.into_iter().map(ProviderRecord::from).collect())
    }

    /// Closes a provider: from now on its tokens are refused. Closing it again changes nothing.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn close_provider(&mut self, ukprn: &str) -> Result<ProviderRecord, StorageError> {
        diesel::update(providers::table.filter(providers::ukprn.eq(ukprn)).filter(providers::closed_at.is_null()))
            .set(providers::closed_at.eq(self.now().naive_utc()))
            .execute(self.connection)?;
        self.provider(ukprn)
    }
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

/// The UKPRN is the only unique column that an operator fills.
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
    use crate::testing::{Register, UKPRN};

    #[test]
    fn a_provider_is_added_once() {
        let register = Register::new();
        let added = register.write(|session| session.add_provider(UKPRN, " Ashdown University ")).unwrap();
        assert_eq!((added.ukprn.as_str(), added.name.as_str()), (UKPRN, "Ashdown University"));

        let again = register.write(|session| session.add_provider(UKPRN, "Another")).unwrap_err();
        assert!(matches!(again, StorageError::Refused(Refusal::UkprnTaken)));
        let ensured = register.write(|session| session.ensure_provider(UKPRN, "Another")).unwrap();
        assert_eq!(ensured, added);
        assert_eq!(register.read(|session| session.list_providers()).unwrap(), [added]);
    }

    #[test]
    fn a_provider_needs_an_eight_digit_ukprn_and_a_name() {
        let register = Register::new();
        for ukprn in ["1000000", "100000001", "1000000x", "", "１２３４５６７８"] {
            let refused = register.write(move |session| session.ensure_provider(ukprn, "A provider")).unwrap_err();
            assert!(matches!(refused, StorageError::Refused(Refusal::InvalidUkprn)), "{ukprn}");
        }
        let refused = register.write(|session| session.add_provider(UKPRN, "  ")).unwrap_err();
        assert!(matches!(refused, StorageError::Refused(Refusal::BlankProviderName)));
    }

    #[test]
    fn closing_a_provider_twice_keeps_the_first_time() {
        let register = Register::new();
        register.write(|session| session.add_provider(UKPRN, "A provider")).unwrap();
        let closed = register.write(|session| session.close_provider(UKPRN)).unwrap();
        assert!(closed.closed_at.is_some());
        assert_eq!(register.write(|session| session.close_provider(UKPRN)).unwrap(), closed);
    }
}
