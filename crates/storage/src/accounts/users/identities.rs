//! Finds the organisations that an OpenID Connect identity may sign in to, and signs it in.
//!
//! An identity is an issuer and a subject. The sources of access are, in this order:
//!
//! 1. A user who is bound to the identity.
//! 2. A verified e-mail address that belongs to a user without an identity, or to an open
//!    invitation.
//! 3. A claim that names an organisation, unless the organisation has or had a user with this
//!    identity or address. A removed user stays removed until they are invited again.

use database::connection::with_inner;
use diesel::dsl;
use diesel::prelude::*;

use super::invitations::Usable;
use super::{
    ActivityKind, Actor, BY_CLAIM, Origin, SecretDigest, StoredRole, Subject, UserRole,
    belongs_to_organisation,
};
use crate::error::{Refusal, StorageError};
use crate::schema::{providers, sign_in_choices, users};
use crate::session::Session;

/// The identity of a person as an issuer reported it, with its claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The issuer identifier.
    pub issuer: String,
    /// The issuer's permanent identifier of the person.
    pub subject: String,
    /// The e-mail address in lower case; `None` unless the issuer has verified it.
    pub email: Option<String>,
    /// The UKPRNs of the person's organisations in the claim.
    pub ukprns: Vec<String>,
    /// The role in these organisations: admin or viewer.
    pub role: UserRole,
    /// Whether a claim makes the person an operator of the service.
    pub is_operator: bool,
}

/// An organisation, or the service, that an identity may sign in to.
#[derive(Debug)]
pub struct Access {
    /// The UKPRN and the name of the organisation; `None` for the service.
    pub organisation: Option<(String, String)>,
    /// The role of the person there.
    pub role: UserRole,
    provider_id: Option<i64>,
    through: Through,
}

/// The source of a person's access.
#[derive(Debug)]
enum Through {
    /// A user is bound to the identity.
    Identity(i64),
    /// A user has the e-mail address and is not bound to an identity.
    Email(i64),
    Invitation(Usable),
    Claim,
}

impl Access {
    /// The UKPRN of the organisation; `None` for the service.
    #[must_use]
    pub fn ukprn(&self) -> Option<&str> {
        self.organisation.as_ref().map(|(ukprn, _)| ukprn.as_str())
    }
}

impl Identity {
    /// Whether the claims include an organisation, or the service for `None`.
    fn claims(&self, ukprn: Option<&str>) -> bool {
        match ukprn {
            Some(ukprn) => self.ukprns.iter().any(|claimed| claimed == ukprn),
            None => self.is_operator,
        }
    }
}

/// The number, the role and the creator of a user, and the number, UKPRN and name of the
/// organisation.
type UserRow = (i64, StoredRole, String, Option<(i64, String, String)>);

