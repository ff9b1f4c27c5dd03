//! The users of the settings pages of organisations and of the service, and the activity log.
//!
//! A user is the access of one person to one organisation. A person with access to two
//! organisations is two users. Each changing function takes an [`Actor`], which can access only
//! data of its own organisation, and writes the activity log in the same transaction.
//!
//! Independent of cookies, the addresses of links, and pages.

mod activity;
mod actor;
mod identities;
#[cfg(test)]
mod identity_tests;
mod invitations;
mod organisations;
mod secret;
mod session_list;
mod sessions;
mod sign_in_attempts;
mod sign_in_links;
mod summaries;
#[cfg(test)]
mod tests;
mod trainees;

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::with_inner;
use diesel::dsl::{self, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use domain::commands::erasure::{identifying_parts, require_impersonal};

pub use self::activity::{Activity, ActivityFilter, ActivityKind};
pub(crate) use self::activity::{KEPT as ACTIVITY_KEPT, Subject};
pub use self::actor::{Actor, Origin};
pub use self::identities::{Access, Identity};
pub use self::invitations::{
    InvitationLink, Invited, NewInvitation, OpenInvitation, PendingInvitation, normalised_email,
};
pub use self::organisations::MAX_ORGANISATION_NAME_CHARS;
pub use self::secret::{Secret, SecretDigest};
pub use self::session_list::OpenSession;
pub use self::sessions::SignedIn;
pub use self::sign_in_attempts::{BegunSignIn, SignInAttempt};
pub use self::sign_in_links::SignInLink;
pub use self::summaries::OrganisationSummary;
use crate::base::provider_lock::{lock_service, lock_settings};
use crate::error::{Refusal, StorageError};
use crate::schema::{invitations as invitation_rows, providers, users};
use crate::session::Session;

/// The creator of a user who was added because of a claim of the issuer.
const BY_CLAIM: &str = "claim of the issuer";

/// The role of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserRole {
    /// Can view and change the settings of an organisation, and upload trainees.
    Admin,
    /// Can view the settings of an organisation, and upload trainees.
    Editor,
    /// Can view the settings of an organisation.
    Viewer,
    /// Can view all organisations, and belongs to none.
    Operator,
}

impl UserRole {
    /// The roles of users of organisations.
    pub const OF_ORGANISATION: [Self; 3] = [Self::Admin, Self::Editor, Self::Viewer];

    /// The name of the role.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Editor => "editor",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }

    /// Whether a user with this role may upload trainees.
    pub(super) const fn may_upload(self) -> bool {
        matches!(self, Self::Admin | Self::Editor)
    }

    /// The values of the columns `role` and `is_editor`. Servers of the last release without
    /// editors read only `role`, so they treat an editor as a viewer.
    const fn columns(self) -> (&'static str, bool) {
        match self {
            Self::Editor => (Self::Viewer.name(), true),
            Self::Admin | Self::Viewer | Self::Operator => (self.name(), false),
        }
    }

    /// The role with these values of the columns.
    pub(super) fn from_columns(
        (name, is_editor): &StoredRole,
        table: &'static str,
        id: i64,
    ) -> Result<Self, StorageError> {
        // Servers of the last release without editors change only `role`. An editor whom they make
        // an admin keeps `is_editor`.
        let is_editor = *is_editor && name == Self::Viewer.name();
        let mut roles = [Self::Admin, Self::Editor, Self::Viewer, Self::Operator].into_iter();
        roles
            .find(|role| role.columns() == (name.as_str(), is_editor))
            .ok_or(StorageError::CorruptRow { table, id })
    }
}

impl FromStr for UserRole {
    type Err = Refusal;

    /// Parses a role of users of organisations.
    fn from_str(name: &str) -> Result<Self, Refusal> {
        Self::OF_ORGANISATION
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or(Refusal::UnknownRole)
    }
}

impl fmt::Display for UserRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The access of one person to one organisation, or to the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// The number of the user in commands and pages.
    pub id: i64,
    /// The UKPRN of the organisation; `None` for an operator.
    pub provider_ukprn: Option<String>,
    /// The role of the user.
    pub role: UserRole,
    /// The e-mail address in lower case; empty for an erased user.
    pub email: String,
    /// When the user first signed in.
    pub created_at: DateTime<Utc>,
    /// Who invited the user.
    pub created_by: String,
    /// When the user last signed in; `None` for a user who never did.
    pub last_signed_in_at: Option<DateTime<Utc>>,
    /// When the access was removed; `None` for an active user.
    pub removed_at: Option<DateTime<Utc>>,
    provider_id: Option<i64>,
}

