//! Tests users, links, sessions and the activity log, on the database of the run.

#![expect(
    clippy::disallowed_methods,
    reason = "a test waits on a thread of its own"
)]

use chrono::TimeDelta;

use super::{
    Activity, ActivityKind, Actor, NewInvitation, Origin, Secret, SecretDigest, UserRole,
    normalised_email,
};
use crate::accounts::tokens::NewToken;
use crate::error::{Refusal, StorageError};
use crate::testing::people::{COMMAND, refused};
use crate::testing::{NEW_TOKEN, OTHER, Register, UKPRN};

#[test]
fn used_link_is_accepted_in_same_browser() {
    let register = Register::with_two_providers();
    let link = register.invite(Some(UKPRN), "a@example.com", UserRole::Admin);
    let secret = register.accept(&link).unwrap();
    register.accept_as(&link, &secret).unwrap();
    refused(register.accept(&link), Refusal::LinkNotUsable);
    let user = register.signed_in(&secret).unwrap();
    let is_sign_in = |entry: &&Activity| entry.kind == ActivityKind::UserSignedIn;
    assert_eq!(register.activity().iter().filter(is_sign_in).count(), 1);
    // The link cannot restart an ended session.
    register
        .write(move |session| session.sign_out(&user))
        .unwrap();
    refused(register.accept_as(&link, &secret), Refusal::LinkNotUsable);
}

#[test]
fn new_link_replaces_earlier_link() {
    let register = Register::with_two_providers();
    let first = register.invite(Some(UKPRN), "a@example.com", UserRole::Admin);
    let elsewhere = register.invite(Some(OTHER), "a@example.com", UserRole::Admin);
    let second = register.invite(Some(UKPRN), "a@example.com", UserRole::Admin);
    refused(register.accept(&first), Refusal::LinkNotUsable);
    register.accept(&second).unwrap();
    register.accept(&elsewhere).unwrap();
}

