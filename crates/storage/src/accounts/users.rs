//! Who may sign in to the settings of an organisation, or to those of the service, and what is
//! logged of what they do.
//!
//! A user is the access of one person to one organisation; a person with access to two of them is
//! two users. Whatever changes something takes an [`Actor`], which reaches the things of its own
//! organisation alone, and writes the activity log in the same transaction.
//!
//! Knows nothing of cookies, links and pages.

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
mod summaries;
#[cfg(test)]
mod tests;
mod trainees;

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::{DatabaseConnection, with_inner};
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
    Invited, NewInvitation, OpenInvitation, PendingInvitation, normalised_email,
};
pub use self::organisations::MAX_ORGANISATION_NAME_CHARS;
pub use self::secret::{Secret, SecretDigest};
pub use self::session_list::OpenSession;
pub use self::sessions::SignedIn;
pub use self::sign_in_attempts::{BegunSignIn, SignInAttempt};
pub use self::summaries::OrganisationSummary;
use crate::error::{Refusal, StorageError};
use crate::locks;
use crate::schema::{invitations as invitation_rows, providers, users};
use crate::session::Session;

/// Who made a user whom only the issuer has vouched for.
const BY_CLAIM: &str = "claim of the issuer";

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserRole {
    /// See and change the settings of an organisation.
    Admin,
    /// See the settings of an organisation.
    Viewer,
    /// See all organisations. Who is one belongs to none.
    Operator,
}

impl UserRole {
    /// The roles that a user of an organisation can have.
    pub const OF_ORGANISATION: [Self; 2] = [Self::Admin, Self::Viewer];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }

    fn stored(name: &str, table: &'static str, id: i64) -> Result<Self, StorageError> {
        let mut roles = [Self::Admin, Self::Viewer, Self::Operator].into_iter();
        roles
            .find(|role| role.name() == name)
            .ok_or(StorageError::CorruptRow { table, id })
    }
}

impl FromStr for UserRole {
    type Err = Refusal;

    /// Reads a role that a user of an organisation can have.
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
    /// Its number in commands and pages.
    pub id: i64,
    /// The UKPRN of the organisation; none for an operator.
    pub provider_ukprn: Option<String>,
    /// What the user may do.
    pub role: UserRole,
    /// The e-mail address in lower case; empty once the user is erased.
    pub email: String,
    /// When the user first signed in.
    pub created_at: DateTime<Utc>,
    /// Who had invited the user.
    pub created_by: String,
    /// When the user last signed in.
    pub last_signed_in_at: Option<DateTime<Utc>>,
    /// When the access was removed, if it was.
    pub removed_at: Option<DateTime<Utc>>,
    provider_id: Option<i64>,
}

impl UserRecord {
    /// How the columns that say who made something name the user.
    #[must_use]
    pub fn stored_name(&self) -> String {
        Actor::user(self.id, self.provider_id, Origin::default()).to_string()
    }
}

type Row = (
    (
        i64,
        Option<i64>,
        String,
        String,
        NaiveDateTime,
        String,
        Option<NaiveDateTime>,
        Option<NaiveDateTime>,
    ),
    Option<String>,
);

/// Whether a row of one of the tables is of the organisation, or of the service where there is
/// none. The index of e-mail addresses has the same expression.
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
            users::role,
            users::email,
            users::created_at,
            users::created_by,
            users::last_signed_in_at,
            users::removed_at,
        ),
        providers::ukprn.nullable(),
    ))
}

fn record((user, provider_ukprn): Row) -> Result<UserRecord, StorageError> {
    let (id, provider_id, role, email, created_at, created_by, last_signed_in_at, removed_at) =
        user;
    Ok(UserRecord {
        id,
        provider_ukprn,
        role: UserRole::stored(&role, "users", id)?,
        email,
        created_at: created_at.and_utc(),
        created_by,
        last_signed_in_at: last_signed_in_at.map(|at| at.and_utc()),
        removed_at: removed_at.map(|at| at.and_utc()),
        provider_id,
    })
}

