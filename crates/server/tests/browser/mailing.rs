//! Pages of a server that sends mails: a link is requested by keyboard and without scripts, and
//! the replies to forms are examined.

use super::axe;
use super::driver::{Browser, Scripts};
use super::served::Server;
use super::settings::{WIDTHS, sign_in, submit, wait_for_title};

/// A server whose mail server is not there.
fn start() -> Server {
    let variables = [
        ("REGISTER_SMTP_URL", "smtp://127.0.0.1:1"),
        ("REGISTER_MAIL_FROM", "register@register.example"),
    ];
    Server::start_with(&[], &variables)
}

#[test]
fn link_is_requested_by_keyboard_without_scripts() {
    for width in WIDTHS {
        let Some(browser) = Browser::start(Scripts::Blocked) else {
            return;
        };
        browser.set_width(width);
        let server = start();
        browser.open(&format!("{}/settings/sign-in", server.origin));
        wait_for_title(&browser, "Sign in");
        browser.tab_to("send-link");
        browser.enter();
        wait_for_title(&browser, "Error: Sign in");
        browser.wait_until("document.activeElement.id === 'summary'");
        browser.tab_to("email");
        browser.press("ada@example.com");
        browser.enter();
        wait_for_title(&browser, "Check your e-mail");
    }
}

#[test]
fn pages_about_mails_are_accessible() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    if !axe::is_here() {
        return;
    }
    let server = start();
    let submit = |page: &str, title: &str, fill: &str| submit(&browser, &server, page, title, fill);
    submit("/sign-in", "Error: Sign in", "");
    let fill = "document.getElementById('email').value = 'b@example.com'";
    submit("/sign-in", "Check your e-mail", fill);
    sign_in(&browser, &server);
    let fill = format!("{fill}; document.getElementById('role').value = 'viewer'");
    submit("/people", "Error: Users", "");
    submit("/people", "Invitation", &fill);
}