impl UserRecord {
    /// The text for the user in columns such as `created_by`.
    #[must_use]
    pub fn stored_name(&self) -> String {
        Actor::user(self.id, self.provider_id, Origin::default()).to_string()
    }
}

/// The columns `role` and `is_editor`.
pub(super) type StoredRole = (String, bool);

/// A user, and the UKPRN of their organisation.
type Row = (
    (
        i64,
        Option<i64>,
        StoredRole,
        String,
        NaiveDateTime,
        String,
        Option<NaiveDateTime>,
        Option<NaiveDateTime>,
    ),
    Option<String>,
);

/// Matches rows of the organisation, or rows of the service for `None`. Used for `users` and
/// `invitations`. The index of e-mail addresses has the same expression.
fn belongs_to_organisation(provider_id: Option<i64>) -> dsl::Eq<SqlLiteral<BigInt>, i64> {
    sql::<BigInt>("COALESCE(provider_id, 0)").eq(provider_id.unwrap_or(0))
}

/// All users with their organisations, as [`Row`]s.
#[diesel::dsl::auto_type(no_type_alias)]
fn rows() -> _ {
    users::table.left_join(providers::table).select((
        (
            users::id,
            users::provider_id,
            (users::role, users::is_editor),
            users::email,
            users::created_at,
            users::created_by,
            users::last_signed_in_at,
            users::removed_at,
        ),
        providers::ukprn.nullable(),
    ))
}

/// Converts a row. `Err` if the role is unknown.
fn record((user, provider_ukprn): Row) -> Result<UserRecord, StorageError> {
    let (id, provider_id, role, email, created_at, created_by, last_signed_in_at, removed_at) =
        user;
    Ok(UserRecord {
        id,
        provider_ukprn,
        role: UserRole::from_columns(&role, "users", id)?,
        email,
        created_at: created_at.and_utc(),
        created_by,
        last_signed_in_at: last_signed_in_at.map(|at| at.and_utc()),
        removed_at: removed_at.map(|at| at.and_utc()),
        provider_id,
    })
}

