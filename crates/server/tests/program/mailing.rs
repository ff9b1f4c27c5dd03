//! Mails of a server: sign-in links and invitations over TLS, and mail servers that fail.

use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, TimeDelta, Utc};
use test_support::{MAIL_PASSWORD, MailMode, MailServer, MailTls};

use crate::program::support::running::Running;
use crate::program::support::{Workplace, execute, texts, wait_until};
use crate::program::users::{Answer, ask, browser, form_token, sign_in};

const PROVIDER: &str = "10012345";
const EMAIL: &str = "ada@example.com";
const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--registry", "off"];
const FROM: [&str; 2] = ["--mail-from", "Register <register@register.example>"];
/// The sentence of the page that confirms a request for a link.
const CONFIRMED: &str = "If the address belongs to a user, a link is on its way.";

fn place() -> Workplace {
    let place = Workplace::migrated();
    done(
        &place,
        &["provider", "add", "--ukprn", PROVIDER, "--name", "Ashdown"],
    );
    place
}

/// Runs a command, which must succeed, and returns its output and its messages.
fn done(place: &Workplace, arguments: &[&str]) -> (String, String) {
    let ended = place.run(arguments, None);
    assert_eq!(ended.status(), 0, "{}", ended.stderr());
    (ended.stdout().to_owned(), ended.stderr().to_owned())
}

/// Starts a server that sends mails to a URL.
fn serve(place: &Workplace, url: &str) -> Running {
    let mut server = begin(place, url, None);
    server.wait_until_it_listens();
    server
}

/// Starts a server that sends mails through a mail server, and trusts its certificate.
fn serve_with(place: &Workplace, mails: &MailServer) -> Running {
    let mut server = begin(place, &mails.url(), Some(mails.certificate()));
    server.wait_until_it_listens();
    server
}

fn begin(place: &Workplace, url: &str, certificate: Option<&str>) -> Running {
    let password = place.write("mail-password", format!("{MAIL_PASSWORD}\n"));
    let mut command = place.command(&[&SERVE[..], &FROM].concat(), None);
    command.env("REGISTER_SMTP_URL", url);
    command.env("REGISTER_SMTP_PASSWORD_FILE", password);
    if let Some(certificate) = certificate {
        command.env("SSL_CERT_FILE", place.write("mail.pem", certificate));
    }
    Running::begin_command(command)
}

/// Invites the user by a command, signs in, and returns the session's cookie.
fn signed_in_user(place: &Workplace) -> String {
    let invite = ["user", "invite", "--provider", PROVIDER, "--email", EMAIL];
    let (link, _) = done(place, &invite);
    sign_in(&browser(), link.trim_end())
}

/// Asks for a link on the sign-in page.
fn ask_for_link(server: &Running, email: &str) -> Answer {
    let agent = browser();
    let page = format!("{}/settings/sign-in", server.base);
    let shown = ask(&agent, &page, "", None);
    assert!(shown.text.contains("Send me a link"), "{}", shown.text);
    let form = format!("form_token={}&email={email}", form_token(&shown.text));
    ask(&agent, &format!("{page}/mail"), &shown.cookie, Some(&form))
}

/// The link in a mail.
fn link(mail: &str) -> String {
    let line = mail.lines().find(|line| line.contains("/sign-in/"));
    line.unwrap_or_else(|| panic!("no link: {mail}")).to_owned()
}

/// Stops a server, and returns the lines of its log that were not read yet.
fn stop(mut server: Running) -> String {
    server.signal("TERM");
    let log = server.log_until("stopped");
    assert!(server.wait().success());
    log
}

/// Fails if a log contains personal data or a secret.
fn assert_impersonal(log: &str) {
    for text in [EMAIL, "ada", "/sign-in/", MAIL_PASSWORD] {
        assert!(!log.contains(text), "{text}: {log}");
    }
}

