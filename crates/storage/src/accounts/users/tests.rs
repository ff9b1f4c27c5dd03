//! Tests users, links, sessions and the activity log, on the database of the run.

use chrono::TimeDelta;

use super::{
    ActivityFilter, ActivityKind, Actor, NewInvitation, Origin, Secret, SecretDigest, SignedIn,
    UserRole, normalised_email,
};
use crate::accounts::tokens::NewToken;
use crate::base::token::Environment;
use crate::error::{Refusal, StorageError};
use crate::testing::{Register, UKPRN};

const OTHER: &str = "10000002";
const COMMAND: Actor<'static> = Actor::operator("operator");

fn register() -> Register {
    let register = Register::with_provider();
    register
        .write(|session| session.add_provider(OTHER, "Beech College"))
        .unwrap();
    register
}

/// The secret of a link that a command creates.
fn link(register: &Register, ukprn: &'static str, email: &'static str, role: UserRole) -> String {
    let request = NewInvitation {
        provider_ukprn: Some(ukprn),
        email,
        role,
    };
    register
        .write(move |session| session.invite_user(COMMAND, request))
        .unwrap()
        .secret
        .reveal()
        .to_owned()
}

fn accept(register: &Register, link: &str) -> Result<String, StorageError> {
    let secret = Secret::generate()?.reveal().to_owned();
    accept_as(register, link, &secret)?;
    Ok(secret)
}

fn accept_as(register: &Register, link: &str, secret: &str) -> Result<(), StorageError> {
    let digest = SecretDigest::from_text(link);
    let secret = SecretDigest::from_text(secret);
    register
        .write(move |session| session.accept_invitation(&digest, &secret, None, Origin::default()))
}

fn signed_in(register: &Register, cookie: &str) -> Option<SignedIn> {
    let digest = SecretDigest::from_text(cookie);
    register.read(|session| session.signed_in(&digest)).unwrap()
}

/// A user who has just signed in.
fn user(register: &Register, ukprn: &'static str, email: &'static str, role: UserRole) -> SignedIn {
    let cookie = accept(register, &link(register, ukprn, email, role)).unwrap();
    signed_in(register, &cookie).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, StorageError>, refusal: Refusal) {
    assert!(
        matches!(&outcome, Err(StorageError::Refused(why)) if *why == refusal),
        "{outcome:?}"
    );
}

fn activity(register: &Register) -> Vec<(ActivityKind, String, String)> {
    let filter = ActivityFilter {
        limit: 100,
        ..ActivityFilter::default()
    };
    let entries = register
        .read(|session| session.list_activity(filter))
        .unwrap();
    entries
        .into_iter()
        .map(|entry| (entry.kind, entry.by, entry.subject))
        .collect()
}

#[test]
fn link_signs_in_once_within_fifteen_minutes() {
    let register = register();
    let first = link(&register, UKPRN, " A@Example.com ", UserRole::Admin);
    let cookie = accept(&register, &first).unwrap();
    let user = signed_in(&register, &cookie).unwrap();
    assert_eq!(
        (user.email.as_str(), user.role),
        ("a@example.com", UserRole::Admin)
    );
    assert_eq!(user.organisation.unwrap().ukprn, UKPRN);
    refused(accept(&register, &first), Refusal::LinkNotUsable);
    assert!(signed_in(&register, &cookie).is_some());

    let late = link(&register, UKPRN, "b@example.com", UserRole::Viewer);
    register.clock.advance(TimeDelta::minutes(15));
    refused(accept(&register, &late), Refusal::LinkNotUsable);
}

#[test]
fn used_link_is_accepted_again_from_same_browser_only() {
    let register = register();
    let link = link(&register, UKPRN, "a@example.com", UserRole::Admin);
    let secret = accept(&register, &link).unwrap();
    accept_as(&register, &link, &secret).unwrap();
    refused(accept(&register, &link), Refusal::LinkNotUsable);
    let user = signed_in(&register, &secret).unwrap();
    assert_eq!(
        activity(&register)
            .iter()
            .filter(|(kind, ..)| *kind == ActivityKind::UserSignedIn)
            .count(),
        1
    );
    // The link cannot restart an ended session.
    register
        .write(move |session| session.sign_out(&user))
        .unwrap();
    refused(accept_as(&register, &link, &secret), Refusal::LinkNotUsable);
}