impl Session<'_> {
    /// All users of an organisation, or all users, in the order of their numbers, including users
    /// whose access was removed.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownProvider`].
    pub fn list_users(
        &mut self,
        provider_ukprn: Option<&str>,
    ) -> Result<Vec<UserRecord>, StorageError> {
        let found = match provider_ukprn {
            Some(ukprn) => {
                let provider = self.provider(ukprn)?;
                rows()
                    .filter(users::provider_id.eq(provider.id))
                    .order(users::id)
                    .load::<Row>(self.connection)?
            }
            None => rows().order(users::id).load::<Row>(self.connection)?,
        };
        found.into_iter().map(record).collect()
    }

    /// An active user that the actor may access.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`].
    pub fn user(&mut self, by: Actor<'_>, id: i64) -> Result<UserRecord, StorageError> {
        self.user_including_removed(id)?
            .filter(|user| user.removed_at.is_none() && by.reaches(user.provider_id))
            .ok_or(Refusal::UnknownUser.into())
    }

    /// Changes the role of a user of an organisation, effective from the next request. Does nothing
    /// if the user has this role.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`] or [`Refusal::RoleOfOtherKind`]; [`Refusal::LastAdmin`] only if the
    /// actor is a user.
    pub fn change_role(
        &mut self,
        by: Actor<'_>,
        id: i64,
        role: UserRole,
    ) -> Result<UserRecord, StorageError> {
        let user = self.user_to_change(by, id)?;
        // A user without an organisation is an operator, and keeps this role.
        if (role == UserRole::Operator) != user.provider_id.is_none() {
            return Err(Refusal::RoleOfOtherKind.into());
        }
        if role == user.role {
            return Ok(user);
        }
        self.require_another_admin(by, &user)?;
        let (name, is_editor) = role.columns();
        diesel::update(users::table.find(id))
            .set((users::role.eq(name), users::is_editor.eq(is_editor)))
            .execute(self.connection)?;
        if role != UserRole::Admin {
            // The user could otherwise accept their own link and become an admin again.
            self.remove_invitations_by(&user)?;
        }
        let detail = format!("{} to {role}", user.role);
        self.record_activity(
            by,
            user.provider_id,
            ActivityKind::RoleChanged,
            Subject::User(id),
            &detail,
        )?;
        self.user(by, id)
    }

    /// Removes the access of a user, effective from the next request. Also removes links that could
    /// restore it: links for the same person and links created by the user.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`]; [`Refusal::LastAdmin`] only if the actor is a user.
    pub fn remove_user(&mut self, by: Actor<'_>, id: i64) -> Result<UserRecord, StorageError> {
        let user = self.user_to_change(by, id)?;
        self.require_another_admin(by, &user)?;
        self.end_access(by, &user)?;
        self.record_activity(
            by,
            user.provider_id,
            ActivityKind::UserRemoved,
            Subject::User(id),
            "",
        )?;
        Ok(user)
    }

    /// Erases a user: removes the access, the e-mail address and the identity. The activity log
    /// keeps the number and the reason.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`] or [`Refusal::ReasonNamesPerson`].
    pub fn erase_user(&mut self, by: Actor<'_>, id: i64, reason: &str) -> Result<(), StorageError> {
        let found = self
            .user_including_removed(id)?
            .filter(|user| by.reaches(user.provider_id))
            .ok_or(Refusal::UnknownUser)?;
        self.lock_organisation(found.provider_id)?;
        // Read again: a concurrent request may have changed the user.
        let user = self
            .user_including_removed(id)?
            .ok_or(Refusal::UnknownUser)?;
        require_impersonal(reason, &identifying_parts(&user.email))
            .map_err(|_| Refusal::ReasonNamesPerson)?;
        if user.removed_at.is_none() {
            self.end_access(by, &user)?;
        }
        // Also for a removed user, who may have been invited again.
        self.remove_unused_invitations(user.provider_id, &user.email)?;
        self.remove_mails_to(&user.email)?;
        self.forget_identity(id, &user.email)?;
        diesel::update(users::table.find(id))
            .set(users::email.eq(""))
            .execute(self.connection)?;
        diesel::update(invitation_rows::table.filter(invitation_rows::email.eq(&user.email)))
            .filter(belongs_to_organisation(user.provider_id))
            .set(invitation_rows::email.eq(""))
            .execute(self.connection)?;
        self.record_activity(
            by,
            user.provider_id,
            ActivityKind::UserErased,
            Subject::User(id),
            reason,
        )
    }

    /// Ends the access and the sessions of a user, and removes links for and by the user.
    fn end_access(&mut self, by: Actor<'_>, user: &UserRecord) -> Result<(), StorageError> {
        diesel::update(users::table.find(user.id))
            .set((
                users::removed_at.eq(self.now().naive_utc()),
                users::removed_by.eq(by.to_string()),
            ))
            .execute(self.connection)?;
        self.end_sessions_of(user.id)?;
        self.remove_unused_invitations(user.provider_id, &user.email)?;
        self.remove_invitations_by(user)
    }

    /// Removes the unused links that a user has created.
    fn remove_invitations_by(&mut self, user: &UserRecord) -> Result<(), StorageError> {
        diesel::delete(
            invitation_rows::table.filter(invitation_rows::created_by.eq(user.stored_name())),
        )
        .filter(invitation_rows::used_at.is_null())
        .execute(self.connection)?;
        Ok(())
    }

    /// Like [`Session::user`], but also locks the users of the organisation until the transaction
    /// ends.
    fn user_to_change(&mut self, by: Actor<'_>, id: i64) -> Result<UserRecord, StorageError> {
        let provider_id = self.user(by, id)?.provider_id;
        self.lock_organisation(provider_id)?;
        // Read again: a concurrent request may have changed the user.
        self.user(by, id)
    }

    /// The user with this number, also if their access was removed.
    fn user_including_removed(&mut self, id: i64) -> Result<Option<UserRecord>, StorageError> {
        let found = rows()
            .filter(users::id.eq(id))
            .first::<Row>(self.connection)
            .optional()?;
        found.map(record).transpose()
    }

    /// Locks the users of an organisation, or of the service for `None`, until the transaction
    /// ends. Not needed for organisations on SQLite, where writes are sequential.
    pub(crate) fn lock_organisation(
        &mut self,
        provider_id: Option<i64>,
    ) -> Result<(), StorageError> {
        let Some(provider_id) = provider_id else {
            return lock_service(self.connection);
        };
        lock_settings(self.connection, provider_id)
    }

    /// Fails if a user would remove the last admin of their organisation. Operators may remove it.
    fn require_another_admin(
        &mut self,
        by: Actor<'_>,
        user: &UserRecord,
    ) -> Result<(), StorageError> {
        let Some(provider_id) = by.provider_id() else {
            return Ok(());
        };
        if user.role != UserRole::Admin {
            return Ok(());
        }
        let others = users::table
            .filter(users::provider_id.eq(provider_id))
            .filter(users::role.eq(UserRole::Admin.name()))
            .filter(users::removed_at.is_null())
            .filter(users::id.ne(user.id))
            .count();
        let others = with_inner!(self.connection, |inner| others.get_result::<i64>(inner))?;
        if others == 0 {
            Err(Refusal::LastAdmin.into())
        } else {
            Ok(())
        }
    }
}
