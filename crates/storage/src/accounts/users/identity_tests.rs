//! Tests OpenID Connect identities, attempts and choices, on the database of the run.

use std::sync::mpsc;

use chrono::TimeDelta;

use super::{
    Identity, NewInvitation, Origin, Secret, SecretDigest, SignedIn, UserRecord, UserRole,
};
use crate::error::{Refusal, StorageError};
use crate::session::Session;
use crate::testing::people::{COMMAND, refused};
use crate::testing::{OTHER, Register, UKPRN};

const EMAIL: &str = "a@example.com";

/// A person with an e-mail address and no other claim.
fn person(subject: &str) -> Identity {
    Identity {
        issuer: "https://id.example".to_owned(),
        subject: subject.to_owned(),
        email: Some(EMAIL.to_owned()),
        ukprns: Vec::new(),
        role: UserRole::Viewer,
        is_operator: false,
    }
}

fn member(subject: &str, ukprns: &[&str]) -> Identity {
    Identity {
        ukprns: ukprns.iter().map(|&ukprn| ukprn.to_owned()).collect(),
        ..person(subject)
    }
}

fn invite(register: &Register, ukprn: Option<&'static str>, role: UserRole) -> String {
    register.invite(ukprn, EMAIL, role)
}

/// The organisations that an identity may sign in to, with the role.
fn accesses(register: &Register, identity: &Identity) -> Vec<(Option<String>, UserRole)> {
    let found = register
        .read(|session| session.accesses_of(identity))
        .unwrap();
    found
        .iter()
        .map(|access| (access.ukprn().map(str::to_owned), access.role))
        .collect()
}

fn sign_in(
    register: &Register,
    identity: &Identity,
    ukprn: Option<&'static str>,
) -> Result<SignedIn, StorageError> {
    let as_whom = identity.clone();
    let digest = SecretDigest::from_text(Secret::generate()?.reveal());
    let secret = digest.clone();
    register.write(move |session| {
        session.sign_in_as(&as_whom, ukprn, &secret, None, Origin::default())
    })?;
    Ok(register
        .read(|session| session.signed_in(&digest))
        .unwrap()
        .unwrap())
}

fn users(register: &Register) -> Vec<UserRecord> {
    register.read(|session| session.list_users(None)).unwrap()
}

#[test]
fn invitation_binds_identity_permanently() {
    let register = Register::with_two_providers();
    let one = person("one");
    assert_eq!(accesses(&register, &one), []);
    refused(sign_in(&register, &one, Some(UKPRN)), Refusal::NoAccess);
    let link = invite(&register, Some(UKPRN), UserRole::Admin);
    assert_eq!(
        accesses(
            &register,
            &Identity {
                email: None,
                ..person("one")
            }
        ),
        []
    );
    let first = sign_in(&register, &one, Some(UKPRN)).unwrap();
    assert_eq!(
        (first.role, first.organisation.unwrap().ukprn.as_str()),
        (UserRole::Admin, UKPRN)
    );
    // The link is used.
    let digest = SecretDigest::from_text(&link);
    assert_eq!(
        register
            .read(|session| session.open_invitation(&digest))
            .unwrap(),
        None
    );
    // The same subject is the same person, whatever the address; another subject or issuer is not.
    for email in [None, Some("new@example.com".to_owned())] {
        assert_eq!(
            sign_in(
                &register,
                &Identity {
                    email,
                    ..person("one")
                },
                Some(UKPRN)
            )
            .unwrap()
            .user_id,
            first.user_id
        );
    }
    let elsewhere = Identity {
        issuer: "https://other.example".to_owned(),
        ..person("one")
    };
    for stranger in [person("two"), elsewhere, member("two", &[UKPRN])] {
        assert_eq!(accesses(&register, &stranger), [], "{stranger:?}");
        refused(
            sign_in(&register, &stranger, Some(UKPRN)),
            Refusal::NoAccess,
        );
    }
    assert_eq!(users(&register).len(), 1);
    let entries = register.activity();
    assert_eq!(
        entries[2].detail,
        "OpenID Connect, first time, by invitation"
    );
    assert_eq!(entries[0].detail, "OpenID Connect");
}

#[test]
fn new_invitation_replaces_bound_identity() {
    let register = Register::with_two_providers();
    invite(&register, Some(UKPRN), UserRole::Admin);
    let user = sign_in(&register, &person("one"), Some(UKPRN)).unwrap();
    invite(&register, Some(UKPRN), UserRole::Admin);
    assert_eq!(
        sign_in(&register, &person("two"), Some(UKPRN))
            .unwrap()
            .user_id,
        user.user_id
    );
    refused(
        sign_in(&register, &person("one"), Some(UKPRN)),
        Refusal::NoAccess,
    );
}

