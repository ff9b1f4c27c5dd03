//! Invitations: links that sign a person in to one organisation, once and within 15 minutes, or
//! within 24 hours if the invitation is sent by e-mail.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use diesel::prelude::*;
use domain::rules::personal::is_email;

use super::{
    ActivityKind, Actor, BY_CLAIM, Origin, Secret, SecretDigest, StoredRole, Subject, UserRole,
    belongs_to_organisation,
};
use crate::error::{Refusal, StorageError};
use crate::schema::{invitations, providers, users};
use crate::session::Session;

/// How long a link can be used, unless the invitation is sent by e-mail.
pub(super) const VALID_FOR: TimeDelta = TimeDelta::minutes(15);
/// The longest e-mail address (RFC 5321, section 4.5.3.1.3).
const MAX_EMAIL_CHARS: usize = 254;

/// A request for an invitation link.
#[derive(Debug, Clone, Copy)]
pub struct NewInvitation<'a> {
    /// The UKPRN of the organisation; `None` for an operator of the service.
    pub provider_ukprn: Option<&'a str>,
    /// The e-mail address of the person, in upper or lower case.
    pub email: &'a str,
    /// The role of the person.
    pub role: UserRole,
}

/// A new link.
#[derive(Debug)]
pub struct Invited {
    /// The secret of the link.
    pub secret: Secret,
    /// The e-mail address of the person, in lower case.
    pub email: String,
    /// The role of the person. A person who already has access keeps the present role.
    pub role: UserRole,
    /// When the link expires.
    pub expires_at: DateTime<Utc>,
    /// Whether the person has access already.
    pub has_access: bool,
    /// The provider of the person; `None` for an operator of the service.
    pub(crate) provider_id: Option<i64>,
}

/// The target of a usable link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenInvitation {
    /// The UKPRN and the name of the organisation; `None` for an operator of the service.
    pub organisation: Option<(String, String)>,
    /// The role of the person.
    pub role: UserRole,
}

/// An unused link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingInvitation {
    /// The number of the link.
    pub id: i64,
    /// The e-mail address of the person.
    pub email: String,
    /// The role of the person.
    pub role: UserRole,
    /// When the link expires.
    pub expires_at: DateTime<Utc>,
    /// The UKPRN of the organisation; `None` for an operator of the service.
    pub provider_ukprn: Option<String>,
}

/// A usable link, and the UKPRN of its organisation.
type PendingRow = (i64, String, StoredRole, NaiveDateTime, Option<String>);

/// Converts a row. `Err` if the role is unknown.
fn pending_invitation(row: PendingRow) -> Result<PendingInvitation, StorageError> {
    let (id, email, role, expires_at, provider_ukprn) = row;
    Ok(PendingInvitation {
        id,
        email,
        role: UserRole::from_columns(&role, "invitations", id)?,
        expires_at: expires_at.and_utc(),
        provider_ukprn,
    })
}

/// The link of an invitation that is sent by e-mail.
#[derive(Debug)]
pub struct InvitationLink {
    /// The secret of the link.
    pub secret: Secret,
    /// The e-mail address of the person.
    pub email: String,
    /// The role of the person.
    pub role: UserRole,
    /// The name of the organisation; `None` for an operator of the service.
    pub organisation: Option<String>,
    /// When the link expires.
    pub expires_at: DateTime<Utc>,
}

/// A usable link with its organisation.
#[derive(Debug)]
pub(super) struct Usable {
    id: i64,
    pub(super) provider_id: Option<i64>,
    pub(super) email: String,
    pub(super) role: UserRole,
    created_by: String,
    pub(super) organisation: Option<(String, String)>,
}

/// A link to insert.
pub(super) struct NewLink<'a> {
    pub(super) secret: &'a Secret,
    pub(super) provider_id: Option<i64>,
    pub(super) role: UserRole,
    pub(super) email: &'a str,
    pub(super) created_by: &'a str,
    pub(super) expires_at: DateTime<Utc>,
}

/// A link, the UKPRN and the name of its organisation, and the time when that was closed.
type Row = (
    (i64, String, Option<i64>, String, StoredRole, String),
    Option<(String, String)>,
    Option<NaiveDateTime>,
);

/// Converts an e-mail address to its stored form, in lower case. Rejects letters beyond ASCII: the
/// lower case of some of them is an ASCII letter, so the result could be another person's address.
///
/// # Errors
///
/// [`Refusal::InvalidEmail`]
pub fn normalised_email(text: &str) -> Result<String, Refusal> {
    let email = text.trim().to_ascii_lowercase();
    if is_email(&email) && email.len() <= MAX_EMAIL_CHARS {
        Ok(email)
    } else {
        Err(Refusal::InvalidEmail)
    }
}

