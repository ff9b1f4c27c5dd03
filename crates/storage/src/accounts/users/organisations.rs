//! Management of organisations by operators, with entries in the activity log.

use domain::values::text::visible_line;

use super::{ActivityKind, Actor, Subject};
use crate::accounts::providers::ProviderRecord;
use crate::error::{Refusal, StorageError};
use crate::session::{Provider, Session};

/// The longest name of an organisation, in characters.
pub const MAX_ORGANISATION_NAME_CHARS: usize = 200;

impl From<ProviderRecord> for Provider {
    fn from(
        ProviderRecord {
            id, ukprn, name, ..
        }: ProviderRecord,
    ) -> Self {
        Self { id, ukprn, name }
    }
}

impl Session<'_> {
    /// The organisation with this UKPRN, open or closed.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn organisation(&mut self, ukprn: &str) -> Result<Provider, StorageError> {
        Ok(self.provider(ukprn)?.into())
    }

    /// Like [`Session::organisation`], but also locks the settings of the organisation until the
    /// transaction ends.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn organisation_to_change(&mut self, ukprn: &str) -> Result<ProviderRecord, StorageError> {
        let found = self.provider(ukprn)?;
        self.lock_organisation(Some(found.id))?;
        // Read again: a concurrent request may have changed the organisation.
        self.provider(ukprn)
    }

    /// Adds an organisation.
    ///
    /// # Errors
    ///
    /// [`Refusal::InvalidUkprn`], [`Refusal::InvalidProviderName`] or [`Refusal::UkprnTaken`];
    /// [`Refusal::NotPermitted`] for a user of an organisation.
    pub fn add_organisation(
        &mut self,
        by: Actor<'_>,
        ukprn: &str,
        name: &str,
    ) -> Result<ProviderRecord, StorageError> {
        require_operator(by)?;
        let name = valid_name(name)?;
        // Checked first: a failed INSERT would end the transaction.
        match self.provider(ukprn) {
            Ok(_) => return Err(Refusal::UkprnTaken.into()),
            Err(StorageError::Refused(Refusal::UnknownProvider)) => {}
            Err(error) => return Err(error),
        }
        let added = self.add_provider(ukprn, name)?;
        self.record_organisation(by, &added, ActivityKind::OrganisationAdded, name)?;
        Ok(added)
    }

    /// Renames an organisation. Does nothing if the organisation has this name.
    ///
    /// # Errors
    ///
    /// [`Refusal::InvalidProviderName`] or [`Refusal::UnknownProvider`]; [`Refusal::NotPermitted`]
    /// for a user of an organisation.
    pub fn rename_organisation(
        &mut self,
        by: Actor<'_>,
        ukprn: &str,
        name: &str,
    ) -> Result<ProviderRecord, StorageError> {
        require_operator(by)?;
        let name = valid_name(name)?;
        let before = self.organisation_to_change(ukprn)?;
        let renamed = self.rename_provider(ukprn, name)?;
        if renamed.name != before.name {
            let detail = format!("{} to {}", before.name, renamed.name);
            self.record_organisation(by, &renamed, ActivityKind::OrganisationRenamed, &detail)?;
        }
        Ok(renamed)
    }

    /// Closes an organisation: its tokens and its users are refused from the next request on. Ends
    /// the sessions of its users and deletes its unused links, so that they stay invalid when the
    /// organisation reopens. Does nothing if the organisation is closed.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`]; [`Refusal::NotPermitted`] for a user of an organisation.
    pub fn close_organisation(
        &mut self,
        by: Actor<'_>,
        ukprn: &str,
    ) -> Result<ProviderRecord, StorageError> {
        require_operator(by)?;
        let was_open = self.organisation_to_change(ukprn)?.closed_at.is_none();
        let closed = self.close_provider(ukprn)?;
        self.end_sessions_of_organisation(closed.id)?;
        self.remove_unused_invitations_of_organisation(closed.id)?;
        if was_open {
            self.record_organisation(by, &closed, ActivityKind::OrganisationClosed, "")?;
        }
        Ok(closed)
    }

    /// Reopens a closed organisation: its tokens that have neither expired nor been revoked are
    /// accepted again, and its users can sign in again. Does nothing if the organisation is open.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`]; [`Refusal::NotPermitted`] for a user of an organisation.
    pub fn reopen_organisation(
        &mut self,
        by: Actor<'_>,
        ukprn: &str,
    ) -> Result<ProviderRecord, StorageError> {
        require_operator(by)?;
        let was_closed = self.organisation_to_change(ukprn)?.closed_at.is_some();
        let reopened = self.reopen_provider(ukprn)?;
        if was_closed {
            self.record_organisation(by, &reopened, ActivityKind::OrganisationReopened, "")?;
        }
        Ok(reopened)
    }

    /// Writes an entry about an organisation to the activity log.
    fn record_organisation(
        &mut self,
        by: Actor<'_>,
        organisation: &ProviderRecord,
        kind: ActivityKind,
        detail: &str,
    ) -> Result<(), StorageError> {
        let subject = Subject::Organisation(&organisation.ukprn);
        self.record_activity(by, Some(organisation.id), kind, subject, detail)
    }
}