#[test]
fn new_link_replaces_earlier_link_of_same_person() {
    let register = register();
    let first = link(&register, UKPRN, "a@example.com", UserRole::Admin);
    let elsewhere = link(&register, OTHER, "a@example.com", UserRole::Admin);
    let second = link(&register, UKPRN, "a@example.com", UserRole::Admin);
    refused(accept(&register, &first), Refusal::LinkNotUsable);
    accept(&register, &second).unwrap();
    accept(&register, &elsewhere).unwrap();
}

#[test]
fn racing_servers_begin_one_session_for_link() {
    let register = register();
    for _ in 0..5 {
        let link = link(&register, UKPRN, "a@example.com", UserRole::Admin);
        let stores = [register.another_store(), register.another_store()];
        let begun = stores.map(|store| {
            let digest = SecretDigest::from_text(&link);
            let secret = SecretDigest::from_text(Secret::generate().unwrap().reveal());
            std::thread::spawn(move || {
                store.write_blocking(move |session| {
                    session.accept_invitation(&digest, &secret, None, Origin::default())
                })
            })
        });
        let ended = begun.map(|thread| thread.join().unwrap());
        assert_eq!(
            ended.iter().filter(|outcome| outcome.is_ok()).count(),
            1,
            "{ended:?}"
        );
    }
    assert_eq!(
        register
            .read(|session| session.list_users(None))
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn session_ends_after_idle_time_or_maximum_age() {
    let register = register();
    let cookie = accept(
        &register,
        &link(&register, UKPRN, "a@example.com", UserRole::Viewer),
    )
    .unwrap();
    register.clock.advance(TimeDelta::minutes(30));
    assert_eq!(signed_in(&register, &cookie), None);

    let cookie = accept(
        &register,
        &link(&register, UKPRN, "b@example.com", UserRole::Viewer),
    )
    .unwrap();
    for _ in 0..24 {
        let user = signed_in(&register, &cookie).unwrap();
        register
            .write(move |session| session.record_session_use(&user))
            .unwrap();
        register
            .clock
            .advance(TimeDelta::minutes(20) - TimeDelta::milliseconds(100));
    }
    assert!(signed_in(&register, &cookie).is_some());
    register.clock.advance(TimeDelta::seconds(5));
    assert_eq!(signed_in(&register, &cookie), None);
}

#[test]
fn session_use_is_recorded_once_a_minute() {
    let register = register();
    let cookie = accept(
        &register,
        &link(&register, UKPRN, "a@example.com", UserRole::Viewer),
    )
    .unwrap();
    let is_due = || {
        let user = signed_in(&register, &cookie).unwrap();
        let due = register
            .read(|session| Ok(user.is_use_due(session.now())))
            .unwrap();
        register
            .write(move |session| session.record_session_use(&user))
            .unwrap();
        due
    };
    assert!(!is_due());
    register.clock.advance(TimeDelta::minutes(1));
    assert!(is_due());
    assert!(!is_due());
}

#[test]
fn end_of_access_ends_sessions_and_links() {
    let register = register();
    let admin = user(&register, UKPRN, "a@example.com", UserRole::Admin);
    let cookie = accept(
        &register,
        &link(&register, UKPRN, "b@example.com", UserRole::Admin),
    )
    .unwrap();
    let other = signed_in(&register, &cookie).unwrap();
    // A link for the user, and a link created by the user.
    let fresh = link(&register, UKPRN, "b@example.com", UserRole::Admin);
    let invited = other.clone();
    let made = register
        .write(move |session| {
            let request = NewInvitation {
                provider_ukprn: Some(UKPRN),
                email: "c@example.com",
                role: UserRole::Admin,
            };
            session.invite_user(invited.actor(Origin::default())?, request)
        })
        .unwrap();
    let removed = other.user_id;
    register
        .write(move |session| session.remove_user(admin.actor(Origin::default())?, removed))
        .unwrap();
    assert_eq!(signed_in(&register, &cookie), None);
    refused(accept(&register, &fresh), Refusal::LinkNotUsable);
    refused(
        accept(&register, made.secret.reveal()),
        Refusal::LinkNotUsable,
    );
    // A removed person who is invited again becomes a new user.
    let again = user(&register, UKPRN, "b@example.com", UserRole::Viewer);
    assert_ne!(again.user_id, removed);

    register
        .write(|session| session.close_provider(UKPRN))
        .unwrap();
    let open = link(&register, OTHER, "d@example.com", UserRole::Admin);
    register
        .write(|session| session.close_provider(OTHER))
        .unwrap();
    refused(accept(&register, &open), Refusal::LinkNotUsable);
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email: "e@example.com",
        role: UserRole::Admin,
    };
    refused(
        register.write(move |session| session.invite_user(COMMAND, request)),
        Refusal::ProviderClosed,
    );
}

#[test]
fn reopened_organisation_does_not_restore_sessions_and_links() {
    let register = register();
    let cookie = accept(
        &register,
        &link(&register, UKPRN, "a@example.com", UserRole::Admin),
    )
    .unwrap();
    let elsewhere = accept(
        &register,
        &link(&register, OTHER, "a@example.com", UserRole::Admin),
    )
    .unwrap();
    let unused = link(&register, UKPRN, "b@example.com", UserRole::Viewer);
    let unused_elsewhere = link(&register, OTHER, "b@example.com", UserRole::Viewer);
    register
        .write(|session| session.close_organisation(COMMAND, UKPRN))
        .unwrap();
    assert_eq!(signed_in(&register, &cookie), None);

    register
        .write(|session| session.reopen_organisation(COMMAND, UKPRN))
        .unwrap();
    assert_eq!(signed_in(&register, &cookie), None);
    refused(accept(&register, &unused), Refusal::LinkNotUsable);
    assert!(
        register
            .read(|session| session.pending_invitations(Some(UKPRN)))
            .unwrap()
            .is_empty()
    );
    // The access stays, and another organisation keeps its sessions and links.
    let again = user(&register, UKPRN, "a@example.com", UserRole::Viewer);
    assert_eq!(again.role, UserRole::Admin);
    assert!(signed_in(&register, &elsewhere).is_some());
    accept(&register, &unused_elsewhere).unwrap();
}

#[test]
fn email_is_stored_in_ascii_lower_case() {
    assert_eq!(
        normalised_email(" Kim@Example.COM ").as_deref(),
        Ok("kim@example.com")
    );
    // The Kelvin sign, whose lower case is an ASCII k.
    assert_eq!(
        normalised_email("\u{212A}im@example.com"),
        Err(Refusal::InvalidEmail)
    );
    assert_eq!(
        normalised_email("kim@\u{212A}ent.example.com"),
        Err(Refusal::InvalidEmail)
    );
}

#[test]
fn user_cannot_access_other_organisation() {
    let register = register();
    let admin = user(&register, UKPRN, "a@example.com", UserRole::Admin);
    let other = user(&register, OTHER, "b@example.com", UserRole::Admin);
    let token = NewToken {
        provider_ukprn: OTHER,
        environment: Environment::Sandbox,
        name: "Records",
        created_by: COMMAND,
        expires_on: None,
    };
    let (_, issued) = register
        .write(move |session| session.issue_token(&token))
        .unwrap();
    let by = admin.actor(Origin::default()).unwrap();
    let theirs = other.user_id;
    let token_id = issued.id;
    refused(
        register.write(move |session| session.remove_user(by, theirs)),
        Refusal::UnknownUser,
    );
    refused(
        register.write(move |session| session.change_role(by, theirs, UserRole::Viewer)),
        Refusal::UnknownUser,
    );
    refused(
        register.write(move |session| session.erase_user(by, theirs, "")),
        Refusal::UnknownUser,
    );
    refused(
        register.write(move |session| session.revoke_token(token_id, by)),
        Refusal::UnknownToken,
    );
    let token = NewToken {
        created_by: by,
        ..token
    };
    refused(
        register.write(move |session| session.issue_token(&token)),
        Refusal::UnknownProvider,
    );
    let request = NewInvitation {
        provider_ukprn: Some(OTHER),
        email: "c@example.com",
        role: UserRole::Admin,
    };
    refused(
        register.write(move |session| session.invite_user(by, request)),
        Refusal::UnknownProvider,
    );
    let request = NewInvitation {
        provider_ukprn: None,
        email: "c@example.com",
        role: UserRole::Operator,
    };
    refused(
        register.write(move |session| session.invite_user(by, request)),
        Refusal::UnknownProvider,
    );
}

#[test]
fn user_cannot_remove_last_admin_or_invite_existing_user() {
    let register = register();
    let admin = user(&register, UKPRN, "a@example.com", UserRole::Admin);
    let viewer = user(&register, UKPRN, "b@example.com", UserRole::Viewer);
    assert!(matches!(
        viewer.actor(Origin::default()),
        Err(Refusal::NotPermitted)
    ));
    let by = admin.actor(Origin::default()).unwrap();
    let own = admin.user_id;
    let other = viewer.user_id;
    refused(
        register.write(move |session| session.remove_user(by, own)),
        Refusal::LastAdmin,
    );
    refused(
        register.write(move |session| session.change_role(by, own, UserRole::Viewer)),
        Refusal::LastAdmin,
    );
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email: "B@example.com",
        role: UserRole::Admin,
    };
    refused(
        register.write(move |session| session.invite_user(by, request)),
        Refusal::HasAccess,
    );
    // A command can create a link for a user who has access.
    let invited = register
        .write(move |session| session.invite_user(COMMAND, request))
        .unwrap();
    assert_eq!((invited.has_access, invited.role), (true, UserRole::Viewer));

    register
        .write(move |session| session.change_role(by, other, UserRole::Admin))
        .unwrap();
    register
        .write(move |session| session.remove_user(by, own))
        .unwrap();
}

