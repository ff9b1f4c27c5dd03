//! What holds of every page: nothing from elsewhere, and room to touch. axe-core looks at contrast
//! and labels.

use serde_json::{Value, json};
use versions::SERVED;

use super::axe;
use super::driver::{Browser, ENTER, Scripts};
use super::served::Server;
use super::settings::{WIDTHS, examine};

/// Controls, and links that stand by themselves, that are lower than 44 pixels.
const TOO_LOW: &str =
    "[...document.querySelectorAll('button, .button, select, textarea, summary, nav a, .links a, .summary a, .outcome a')]
    .filter(control => control.getClientRects().length > 0 && control.getBoundingClientRect().height < 43.5)
    .map(control => control.outerHTML)";

/// Loaded from anywhere but here.
const FROM_ELSEWHERE: &str = "performance.getEntriesByType('resource').map(entry => entry.name)
    .filter(name => new URL(name).origin !== location.origin)";

fn check(browser: &Browser, page: &str) {
    examine(browser, page);
    for width in WIDTHS {
        browser.set_width(width);
        assert_eq!(browser.see(TOO_LOW), json!([]), "{page} at {width}");
    }
    assert_eq!(browser.see(FROM_ELSEWHERE), json!([]), "{page}");
    assert_eq!(
        browser.see("document.querySelectorAll('h1').length"),
        json!(1),
        "{page}"
    );
    assert_eq!(
        browser.read("document.documentElement.lang"),
        "en-GB",
        "{page}"
    );
    let ids = browser.see("[...document.querySelectorAll('[id]')].map(element => element.id)");
    let mut ids: Vec<&str> = ids
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id stands twice on {page}");
}

/// Sends the form with this body.
fn send(browser: &Browser, body: &str) {
    browser.see(&format!(
        "void (document.getElementById('body').value = {})",
        json!(body)
    ));
    browser.tab_to("Translate the body");
    browser.press(ENTER);
}

#[test]
fn every_page_is_readable_on_any_screen() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    if !axe::is_here() {
        return;
    }
    // A field without a label is found.
    browser.open("data:text/html,<input>");
    assert_ne!(axe::violations(&browser), axe::nothing());
    let server = Server::start();
    browser.open(&format!("{}/docs", server.origin));
    check(&browser, "the list");
    let (from, to) = (SERVED[0].label, SERVED.last().unwrap().label);
    let form = format!("{}/docs/move/{from}/{to}", server.origin);
    browser.open(&form);
    check(&browser, "the form");
    let long = "x".repeat(300);
    let example = server::sandbox::demo::example(SERVED[0]).replacen(
        '{',
        &format!("{{\"{long}\": \"{long}\", "),
        1,
    );
    send(&browser, &example);
    browser.wait_until("document.getElementById('result') !== null");
    check(&browser, "the result");
    send(&browser, "{");
    browser.wait_until("document.getElementById('summary') !== null");
    check(&browser, "the form with a fault");
}

#[test]
fn keyboard_skips_to_content_and_shows_focus() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start();
    browser.open(&format!("{}/docs", server.origin));
    browser.tab();
    assert_eq!(browser.focus(), "Skip to the main content");
    assert_eq!(
        browser.see("document.activeElement.getBoundingClientRect().left >= 0"),
        json!(true)
    );
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.read(outline), "solid");
    browser.press(ENTER);
    browser.tab();
    assert_eq!(
        browser.see("document.getElementById('main').contains(document.activeElement)"),
        json!(true)
    );
    assert_eq!(browser.read(outline), "solid");
    browser.tab_to("Move to another version");
    assert_eq!(browser.read(outline), "solid");
}