/// Fails for users of organisations.
pub(super) fn require_operator(by: Actor<'_>) -> Result<(), Refusal> {
    if by.provider_id().is_none() {
        Ok(())
    } else {
        Err(Refusal::NotPermitted)
    }
}

/// The name without surrounding space. `Err` if it is empty, too long or not one visible line.
fn valid_name(name: &str) -> Result<&str, Refusal> {
    visible_line(name, MAX_ORGANISATION_NAME_CHARS).ok_or(Refusal::InvalidProviderName)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::users::Origin;
    use crate::testing::{Register, UKPRN};

    const OPERATOR: Actor<'static> = Actor::operator("A. Operator");

    fn log(register: &Register) -> Vec<(String, String, String, Option<String>)> {
        let entries = register.activity();
        let entry = |entry: crate::accounts::users::Activity| {
            (
                entry.kind.name().to_owned(),
                entry.subject,
                entry.detail,
                entry.provider_ukprn,
            )
        };
        entries.into_iter().rev().map(entry).collect()
    }

    #[test]
    fn each_change_of_organisation_is_logged_once() {
        let register = Register::new();
        for _ in 0..2 {
            let _ = register.write(|session| session.add_organisation(OPERATOR, UKPRN, " Ash "));
            register
                .write(|session| session.rename_organisation(OPERATOR, UKPRN, "Beech"))
                .unwrap();
            register
                .write(|session| session.rename_organisation(OPERATOR, UKPRN, "Beech"))
                .unwrap();
        }
        for _ in 0..2 {
            register
                .write(|session| session.close_organisation(OPERATOR, UKPRN))
                .unwrap();
        }
        for _ in 0..2 {
            register
                .write(|session| session.reopen_organisation(OPERATOR, UKPRN))
                .unwrap();
        }
        let entry = |kind: &str, detail: &str| {
            let subject = format!("organisation {UKPRN}");
            (
                kind.to_owned(),
                subject,
                detail.to_owned(),
                Some(UKPRN.to_owned()),
            )
        };
        let expected = [
            entry("organisation_added", "Ash"),
            entry("organisation_renamed", "Ash to Beech"),
            entry("organisation_closed", ""),
            entry("organisation_reopened", ""),
        ];
        assert_eq!(log(&register), expected);
    }

    #[test]
    fn refused_changes_of_organisation_are_not_logged() {
        let register = Register::new();
        let add = |ukprn: &'static str, name: &'static str| {
            register
                .write(move |session| session.add_organisation(OPERATOR, ukprn, name))
                .unwrap_err()
        };
        let long: &'static str = String::leak("x".repeat(MAX_ORGANISATION_NAME_CHARS + 1));
        for name in ["", "  ", long, "a\nb"] {
            let refused = add(UKPRN, name);
            assert!(
                matches!(refused, StorageError::Refused(Refusal::InvalidProviderName)),
                "{refused:?}"
            );
        }
        assert!(matches!(
            add("1", "Ash"),
            StorageError::Refused(Refusal::InvalidUkprn)
        ));
        let unknown = register
            .write(|session| session.close_organisation(OPERATOR, UKPRN))
            .unwrap_err();
        assert!(matches!(
            unknown,
            StorageError::Refused(Refusal::UnknownProvider)
        ));
        let user = Actor::user(1, Some(1), Origin::default());
        let refused = register
            .write(move |session| session.add_organisation(user, UKPRN, "Ash"))
            .unwrap_err();
        assert!(matches!(
            refused,
            StorageError::Refused(Refusal::NotPermitted)
        ));
        assert_eq!(log(&register), []);
        assert!(
            register
                .read(|session| session.list_providers())
                .unwrap()
                .is_empty()
        );
    }
}