#[test]
fn replaced_identity_loses_its_sessions() {
    let register = Register::with_two_providers();
    invite(&register, Some(UKPRN), UserRole::Admin);
    let digest = SecretDigest::from_text("of the browser");
    let one = person("one");
    let secret = digest.clone();
    let first = move |session: &mut Session<'_>| {
        session.sign_in_as(&one, Some(UKPRN), &secret, None, Origin::default())
    };
    register.write(first).unwrap();
    invite(&register, Some(UKPRN), UserRole::Admin);
    sign_in(&register, &person("two"), Some(UKPRN)).unwrap();
    assert_eq!(
        register.read(|session| session.signed_in(&digest)).unwrap(),
        None
    );
}

#[test]
fn invited_user_keeps_access_without_claim() {
    let register = Register::with_two_providers();
    let id = sign_in(&register, &member("one", &[UKPRN]), Some(UKPRN))
        .unwrap()
        .user_id;
    refused(
        sign_in(&register, &person("one"), Some(UKPRN)),
        Refusal::NoAccess,
    );
    invite(&register, Some(UKPRN), UserRole::Viewer);
    for _ in 0..2 {
        assert_eq!(
            sign_in(&register, &person("one"), Some(UKPRN))
                .unwrap()
                .user_id,
            id
        );
    }
    // An invitation to another address changes the address of the same user.
    let moved = Identity {
        email: Some("new@example.com".to_owned()),
        ..person("one")
    };
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email: "new@example.com",
        role: UserRole::Viewer,
    };
    register
        .write(move |session| session.invite_user(COMMAND, request))
        .unwrap();
    assert_eq!(sign_in(&register, &moved, Some(UKPRN)).unwrap().user_id, id);
}

#[test]
fn concurrent_removal_of_admin_leaves_no_invitation() {
    let register = Register::with_two_providers();
    invite(&register, Some(UKPRN), UserRole::Admin);
    let admin = sign_in(&register, &person("one"), Some(UKPRN)).unwrap();
    let id = admin.user_id;
    let invited = mpsc::channel();
    let wait = mpsc::channel::<()>();
    let store = register.another_store();
    let inviting = std::thread::spawn(move || {
        store.write_blocking::<_, StorageError>(move |session| {
            let request = NewInvitation {
                provider_ukprn: Some(UKPRN),
                email: "b@example.com",
                role: UserRole::Admin,
            };
            let by = admin.actor(Origin::default()).unwrap();
            session.invite_user(by, request)?;
            invited.0.send(()).unwrap();
            // Waits until the removal waits for the lock of the organisation, or for the writer of
            // SQLite.
            let _ = wait.1.recv_timeout(std::time::Duration::from_millis(300));
            Ok(())
        })
    });
    invited.1.recv().unwrap();
    register
        .write(move |session| session.remove_user(COMMAND, id))
        .unwrap();
    inviting.join().unwrap().unwrap();
    assert_eq!(
        register
            .read(|session| session.pending_invitations(Some(UKPRN)))
            .unwrap(),
        []
    );
}

#[test]
fn unbound_user_is_found_by_verified_address() {
    let register = Register::with_two_providers();
    let id = register.user(Some(UKPRN), EMAIL, UserRole::Viewer).user_id;
    assert_eq!(
        accesses(
            &register,
            &Identity {
                email: None,
                ..person("one")
            }
        ),
        []
    );
    assert_eq!(
        sign_in(&register, &person("one"), Some(UKPRN))
            .unwrap()
            .user_id,
        id
    );
    assert_eq!(accesses(&register, &person("two")), []);
}

#[test]
fn claim_gives_access_to_open_organisations() {
    let register = Register::with_two_providers();
    let one = member("one", &[OTHER, "10000009", UKPRN]);
    // Sorted by UKPRN.
    let both = [
        (Some(UKPRN.to_owned()), UserRole::Viewer),
        (Some(OTHER.to_owned()), UserRole::Viewer),
    ];
    assert_eq!(accesses(&register, &one), both);
    refused(
        sign_in(&register, &one, Some("10000009")),
        Refusal::NoAccess,
    );
    refused(sign_in(&register, &one, None), Refusal::NoAccess);
    let admin = Identity {
        role: UserRole::Admin,
        ..one.clone()
    };
    assert_eq!(
        sign_in(&register, &admin, Some(UKPRN)).unwrap().role,
        UserRole::Admin
    );
    assert_eq!(
        sign_in(&register, &one, Some(OTHER)).unwrap().role,
        UserRole::Viewer
    );
    // The claim sets the role only at the first sign-in.
    assert_eq!(
        sign_in(&register, &one, Some(UKPRN)).unwrap().role,
        UserRole::Admin
    );
    assert_eq!(users(&register).len(), 2);
    refused(
        sign_in(&register, &person("one"), Some(UKPRN)),
        Refusal::NoAccess,
    );
    register
        .write(|session| session.close_provider(OTHER))
        .unwrap();
    refused(sign_in(&register, &one, Some(OTHER)), Refusal::NoAccess);
    assert_eq!(accesses(&register, &member("three", &[OTHER])), []);
    // The first sign-in by claim needs an address.
    assert_eq!(
        accesses(
            &register,
            &Identity {
                email: None,
                ..member("three", &[UKPRN])
            }
        ),
        []
    );
}