impl Session<'_> {
    /// All accesses of an identity: the service first, then the open organisations by UKPRN.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn accesses_of(&mut self, identity: &Identity) -> Result<Vec<Access>, StorageError> {
        let mut found = self.accesses_by_identity(identity)?;
        if let Some(email) = &identity.email {
            self.add_accesses_by_email(&mut found, email)?;
            self.add_accesses_by_invitation(&mut found, email)?;
            self.add_accesses_by_claim(&mut found, identity, email)?;
        }
        found.sort_by(|one, other| one.ukprn().cmp(&other.ukprn()));
        Ok(found)
    }

    /// Begins a session with the secret of the digest `secret`, for an organisation, or for the
    /// service if `ukprn` is `None`. Binds the identity to the user at the first sign-in. Ends the
    /// session with the digest `replaced`.
    ///
    /// # Errors
    ///
    /// [`Refusal::NoAccess`], also if a concurrent request has used the access.
    pub fn sign_in_as(
        &mut self,
        identity: &Identity,
        ukprn: Option<&str>,
        secret: &SecretDigest,
        replaced: Option<&SecretDigest>,
        origin: Origin<'_>,
    ) -> Result<(), StorageError> {
        let access = self.access_of(identity, ukprn)?;
        self.lock_organisation(access.provider_id)?;
        // Read again: a concurrent request may have changed the access.
        let access = self.access_of(identity, ukprn)?;
        let provider_id = access.provider_id;
        let (user_id, detail) = self.bound_user(identity, access)?;
        diesel::update(users::table.find(user_id))
            .set(users::last_signed_in_at.eq(self.now().naive_utc()))
            .execute(self.connection)?;
        self.record_activity(
            Actor::user(user_id, provider_id, origin),
            provider_id,
            ActivityKind::UserSignedIn,
            Subject::User(user_id),
            detail,
        )?;
        self.begin_session(user_id, secret, replaced)
    }

    /// Binds the user with an access to the identity, and adds the user if there is none. Returns
    /// the number of the user and the detail for the activity log.
    fn bound_user(
        &mut self,
        identity: &Identity,
        access: Access,
    ) -> Result<(i64, &'static str), StorageError> {
        match access.through {
            Through::Identity(id) => Ok((id, "OpenID Connect")),
            Through::Email(id) => {
                self.bind(id, identity)?;
                Ok((id, "OpenID Connect, first time, by e-mail address"))
            }
            Through::Invitation(invitation) => {
                let id = self.accept_invitation_of(identity, &invitation)?;
                Ok((id, "OpenID Connect, first time, by invitation"))
            }
            Through::Claim => {
                let id = self.add_claimed_user(identity, access.provider_id, access.role)?;
                Ok((id, "OpenID Connect, first time, by claim"))
            }
        }
    }

    /// Uses an invitation for an identity. Returns the number of the user.
    fn accept_invitation_of(
        &mut self,
        identity: &Identity,
        invitation: &Usable,
    ) -> Result<i64, StorageError> {
        self.update_address(identity, invitation)?;
        let used = self.use_invitation(invitation).map_err(|error| {
            if matches!(error, StorageError::Refused(Refusal::LinkNotUsable)) {
                Refusal::NoAccess.into()
            } else {
                error
            }
        })?;
        let id = used.ok_or(Refusal::NoAccess)?;
        // Ends sessions of the user's earlier identity.
        self.end_sessions_of(id)?;
        self.bind(id, identity)?;
        Ok(id)
    }

    /// Adds a user because of a claim of the issuer. Returns the number of the user.
    fn add_claimed_user(
        &mut self,
        identity: &Identity,
        provider_id: Option<i64>,
        role: UserRole,
    ) -> Result<i64, StorageError> {
        let (name, is_editor) = role.columns();
        diesel::insert_into(users::table)
            .values((
                users::provider_id.eq(provider_id),
                users::role.eq(name),
                users::is_editor.eq(is_editor),
                users::email.eq(identity.email.as_deref().unwrap_or_default()),
                users::issuer.eq(&identity.issuer),
                users::subject.eq(&identity.subject),
                users::created_at.eq(self.now().naive_utc()),
                users::created_by.eq(BY_CLAIM),
            ))
            .returning(users::id)
            .get_result::<i64>(self.connection)
            .map_err(taken)
    }

    /// Sets the address of this identity's user to that of an accepted invitation, because the
    /// person's address has changed.
    fn update_address(
        &mut self,
        identity: &Identity,
        invitation: &Usable,
    ) -> Result<(), StorageError> {
        if self
            .user_with(invitation.provider_id, &invitation.email)?
            .is_some()
        {
            // The new address already belongs to a user of the organisation.
            return Ok(());
        }
        let of_identity = users::issuer
            .eq(&identity.issuer)
            .and(users::subject.eq(&identity.subject));
        diesel::update(users::table.filter(belongs_to_organisation(invitation.provider_id)))
            .filter(of_identity)
            .filter(users::removed_at.is_null())
            .set(users::email.eq(&invitation.email))
            .execute(self.connection)?;
        Ok(())
    }

    /// Deletes the identity of a user. Also deletes the started sign-ins of this identity or e-mail
    /// address that wait for the choice of an organisation.
    pub(super) fn forget_identity(
        &mut self,
        user_id: i64,
        email: &str,
    ) -> Result<(), StorageError> {
        diesel::delete(sign_in_choices::table.filter(sign_in_choices::email.eq(email)))
            .execute(self.connection)?;
        let identity = users::table
            .find(user_id)
            .select((users::issuer, users::subject));
        let identity = identity.first::<(Option<String>, Option<String>)>(self.connection)?;
        if let (Some(issuer), Some(subject)) = identity {
            diesel::delete(sign_in_choices::table.filter(sign_in_choices::issuer.eq(issuer)))
                .filter(sign_in_choices::subject.eq(subject))
                .execute(self.connection)?;
        }
        let no_text = None::<String>;
        diesel::update(users::table.find(user_id))
            .set((users::issuer.eq(&no_text), users::subject.eq(&no_text)))
            .execute(self.connection)?;
        Ok(())
    }

    /// The access of an identity to an organisation, or to the service for `None`.
    /// [`Refusal::NoAccess`] if there is none.
    fn access_of(
        &mut self,
        identity: &Identity,
        ukprn: Option<&str>,
    ) -> Result<Access, StorageError> {
        let mut found = self.accesses_of(identity)?.into_iter();
        found
            .find(|access| access.ukprn() == ukprn)
            .ok_or(Refusal::NoAccess.into())
    }

    /// Binds an active user to an identity. [`Refusal::NoAccess`] if the access of the user was
    /// removed, or if another user of the organisation has the identity.
    fn bind(&mut self, user_id: i64, identity: &Identity) -> Result<(), StorageError> {
        let bound = diesel::update(
            users::table
                .find(user_id)
                .filter(users::removed_at.is_null()),
        )
        .set((
            users::issuer.eq(&identity.issuer),
            users::subject.eq(&identity.subject),
        ))
        .execute(self.connection)
        .map_err(taken)?;
        if bound == 1 {
            Ok(())
        } else {
            Err(Refusal::NoAccess.into())
        }
    }

    /// The users bound to the identity. A user who was added because of a claim counts only while
    /// the identity has that claim.
    fn accesses_by_identity(&mut self, identity: &Identity) -> Result<Vec<Access>, StorageError> {
        let rows = active_users()
            .filter(users::issuer.eq(&identity.issuer))
            .filter(users::subject.eq(&identity.subject))
            .load::<UserRow>(self.connection)?;
        let still_applies = |(_, _, created_by, organisation): &UserRow| {
            let ukprn = organisation.as_ref().map(|(_, ukprn, _)| ukprn.as_str());
            created_by != BY_CLAIM || identity.claims(ukprn)
        };
        rows.into_iter()
            .filter(still_applies)
            .map(|row| access(row, Through::Identity))
            .collect()
    }

    /// Adds the accesses of active users with the e-mail address who have no identity.
    fn add_accesses_by_email(
        &mut self,
        found: &mut Vec<Access>,
        email: &str,
    ) -> Result<(), StorageError> {
        let rows = active_users()
            .filter(users::email.eq(email))
            .filter(users::issuer.is_null())
            .load::<UserRow>(self.connection)?;
        for row in rows {
            add(found, access(row, Through::Email)?);
        }
        Ok(())
    }

    /// Adds the accesses through usable invitations for the e-mail address. An invitation replaces
    /// an earlier identity of the invited user.
    fn add_accesses_by_invitation(
        &mut self,
        found: &mut Vec<Access>,
        email: &str,
    ) -> Result<(), StorageError> {
        for invitation in self.usable_invitations_for(email)? {
            add(
                found,
                Access {
                    organisation: invitation.organisation.clone(),
                    role: invitation.role,
                    provider_id: invitation.provider_id,
                    through: Through::Invitation(invitation),
                },
            );
        }
        Ok(())
    }

    /// Adds the accesses through the claims of an identity. Leaves out organisations that have or
    /// had a user with this identity or address.
    fn add_accesses_by_claim(
        &mut self,
        found: &mut Vec<Access>,
        identity: &Identity,
        email: &str,
    ) -> Result<(), StorageError> {
        let claimed = providers::table
            .filter(providers::ukprn.eq_any(&identity.ukprns))
            .filter(providers::closed_at.is_null())
            .select((providers::id, providers::ukprn, providers::name))
            .load::<(i64, String, String)>(self.connection)?;
        let organisations = claimed
            .into_iter()
            .map(|(id, ukprn, name)| (Some(id), Some((ukprn, name)), identity.role));
        let service = identity
            .is_operator
            .then_some((None, None, UserRole::Operator));
        for (provider_id, organisation, role) in organisations.chain(service) {
            let is_found = found.iter().any(|access| access.provider_id == provider_id);
            if !is_found && !self.has_had_user(provider_id, identity, email)? {
                found.push(Access {
                    organisation,
                    role,
                    provider_id,
                    through: Through::Claim,
                });
            }
        }
        Ok(())
    }

    /// Whether an organisation, or the service, has or had a user with this identity or e-mail
    /// address.
    fn has_had_user(
        &mut self,
        provider_id: Option<i64>,
        identity: &Identity,
        email: &str,
    ) -> Result<bool, StorageError> {
        let is_identity = users::issuer
            .eq(&identity.issuer)
            .and(users::subject.eq(&identity.subject));
        let same = users::table
            .filter(belongs_to_organisation(provider_id))
            .filter(users::email.eq(email).nullable().or(is_identity));
        let query = dsl::select(dsl::exists(same));
        Ok(with_inner!(self.connection, |inner| query.get_result::<bool>(inner))?)
    }
}

