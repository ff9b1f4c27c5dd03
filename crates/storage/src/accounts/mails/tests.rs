//! Tests of the queue of mails, on the database of the run.

use chrono::TimeDelta;

use super::{Claim, ClaimedMail, LinkTargets, Mail, MailContent};
use crate::accounts::tokens::{NewToken, Rotation};
use crate::accounts::users::{ActivityKind, NewInvitation, Origin, Secret, SignedIn, UserRole};
use crate::base::token::Environment;
use crate::error::{Refusal, StorageError};
use crate::testing::people::{COMMAND, refused};
use crate::testing::{NEW_TOKEN, OTHER, Register, UKPRN};

const ADMIN: &str = "ada@example.com";
const ALL: LinkTargets = LinkTargets {
    organisations: true,
    operators: true,
};

/// Invites a person by a command and signs them in.
fn add_user(register: &Register, provider_ukprn: Option<&'static str>, role: UserRole) -> SignedIn {
    register.user(provider_ukprn, ADMIN, role)
}

fn sign_in(register: &Register, link: &Secret) -> Result<SignedIn, StorageError> {
    let secret = register.accept(link.reveal())?;
    Ok(register.signed_in(&secret).unwrap())
}

fn ask(register: &Register, email: &'static str) {
    register
        .write(move |session| session.queue_sign_in_mail(email, Origin::default()))
        .unwrap();
}

fn claim(register: &Register) -> Option<ClaimedMail> {
    register.write(|session| session.claim_mail(ALL)).unwrap()
}

/// The mail of the next claim, which must be one to send.
#[track_caller]
fn mail(register: &Register) -> (i64, Mail) {
    let claimed = claim(register).unwrap();
    match claimed.claim {
        Claim::Send(mail) => (claimed.id, mail),
        Claim::NotNeeded | Claim::GivenUp => panic!("{:?}", claimed.claim),
    }
}

fn finish(register: &Register, id: i64) {
    register
        .write(move |session| session.finish_mail(id))
        .unwrap();
}

fn requests(register: &Register) -> Vec<(String, Option<String>)> {
    let entries = register.activity().into_iter();
    entries
        .filter(|entry| entry.kind == ActivityKind::SignInLinkRequested)
        .map(|entry| (entry.subject, entry.address))
        .collect()
}

#[test]
fn sign_in_mail_links_each_organisation() {
    let register = Register::with_two_providers();
    let first = add_user(&register, Some(UKPRN), UserRole::Admin);
    let second = add_user(&register, Some(OTHER), UserRole::Viewer);
    let operator = add_user(&register, None, UserRole::Operator);
    register
        .write(|session| {
            let origin = Origin {
                request_id: Some("r1"),
                address: Some("192.0.2.7"),
            };
            session.queue_sign_in_mail(" Ada@Example.com", origin)
        })
        .unwrap();
    let (_, mail) = mail(&register);
    assert_eq!(mail.to, ADMIN);
    let MailContent::SignIn(links) = mail.content else {
        panic!("another kind");
    };
    let names: Vec<_> = links.iter().map(|link| link.organisation.clone()).collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        names,
        [None, named("Ashdown University"), named("Beech College")]
    );
    for (link, user) in links.iter().zip([&operator, &first, &second]) {
        let again = sign_in(&register, &link.secret).unwrap();
        assert_eq!((again.user_id, again.role), (user.user_id, user.role));
        refused(sign_in(&register, &link.secret), Refusal::LinkNotUsable);
    }
    let asked = |user: &SignedIn| {
        (
            format!("user {}", user.user_id),
            Some("192.0.2.7".to_owned()),
        )
    };
    assert_eq!(
        requests(&register),
        [asked(&second), asked(&first), asked(&operator)]
    );
}

#[test]
fn sign_in_mail_needs_usable_account() {
    let register = Register::with_two_providers();
    ask(&register, "unknown@example.com");
    let removed = add_user(&register, Some(UKPRN), UserRole::Admin).user_id;
    register
        .write(move |session| session.remove_user(COMMAND, removed))
        .unwrap();
    add_user(&register, Some(OTHER), UserRole::Admin);
    register
        .write(|session| session.close_organisation(COMMAND, OTHER))
        .unwrap();
    ask(&register, ADMIN);
    for _ in 0..2 {
        let claimed = claim(&register).unwrap();
        assert!(matches!(claimed.claim, Claim::NotNeeded), "{claimed:?}");
    }
    assert!(claim(&register).is_none());
    assert_eq!(requests(&register), []);
}

#[test]
fn operator_gets_no_link_to_unserved_pages() {
    let register = Register::with_two_providers();
    add_user(&register, None, UserRole::Operator);
    ask(&register, ADMIN);
    let targets = LinkTargets {
        operators: false,
        ..ALL
    };
    let claimed = register
        .write(move |session| session.claim_mail(targets))
        .unwrap()
        .unwrap();
    assert!(matches!(claimed.claim, Claim::NotNeeded), "{claimed:?}");
}