#[test]
fn operator_needs_claim_or_invitation() {
    let register = Register::with_two_providers();
    let operator = Identity {
        is_operator: true,
        ..person("one")
    };
    refused(sign_in(&register, &person("one"), None), Refusal::NoAccess);
    assert_eq!(accesses(&register, &operator), [(None, UserRole::Operator)]);
    let signed_in = sign_in(&register, &operator, None).unwrap();
    assert_eq!(
        (signed_in.role, signed_in.organisation),
        (UserRole::Operator, None)
    );
    refused(sign_in(&register, &person("one"), None), Refusal::NoAccess);
    let id = signed_in.user_id;
    register
        .write(move |session| session.remove_user(COMMAND, id))
        .unwrap();
    refused(sign_in(&register, &operator, None), Refusal::NoAccess);
    invite(&register, None, UserRole::Operator);
    assert_ne!(
        sign_in(&register, &person("one"), None).unwrap().user_id,
        id
    );
}

#[test]
fn removed_user_returns_by_invitation_only() {
    let register = Register::with_two_providers();
    let one = member("one", &[UKPRN]);
    let id = sign_in(&register, &one, Some(UKPRN)).unwrap().user_id;
    register
        .write(move |session| session.remove_user(COMMAND, id))
        .unwrap();
    let other_address = Identity {
        email: Some("b@example.com".to_owned()),
        ..one.clone()
    };
    for again in [&one, &other_address, &member("two", &[UKPRN])] {
        refused(sign_in(&register, again, Some(UKPRN)), Refusal::NoAccess);
    }
    invite(&register, Some(UKPRN), UserRole::Admin);
    let renewed = sign_in(&register, &one, Some(UKPRN)).unwrap();
    assert_eq!(
        (renewed.role, renewed.user_id == id),
        (UserRole::Admin, false)
    );
    let again = renewed.user_id;
    register
        .write(move |session| session.erase_user(COMMAND, again, "request"))
        .unwrap();
    refused(
        sign_in(&register, &person("one"), Some(UKPRN)),
        Refusal::NoAccess,
    );
}

#[test]
fn attempt_is_used_once_by_its_browser() {
    let register = Register::with_two_providers();
    let begin = || register.write(|session| session.begin_sign_in()).unwrap();
    let take = |state: &str, browser: &str| {
        let state = SecretDigest::from_text(state);
        let browser = SecretDigest::from_text(browser);
        register.write(move |session| session.take_sign_in_attempt(&state, &browser))
    };
    let one = begin();
    let other = begin();
    let state = one.state.reveal();
    refused(
        take(state, other.browser.reveal()),
        Refusal::SignInNotUsable,
    );
    refused(take(state, ""), Refusal::SignInNotUsable);
    refused(
        take("unknown", one.browser.reveal()),
        Refusal::SignInNotUsable,
    );
    let taken = take(state, one.browser.reveal()).unwrap();
    assert_eq!(
        (taken.nonce.as_str(), taken.code_verifier.as_str()),
        (one.nonce.reveal(), one.code_verifier.reveal())
    );
    refused(take(state, one.browser.reveal()), Refusal::SignInNotUsable);
    register.clock.advance(TimeDelta::minutes(10));
    refused(
        take(other.state.reveal(), other.browser.reveal()),
        Refusal::SignInNotUsable,
    );
}

#[test]
fn choice_is_used_once_and_erased() {
    let register = Register::with_two_providers();
    let browser = SecretDigest::from_text("browser");
    let begin = |identity: &Identity| {
        let identity = identity.clone();
        let browser = browser.clone();
        let secret = register
            .write(move |session| session.begin_choice(&identity, &browser))
            .unwrap();
        SecretDigest::from_text(secret.reveal())
    };
    let take = |secret: &SecretDigest, browser: &SecretDigest| {
        let secret = secret.clone();
        let browser = browser.clone();
        register.write(move |session| session.take_choice(&secret, &browser))
    };
    let identity = Identity {
        is_operator: true,
        role: UserRole::Admin,
        ..member("one", &[UKPRN, OTHER])
    };
    let stranger = Identity {
        email: None,
        ..person("two")
    };
    let secret = begin(&identity);
    refused(
        take(&secret, &SecretDigest::from_text("other")),
        Refusal::SignInNotUsable,
    );
    assert_eq!(take(&secret, &browser).unwrap(), identity);
    refused(take(&secret, &browser), Refusal::SignInNotUsable);
    assert_eq!(take(&begin(&stranger), &browser).unwrap(), stranger);

    let user = sign_in(&register, &identity, Some(UKPRN)).unwrap().user_id;
    let secret = begin(&identity);
    let late = begin(&stranger);
    register
        .write(move |session| session.erase_user(COMMAND, user, "request"))
        .unwrap();
    refused(take(&secret, &browser), Refusal::SignInNotUsable);
    register.clock.advance(TimeDelta::minutes(10));
    refused(take(&late, &browser), Refusal::SignInNotUsable);
}
