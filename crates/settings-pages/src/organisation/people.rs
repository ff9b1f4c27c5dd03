//! Management of the users of an organisation: inviting, changing roles, removing.

use askama::Template;
use http_kit::paths;
use storage::accounts::users::{
    Invited, NewInvitation, PendingInvitation, SignedIn, UserRecord, UserRole, normalised_email,
};
use storage::error::{Refusal, StorageError};
use storage::session::{Provider, Session};

use crate::request::context::AdminContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;

#[derive(Template)]
#[template(path = "settings/people.html")]
struct People<'a> {
    frame: Frame,
    users: Vec<UserRecord>,
    invitations: Vec<PendingInvitation>,
    form: &'a Form,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "settings/invited.html")]
struct InvitedPage {
    frame: Frame,
    invited: Invited,
    organisation: String,
    link: String,
}

#[derive(Template)]
#[template(path = "settings/person.html")]
struct Person {
    frame: Frame,
    user: UserRecord,
    is_self: bool,
    faults: Faults,
}

/// Lists the users. Admins also get the form for an invitation.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
    organisation: &Provider,
) -> Result<Reply, PageError> {
    Reply::page(&people(
        session,
        request,
        signed_in,
        organisation,
        Faults::default(),
    )?)
}

fn people<'a>(
    session: &mut Session<'_>,
    request: &'a PageRequest,
    signed_in: &SignedIn,
    organisation: &Provider,
    faults: Faults,
) -> Result<People<'a>, StorageError> {
    let mut users = session.list_users(Some(&organisation.ukprn))?;
    users.retain(|user| user.removed_at.is_none());
    Ok(People {
        frame: Frame::with_organisation(request, signed_in, organisation, SettingsSection::People),
        users,
        invitations: session.pending_invitations(&organisation.ukprn)?,
        form: &request.form,
        faults,
    })
}

/// Creates a sign-in link and shows it once.
pub(crate) fn invite(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let organisation = admin.organisation;
    let mut faults = Faults::default();
    let email = normalised_email(request.form.value("email"));
    let email = email.map_err(|_| "Enter an e-mail address, such as name@example.ac.uk".to_owned());
    let email = faults.keep("email", email);
    let role = faults.keep("role", role(request));
    if let (Some(email), Some(role)) = (email, role) {
        let invitation = NewInvitation {
            provider_ukprn: Some(&organisation.ukprn),
            email: &email,
            role,
        };
        match session.invite_user(admin.actor, invitation) {
            Ok(invited) => {
                let link = format!(
                    "{}{}/sign-in/{}",
                    request.site,
                    paths::SETTINGS,
                    invited.secret.reveal()
                );
                let frame = admin.frame(request, SettingsSection::People);
                return Reply::page(&InvitedPage {
                    frame,
                    invited,
                    organisation: organisation.name.clone(),
                    link,
                });
            }
            Err(StorageError::Refused(Refusal::HasAccess)) => faults.add(
                "email",
                "This user already has access. If the user cannot sign in, ask the register's \
                 operator for a link",
            ),
            Err(error) => return Err(error.into()),
        }
    }
    Reply::faults(&people(
        session,
        request,
        admin.signed_in,
        organisation,
        faults,
    )?)
}

/// Shows one user, with forms for changes.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    Reply::page(&person(session, request, admin, Faults::default())?)
}

fn person(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
    faults: Faults,
) -> Result<Person, PageError> {
    let user = session.user(admin.actor, request.id()?)?;
    let is_self = user.id == admin.signed_in.user_id;
    Ok(Person {
        frame: admin.frame(request, SettingsSection::People),
        user,
        is_self,
        faults,
    })
}

/// Changes the role of a user.
pub(crate) fn change_role(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    if let Some(role) = faults.keep("role", role(request)) {
        match session.change_role(admin.actor, request.id()?, role) {
            Ok(_) => return Ok(Reply::Redirect(Target::People(admin.ukprn_of_other()))),
            Err(StorageError::Refused(Refusal::LastAdmin)) => {
                faults.add(
                    "role",
                    "This is the only admin. Make another user an admin first",
                );
            }
            Err(error) => return Err(error.into()),
        }
    }
    Reply::faults(&person(session, request, admin, faults)?)
}

/// Removes the access of a user.
pub(crate) fn remove(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    match session.remove_user(admin.actor, request.id()?) {
        Ok(removed) if removed.id == admin.signed_in.user_id => Ok(Reply::SignedOut),
        Ok(_) => Ok(Reply::Redirect(Target::People(admin.ukprn_of_other()))),
        Err(StorageError::Refused(Refusal::LastAdmin)) => {
            let mut faults = Faults::default();
            faults.add(
                "remove",
                "This is the only admin. Make another user an admin first",
            );
            Reply::faults(&person(session, request, admin, faults)?)
        }
        Err(error) => Err(error.into()),
    }
}

fn role(request: &PageRequest) -> Result<UserRole, String> {
    request
        .form
        .value("role")
        .parse()
        .map_err(|_| "Choose a role".to_owned())
}