/// Minutes of requests for a link to one address, and the minutes of the mails.
const LINKS: &[(&[i64], &[i64])] = &[
    // Three requests of a stranger, then the person's own.
    (&[0, 1, 2, 3], &[0, 5]),
    // Ten requests with 16 minutes between them.
    (
        &[0, 16, 32, 48, 64, 80, 96, 112, 128, 144],
        &[0, 16, 32, 48, 64, 80, 96, 112, 128, 144],
    ),
    // A stranger who asks all the time.
    (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], &[0, 5, 10, 15]),
    (&[0, 5, 10], &[0, 5, 10]),
];

#[test]
fn link_requests_are_answered_within_five_minutes() {
    for (requests, mails) in LINKS {
        let register = Register::with_two_providers();
        add_user(&register, Some(UKPRN), UserRole::Admin);
        let mut sent = Vec::new();
        for minute in 0..=200 {
            if requests.contains(&minute) {
                ask(&register, ADMIN);
            }
            while let Some(claimed) = claim(&register) {
                assert!(matches!(claimed.claim, Claim::Send(_)), "{claimed:?}");
                finish(&register, claimed.id);
                sent.push(minute);
            }
            register.clock.advance(TimeDelta::minutes(1));
        }
        assert_eq!(sent, *mails, "{requests:?}");
    }
}

#[test]
fn unsent_mail_delays_no_other() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    ask(&register, ADMIN);
    register.clock.advance(TimeDelta::minutes(21));
    let old = claim(&register).unwrap();
    assert!(matches!(old.claim, Claim::GivenUp), "{old:?}");
    ask(&register, ADMIN);
    mail(&register);
}

#[test]
fn mails_are_claimed_in_turns_of_providers() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    let invite = |provider_ukprn, email| {
        let role = match provider_ukprn {
            Some(_) => UserRole::Viewer,
            None => UserRole::Operator,
        };
        let request = NewInvitation {
            provider_ukprn,
            email,
            role,
        };
        register
            .write(move |session| session.invite_user_by_mail(COMMAND, request))
            .unwrap();
        register.clock.advance(TimeDelta::milliseconds(1));
    };
    for email in ["a1@example.com", "a2@example.com", "a3@example.com"] {
        invite(Some(UKPRN), email);
    }
    invite(Some(OTHER), "b1@example.com");
    invite(None, "o1@example.com");
    invite(Some(OTHER), "b2@example.com");
    ask(&register, ADMIN);
    let mut order = Vec::new();
    while let Some(claimed) = claim(&register) {
        let Claim::Send(mail) = claimed.claim else {
            panic!("{claimed:?}")
        };
        register.clock.advance(TimeDelta::milliseconds(1));
        finish(&register, claimed.id);
        order.push(mail.to);
    }
    let expected = [
        ADMIN,
        "a1@example.com",
        "b1@example.com",
        "o1@example.com",
        "a2@example.com",
        "b2@example.com",
        "a3@example.com",
    ];
    assert_eq!(order, expected);
}

#[test]
fn claimed_mail_belongs_to_renewing_server() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    ask(&register, ADMIN);
    let (id, _) = mail(&register);
    for _ in 0..5 {
        register.clock.advance(TimeDelta::seconds(7));
        assert!(claim(&register).is_none());
        register
            .write(move |session| session.renew_mail_claim(id))
            .unwrap();
    }
    // The server has stopped.
    register.clock.advance(TimeDelta::seconds(8));
    let (again, _) = mail(&register);
    assert_eq!(again, id);
    // Each attempt has its own link, but the request is logged once.
    assert_eq!(requests(&register).len(), 1);
    finish(&register, id);
    register.clock.advance(TimeDelta::minutes(1));
    assert!(claim(&register).is_none());
}

#[test]
fn racing_servers_claim_mail_once() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    ask(&register, ADMIN);
    let stores = [(), (), ()].map(|()| register.another_store());
    let claims: Vec<_> = std::thread::scope(|scope| {
        let racing = stores
            .each_ref()
            .map(|store| scope.spawn(|| store.write_blocking(|session| session.claim_mail(ALL))));
        racing
            .into_iter()
            .map(|claim| claim.join().unwrap())
            .collect()
    });
    let claims: Result<Vec<_>, StorageError> = claims.into_iter().collect();
    assert_eq!(claims.unwrap().iter().flatten().count(), 1);
}

#[test]
fn delayed_mail_is_retried_until_given_up() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    ask(&register, ADMIN);
    let mut pauses = Vec::new();
    loop {
        let claimed = claim(&register).unwrap();
        match claimed.claim {
            Claim::Send(_) => {}
            Claim::NotNeeded => panic!("known address"),
            Claim::GivenUp => break,
        }
        let (id, attempt) = (claimed.id, claimed.attempt);
        let pause = register
            .write(move |session| session.delay_mail(id, attempt))
            .unwrap();
        assert!(claim(&register).is_none());
        pauses.push(pause);
        register.clock.advance(TimeDelta::seconds(pause));
    }
    assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 270]);
    assert!(claim(&register).is_none());
}

