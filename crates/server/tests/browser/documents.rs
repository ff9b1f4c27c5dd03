//! The documents of a version on a desk and on a phone, by keyboard alone, and without scripts.

use serde_json::{Value, json};
use versions::SERVED;

use super::driver::{Browser, ENTER, Scripts, TAB};
use super::served::Server;

/// On a desk, and on a phone with large text.
const WIDTHS: [u32; 2] = [1_280, 320];

/// What can have the focus and is shown.
const REACHABLE: &str = "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex=\"0\"]')]
    .filter(element => element.getClientRects().length > 0)";

/// All pages for people, but for the explorer, which is the work of others and needs scripts.
pub(crate) fn pages() -> Vec<String> {
    let (oldest, newest) = (SERVED[0].label, SERVED.last().unwrap().label);
    let documents = [
        "guide",
        "contract",
        "fields",
        "problems",
        "rules",
        "reference-data",
        "funding",
    ];
    let lists = [
        "training_route",
        "course_subject",
        "ethnicity",
        "withdrawal_reasons",
    ];
    let of_version = |label: &dyn std::fmt::Display| {
        let lists = lists
            .iter()
            .map(move |list| format!("reference-data/{list}"));
        let names = documents.iter().map(|&name| name.to_owned()).chain(lists);
        names
            .map(|name| format!("/docs/{label}/{name}"))
            .collect::<Vec<_>>()
    };
    let others = [
        "/docs".to_owned(),
        "/docs/data-managers".to_owned(),
        format!("/docs/move/{oldest}/{newest}"),
        format!("/docs/move/{newest}/{oldest}"),
        format!("/docs/search?version={oldest}&q=cursor"),
        "/docs/search?q=zzzz".to_owned(),
        format!("/docs/versions/{newest}"),
        format!("/docs/versions/migrating-from-{oldest}"),
    ];
    others
        .into_iter()
        .chain(of_version(&oldest))
        .chain(of_version(&newest))
        .collect()
}

fn open(browser: &Browser, server: &Server, page: &str) {
    browser.open(&format!("{}{page}", server.origin));
    browser.wait_until("document.readyState === 'complete'");
}

/// Tables that are wider than what contains them, or than the page.
const CUT_TABLES: &str = "[...document.querySelectorAll('main table')].filter(table =>
    table.scrollWidth > table.clientWidth + 1
    || table.getBoundingClientRect().right > table.parentElement.getBoundingClientRect().right + 1)
    .map(table => table.innerText.slice(0, 99))";

#[test]
fn no_table_is_cut_on_any_medium() {
    let Some(browser) = Browser::start(Scripts::Blocked) else {
        return;
    };
    let server = Server::start();
    // A5 and A4 upright and A3 lengthwise, without the margins.
    let papers = [
        ("screen", 1_280),
        ("print", 483),
        ("print", 718),
        ("print", 1_515),
    ];
    for page in pages() {
        open(&browser, &server, &page);
        for (medium, width) in papers {
            browser.set_medium(medium);
            browser.set_width(width);
            assert_eq!(
                browser.see(CUT_TABLES),
                json!([]),
                "{page}: {medium}, {width}"
            );
        }
        // The list of contents is not printed, and its column is free.
        let widths = browser.see(
            "['.document', 'main'].map(name => document.querySelector(name)?.clientWidth ?? null)",
        );
        if let (Some(document), Some(main)) = (widths[0].as_u64(), widths[1].as_u64()) {
            assert!(document + 40 >= main, "{page} in print: {widths}");
        }
    }
}

#[test]
fn wide_tables_scroll_and_pages_do_not() {
    let Some(browser) = Browser::start(Scripts::Blocked) else {
        return;
    };
    let server = Server::start();
    let mut wide = 0;
    for page in pages() {
        open(&browser, &server, &page);
        // On a phone, the rows of tables are cards.
        for width in [1_280, 700, 375, 320] {
            browser.set_width(width);
            let scroll = browser.see("[document.documentElement.scrollWidth, innerWidth]");
            assert!(
                scroll[0].as_u64() <= scroll[1].as_u64(),
                "{page} scrolls sideways at {width}: {scroll}"
            );
            // What scrolls by itself can be reached, and says what it is.
            let unreachable = "[...document.querySelectorAll('main *')].filter(element =>
                element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(element).overflowX)
                && element.tabIndex !== 0 && !/TEXTAREA|SELECT|INPUT/.test(element.tagName)).map(element => element.outerHTML.slice(0, 99))";
            assert_eq!(browser.see(unreachable), json!([]), "{page} at {width}");
            let scrolls = "[...document.querySelectorAll('.scrolls')].filter(one => one.scrollWidth > one.clientWidth).length";
            wide += browser.see(scrolls).as_u64().unwrap();
        }
        assert!(
            browser
                .read("document.querySelector('main').innerText")
                .len()
                > 100,
            "{page} cannot be read without scripts"
        );
    }
    assert!(wide > 0);
}

#[test]
fn the_keyboard_reaches_everything_in_its_order() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start();
    for page in pages() {
        open(&browser, &server, &page);
        for width in WIDTHS {
            browser.set_width(width);
            browser.run(
                "window.reached = []; document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0);
                 if (!window.heard) { window.heard = true; addEventListener('focusin', event => window.reached.push(event.target)); }",
            );
            let expected = browser
                .see(&format!("{REACHABLE}.length"))
                .as_u64()
                .unwrap();
            let missed = format!(
                "{REACHABLE}.filter(element => !window.reached.includes(element)).map(element => element.outerHTML.slice(0, 99))"
            );
            // Once around the page and a little more: the way begins where the last one ended, and
            // leads by the browser's own buttons.
            for _ in 0..expected / 100 + 3 {
                browser.press(&TAB.repeat(100));
                if browser.see(&missed) == json!([]) {
                    break;
                }
            }
            assert_eq!(browser.see(&missed), json!([]), "{page} at {width}");
        }
    }
}

#[test]
fn reader_finds_code_by_keyboard_without_scripts() {
    let Some(browser) = Browser::start(Scripts::Blocked) else {
        return;
    };
    let server = Server::start();
    let label = SERVED[0].label;
    open(&browser, &server, &format!("/docs/{label}/guide"));
    browser.tab_to("search");
    browser.press("no_such_funding");
    browser.press(ENTER);
    browser.wait_until("document.getElementById('results') !== null");
    assert_eq!(
        browser.see("document.getElementById('version').value"),
        Value::from(label.to_string())
    );
    let found = browser.tab_to("no_such_funding");
    assert!(found.len() < 30, "{found:?}");
    browser.press(ENTER);
    browser.wait_until("location.hash === '#no_such_funding'");
    let in_view = "(place => place.top >= 0 && place.bottom <= innerHeight)(document.querySelector(':target').getBoundingClientRect())";
    browser.wait_until(in_view);
    assert!(browser.text(":target").contains("No such funding exists"));
}

#[test]
fn copy_button_reports_the_copied_command() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start();
    open(&browser, &server, "/docs");
    browser.tab_to("Copy");
    browser.press(ENTER);
    browser.wait_until("document.querySelector('.copied').textContent === 'Copied'");
}