#[test]
fn operator_belongs_to_no_organisation() {
    let register = register();
    for (provider_ukprn, role) in [(None, UserRole::Admin), (Some(UKPRN), UserRole::Operator)] {
        let request = NewInvitation {
            provider_ukprn,
            email: "a@example.com",
            role,
        };
        refused(
            register.write(move |session| session.invite_user(COMMAND, request)),
            Refusal::RoleOfOtherKind,
        );
    }
    let request = NewInvitation {
        provider_ukprn: None,
        email: "a@example.com",
        role: UserRole::Operator,
    };
    let invited = register
        .write(move |session| session.invite_user(COMMAND, request))
        .unwrap();
    let cookie = accept(&register, invited.secret.reveal()).unwrap();
    let operator = signed_in(&register, &cookie).unwrap();
    assert_eq!(
        (operator.role, &operator.organisation),
        (UserRole::Operator, &None)
    );
    assert!(matches!(
        operator.actor(Origin::default()),
        Err(Refusal::NotPermitted)
    ));
    let id = operator.user_id;
    refused(
        register.write(move |s| s.change_role(COMMAND, id, UserRole::Admin)),
        Refusal::RoleOfOtherKind,
    );
}

#[test]
fn activity_log_shows_erased_user_as_number() {
    let register = register();
    let gone = user(&register, UKPRN, "a@example.com", UserRole::Admin).user_id;
    let named = "request of A@example.com.";
    refused(
        register.write(move |session| session.erase_user(COMMAND, gone, named)),
        Refusal::ReasonNamesPerson,
    );
    register
        .write(move |session| session.erase_user(COMMAND, gone, "request of 1 March"))
        .unwrap();
    let users = register.read(|session| session.list_users(None)).unwrap();
    assert_eq!(
        (users[0].email.as_str(), users[0].removed_at.is_some()),
        ("", true)
    );
    let subject = format!("user {gone}");
    assert_eq!(
        activity(&register),
        [
            (ActivityKind::UserErased, "operator".to_owned(), subject),
            (
                ActivityKind::UserSignedIn,
                String::new(),
                "invitation 1".to_owned()
            ),
            (
                ActivityKind::UserInvited,
                "operator".to_owned(),
                "invitation 1".to_owned()
            ),
        ]
    );
}