#[test]
fn mailed_invitation_gives_access_for_day() {
    let register = Register::with_two_providers();
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email: ADMIN,
        role: UserRole::Viewer,
    };
    let invited = register
        .write(move |session| session.invite_user_by_mail(COMMAND, request))
        .unwrap();
    // The mail server was unavailable for some hours.
    register.clock.advance(TimeDelta::hours(20));
    let (id, mail) = mail(&register);
    finish(&register, id);
    assert_eq!(mail.to, ADMIN);
    let MailContent::Invitation(link) = mail.content else {
        panic!("another kind");
    };
    assert_eq!(link.expires_at, invited.expires_at);
    assert_eq!(link.organisation.as_deref(), Some("Ashdown University"));
    register.clock.advance(TimeDelta::hours(3));
    let user = sign_in(&register, &link.secret).unwrap();
    assert_eq!((user.email.as_str(), user.role), (ADMIN, UserRole::Viewer));
}

#[test]
fn mail_of_removed_invitation_is_not_needed() {
    let register = Register::with_two_providers();
    let request = NewInvitation {
        provider_ukprn: Some(UKPRN),
        email: ADMIN,
        role: UserRole::Viewer,
    };
    register
        .write(move |session| session.invite_user_by_mail(COMMAND, request))
        .unwrap();
    register
        .write(|session| session.close_organisation(COMMAND, UKPRN))
        .unwrap();
    let claimed = claim(&register).unwrap();
    assert!(matches!(claimed.claim, Claim::NotNeeded), "{claimed:?}");
}

#[test]
fn erased_user_leaves_no_address_in_mails() {
    let register = Register::with_two_providers();
    let id = add_user(&register, Some(UKPRN), UserRole::Admin).user_id;
    ask(&register, ADMIN);
    register
        .write(move |session| session.erase_user(COMMAND, id, "request of the person"))
        .unwrap();
    assert!(claim(&register).is_none());
}

/// A token that expires on a day of 2026.
fn token(register: &Register, expires_on: &str) -> i64 {
    let request = NewToken {
        expires_on: Some(expires_on.parse().unwrap()),
        ..NEW_TOKEN
    };
    register.issue_token(request).unwrap().1.id
}

/// Queues reminders, and returns the days of expiry of the tokens in the due mails.
fn reminders(register: &Register) -> Vec<(String, String)> {
    register.write(|session| session.queue_reminders()).unwrap();
    let mut sent = Vec::new();
    while let Some(claimed) = claim(register) {
        let Claim::Send(mail) = claimed.claim else {
            continue;
        };
        finish(register, claimed.id);
        let MailContent::TokenExpiry(token) = mail.content else {
            panic!("another kind");
        };
        sent.push((mail.to, token.expires_on.to_string()));
    }
    sent
}

#[test]
fn reminders_are_sent_before_expiry() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    token(&register, "2026-05-01");
    let expected = [(ADMIN.to_owned(), "2026-05-01".to_owned())];
    for (day, is_due) in [
        ("2026-03-31", false),
        ("2026-04-01", true),
        ("2026-04-02", false),
        ("2026-04-23", false),
        ("2026-04-24", true),
        ("2026-04-25", false),
        ("2026-05-01", false),
    ] {
        register.clock.set(day);
        let due = register.read(|session| session.has_due_reminder()).unwrap();
        assert_eq!(due, is_due, "{day}");
        let sent = reminders(&register);
        assert_eq!(sent == expected, is_due, "{day}: {sent:?}");
    }
}

#[test]
fn first_reminder_within_seven_days_is_single() {
    let register = Register::with_two_providers();
    add_user(&register, Some(UKPRN), UserRole::Admin);
    token(&register, "2026-05-01");
    register.clock.set("2026-04-28");
    assert_eq!(reminders(&register).len(), 1);
    assert_eq!(reminders(&register), []);
}

#[test]
fn tokens_without_need_get_no_reminder() {
    let register = Register::with_two_providers();
    let viewer = add_user(&register, Some(UKPRN), UserRole::Viewer).user_id;
    let revoked = token(&register, "2026-05-01");
    register
        .write(move |session| session.revoke_token(revoked, COMMAND))
        .unwrap();
    let replaced = token(&register, "2026-05-01");
    register
        .write(move |session| {
            let rotation = Rotation {
                environment: Environment::Sandbox,
                created_by: COMMAND,
                expires_on: None,
                overlap: chrono::Days::new(100),
            };
            session.rotate_token(replaced, &rotation)
        })
        .unwrap();
    token(&register, "2026-05-01");
    register.clock.set("2026-04-15");
    // Issued with less than 30 days left.
    token(&register, "2026-05-01");
    // Only the third token is due, and the only user is a viewer.
    assert_eq!(reminders(&register), []);
    register
        .write(move |session| session.change_role(COMMAND, viewer, UserRole::Admin))
        .unwrap();
    register.clock.set("2026-04-28");
    assert_eq!(reminders(&register).len(), 2);
    register
        .write(|session| session.close_organisation(COMMAND, UKPRN))
        .unwrap();
    assert_eq!(reminders(&register), []);
}