#[test]
fn mailed_links_sign_in_over_both_kinds_of_tls() {
    for tls in [MailTls::Immediate, MailTls::StartTls] {
        let place = place();
        let mails = MailServer::start(tls, MailMode::Accepting);
        let server = serve_with(&place, &mails);
        let invite = [
            "user",
            "invite",
            "--provider",
            PROVIDER,
            "--email",
            EMAIL,
            "--mail",
        ];
        let (printed, said) = done(&place, &invite);
        assert_eq!(printed, "");
        assert!(said.contains("queued for e-mail"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
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

        assert_eq!(ask_for_link(&server, EMAIL).status, 200);
        let mail = mails.wait_for_mails(2).remove(1);
        assert_eq!(mail.to, EMAIL);
        let link = link(&mail.message);
        assert!(link.starts_with(&server.base), "{link}");
        sign_in(&browser(), &link);
        assert_eq!(ask(&browser(), &link, "", None).status, 410);
        assert_impersonal(&stop(server));
    }
}

#[test]
fn idle_session_is_renewed_by_mail() {
    let place = place();
    let mails = MailServer::start(MailTls::Immediate, MailMode::Accepting);
    let server = serve_with(&place, &mails);
    let cookie = signed_in_user(&place);
    let overview = format!("{}/settings", server.base);
    assert_eq!(ask(&browser(), &overview, &cookie, None).status, 200);
    let seen_at = DateTime::<Utc>::from(SystemTime::now()) - TimeDelta::minutes(31);
    let seen_at = seen_at.format("%Y-%m-%d %H:%M:%S");
    execute(
        &place.url(),
        &format!("UPDATE sign_in_sessions SET last_seen_at = '{seen_at}'"),
    );
    assert_eq!(ask(&browser(), &overview, &cookie, None).status, 303);
    ask_for_link(&server, EMAIL);
    let mail = mails.wait_for_mails(1).remove(0);
    let cookie = sign_in(&browser(), &link(&mail.message));
    let overview = ask(&browser(), &overview, &cookie, None);
    assert_eq!(overview.status, 200);
    let activity = ask(
        &browser(),
        &format!("{}/settings/activity", server.base),
        &cookie,
        None,
    );
    assert!(
        activity.text.contains("asked for a link to sign in"),
        "{}",
        activity.text
    );
    stop(server);
}

#[test]
fn unknown_address_gets_same_page_and_no_mail() {
    let place = place();
    let mails = MailServer::start(MailTls::Immediate, MailMode::Accepting);
    let server = serve_with(&place, &mails);
    signed_in_user(&place);
    let unknown = ask_for_link(&server, "unknown@example.com");
    let known = ask_for_link(&server, EMAIL);
    assert_eq!((unknown.status, known.status), (200, 200));
    assert!(known.text.contains(CONFIRMED), "{}", known.text);
    assert_eq!(unknown.text, known.text);
    assert_eq!(ask_for_link(&server, "unknown").status, 422);
    // The row of the unknown address was processed first.
    assert_eq!(mails.wait_for_mails(1)[0].to, EMAIL);
    let open = "SELECT kind AS text FROM mails WHERE finished_at IS NULL";
    wait_until("no mail is queued", || texts(&place.url(), open).is_empty());
    assert_eq!(mails.mails().len(), 1);
    stop(server);
}

#[test]
fn refused_login_is_retried_until_accepted() {
    let place = place();
    let mails = MailServer::start(MailTls::StartTls, MailMode::RefusingLogin);
    let mut server = serve_with(&place, &mails);
    signed_in_user(&place);
    assert_eq!(ask_for_link(&server, EMAIL).status, 200);
    let log = server.log_until("not sent in attempt 1; next attempt in 10 s");
    assert!(log.contains("the mail server answered 535"), "{log}");
    mails.set_mode(MailMode::Accepting);
    sign_in(&browser(), &link(&mails.wait_for_mails(1)[0].message));
    assert_impersonal(&(log + &stop(server)));
}

#[test]
fn mail_queued_before_kill_is_sent_after_restart() {
    let place = place();
    // No mail server is at this port.
    let mut server = serve(&place, "smtps://register@localhost:1");
    signed_in_user(&place);
    assert_eq!(ask_for_link(&server, EMAIL).status, 200);
    let log = server.log_until("not sent in attempt 1");
    assert!(log.contains("refused"), "{log}");
    assert_impersonal(&log);
    assert_eq!(ask_for_link(&server, "other@example.com").status, 200);
    server.signal("KILL");
    server.wait();

    let mails = MailServer::start(MailTls::Immediate, MailMode::Accepting);
    let server = serve_with(&place, &mails);
    let mail = mails.wait_for_mails(1).remove(0);
    let link = link(&mail.message);
    assert!(link.starts_with(&server.base), "{link}");
    sign_in(&browser(), &link);
    stop(server);
}

#[test]
fn pages_do_not_wait_for_silent_mail_server() {
    let place = place();
    let mails = MailServer::start(MailTls::Immediate, MailMode::Silent);
    let server = serve_with(&place, &mails);
    signed_in_user(&place);
    assert_eq!(ask_for_link(&server, EMAIL).status, 200);
    wait_until("the server sends a mail", || mails.connections() == 1);
    let begun = Instant::now();
    assert_eq!(ask_for_link(&server, EMAIL).status, 200);
    signed_in_user(&place);
    let passed = begun.elapsed();
    assert!(passed < Duration::from_secs(8), "{passed:?}");
    assert_eq!((mails.connections(), mails.mails().len()), (1, 0));
    stop(server);
}

#[test]
fn mail_server_without_trusted_certificate_gets_no_mail() {
    for tls in [MailTls::Immediate, MailTls::StartTls] {
        let place = place();
        let mails = MailServer::start(tls, MailMode::Accepting);
        let other = MailServer::start(tls, MailMode::Accepting);
        let mut server = begin(&place, &mails.url(), Some(other.certificate()));
        server.wait_until_it_listens();
        signed_in_user(&place);
        ask_for_link(&server, EMAIL);
        let log = server.log_until("not sent in attempt 1");
        assert!(log.contains("certificate"), "{log}");
        assert_impersonal(&log);
        assert_eq!(mails.mails().len(), 0);
        stop(server);
    }
}

#[test]
fn mail_options_that_cannot_work_are_refused() {
    let place = Workplace::new();
    let empty = place.write("empty", " \n").display().to_string();
    for (url, options, expected) in [
        (
            "smtp://mail.example:587",
            &[][..],
            "--smtp-url (REGISTER_SMTP_URL) must use TLS",
        ),
        ("https://mail.example", &[], "must be like smtps://"),
        ("smtps://:zqxsecret@mail.example", &[], "no user name"),
        (
            "smtps://me@mail.example",
            &["--smtp-password-file", &empty],
            "the file is empty",
        ),
        (
            "smtps://mail.example",
            &["--settings", "off"],
            "which are off",
        ),
        (
            "smtps://mail.example",
            &["--settings", "on", "--environment", "production"],
            "(REGISTER_SMTP_URL) needs --settings-url (REGISTER_SERVE_SETTINGS_URL) in production",
        ),
    ] {
        let options = [&SERVE[..3], &FROM, &["--smtp-url", url], options].concat();
        let ended = place.run(&options, None);
        let said = ended.stderr();
        assert_eq!(ended.status(), 1, "{options:?}: {said}");
        assert!(
            said.contains(expected) && !said.contains("zqx"),
            "{options:?}: {said}"
        );
    }
    let ended = place.run(
        &[&SERVE[..], &["--smtp-url", "smtp://localhost"]].concat(),
        None,
    );
    assert_eq!(ended.status(), 2, "{}", ended.stderr());
    assert!(
        ended
            .stderr()
            .contains("--mail-from <ADDRESS> (REGISTER_MAIL_FROM)"),
        "{}",
        ended.stderr()
    );
}
