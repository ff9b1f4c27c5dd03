//! What holds of every page: nothing from elsewhere, no sideways scrolling, enough contrast,
//! labels, and room to touch.

use serde_json::{Value, json};
use versions::SERVED;

use super::driver::{Browser, ENTER, Scripts};
use super::resources::require_loaded;
use super::served::Server;

/// The least contrast of text (WCAG 2.2, 1.4.3).
const LEAST_CONTRAST: f64 = 4.5;

/// The contrast of each visible text with what is behind it, the least first.
const CONTRASTS: &str = r"(() => {
    const parse = colour => {
        const parts = colour.match(/[\d.]+/g).map(Number);
        return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
    };
    const light = rgb => {
        const linear = rgb.map(part => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const { rgb, alpha } = parse(getComputedStyle(at).backgroundColor);
            if (alpha === 1) return rgb;
        }
        return [255, 255, 255];
    };
    const texts = [...document.body.querySelectorAll('*')].filter(element =>
        element.getClientRects().length > 0
        && [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim() !== ''));
    return texts.map(element => {
        const [high, low] = [light(parse(getComputedStyle(element).color).rgb), light(behind(element))]
            .sort((one, other) => other - one);
        return { text: element.textContent.trim().slice(0, 40), contrast: (high + 0.05) / (low + 0.05) };
    }).sort((one, other) => one.contrast - other.contrast);
})()";

/// Fields without a label.
const UNLABELLED: &str = "[...document.querySelectorAll('input, select, textarea')]
    .filter(field => field.labels.length === 0 || field.labels[0].textContent.trim() === '').map(field => field.outerHTML)";

/// Controls, and links that stand by themselves, that are lower than 44 pixels.
const TOO_LOW: &str =
    "[...document.querySelectorAll('button, .button, select, textarea, summary, nav a, .links a, .summary a, .outcome a')]
    .filter(control => control.getClientRects().length > 0 && control.getBoundingClientRect().height < 43.5)
    .map(control => control.outerHTML)";

/// Loaded from anywhere but here.
const FROM_ELSEWHERE: &str = "performance.getEntriesByType('resource').map(entry => entry.name)
    .filter(name => new URL(name).origin !== location.origin)";

fn check(browser: &Browser, page: &str) {
    browser.wait_until("document.readyState === 'complete'");
    for width in [1_280, 390] {
        browser.set_width(width);
        let scroll = browser.see("[document.documentElement.scrollWidth, innerWidth]");
        assert!(
            scroll[0].as_u64() <= scroll[1].as_u64(),
            "{page} scrolls sideways at {width}: {scroll}"
        );
        assert_eq!(browser.see(TOO_LOW), json!([]), "{page} at {width}");
        let contrasts = browser.see(CONTRASTS);
        let least = contrasts.as_array().and_then(|all| all.first()).unwrap();
        assert!(
            least["contrast"].as_f64().unwrap() >= LEAST_CONTRAST,
            "{page} at {width}: {least}"
        );
    }
    assert_eq!(browser.see(UNLABELLED), json!([]), "{page}");
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
    require_loaded(browser, page);
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
fn every_page_is_readable_on_desktop_and_phone() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
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
fn keyboard_skips_to_the_content_and_shows_the_focus() {
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