/// The active users of open organisations and of the service, as [`UserRow`]s.
#[diesel::dsl::auto_type(no_type_alias)]
fn active_users() -> _ {
    users::table
        .left_join(providers::table)
        .filter(users::removed_at.is_null())
        .filter(providers::closed_at.nullable().is_null())
        .select((
            users::id,
            (users::role, users::is_editor),
            users::created_by,
            (providers::id, providers::ukprn, providers::name).nullable(),
        ))
}

/// Converts a row of an active user. `through` makes the source of the access from the number of
/// the user.
fn access(
    (id, role, _, organisation): UserRow,
    through: fn(i64) -> Through,
) -> Result<Access, StorageError> {
    Ok(Access {
        role: UserRole::from_columns(&role, "users", id)?,
        provider_id: organisation.as_ref().map(|(id, ..)| *id),
        organisation: organisation.map(|(_, ukprn, name)| (ukprn, name)),
        through: through(id),
    })
}

/// Adds an access, unless there is one to the same organisation.
fn add(found: &mut Vec<Access>, access: Access) {
    if found
        .iter()
        .all(|other| other.provider_id != access.provider_id)
    {
        found.push(access);
    }
}

/// Converts a unique violation to [`Refusal::NoAccess`]. Two concurrent sign-ins of one person
/// cause it.
fn taken(error: diesel::result::Error) -> StorageError {
    let error = StorageError::from(error);
    if error.is_unique_violation() {
        Refusal::NoAccess.into()
    } else {
        error
    }
}
