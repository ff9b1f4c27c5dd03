//! Mails of a server: sign-in links and invitations over TLS, and mail servers that fail.

use std::time::{Duration, Instant};

use test_support::{MAIL_PASSWORD, MailMode, MailServer, MailTls};

use super::support::running::Running;
use super::support::{Workplace, wait_until};
use super::users::{Answer, ask, browser, form_token, sign_in};

const INVITE: &str = "user invite --provider 10012345 --email ada@example.com";
const EMAIL: &str = "ada@example.com";
const FROM: &str = "--mail-from 'Register <register@register.example>'";
/// The sentence of the page that confirms a request for a link.
const CONFIRMED: &str = "If the address belongs to a user, a link is on its way.";

fn place() -> Workplace {
    let place = Workplace::migrated();
    place.done("provider add --ukprn 10012345 --name Ashdown");
    place
}

/// Starts a server that sends mails to a URL, and trusts a certificate.
fn serve(place: &Workplace, url: &str, certificate: Option<&str>) -> Running {
    let password = place.write("mail-password", format!("{MAIL_PASSWORD}\n"));
    let mut command = Running::command(place, &format!("--registry off {FROM}"));
    command.env("REGISTER_SMTP_URL", url);
    command.env("REGISTER_SMTP_PASSWORD_FILE", password);
    if let Some(certificate) = certificate {
        command.env("SSL_CERT_FILE", place.write("mail.pem", certificate));
    }
    let mut server = Running::begin_command(command);
    server.wait_until_it_listens();
    server
}

/// Starts a server that sends mails through a mail server, and trusts its certificate.
fn serve_with(place: &Workplace, mails: &MailServer) -> Running {
    serve(place, &mails.url(), Some(mails.certificate()))
}

/// Invites the user by a command, and signs in.
fn add_user(place: &Workplace) {
    sign_in(&browser(), &place.done(INVITE));
}

/// Asks for a link on the sign-in page.
fn ask_for_link(server: &Running, email: &str) -> Answer {
    let agent = browser();
    let page = format!("{}/settings/sign-in", server.base);
    let shown = ask(&agent, &page, "", None);
    assert!(shown.text.contains("Send me a link"), "{}", shown.text);
    let form = format!("form_token={}&email={email}", form_token(&shown.text));
    let answer = ask(&agent, &format!("{page}/mail"), &shown.cookie, Some(&form));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

/// The link in a mail.
fn link(mail: &str) -> String {
    let line = mail.lines().find(|line| line.contains("/sign-in/"));
    line.unwrap_or_else(|| panic!("no link: {mail}")).to_owned()
}

/// Fails if a log contains personal data or a secret.
fn assert_impersonal(log: &str) {
    for text in [EMAIL, "ada", "/sign-in/", MAIL_PASSWORD] {
        assert!(!log.contains(text), "{text}: {log}");
    }
}

#[test]
fn mailed_links_sign_in_over_tls() {
    for tls in [MailTls::Immediate, MailTls::StartTls] {
        let place = place();
        let mails = MailServer::start(tls, MailMode::Accepting);
        let server = serve_with(&place, &mails);
        let invited = place.run(format!("{INVITE} --mail"));
        invited.ends(0, &["queued for e-mail"]);
        assert_eq!(
            (invited.stdout(), invited.stderr().lines().count()),
            ("", 1)
        );
        let invitation = mails.wait_for_mails(1).remove(0);
        assert_eq!(invitation.to, EMAIL);
        for text in [
            "Subject: Trainee Register (sandbox): Your invitation",
            "From: ",
            "Auto-Submitted: auto-generated",
            "@register.example>",
            "Ashdown",
        ] {
            assert!(invitation.message.contains(text), "{}", invitation.message);
        }
        sign_in(&browser(), &link(&invitation.message));

        // An unknown address gets the same page, and no mail.
        let unknown = ask_for_link(&server, "unknown@example.com");
        let known = ask_for_link(&server, EMAIL);
        assert!(known.text.contains(CONFIRMED), "{}", known.text);
        assert_eq!(unknown.text, known.text);
        let mail = mails.wait_for_mails(2).remove(1);
        assert_eq!(mail.to, EMAIL);
        let link = link(&mail.message);
        assert!(link.starts_with(&server.base), "{link}");
        sign_in(&browser(), &link);
        assert_eq!(ask(&browser(), &link, "", None).status, 410);
        let open = "SELECT kind AS text FROM mails WHERE finished_at IS NULL";
        wait_until("no mail is queued", || place.texts(open).is_empty());
        assert_eq!(mails.mails().len(), 2);
        assert_impersonal(&server.stop());
    }
}

#[test]
fn refused_login_is_retried_until_accepted() {
    let place = place();
    let mails = MailServer::start(MailTls::StartTls, MailMode::RefusingLogin);
    let mut server = serve_with(&place, &mails);
    add_user(&place);
    ask_for_link(&server, EMAIL);
    let log = server.log_until("not sent in attempt 1; next attempt in 10 s");
    assert!(log.contains("the mail server answered 535"), "{log}");
    mails.set_mode(MailMode::Accepting);
    sign_in(&browser(), &link(&mails.wait_for_mails(1)[0].message));
    assert_impersonal(&(log + &server.stop()));
}

#[test]
fn queued_mail_is_sent_after_restart() {
    let place = place();
    // No mail server is at this port.
    let mut server = serve(&place, "smtps://register@localhost:1", None);
    add_user(&place);
    ask_for_link(&server, EMAIL);
    let log = server.log_until("not sent in attempt 1");
    assert!(log.contains("refused"), "{log}");
    assert_impersonal(&log);
    ask_for_link(&server, "other@example.com");
    server.signal("KILL");
    server.wait();

    let mails = MailServer::start(MailTls::Immediate, MailMode::Accepting);
    let server = serve_with(&place, &mails);
    let link = link(&mails.wait_for_mails(1).remove(0).message);
    assert!(link.starts_with(&server.base), "{link}");
    sign_in(&browser(), &link);
    server.stop();
}

#[test]
fn silent_mail_server_delays_no_page() {
    let place = place();
    let mails = MailServer::start(MailTls::Immediate, MailMode::Silent);
    let server = serve_with(&place, &mails);
    add_user(&place);
    ask_for_link(&server, EMAIL);
    wait_until("the server sends a mail", || mails.connections() == 1);
    let begun = Instant::now();
    ask_for_link(&server, EMAIL);
    add_user(&place);
    let passed = begun.elapsed();
    assert!(passed < Duration::from_secs(8), "{passed:?}");
    assert_eq!((mails.connections(), mails.mails().len()), (1, 0));
    server.stop();
}

#[test]
fn untrusted_mail_server_gets_no_mail() {
    for tls in [MailTls::Immediate, MailTls::StartTls] {
        let place = place();
        let [mails, other] = [(); 2].map(|()| MailServer::start(tls, MailMode::Accepting));
        let mut server = serve(&place, &mails.url(), Some(other.certificate()));
        add_user(&place);
        ask_for_link(&server, EMAIL);
        let log = server.log_until("not sent in attempt 1");
        assert!(log.contains("certificate"), "{log}");
        assert_impersonal(&log);
        assert_eq!(mails.mails().len(), 0);
        server.stop();
    }
}
