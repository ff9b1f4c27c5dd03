//! Links for users who ask for one on the sign-in page. They are invitations to the users' own
//! accounts, and do not replace other links, so that a stranger cannot make a link useless by
//! asking for another one.

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::invitations::{NewLink, VALID_FOR};
use super::{ActivityKind, Actor, Origin, Secret, StoredRole, Subject, UserRole};
use crate::error::StorageError;
use crate::schema::{providers, users};
use crate::session::Session;

/// A link that signs a user in.
#[derive(Debug)]
pub struct SignInLink {
    /// The secret of the link.
    pub secret: Secret,
    /// The name of the organisation; `None` for an operator of the service.
    pub organisation: Option<String>,
    user_id: i64,
    provider_id: Option<i64>,
}

/// A user, the name of the organisation, and the time when the organisation was closed.
type Row = (
    (i64, Option<i64>, StoredRole),
    Option<String>,
    Option<NaiveDateTime>,
);

impl Session<'_> {
    /// Creates a link for each account of a person: in open organisations if `organisations`, and
    /// as an operator of the service if `operators`. Each link works once, within 15 minutes.
    pub(crate) fn add_sign_in_links(
        &mut self,
        email: &str,
        organisations: bool,
        operators: bool,
    ) -> Result<Vec<SignInLink>, StorageError> {
        // Locks prevent the removal of a user who gets a link. The order prevents deadlocks.
        for ((_, provider_id, _), ..) in self.accounts(email)? {
            self.lock_organisation(provider_id)?;
        }
        let mut links = Vec::new();
        // Read again: a concurrent request may have removed a user before the lock.
        for ((user_id, provider_id, role), organisation, closed_at) in self.accounts(email)? {
            let is_served = if provider_id.is_some() {
                organisations
            } else {
                operators
            };
            if closed_at.is_some() || !is_served {
                continue;
            }
            let link = SignInLink {
                secret: Secret::generate()?,
                organisation,
                user_id,
                provider_id,
            };
            let actor = Actor::user(user_id, provider_id, Origin::default());
            self.insert_link(&NewLink {
                secret: &link.secret,
                provider_id,
                role: UserRole::from_columns(&role, "users", user_id)?,
                email,
                created_by: &actor.to_string(),
                expires_at: self.now() + VALID_FOR,
            })?;
            links.push(link);
        }
        Ok(links)
    }

    /// Writes to the activity log that the links were requested.
    pub(crate) fn record_sign_in_links(
        &mut self,
        links: &[SignInLink],
        origin: Origin<'_>,
    ) -> Result<(), StorageError> {
        for link in links {
            self.record_activity(
                Actor::user(link.user_id, link.provider_id, origin),
                link.provider_id,
                ActivityKind::SignInLinkRequested,
                Subject::User(link.user_id),
                "",
            )?;
        }
        Ok(())
    }

    /// The active accounts with an e-mail address: first as an operator, then by organisation.
    fn accounts(&mut self, email: &str) -> Result<Vec<Row>, StorageError> {
        let mut accounts = users::table
            .left_join(providers::table)
            .filter(users::email.eq(email))
            .filter(users::removed_at.is_null())
            .select((
                (
                    users::id,
                    users::provider_id,
                    (users::role, users::is_editor),
                ),
                providers::name.nullable(),
                providers::closed_at.nullable(),
            ))
            .load::<Row>(self.connection)?;
        // `None` is less than any number.
        accounts.sort_by_key(|((_, provider_id, _), ..)| *provider_id);
        Ok(accounts)
    }
}
