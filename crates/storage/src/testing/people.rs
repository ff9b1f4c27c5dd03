//! Users of a register for one test.

use crate::accounts::users::{
    Activity, ActivityFilter, Actor, NewInvitation, Origin, Secret, SecretDigest, SignedIn,
    UserRole,
};
use crate::error::{Refusal, StorageError};
use crate::testing::Register;

pub(crate) const COMMAND: Actor<'static> = Actor::operator("operator");

impl Register {
    /// Invites a person by a command. Returns the secret of the link.
    pub(crate) fn invite(
        &self,
        provider_ukprn: Option<&'static str>,
        email: &'static str,
        role: UserRole,
    ) -> String {
        let request = NewInvitation {
            provider_ukprn,
            email,
            role,
        };
        let invited = self.write(move |session| session.invite_user(COMMAND, request));
        invited.unwrap().secret.reveal().to_owned()
    }

    /// Uses a link up. Returns the secret of the session.
    pub(crate) fn accept(&self, link: &str) -> Result<String, StorageError> {
        let secret = Secret::generate()?.reveal().to_owned();
        self.accept_as(link, &secret)?;
        Ok(secret)
    }

    /// Uses a link up in a browser with a secret.
    pub(crate) fn accept_as(&self, link: &str, secret: &str) -> Result<(), StorageError> {
        let [link, secret] = [link, secret].map(SecretDigest::from_text);
        self.write(move |session| {
            session.accept_invitation(&link, &secret, None, Origin::default())
        })
    }

    /// The user of the session with a secret.
    pub(crate) fn signed_in(&self, secret: &str) -> Option<SignedIn> {
        let digest = SecretDigest::from_text(secret);
        self.read(|session| session.signed_in(&digest)).unwrap()
    }

    /// A user who has just signed in.
    pub(crate) fn user(
        &self,
        provider_ukprn: Option<&'static str>,
        email: &'static str,
        role: UserRole,
    ) -> SignedIn {
        let link = self.invite(provider_ukprn, email, role);
        self.signed_in(&self.accept(&link).unwrap()).unwrap()
    }

    /// The activity log, newest entries first.
    pub(crate) fn activity(&self) -> Vec<Activity> {
        let filter = ActivityFilter {
            limit: 100,
            ..ActivityFilter::default()
        };
        self.read(|session| session.list_activity(filter)).unwrap()
    }
}

/// Requires that a job was refused with this reason.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(outcome: Result<T, StorageError>, refusal: Refusal) {
    assert!(
        matches!(&outcome, Err(StorageError::Refused(why)) if *why == refusal),
        "{outcome:?}"
    );
}
