//! What an organisation finds out in a browser about what its software sends.

use adapter_kit::{ApiVersion, WireRecord as _};
use domain::{Trainee, TraineeField as F};
use serde_json::{Value, json};
use server::sandbox::demo;
use versions::SERVED;

use super::driver::{Browser, ENTER, Scripts};
use super::served::Server;
use super::settings::{WIDTHS, open_until, sign_in, wait_for_title};

/// The example of a version for another person, with a field as it is said.
fn body(version: &ApiVersion, name: &str, field: F, value: Value) -> Value {
    let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    for (field, value) in [(F::last_name, json!(name)), (field, value)] {
        body["data"][Trainee::inputs(version).name_of(field).unwrap()] = value;
    }
    body
}

#[test]
fn rejected_request_is_found_in_three_steps() {
    for width in WIDTHS {
        let Some(browser) = Browser::start(Scripts::Blocked) else {
            return;
        };
        browser.set_width(width);
        let server = Server::start();
        assert_eq!(
            server.send(
                SERVED[0],
                "/trainees",
                &body(SERVED[0], "Night", F::first_names, Value::Null)
            ),
            422
        );
        sign_in(&browser, &server);
        open_until(
            &browser,
            &server,
            "/requests",
            "document.querySelector('main td') !== null",
        );
        browser.open(&format!("{}/settings", server.origin));
        wait_for_title(&browser, "Overview");

        // First: what was sent.
        browser.tab_to("Imports and refusals");
        browser.enter();
        wait_for_title(&browser, "Imports and refusals");
        // Second: the records that were refused.
        browser.tab_to(&browser.read("document.querySelector('main th a').textContent"));
        browser.enter();
        wait_for_title(&browser, "Refused records of");
        let found = browser.text("main");
        let field = Trainee::inputs(SERVED[0]).name_of(F::first_names).unwrap();
        for words in [
            "1 record: 1 refused",
            "cannot be blank",
            field,
            &SERVED[0].label.to_string(),
        ] {
            assert!(found.contains(words), "{words} is not in {found}");
        }
        assert!(!found.contains("Night"), "{found}");
        // Third: what it means.
        browser.tab_to("cannot be blank");
        browser.press(ENTER);
        browser.wait_until(
            "location.pathname.startsWith('/docs') && document.readyState === 'complete'",
        );
        assert!(browser.text("main").contains("blank"));
    }
}

#[test]
fn readiness_follows_move_to_newest_version() {
    let Some(browser) = Browser::start(Scripts::Blocked) else {
        return;
    };
    let server = Server::start_with(&["--shadow-share", "100"], &[]);
    let (oldest, newest) = (SERVED[0], SERVED[SERVED.len() - 1]);
    let dated = |version, name, date: &str| body(version, name, F::itt_end_date, json!(date));
    sign_in(&browser, &server);
    browser.open(&format!("{}/settings/readiness", server.origin));
    wait_for_title(&browser, "Readiness");
    assert!(
        browser
            .text("main")
            .contains("You do not need to change anything")
    );

    // The oldest version accepts a date that the newest one refuses.
    for name in ["First", "Second"] {
        assert_eq!(
            server.send(oldest, "/trainees", &dated(oldest, name, "2036-07-31")),
            201
        );
    }
    let shows = |words: &str| {
        format!(
            "document.querySelector('main').textContent.includes({})",
            json!(words)
        )
    };
    let share = |percent: u8| {
        format!(
            "{} would accept {percent} % of your recent writes",
            newest.label
        )
    };
    open_until(&browser, &server, "/readiness", &shows(&share(0)));
    let field = Trainee::inputs(newest).name_of(F::itt_end_date).unwrap();
    let shown = browser.text("main");
    assert!(
        shown.contains(&format!("Problems in {}", newest.label)) && shown.contains(field),
        "{shown}"
    );
    browser.tab_to(&format!("Move from {} to {}", oldest.label, newest.label));
    browser.press(ENTER);
    browser
        .wait_until("location.pathname.startsWith('/docs') && document.readyState === 'complete'");
    assert!(browser.text("main").contains(&newest.label.to_string()));

    // It sends dates that both accept, and then moves.
    for name in ["Third", "Fourth"] {
        assert_eq!(
            server.send(oldest, "/trainees", &dated(oldest, name, "2028-07-31")),
            201
        );
    }
    open_until(&browser, &server, "/readiness", &shows(&share(50)));
    assert_eq!(
        server.send(newest, "/trainees", &dated(newest, "Fifth", "2036-07-31")),
        422
    );
    assert_eq!(
        server.send(newest, "/trainees", &dated(newest, "Sixth", "2028-07-31")),
        201
    );
    let moved = format!(
        "You already use newer versions: {} with 2 requests.",
        newest.label
    );
    open_until(&browser, &server, "/readiness", &shows(&moved));
}
