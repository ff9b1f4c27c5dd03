//! The pages of operators: their work by keyboard, without scripts, on a desk and on a phone, and the
//! replies to forms. [`super::pictures`] has every page.

use serde_json::{Value, json};
use server::sandbox::demo;
use versions::SERVED;

use super::axe;
use super::driver::{Browser, Scripts};
use super::served::Server;
use super::settings::{WIDTHS, examine, open_until, submit, wait_for_title};

pub(crate) fn sign_in(browser: &Browser, server: &Server) {
    browser.open(&server.operator_link());
    wait_for_title(browser, "Sign in");
    browser.tab_to("sign-in");
    browser.enter();
    wait_for_title(browser, "Organisations");
}

#[test]
fn operators_work_by_keyboard_without_scripts() {
    for width in WIDTHS {
        let Some(browser) = Browser::start(Scripts::Blocked) else {
            return;
        };
        browser.set_width(width);
        let server = Server::start_for_operators();
        sign_in(&browser, &server);
        let go = |words: &str, title: &str| {
            browser.tab_to(words);
            browser.enter();
            wait_for_title(&browser, title);
        };
        let fill = |id: &str, text: &str| {
            browser.tab_to(id);
            browser.press(text);
        };

        // An organisation is added, closed and reopened.
        go("Add an organisation", "Add an organisation");
        go("Add organisation", "Error: Add an organisation");
        browser.wait_until("document.activeElement.id === 'summary'");
        fill("ukprn", "10012345");
        fill("name", "Ashdown University");
        go("Add organisation", "Ashdown University");
        go("Close Ashdown University", "Close Ashdown University");
        go("Close organisation", "Ashdown University");
        go("Reopen organisation", "Ashdown University");

        // It gets a token.
        go("Tokens", "Tokens");
        fill("name", "Records");
        go("Create token", "New token");
        let token = browser.read("document.getElementById('token').value");
        assert_eq!(server.info(&token), 200);

        // The first of the queue gets a number, and is in it no more.
        go("Registry", "Registry");
        let first = browser.read("document.querySelector('tbody th').textContent");
        go(&format!("Issue a TRN to {first}"), "Action for one trainee");
        go("Perform action", "Action for one trainee");
        assert!(browser.text("#outcome").contains(&first));
        go("Go to the queue", "Registry");
        assert!(!browser.text("main").contains(&first));

        // What happened stands in the history and in the activity log.
        go("History", "History");
        fill("trainee_id", &first);
        browser.enter();
        wait_for_title(&browser, "History of");
        assert!(browser.text("main").contains("registry issue-trn"));
        go("Versions", "Versions");
        assert!(browser.text("main").contains("no, newest version"));
        go("Activity", "Activity");
        let log = browser.text("main");
        for words in [
            "viewed the history",
            "performed a registry action",
            "reopened an organisation",
            "created a token",
        ] {
            assert!(log.contains(words), "{words} in {log}");
        }
    }
}

#[test]
fn axe_finds_nothing_on_operator_forms() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    if !axe::is_here() {
        return;
    }
    let server = Server::start_for_operators();
    sign_in(&browser, &server);
    let submit = |page: &str, title: &str, fields: &[(&str, &str)]| {
        let fill = |(id, value): &(&str, &str)| {
            format!(
                "document.getElementById({}).value = {};",
                json!(id),
                json!(value)
            )
        };
        submit(
            &browser,
            &server,
            page,
            title,
            &fields.iter().map(fill).collect::<String>(),
        );
    };
    let home = "/organisations/10012345";
    submit("/organisations/add", "Error: Add", &[]);
    submit(
        "/organisations/add",
        "Ashdown",
        &[("ukprn", "10012345"), ("name", "Ashdown University")],
    );
    submit(home, "Error: Ashdown", &[("name", "")]);
    submit(
        &format!("{home}/tokens"),
        "New token",
        &[("name", "Records")],
    );
    submit(
        &format!("{home}/people"),
        "Sign-in link",
        &[("email", "b@example.com"), ("role", "admin")],
    );
    browser.open(&format!("{}/settings/registry", server.origin));
    let first = browser.read("document.querySelector('tbody th').textContent");
    submit(
        "/registry/trainee",
        "Error: Action for one trainee",
        &[("trainee_id", &first), ("action", "award")],
    );
    submit(
        "/registry/trainee",
        "Action for one trainee",
        &[("trainee_id", &first), ("action", "issue-trn")],
    );
    submit("/registry/file", "Error: Action for many trainees", &[]);
    let rows = "trainee_id\nnobody\n";
    submit(
        "/registry/file",
        "Confirm discarding",
        &[("action", "discard"), ("rows", rows)],
    );
    browser.tab_to("Confirm discarding");
    browser.enter();
    wait_for_title(&browser, "Report");
    examine(&browser, "Report");
    submit("/history", "Error: History", &[]);
    submit("/history", "History of", &[("trainee_id", &first)]);
    // An organisation still uses the oldest version.
    let example: Value = serde_json::from_str(&demo::example(SERVED[0])).unwrap();
    assert_eq!(server.send(SERVED[0], "/trainees", &example), 201);
    let tried = "document.querySelector('main').textContent.includes('100 % of 1 (too few')";
    open_until(&browser, &server, "/versions", tried);
    let table = browser.text("main");
    let heading = format!("Organisations still using {}", SERVED[0].label);
    for words in [
        heading.as_str(),
        "Demo Provider (10099999)",
        "no, in use",
        "no, newest version",
    ] {
        assert!(table.contains(words), "{words} in {table}");
    }
    for page in [
        "/versions",
        "/registry?for=award",
        "/registry?organisation=x",
        "/imports",
        "/imports/1",
        "/activity?organisation=10012345",
    ] {
        browser.open(&format!("{}/settings{page}", server.origin));
        browser.wait_until("document.readyState === 'complete'");
        examine(&browser, page);
    }
    submit("/organisations/10012345/close", "Ashdown", &[]);
}
