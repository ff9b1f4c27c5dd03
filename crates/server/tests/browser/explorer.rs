//! The explorer of a version: from a token to the first requests.

use serde_json::json;
use versions::SERVED;

use super::driver::{Browser, ENTER, Scripts};
use super::served::Server;

/// Notes each part of the page that the content security policy blocks.
const WATCH_POLICY: &str = "window.blocked = [];
    document.addEventListener('securitypolicyviolation', event => blocked.push(event.violatedDirective))";

/// Opens an operation of the explorer, and sends its request as it is filled in.
fn execute(browser: &Browser, operation: &str) {
    browser.wait_until(&format!(
        "document.querySelector({}) !== null",
        json!(operation)
    ));
    browser.run(&format!(
        "document.querySelector({}).click()",
        json!(format!("{operation} .opblock-summary-control"))
    ));
    let button = format!(
        "document.querySelector({})",
        json!(format!("{operation} .execute"))
    );
    browser.wait_until(&format!("{button} !== null"));
    browser.run(&format!("{button}.click()"));
    let status = format!("{operation} .live-responses-table .response-col_status");
    browser.wait_until(&format!(
        "[...document.querySelectorAll({})].some(one => /^[0-9]/.test(one.textContent))",
        json!(status)
    ));
}

#[test]
fn explorer_sends_example_with_pasted_token() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start();
    let label = SERVED[SERVED.len() - 1].label;
    let page = format!("{}/docs/{label}/", server.origin);
    browser.open(&page);
    browser.wait_until("document.querySelector('.opblock') !== null");
    browser.run(WATCH_POLICY);
    let titles = "[...document.querySelectorAll('h1, .swagger-ui .title, .topbar')].length";
    assert_eq!(browser.see(titles), json!(1));

    // The token is tried when it is pasted.
    browser.tab_to("token");
    browser.press(&server.token);
    browser.press(ENTER);
    browser
        .wait_until("document.getElementById('token-outcome').textContent.includes('status 200')");
    assert!(!browser.read("location.href").contains("sandbox_"));

    // The example of a registration is filled in.
    execute(&browser, "#operations-trainees-create_trainee");
    let reply = browser.text("#operations-trainees-create_trainee .live-responses-table");
    assert!(
        reply.starts_with("Code") && reply.contains("201"),
        "{reply}"
    );
    assert_eq!(browser.see("window.blocked"), json!([]));

    // The tab keeps the token; another tab does not get it.
    browser.open(&page);
    browser.wait_until("document.getElementById('token').value !== ''");
    let kept = browser.see("[sessionStorage.length, localStorage.length, document.cookie]");
    assert_eq!(kept, json!([1, 0, ""]));

    browser.tab_to("Versions");
    browser.enter();
    assert_eq!(browser.read("location.pathname"), "/docs");
}
