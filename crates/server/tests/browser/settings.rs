//! The settings: the life of a token by keyboard, without scripts, on a desk and on a phone, and the
//! replies to forms. [`super::pictures`] has every page.

use std::time::Duration;

use serde_json::json;

use super::axe;
use super::driver::{Browser, ENTER, Scripts};
use super::resources::require_loaded;
use super::served::Server;

/// On a desk, and on a phone with large text.
pub(crate) const WIDTHS: [u32; 2] = [1_280, 320];

pub(crate) fn wait_for_title(browser: &Browser, title: &str) {
    browser.wait_until(&format!(
        "document.title.startsWith({}) && document.readyState === 'complete'",
        json!(title)
    ));
}

/// Opens the link of the demo and presses its button.
pub(crate) fn sign_in(browser: &Browser, server: &Server) {
    browser.open(&server.link);
    wait_for_title(browser, "Sign in");
    browser.tab_to("sign-in");
    browser.enter();
    wait_for_title(browser, "Overview");
}

/// Opens a page of the settings again and again until an expression holds in it: servers write some
/// seconds after a reply.
pub(crate) fn open_until(browser: &Browser, server: &Server, page: &str, expression: &str) {
    let address = format!("{}/settings{page}", server.origin);
    let is_there = || {
        browser.open(&address);
        browser.wait_until("document.readyState === 'complete'");
        browser.see(expression) == json!(true)
    };
    let mut tries = std::iter::repeat_with(is_there)
        .take(120)
        .inspect(|_| std::thread::sleep(Duration::from_millis(250)));
    assert!(
        tries.any(|is_there| is_there),
        "{expression} does not come on {page}"
    );
}

/// Examines the open page on a desk and on a phone.
pub(crate) fn examine(browser: &Browser, page: &str) {
    require_loaded(browser, page);
    for width in WIDTHS {
        browser.set_width(width);
        assert_eq!(
            axe::violations(browser),
            axe::nothing(),
            "{page} at {width}"
        );
        let scroll = browser.see("[document.documentElement.scrollWidth, innerWidth]");
        assert!(
            scroll[0].as_u64() <= scroll[1].as_u64(),
            "{page} scrolls sideways at {width}: {scroll}"
        );
    }
}

/// The script that chooses a file with a column without a name.
pub(crate) const CHOOSE_FILE: &str = "const chosen = new DataTransfer();
    chosen.items.add(new File(['first_names,last_name,Shoe size\\nAyo,Example,41\\n'], 't.csv'));
    document.getElementById('file').files = chosen.files";

/// Uploads a file, leaves its unknown column out, and checks its rows. Examines each page.
pub(crate) fn upload_and_check(browser: &Browser, server: &Server) {
    submit(
        browser,
        server,
        "/upload",
        "Columns of upload 1",
        CHOOSE_FILE,
    );
    browser.run(
        "document.querySelector('main table input').value = 'ignored'; \
         document.querySelector('form[action$=\"/columns\"]').requestSubmit()",
    );
    browser.wait_until("document.getElementById('rows') !== null");
    examine(browser, "the result of a check");
}

/// Runs a script on a page of the settings, sends its last form, waits for a title and examines
/// what came.
pub(crate) fn submit(browser: &Browser, server: &Server, page: &str, title: &str, fill: &str) {
    browser.open(&format!("{}/settings{page}", server.origin));
    browser.run(&format!(
        "{fill}; [...document.querySelectorAll('main form')].at(-1).requestSubmit()"
    ));
    wait_for_title(browser, title);
    examine(browser, title);
}

#[test]
fn token_lives_by_keyboard_without_scripts() {
    for width in WIDTHS {
        let Some(browser) = Browser::start(Scripts::Blocked) else {
            return;
        };
        browser.set_width(width);
        let server = Server::start();
        sign_in(&browser, &server);
        browser.tab_to("Tokens");
        browser.enter();
        wait_for_title(&browser, "Tokens");

        // A form with a fault says so, and has the focus there.
        browser.tab_to("Create token");
        browser.enter();
        wait_for_title(&browser, "Error: Tokens");
        browser.wait_until("document.activeElement.id === 'summary'");
        browser.tab();
        browser.press(ENTER);
        browser.wait_until("location.hash === '#name'");
        browser.tab_to("name");
        browser.press("Student records");
        browser.enter();
        wait_for_title(&browser, "New token");
        // It is selected as a whole by a key, to be copied.
        browser.wait_until("document.activeElement.id === 'token'");
        browser.select_all();
        let selected = "(field => field.value.slice(field.selectionStart, field.selectionEnd))(document.activeElement)";
        let token = browser.read(selected);
        assert!(
            token.starts_with("sandbox_") && token.len() == 72,
            "{token}"
        );
        assert_eq!(server.info(&token), 200);

        browser.tab_to("I have copied the token: go to tokens");
        browser.enter();
        wait_for_title(&browser, "Tokens");
        browser.tab_to("Replace token 2");
        browser.enter();
        wait_for_title(&browser, "Replace token 2");
        browser.tab_to("Replace token");
        browser.enter();
        wait_for_title(&browser, "New token");
        let second = browser.read("document.getElementById('token').value");
        assert_eq!((server.info(&token), server.info(&second)), (200, 200));

        browser.tab_to("I have copied the token: go to tokens");
        browser.enter();
        wait_for_title(&browser, "Tokens");
        browser.tab_to("Revoke token 2");
        browser.enter();
        wait_for_title(&browser, "Revoke token 2");
        browser.tab_to("Revoke token");
        browser.enter();
        wait_for_title(&browser, "Tokens");
        assert_eq!((server.info(&token), server.info(&second)), (401, 200));
        assert!(browser.text("#token-2").contains("revoked"));

        browser.tab_to("Sign out");
        browser.enter();
        wait_for_title(&browser, "Signed out");
        browser.open(&format!("{}/settings/tokens", server.origin));
        wait_for_title(&browser, "Sign in");
    }
}

#[test]
fn axe_finds_nothing_on_settings_forms() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    if !axe::is_here() {
        return;
    }
    let server = Server::start();
    browser.open(&server.link);
    wait_for_title(&browser, "Sign in");
    examine(&browser, "a link");
    sign_in(&browser, &server);
    let submit = |page: &str, title: &str, fill: &str| submit(&browser, &server, page, title, fill);
    submit("/tokens", "Error: Tokens", "");
    submit(
        "/tokens",
        "New token",
        "document.getElementById('name').value = 'Records'",
    );
    let token = browser.read("document.getElementById('token').value");
    assert_eq!(server.info(&token), 200);
    submit(
        "/tokens/1/rotate",
        "Error: Replace",
        "document.getElementById('overlap').value = 'x'",
    );
    submit("/people", "Error: Users", "");
    let fill = "document.getElementById('email').value = 'b@example.com'; document.getElementById('role').value = 'viewer'";
    submit("/people", "Sign-in link", fill);
    submit("/people/1", "Error: demo@example.com", "");
    submit("/upload", "Error: Upload trainees", "");
    upload_and_check(&browser, &server);
    for page in ["/requests/search?outcome=refused&status=x", "/nothing"] {
        browser.open(&format!("{}/settings{page}", server.origin));
        browser.wait_until("document.readyState === 'complete'");
        examine(&browser, page);
    }
}