#[test]
fn old_account_rows_are_removed_and_others_kept() {
    let register = register();
    user(&register, UKPRN, "a@example.com", UserRole::Admin);
    link(&register, UKPRN, "b@example.com", UserRole::Admin);
    let remove = || {
        register
            .write(|session| {
                let links = session.remove_old_invitations(10)?;
                Ok((
                    links,
                    session.remove_old_sign_in_sessions(10)?,
                    session.remove_old_activity(10)?,
                ))
            })
            .unwrap()
    };
    assert_eq!(remove(), (0, 0, 0));
    register.clock.advance(TimeDelta::hours(9));
    assert_eq!(remove(), (2, 1, 0));
    register.clock.advance(TimeDelta::days(400));
    assert_eq!(remove(), (0, 0, 3));
}

/// A link that an admin creates.
fn link_by(
    register: &Register,
    by: Actor<'static>,
    email: &'static str,
) -> Result<String, StorageError> {
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email,
        role: UserRole::Admin,
    };
    Ok(register
        .write(move |session| session.invite_user(by, request))?
        .secret
        .reveal()
        .to_owned())
}

#[test]
fn demoted_admin_loses_links_for_admins() {
    let register = register();
    let admin = user(&register, UKPRN, "a@example.com", UserRole::Admin);
    let other = user(&register, UKPRN, "b@example.com", UserRole::Admin);
    let link = link_by(
        &register,
        other.actor(Origin::default()).unwrap(),
        "c@example.com",
    )
    .unwrap();
    let by = admin.actor(Origin::default()).unwrap();
    let id = other.user_id;
    register
        .write(move |session| session.change_role(by, id, UserRole::Viewer))
        .unwrap();
    refused(accept(&register, &link), Refusal::LinkNotUsable);
}

