//! The form of the page about a move: filled in by keyboard, with and without scripts.

use serde_json::{Value, json};
use versions::SERVED;

use super::driver::{Browser, DOWN, ENTER, Scripts};
use super::served::Server;

/// A name of the oldest version that the newest spells in another way: the old and the new one.
fn renamed() -> (&'static str, &'static str) {
    let newest = versions::all().newest().unwrap().version;
    let mut inputs = SERVED[0].inputs.trainee.entries.iter();
    inputs
        .find_map(|input| {
            let name = newest
                .inputs
                .trainee
                .name_of(input.field)
                .filter(|name| *name != input.name)?;
            Some((input.name, name))
        })
        .unwrap()
}

/// Fills in the form by keyboard alone and sends it.
fn fill_in(browser: &Browser, server: &Server, body: &str) {
    browser.open(&format!("{}/docs/move", server.origin));
    let been = browser.tab_to("kind");
    assert_eq!(
        been.first().map(String::as_str),
        Some("Skip to the main content")
    );
    browser.press(DOWN);
    browser.press(DOWN);
    browser.tab_to("body");
    // The example is there.
    browser.select_all();
    browser.press(body);
    browser.tab_to("Translate the body");
    browser.press(ENTER);
}

fn a_body_is_rewritten(scripts: Scripts) {
    let Some(browser) = Browser::start(scripts) else {
        return;
    };
    browser.open("data:text/html,<title>blocked</title><script>document.title = 'run'</script>");
    let expected = match scripts {
        Scripts::Run => "run",
        Scripts::Blocked => "blocked",
    };
    assert_eq!(browser.read("document.title"), expected);
    let server = Server::start();
    let (old, new) = renamed();
    fill_in(
        &browser,
        &server,
        &format!("{{\"{old}\": \"100403\", \"email\": \"none\"}}"),
    );
    browser.wait_until(
        "document.getElementById('result') !== null && document.readyState === 'complete'",
    );
    let (from, to) = (SERVED[0].label, SERVED.last().unwrap().label);
    assert_eq!(browser.text("#result"), format!("Your {from} body in {to}"));
    // The third choice is a change of a trainee.
    assert!(
        browser
            .text("main")
            .contains("a request that updates a trainee")
    );
    assert!(browser.text("#problems + ul").contains("e-mail"));
    assert_eq!(
        browser.see("document.querySelectorAll('#renames + table tbody tr').length"),
        json!(1)
    );
    browser.wait_until("document.activeElement.id === 'result'");
    // The steps can be ticked off.
    browser.tab_to("step-1");
    browser.press(" ");
    assert_eq!(
        browser.see("document.getElementById('step-1').checked"),
        json!(true)
    );
    let plain: Value =
        serde_json::from_str(&browser.read("document.getElementById('translated').value")).unwrap();
    assert_eq!(plain, json!({ new: "100403", "email": "none" }));
}

#[test]
fn a_body_is_rewritten_by_keyboard() {
    a_body_is_rewritten(Scripts::Run);
}

#[test]
fn a_body_is_rewritten_without_scripts() {
    a_body_is_rewritten(Scripts::Blocked);
}

#[test]
fn errors_are_listed_with_links_to_fields() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start();
    fill_in(&browser, &server, "{\"sex\": ,}");
    browser.wait_until(
        "document.getElementById('summary') !== null && document.readyState === 'complete'",
    );
    assert!(browser.read("document.title").starts_with("Error: "));
    browser.wait_until("document.activeElement.id === 'summary'");
    browser.tab_to("The body is not valid JSON: expected value at line 1 column 9");
    browser.press(ENTER);
    browser.wait_until("document.activeElement.id === 'body'");
    assert_eq!(browser.read("document.activeElement.value"), "{\"sex\": ,}");
    assert_eq!(
        browser.read("document.activeElement.getAttribute('aria-invalid')"),
        "true"
    );
    let described = "document.activeElement.getAttribute('aria-describedby').split(' ')\
                     .every(id => document.getElementById(id).textContent.trim() !== '')";
    assert_eq!(browser.see(described), json!(true));
}