#[test]
fn racing_servers_begin_one_session_for_link() {
    let register = Register::with_two_providers();
    for _ in 0..5 {
        let link = register.invite(Some(UKPRN), "a@example.com", UserRole::Admin);
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
fn session_use_is_recorded_once_a_minute() {
    let register = Register::with_two_providers();
    let cookie = register
        .accept(&register.invite(Some(UKPRN), "a@example.com", UserRole::Viewer))
        .unwrap();
    let is_due = || {
        let user = register.signed_in(&cookie).unwrap();
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
    let register = Register::with_two_providers();
    let admin = register.user(Some(UKPRN), "a@example.com", UserRole::Admin);
    let cookie = register
        .accept(&register.invite(Some(UKPRN), "b@example.com", UserRole::Admin))
        .unwrap();
    let other = register.signed_in(&cookie).unwrap();
    // A link for the user, and a link created by the user.
    let fresh = register.invite(Some(UKPRN), "b@example.com", UserRole::Admin);
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
    assert_eq!(register.signed_in(&cookie), None);
    refused(register.accept(&fresh), Refusal::LinkNotUsable);
    refused(
        register.accept(made.secret.reveal()),
        Refusal::LinkNotUsable,
    );
    // A removed person who is invited again becomes a new user.
    let again = register.user(Some(UKPRN), "b@example.com", UserRole::Viewer);
    assert_ne!(again.user_id, removed);

    register
        .write(|session| session.close_provider(UKPRN))
        .unwrap();
    let open = register.invite(Some(OTHER), "d@example.com", UserRole::Admin);
    register
        .write(|session| session.close_provider(OTHER))
        .unwrap();
    refused(register.accept(&open), Refusal::LinkNotUsable);
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
fn reopened_organisation_restores_no_sessions_or_links() {
    let register = Register::with_two_providers();
    let cookie = register
        .accept(&register.invite(Some(UKPRN), "a@example.com", UserRole::Admin))
        .unwrap();
    let elsewhere = register
        .accept(&register.invite(Some(OTHER), "a@example.com", UserRole::Admin))
        .unwrap();
    let unused = register.invite(Some(UKPRN), "b@example.com", UserRole::Viewer);
    let unused_elsewhere = register.invite(Some(OTHER), "b@example.com", UserRole::Viewer);
    register
        .write(|session| session.close_organisation(COMMAND, UKPRN))
        .unwrap();
    assert_eq!(register.signed_in(&cookie), None);

    register
        .write(|session| session.reopen_organisation(COMMAND, UKPRN))
        .unwrap();
    assert_eq!(register.signed_in(&cookie), None);
    refused(register.accept(&unused), Refusal::LinkNotUsable);
    assert!(
        register
            .read(|session| session.pending_invitations(Some(UKPRN)))
            .unwrap()
            .is_empty()
    );
    // The access stays, and another organisation keeps its sessions and links.
    let again = register.user(Some(UKPRN), "a@example.com", UserRole::Viewer);
    assert_eq!(again.role, UserRole::Admin);
    assert!(register.signed_in(&elsewhere).is_some());
    register.accept(&unused_elsewhere).unwrap();
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

/// Pages of an organisation never name another one.
#[test]
fn user_cannot_name_other_organisation() {
    let register = Register::with_two_providers();
    let admin = register.user(Some(UKPRN), "a@example.com", UserRole::Admin);
    let by = admin.actor(Origin::default()).unwrap();
    let token = NewToken {
        provider_ukprn: OTHER,
        created_by: by,
        ..NEW_TOKEN
    };
    refused(register.issue_token(token), Refusal::UnknownProvider);
    for (provider_ukprn, role) in [(Some(OTHER), UserRole::Admin), (None, UserRole::Operator)] {
        let request = NewInvitation {
            provider_ukprn,
            email: "c@example.com",
            role,
        };
        refused(
            register.write(move |session| session.invite_user(by, request)),
            Refusal::UnknownProvider,
        );
    }
}

#[test]
fn operator_belongs_to_no_organisation() {
    let register = Register::with_two_providers();
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
    let cookie = register.accept(invited.secret.reveal()).unwrap();
    let operator = register.signed_in(&cookie).unwrap();
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
fn old_account_rows_are_removed() {
    let register = Register::with_two_providers();
    register.user(Some(UKPRN), "a@example.com", UserRole::Admin);
    register.invite(Some(UKPRN), "b@example.com", UserRole::Admin);
    register.write(|session| session.begin_sign_in()).unwrap();
    let remove = || {
        let removed = register.write(|session| {
            Ok([
                session.remove_old_sign_in_attempts(10)?,
                session.remove_old_invitations(10)?,
                session.remove_old_sign_in_sessions(10)?,
                session.remove_old_activity(10)?,
            ])
        });
        removed.unwrap()
    };
    assert_eq!(remove(), [0; 4]);
    register.clock.advance(TimeDelta::minutes(11));
    assert_eq!(remove(), [1, 0, 0, 0]);
    register.clock.advance(TimeDelta::hours(9));
    assert_eq!(remove(), [0, 2, 1, 0]);
    register.clock.advance(TimeDelta::days(400));
    assert_eq!(remove(), [0, 0, 0, 3]);
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
    let register = Register::with_two_providers();
    let admin = register.user(Some(UKPRN), "a@example.com", UserRole::Admin);
    let other = register.user(Some(UKPRN), "b@example.com", UserRole::Admin);
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
    refused(register.accept(&link), Refusal::LinkNotUsable);
}

#[test]
fn concurrent_links_of_admin_leave_one() {
    let register = Register::with_two_providers();
    let by = register
        .user(Some(UKPRN), "a@example.com", UserRole::Admin)
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
            .filter(|link| register.accept(link.reveal()).is_ok())
            .count();
        assert_eq!(accepted, 1, "{email}");
    }
}

#[test]
fn concurrently_removed_admin_changes_nothing() {
    let register = Register::with_two_providers();
    let admin = register.user(Some(UKPRN), "a@example.com", UserRole::Admin);
    let cookie = register
        .accept(&register.invite(Some(UKPRN), "b@example.com", UserRole::Admin))
        .unwrap();
    let digest = SecretDigest::from_text(&cookie);
    let id = register.signed_in(&cookie).unwrap().user_id;
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
    let register = Register::with_two_providers();
    let id = register
        .user(Some(UKPRN), "a@example.com", UserRole::Admin)
        .user_id;
    register
        .write(move |session| session.remove_user(COMMAND, id))
        .unwrap();
    let again = register.invite(Some(UKPRN), "a@example.com", UserRole::Admin);
    register
        .write(move |session| session.erase_user(COMMAND, id, ""))
        .unwrap();
    refused(register.accept(&again), Refusal::LinkNotUsable);
}

#[test]
fn users_create_limited_number_of_tokens() {
    let register = Register::with_two_providers();
    let by = register
        .user(Some(UKPRN), "a@example.com", UserRole::Admin)
        .actor(Origin::default())
        .unwrap();
    let token = NewToken {
        created_by: by,
        ..NEW_TOKEN
    };
    for _ in 0..50 {
        register.issue_token(token).unwrap();
    }
    refused(register.issue_token(token), Refusal::TooManyTokens);
    register.issue_token(NEW_TOKEN).unwrap();
}