#[test]
fn concurrent_links_of_admin_leave_one() {
    let register = register();
    let by = user(&register, UKPRN, "a@example.com", UserRole::Admin)
        .actor(Origin::default())
        .unwrap();
    for email in ["b@example.com", "c@example.com", "d@example.com"] {
        let made = [register.another_store(), register.another_store()].map(|store| {
            std::thread::spawn(move || {
                let request = NewInvitation {
                    provider_ukprn: Some(UKPRN),
                    email,
                    role: UserRole::Viewer,
                };
                store.write_blocking(move |session| session.invite_user(by, request))
            })
        });
        let links = made.map(|thread| thread.join().unwrap().unwrap().secret);
        let accepted = links
            .iter()
            .filter(|link| accept(&register, link.reveal()).is_ok())
            .count();
        assert_eq!(accepted, 1, "{email}");
    }
}

#[test]
fn concurrently_removed_admin_changes_nothing() {
    let register = register();
    let admin = user(&register, UKPRN, "a@example.com", UserRole::Admin);
    let cookie = accept(
        &register,
        &link(&register, UKPRN, "b@example.com", UserRole::Admin),
    )
    .unwrap();
    let digest = SecretDigest::from_text(&cookie);
    let id = signed_in(&register, &cookie).unwrap().user_id;
    let by = admin.actor(Origin::default()).unwrap();
    let found = register
        .write(move |session| session.signed_in_to_change(&digest))
        .unwrap();
    assert_eq!(found.map(|found| found.user_id), Some(id));
    let digest = SecretDigest::from_text(&cookie);
    let store = register.another_store();
    let (removed, wait) = std::sync::mpsc::channel();
    let removing = std::thread::spawn(move || {
        store.write_blocking(move |session| {
            session.remove_user(by, id)?;
            let _ = removed.send(());
            // The other request has read the unchanged user, and waits for the lock.
            std::thread::sleep(std::time::Duration::from_millis(300));
            Ok::<_, StorageError>(())
        })
    });
    wait.recv().unwrap();
    assert_eq!(
        register
            .write(move |session| session.signed_in_to_change(&digest))
            .unwrap(),
        None
    );
    removing.join().unwrap().unwrap();
}

#[test]
fn erasing_user_removes_later_invitation() {
    let register = register();
    let id = user(&register, UKPRN, "a@example.com", UserRole::Admin).user_id;
    register
        .write(move |session| session.remove_user(COMMAND, id))
        .unwrap();
    let again = link(&register, UKPRN, "a@example.com", UserRole::Admin);
    register
        .write(move |session| session.erase_user(COMMAND, id, ""))
        .unwrap();
    refused(accept(&register, &again), Refusal::LinkNotUsable);
}

#[test]
fn users_of_organisation_create_limited_number_of_tokens() {
    let register = register();
    let by = user(&register, UKPRN, "a@example.com", UserRole::Admin)
        .actor(Origin::default())
        .unwrap();
    let token = NewToken {
        provider_ukprn: UKPRN,
        environment: Environment::Sandbox,
        name: "Records",
        created_by: by,
        expires_on: None,
    };
    let issue = |token: NewToken<'static>| {
        register
            .write(move |session| session.issue_token(&token))
            .map(|_| ())
    };
    for _ in 0..50 {
        issue(token).unwrap();
    }
    refused(issue(token), Refusal::TooManyTokens);
    issue(NewToken {
        created_by: COMMAND,
        ..token
    })
    .unwrap();
}
