//! Signing in and inviting by e-mail, up to the queue of mails. `server/tests/program/mailing.rs`
//! sends them.

use storage::accounts::mails::{Claim, LinkTargets, Mail, MailContent};
use storage::accounts::users::UserRole;

use super::browser::{Browser, form_token_of};
use crate::api::support::register::UKPRN;
use crate::api::support::{Page, Register, Setup, TextChecks as _};

const EMAIL: &str = "ada@example.com";
const PATH: &str = "/settings/sign-in/mail";

fn register() -> Register {
    Register::with_setup(Setup {
        sends_mail: true,
        ..Setup::default()
    })
}

/// Sends the form of the sign-in page.
fn ask(browser: &Browser<'_>, email: &str) -> Page {
    let page = browser.open("/settings/sign-in").is(200);
    let form = [("form_token", form_token_of(&page)), ("email", email)];
    browser.send_form(PATH, &form)
}

/// The mail that the server would send now.
#[track_caller]
fn next_mail(register: &Register) -> Mail {
    let targets = LinkTargets {
        organisations: true,
        operators: true,
    };
    let claimed = register.operate(move |session| session.claim_mail(targets));
    match claimed.unwrap().claim {
        Claim::Send(mail) => mail,
        claim @ (Claim::NotNeeded | Claim::GivenUp) => panic!("{claim:?}"),
    }
}

/// The secret of the only link in the mail that the server would send now.
#[track_caller]
fn next_link(register: &Register) -> String {
    match next_mail(register).content {
        MailContent::SignIn(links) => links[0].secret.reveal().to_owned(),
        MailContent::Invitation(link) => link.secret.reveal().to_owned(),
        MailContent::TokenExpiry(token) => panic!("{token:?}"),
    }
}

#[test]
fn idle_session_of_31_minutes_is_renewed_by_mailed_link() {
    let register = register();
    let browser = Browser::signed_in(&register, Some(UKPRN), EMAIL, UserRole::Viewer);
    register.clock.set("2026-10-05T09:31:00Z");
    let page = browser.open("/settings/tokens").is(303);
    assert_eq!(page.header("location"), Some("/settings/sign-in"));
    let page = ask(&browser, " Ada@Example.com ").is(200);
    page.shows(&["If the address belongs to a user, a link is on its way."]);
    let page = browser.sign_in(&next_link(&register)).is(303);
    assert_eq!(page.header("location"), Some("/settings/tokens"));
    browser.open("/settings/tokens").is(200);
    let log = browser.open("/settings/activity").is(200).text;
    log.shows(&["asked for a link to sign in: user 1"]);
}

#[test]
fn address_that_is_none_is_refused_in_form() {
    let register = register();
    let browser = Browser::new(&register);
    for email in ["", "ada", "ada@example", "ada@example.com, bob@example.com"] {
        let page = ask(&browser, email).is(422);
        page.shows(&["Enter an e-mail address"]);
        form_token_of(&page);
    }
}

#[test]
fn form_for_link_needs_browser_that_was_shown_it() {
    let register = register();
    let page = Browser::new(&register).open("/settings/sign-in").is(200);
    let form = [("form_token", form_token_of(&page)), ("email", EMAIL)];
    Browser::new(&register).send_form(PATH, &form).is(403);
}

#[test]
fn forms_for_links_are_limited_by_address() {
    let register = register();
    let browser = Browser::new(&register);
    let page = browser.open("/settings/sign-in").is(200);
    let form = [("form_token", form_token_of(&page)), ("email", EMAIL)];
    for _ in 0..59 {
        browser.send_form(PATH, &form).is(200);
    }
    let limited = browser.send_form(PATH, &form).is(429);
    assert!(limited.header("retry-after").is_some());
}

#[test]
fn sign_in_page_without_mail_says_whom_to_ask() {
    let register = Register::start();
    let browser = Browser::new(&register);
    let page = browser.open("/settings/sign-in").is(200).text;
    page.shows(&["ask the register's operator for a new link"]);
    page.lacks(&["Send me a link"]);
    // The cookie and the form token are of another form.
    let link = super::browser::link(&register, Some(UKPRN), EMAIL, UserRole::Viewer);
    let shown = browser.open(&format!("/settings/sign-in/{link}")).is(200);
    let form = [("form_token", form_token_of(&shown)), ("email", EMAIL)];
    browser.send_form(PATH, &form).is(404);
}

#[test]
fn admin_invites_user_by_mail_without_seeing_link() {
    let register = register();
    let admin = Browser::signed_in(&register, Some(UKPRN), "boss@example.com", UserRole::Admin);
    admin.see("/settings/people", &["Send it by e-mail"]);
    let form = [("email", EMAIL), ("role", "viewer"), ("send_by", "mail")];
    let page = admin.send("/settings/people", &form).is(200).text;
    page.shows(&["The register sends a sign-in link"]);
    page.lacks(&["/sign-in/"]);
    let mail = next_mail(&register);
    assert_eq!(mail.to, EMAIL);
    let MailContent::Invitation(link) = mail.content else {
        panic!("another kind");
    };
    register.clock.set("2026-10-06T08:00:00Z");
    let browser = Browser::new(&register);
    browser.sign_in(link.secret.reveal()).is(303);
    browser.see("/settings", &[EMAIL, "viewer"]);
    // A user with access gets no second invitation.
    let admin = Browser::signed_in(&register, Some(UKPRN), "boss@example.com", UserRole::Admin);
    let page = admin.send("/settings/people", &form).is(422).text;
    page.shows(&["can ask for a link on the sign-in page"]);
}

#[test]
fn invitation_by_hand_shows_link_with_mail_set_up() {
    let register = register();
    let admin = Browser::signed_in(&register, Some(UKPRN), "boss@example.com", UserRole::Admin);
    let form = [("email", EMAIL), ("role", "viewer"), ("send_by", "hand")];
    let page = admin.send("/settings/people", &form).is(200).text;
    page.shows(&["/settings/sign-in/"]);
    let has_due = register.operate(|session| session.has_due_mail());
    assert!(!has_due);
}