impl Session<'_> {
    /// All users of an organisation, or all users, in the order of their numbers; those whose
    /// access was removed too.
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

    /// A user whom the actor reaches and whose access was not removed.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`].
    pub fn user(&mut self, by: Actor<'_>, id: i64) -> Result<UserRecord, StorageError> {
        let found = self.user_of_any_time(id)?;
        let found = found.filter(|user| user.removed_at.is_none() && by.reaches(user.provider_id));
        found.ok_or(Refusal::UnknownUser.into())
    }

    /// Gives a user of an organisation another role, from the next request on. The same role again
    /// changes nothing.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`], [`Refusal::RoleOfOtherKind`]; [`Refusal::LastAdmin`] where a user does it.
    pub fn change_role(
        &mut self,
        by: Actor<'_>,
        id: i64,
        role: UserRole,
    ) -> Result<UserRecord, StorageError> {
        let user = self.user_to_change(by, id)?;
        if (role == UserRole::Operator) != user.provider_id.is_none() {
            return Err(Refusal::RoleOfOtherKind.into());
        }
        if role == user.role {
            return Ok(user);
        }
        self.require_another_admin(by, &user)?;
        diesel::update(users::table.find(id))
            .set(users::role.eq(role.name()))
            .execute(self.connection)?;
        if role == UserRole::Viewer {
            // A link could make its own creator an admin.
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

    /// Removes the access of a user, from the next request on, and with it what could give it back:
    /// links for the same person, and links that the user has made.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`]; [`Refusal::LastAdmin`] where a user does it.
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

    /// Erases a user: the access is removed, and with it the e-mail address and the identity. The
    /// number stays in the activity log, and so does the reason.
    ///
    /// # Errors
    ///
    /// [`Refusal::UnknownUser`], [`Refusal::ReasonNamesPerson`].
    pub fn erase_user(&mut self, by: Actor<'_>, id: i64, reason: &str) -> Result<(), StorageError> {
        let found = self
            .user_of_any_time(id)?
            .filter(|user| by.reaches(user.provider_id));
        self.lock_organisation(found.ok_or(Refusal::UnknownUser)?.provider_id)?;
        // A concurrent request may have changed it.
        let user = self.user_of_any_time(id)?.ok_or(Refusal::UnknownUser)?;
        require_impersonal(reason, &identifying_parts(&user.email))
            .map_err(|_| Refusal::ReasonNamesPerson)?;
        if user.removed_at.is_none() {
            self.end_access(by, &user)?;
        }
        // Also of one whose access was removed before, and who was invited again since.
        self.remove_unused_invitations(user.provider_id, &user.email)?;
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

    /// Ends what a user has: the access, the sessions, and the links for and by the user.
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

    /// Removes the unused links that a user has made.
    fn remove_invitations_by(&mut self, user: &UserRecord) -> Result<(), StorageError> {
        diesel::delete(
            invitation_rows::table.filter(invitation_rows::created_by.eq(user.stored_name())),
        )
        .filter(invitation_rows::used_at.is_null())
        .execute(self.connection)?;
        Ok(())
    }

    /// Like [`Session::user`], and locks the users of the organisation until the transaction ends.
    fn user_to_change(&mut self, by: Actor<'_>, id: i64) -> Result<UserRecord, StorageError> {
        let provider_id = self.user(by, id)?.provider_id;
        self.lock_organisation(provider_id)?;
        // A concurrent request may have changed it.
        self.user(by, id)
    }

    fn user_of_any_time(&mut self, id: i64) -> Result<Option<UserRecord>, StorageError> {
        let found = rows()
            .filter(users::id.eq(id))
            .first::<Row>(self.connection)
            .optional()?;
        found.map(record).transpose()
    }

    /// Locks the users of an organisation, or of the service, until the transaction ends. On SQLite
    /// writes are sequential.
    pub(crate) fn lock_organisation(
        &mut self,
        provider_id: Option<i64>,
    ) -> Result<(), StorageError> {
        let Some(provider_id) = provider_id else {
            return locks::lock_operators(self.connection);
        };
        if let DatabaseConnection::Postgres(inner) = &mut *self.connection {
            let row = providers::table
                .find(provider_id)
                .select(providers::id)
                .for_no_key_update();
            row.get_result::<i64>(inner)?;
        }
        Ok(())
    }

    /// Keeps users from leaving an organisation without an admin; the commands may.
    fn require_another_admin(
        &mut self,
        by: Actor<'_>,
        user: &UserRecord,
    ) -> Result<(), StorageError> {
        let Some(provider_id) = by.provider_id().filter(|_| user.role == UserRole::Admin) else {
            return Ok(());
        };
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
