//! Management of the users of an organisation: inviting, changing roles, removing.

use askama::Template;
use http_kit::paths;
use storage::accounts::mails::InvitedByMail;
use storage::accounts::users::{
    Invited, NewInvitation, PendingInvitation, SignedIn, UserRecord, UserRole, normalised_email,
};
use storage::error::{Refusal, StorageError};
use storage::session::{Provider, Session};

use crate::request::context::AdminContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;

pub(crate) const NO_EMAIL: &str = "Enter an e-mail address, such as name@example.ac.uk";
/// The field with the way of sending a link.
const SEND_BY: &str = "send_by";
/// The value of [`SEND_BY`] for a link that the register sends.
const BY_MAIL: &str = "mail";

#[derive(Template)]
#[template(path = "settings/people.html")]
struct People<'a> {
    frame: Frame,
    users: Vec<UserRecord>,
    invitations: Vec<PendingInvitation>,
    form: &'a Form,
    faults: Faults,
    sends_mail: bool,
}

#[derive(Template)]
#[template(path = "settings/invited_by_mail.html")]
struct InvitedByMailPage {
    frame: Frame,
    invited: InvitedByMail,
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
    Reply::render(&load_people_page(
        session,
        request,
        signed_in,
        organisation,
        Faults::default(),
    )?)
}

fn load_people_page<'a>(
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
        invitations: session.pending_invitations(Some(&organisation.ukprn))?,
        form: &request.form,
        faults,
        sends_mail: request.settings.sends_mail,
    })
}

/// Invites a person: shows the sign-in link once, or sends it by e-mail.
pub(crate) fn invite(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let organisation = admin.organisation;
    let mut faults = Faults::default();
    let email = normalised_email(request.form.value("email"));
    let email = email.map_err(|_| NO_EMAIL.to_owned());
    let email = faults.keep("email", email);
    let role = faults.keep("role", read_role(request));
    if let (Some(email), Some(role)) = (email, role) {
        let invitation = NewInvitation {
            provider_ukprn: Some(&organisation.ukprn),
            email: &email,
            role,
        };
        match invite_person(session, request, admin, invitation) {
            Err(PageError::Storage(StorageError::Refused(Refusal::HasAccess))) => {
                faults.add("email", describe_existing_access(request));
            }
            outcome => return outcome,
        }
    }
    Reply::render_faults(&load_people_page(
        session,
        request,
        admin.signed_in,
        organisation,
        faults,
    )?)
}

/// Creates a link, and sends it by e-mail if the form says so.
fn invite_person(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
    invitation: NewInvitation<'_>,
) -> Result<Reply, PageError> {
    let frame = admin.build_frame(request, SettingsSection::People);
    if request.settings.sends_mail && request.form.value(SEND_BY) == BY_MAIL {
        let invited = session.invite_user_by_mail(admin.actor, invitation)?;
        return Reply::render(&InvitedByMailPage { frame, invited });
    }
    let invited = session.invite_user(admin.actor, invitation)?;
    let link = paths::sign_in(request.organisations_site(), invited.secret.reveal());
    Reply::render(&InvitedPage {
        frame,
        invited,
        organisation: admin.organisation.name.clone(),
        link,
    })
}

fn describe_existing_access(request: &PageRequest) -> &'static str {
    if request.settings.sends_mail {
        "This user already has access, and can ask for a link on the sign-in page"
    } else {
        "This user already has access. If the user cannot sign in, ask the register's \
         operator for a link"
    }
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    Reply::render(&load_person_page(
        session,
        request,
        admin,
        Faults::default(),
    )?)
}

fn load_person_page(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
    faults: Faults,
) -> Result<Person, PageError> {
    let user = session.user(admin.actor, request.id()?)?;
    let is_self = user.id == admin.signed_in.user_id;
    Ok(Person {
        frame: admin.build_frame(request, SettingsSection::People),
        user,
        is_self,
        faults,
    })
}

pub(crate) fn change_role(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    if let Some(role) = faults.keep("role", read_role(request)) {
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
    Reply::render_faults(&load_person_page(session, request, admin, faults)?)
}

pub(crate) fn remove(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    match session.remove_user(admin.actor, request.id()?) {
        // Removing a user ends the user's sessions.
        Ok(removed) if removed.id == admin.signed_in.user_id => Ok(Reply::SignedOut),
        Ok(_) => Ok(Reply::Redirect(Target::People(admin.ukprn_of_other()))),
        Err(StorageError::Refused(Refusal::LastAdmin)) => {
            let mut faults = Faults::default();
            faults.add(
                "remove",
                "This is the only admin. Make another user an admin first",
            );
            Reply::render_faults(&load_person_page(session, request, admin, faults)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads the role. `Err` is the fault of the field.
fn read_role(request: &PageRequest) -> Result<UserRole, String> {
    request
        .form
        .value("role")
        .parse()
        .map_err(|_| "Choose a role".to_owned())
}