impl Session<'_> {
    /// Creates a link, which replaces unused links for the same person. For a person who has access
    /// already, only a command can create a link, so that no user can take over the access of
    /// another one.
    ///
    /// # Errors
    ///
    /// [`Refusal::InvalidEmail`], [`Refusal::RoleOfOtherKind`], [`Refusal::UnknownProvider`] or
    /// [`Refusal::ProviderClosed`]; [`Refusal::HasAccess`] only if the actor is a user.
    pub fn invite_user(
        &mut self,
        by: Actor<'_>,
        request: NewInvitation<'_>,
    ) -> Result<Invited, StorageError> {
        let expires_at = self.now() + VALID_FOR;
        let (_, invited) = self.add_invitation(by, request, expires_at, "")?;
        Ok(invited)
    }

    /// Like [`Session::invite_user`], for a link that is sent by e-mail. Also returns the number of
    /// the invitation. The secret is replaced when the mail is sent.
    pub(crate) fn add_mailed_invitation(
        &mut self,
        by: Actor<'_>,
        request: NewInvitation<'_>,
        expires_at: DateTime<Utc>,
    ) -> Result<(i64, Invited), StorageError> {
        self.add_invitation(by, request, expires_at, ", by e-mail")
    }

    /// Adds an invitation. `note` ends the detail of the entry in the activity log.
    fn add_invitation(
        &mut self,
        by: Actor<'_>,
        request: NewInvitation<'_>,
        expires_at: DateTime<Utc>,
        note: &str,
    ) -> Result<(i64, Invited), StorageError> {
        let email = normalised_email(request.email)?;
        if (request.role == UserRole::Operator) != request.provider_ukprn.is_none() {
            return Err(Refusal::RoleOfOtherKind.into());
        }
        // Locked first: closing the organisation deletes its links, and no link may be added after
        // that.
        let provider = request
            .provider_ukprn
            .map(|ukprn| self.organisation_to_change(ukprn))
            .transpose()?;
        if provider
            .as_ref()
            .is_some_and(|provider| provider.closed_at.is_some())
        {
            return Err(Refusal::ProviderClosed.into());
        }
        let provider_id = provider.map(|provider| provider.id);
        if !by.reaches(provider_id) {
            return Err(Refusal::UnknownProvider.into());
        }
        self.lock_organisation(provider_id)?;
        let user = self.user_with(provider_id, &email)?;
        if user.is_some() && by.provider_id().is_some() {
            return Err(Refusal::HasAccess.into());
        }
        let has_access = user.is_some();
        let role = user.map_or(request.role, |(_, role)| role);
        self.remove_unused_invitations(provider_id, &email)?;
        let secret = Secret::generate()?;
        let link = NewLink {
            secret: &secret,
            provider_id,
            role,
            email: &email,
            created_by: &by.to_string(),
            expires_at,
        };
        let id = self.insert_link(&link)?;
        let detail = if has_access {
            format!("{role}, another link{note}")
        } else {
            format!("{role}{note}")
        };
        self.record_activity(
            by,
            provider_id,
            ActivityKind::UserInvited,
            Subject::Invitation(id),
            &detail,
        )?;
        let invited = Invited {
            secret,
            email,
            role,
            expires_at,
            has_access,
            provider_id,
        };
        Ok((id, invited))
    }

    /// Inserts an unused link, and returns its number.
    pub(super) fn insert_link(&mut self, link: &NewLink<'_>) -> Result<i64, StorageError> {
        let (role, is_editor) = link.role.columns();
        Ok(diesel::insert_into(invitations::table)
            .values((
                invitations::digest.eq(SecretDigest::from_text(link.secret.reveal()).as_hex()),
                invitations::provider_id.eq(link.provider_id),
                invitations::role.eq(role),
                invitations::is_editor.eq(is_editor),
                invitations::email.eq(link.email),
                invitations::created_at.eq(self.now().naive_utc()),
                invitations::created_by.eq(link.created_by),
                invitations::expires_at.eq(link.expires_at.naive_utc()),
            ))
            .returning(invitations::id)
            .get_result(self.connection)?)
    }

    /// Replaces the secret of an invitation, for a mail. Returns `None` if the invitation is used,
    /// removed or expired, or if its organisation is closed.
    pub(crate) fn renew_invitation(
        &mut self,
        id: i64,
    ) -> Result<Option<InvitationLink>, StorageError> {
        let now = self.now().naive_utc();
        let found = unused()
            .filter(invitations::id.eq(id))
            .filter(invitations::expires_at.gt(now))
            .first::<Row>(self.connection)
            .optional()?
            .filter(|(_, _, closed_at)| closed_at.is_none());
        let Some(link) = found.map(usable).transpose()? else {
            return Ok(None);
        };
        let secret = Secret::generate()?;
        let digest = SecretDigest::from_text(secret.reveal());
        let expires_at = diesel::update(invitations::table.find(id))
            .filter(invitations::used_at.is_null())
            .set(invitations::digest.eq(digest.as_hex()))
            .returning(invitations::expires_at)
            .get_result::<NaiveDateTime>(self.connection)
            .optional()?;
        Ok(expires_at.map(|expires_at| InvitationLink {
            secret,
            email: link.email,
            role: link.role,
            organisation: link.organisation.map(|(_, name)| name),
            expires_at: expires_at.and_utc(),
        }))
    }

    /// The target of a link; `None` if the link is unknown, used, replaced, removed or expired, or
    /// if its organisation is closed. Changes nothing.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn open_invitation(
        &mut self,
        digest: &SecretDigest,
    ) -> Result<Option<OpenInvitation>, StorageError> {
        let found = self.usable_invitation(digest)?;
        Ok(found.map(|invitation| OpenInvitation {
            organisation: invitation.organisation,
            role: invitation.role,
        }))
    }

    /// Uses a link: gives the person access, and begins a session with the secret of the digest
    /// `secret`. Ends the session with the digest `replaced`. A repeated call with the same secret
    /// succeeds and changes nothing.
    ///
    /// # Errors
    ///
    /// [`Refusal::LinkNotUsable`], also if a concurrent request has used the link.
    pub fn accept_invitation(
        &mut self,
        digest: &SecretDigest,
        secret: &SecretDigest,
        replaced: Option<&SecretDigest>,
        origin: Origin<'_>,
    ) -> Result<(), StorageError> {
        let Some(link) = self.usable_invitation(digest)? else {
            return self.require_session(secret);
        };
        self.lock_organisation(link.provider_id)?;
        let Some(user_id) = self.use_invitation(&link)? else {
            return self.require_session(secret);
        };
        let signed_in_at = users::last_signed_in_at.eq(self.now().naive_utc());
        diesel::update(users::table.find(user_id))
            .set(signed_in_at)
            .execute(self.connection)?;
        let by = Actor::user(user_id, link.provider_id, origin);
        let subject = Subject::Invitation(link.id);
        self.record_activity(
            by,
            link.provider_id,
            ActivityKind::UserSignedIn,
            subject,
            "",
        )?;
        self.begin_session(user_id, secret, replaced)
    }

    /// Uses a link and gives the person access. Returns the number of the user; `None` if the link
    /// is used already.
    pub(super) fn use_invitation(&mut self, link: &Usable) -> Result<Option<i64>, StorageError> {
        let now = self.now().naive_utc();
        let (role, is_editor) = link.role.columns();
        let unused = invitations::table
            .find(link.id)
            .filter(invitations::used_at.is_null())
            .filter(invitations::expires_at.gt(now));
        let used = diesel::update(unused)
            .set(invitations::used_at.eq(now))
            .execute(self.connection)?;
        if used != 1 {
            return Ok(None);
        }
        match self.user_with(link.provider_id, &link.email)? {
            Some((id, _)) => {
                // The access of an invited person no longer depends on the issuer's claims.
                diesel::update(users::table.find(id).filter(users::created_by.eq(BY_CLAIM)))
                    .set(users::created_by.eq(&link.created_by))
                    .execute(self.connection)?;
                Ok(Some(id))
            }
            None => diesel::insert_into(users::table)
                .values((
                    users::provider_id.eq(link.provider_id),
                    users::role.eq(role),
                    users::is_editor.eq(is_editor),
                    users::email.eq(&link.email),
                    users::created_at.eq(now),
                    users::created_by.eq(&link.created_by),
                ))
                .returning(users::id)
                .get_result::<i64>(self.connection)
                .map(Some)
                .map_err(taken),
        }
    }

    /// Accepts a used link if the session with this secret has begun: the user has pressed the
    /// button twice. [`Refusal::LinkNotUsable`] otherwise.
    fn require_session(&mut self, secret: &SecretDigest) -> Result<(), StorageError> {
        let begun = self.signed_in(secret)?;
        begun.map(drop).ok_or(Refusal::LinkNotUsable.into())
    }

    /// The usable links of an organisation, or all usable links, oldest first.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn pending_invitations(
        &mut self,
        provider_ukprn: Option<&str>,
    ) -> Result<Vec<PendingInvitation>, StorageError> {
        let mut usable = invitations::table
            .left_join(providers::table)
            .filter(invitations::used_at.is_null())
            .filter(invitations::expires_at.gt(self.now().naive_utc()))
            .order(invitations::id)
            .select((
                invitations::id,
                invitations::email,
                (invitations::role, invitations::is_editor),
                invitations::expires_at,
                providers::ukprn.nullable(),
            ))
            .into_boxed();
        if let Some(ukprn) = provider_ukprn {
            let provider = self.provider(ukprn)?;
            usable = usable.filter(invitations::provider_id.eq(provider.id));
        }
        usable
            .load::<PendingRow>(self.connection)?
            .into_iter()
            .map(pending_invitation)
            .collect()
    }

    /// Removes up to `most` unusable links. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_invitations(&mut self, most: i64) -> Result<usize, StorageError> {
        let old = invitations::table
            .filter(invitations::expires_at.lt(self.now().naive_utc()))
            .limit(most)
            .select(invitations::id)
            .load::<i64>(self.connection)?;
        Ok(
            diesel::delete(invitations::table.filter(invitations::id.eq_any(old)))
                .execute(self.connection)?,
        )
    }

    /// Removes the unused links for a person to an organisation, or to the service for `None`.
    pub(super) fn remove_unused_invitations(
        &mut self,
        provider_id: Option<i64>,
        email: &str,
    ) -> Result<(), StorageError> {
        diesel::delete(invitations::table.filter(invitations::email.eq(email)))
            .filter(belongs_to_organisation(provider_id))
            .filter(invitations::used_at.is_null())
            .execute(self.connection)?;
        Ok(())
    }

    /// Removes the unused links of an organisation.
    pub(super) fn remove_unused_invitations_of_organisation(
        &mut self,
        provider_id: i64,
    ) -> Result<(), StorageError> {
        diesel::delete(invitations::table.filter(invitations::provider_id.eq(provider_id)))
            .filter(invitations::used_at.is_null())
            .execute(self.connection)?;
        Ok(())
    }

    /// The usable link with this digest; `None` if there is none.
    fn usable_invitation(&mut self, digest: &SecretDigest) -> Result<Option<Usable>, StorageError> {
        let found = unused()
            .filter(invitations::digest.eq(digest.as_hex()))
            .filter(invitations::expires_at.gt(self.now().naive_utc()))
            .first::<Row>(self.connection)
            .optional()?;
        let found = found.filter(|((_, stored, ..), _, closed_at)| {
            digest.is_stored_as(stored) && closed_at.is_none()
        });
        found.map(usable).transpose()
    }

    /// The usable links for an e-mail address, oldest first.
    pub(super) fn usable_invitations_for(
        &mut self,
        email: &str,
    ) -> Result<Vec<Usable>, StorageError> {
        let found = unused()
            .filter(invitations::email.eq(email))
            .filter(invitations::expires_at.gt(self.now().naive_utc()))
            .order(invitations::id)
            .load::<Row>(self.connection)?;
        found
            .into_iter()
            .filter(|(_, _, closed_at)| closed_at.is_none())
            .map(usable)
            .collect()
    }

    /// The number and the role of the active user with this e-mail address in an organisation, or
    /// in the service for `None`.
    pub(super) fn user_with(
        &mut self,
        provider_id: Option<i64>,
        email: &str,
    ) -> Result<Option<(i64, UserRole)>, StorageError> {
        let found = users::table
            .filter(belongs_to_organisation(provider_id))
            .filter(users::email.eq(email))
            .filter(users::removed_at.is_null())
            .select((users::id, (users::role, users::is_editor)))
            .first::<(i64, StoredRole)>(self.connection)
            .optional()?;
        found
            .map(|(id, role)| Ok((id, UserRole::from_columns(&role, "users", id)?)))
            .transpose()
    }
}

/// All unused links with their organisations, as [`Row`]s.
#[diesel::dsl::auto_type(no_type_alias)]
fn unused() -> _ {
    invitations::table
        .left_join(providers::table)
        .filter(invitations::used_at.is_null())
        .select((
            (
                invitations::id,
                invitations::digest,
                invitations::provider_id,
                invitations::email,
                (invitations::role, invitations::is_editor),
                invitations::created_by,
            ),
            (providers::ukprn, providers::name).nullable(),
            providers::closed_at.nullable(),
        ))
}

/// Converts a row of a usable link. `Err` if the role is unknown.
fn usable(
    ((id, _, provider_id, email, role, created_by), organisation, _): Row,
) -> Result<Usable, StorageError> {
    let role = UserRole::from_columns(&role, "invitations", id)?;
    Ok(Usable {
        id,
        provider_id,
        email,
        role,
        created_by,
        organisation,
    })
}

/// Converts a unique violation to [`Refusal::LinkNotUsable`]. It occurs if one person accepts two
/// links at the same time.
fn taken(error: diesel::result::Error) -> StorageError {
    let error = StorageError::from(error);
    if error.is_unique_violation() {
        Refusal::LinkNotUsable.into()
    } else {
        error
    }
}
