//! Pictures of every page on a desk and on a phone, light and dark, in the folder `pictures` of the
//! target folder, with checks of the layout in each of them.

use std::fs;
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use serde_json::{Value, json};
use server::sandbox::demo;
use versions::SERVED;

use super::axe;
use super::documents;
use super::driver::{Browser, Scripts};
use super::operators;
use super::resources::{is_for_operators, is_for_organisations, require_loaded, settings_paths};
use super::served::Server;
use super::settings::{open_until, sign_in, upload_and_check};

const DESK: u32 = 1_280;
const PHONE: u32 = 375;
/// The colour scheme of the page at each width while axe-core examines it. Contrast depends on the
/// scheme and everything else on the width, so two of four pictures suffice.
const EXAMINED: [(u32, &str); 2] = [(DESK, "light"), (PHONE, "dark")];
/// The part of a page in its picture, in pixels from the top.
const MAX_PICTURE_HEIGHT: u64 = 4_000;
/// The name, and four rows of links on a phone.
const MAX_HEADER_HEIGHT: f64 = 230.0;
/// The header, and the row of the account or the links to a version's documents.
const MAX_FRAME_HEIGHT: f64 = 330.0;
/// Entries of menus that are not in view.
const HIDDEN_ENTRIES: &str =
    "[...document.querySelectorAll('header nav a, .local nav a')].filter(one => {
    const { left, right } = one.getBoundingClientRect();
    return left < 0 || right > innerWidth;
}).map(one => one.textContent)";

/// Times that are broken into two lines.
const BROKEN: &str = "[...document.querySelectorAll('time')]
    .filter(one => one.getClientRects().length > 1)
    .map(one => one.outerHTML)";
/// Visible elements that are wider than the page and do not scroll by themselves.
const TOO_WIDE: &str = "[...document.body.querySelectorAll('*')].filter(one =>
    one.getBoundingClientRect().right > innerWidth + 1 && one.getClientRects().length > 0)
    .map(one => one.outerHTML.slice(0, 120)).slice(0, 5)";

/// A page with the name of its pictures.
struct Page {
    name: String,
    address: String,
}

impl Page {
    fn new(server: &Server, user: &str, path: &str) -> Self {
        let words = path.replace(|letter: char| !letter.is_ascii_alphanumeric(), " ");
        let words: Vec<&str> = words.split_whitespace().collect();
        Self {
            name: format!("{user}-{}", words.join("-")),
            address: format!("{}{path}", server.origin),
        }
    }
}

fn folder() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("pictures")
}

/// Pages that anybody can read.
fn public_paths() -> Vec<String> {
    let newest = SERVED.last().unwrap().label;
    let mut paths = documents::pages();
    paths.extend([
        format!("/docs/{newest}/"),
        "/docs/nothing".to_owned(),
        "/nothing".to_owned(),
    ]);
    paths
}

/// Takes the pictures of a page, and returns what is wrong in them.
fn show(browser: &Browser, page: &Page) -> Vec<String> {
    let name = &page.name;
    browser.open(&page.address);
    require_loaded(browser, name);
    let has_explorer = "document.getElementById('swagger-ui') === null
        || document.querySelector('.opblock') !== null";
    browser.wait_until(has_explorer);
    let mut faults = Vec::new();
    for width in [DESK, PHONE] {
        browser.set_width(width);
        for scheme in ["light", "dark"] {
            browser.set_colour_scheme(scheme);
            if EXAMINED.contains(&(width, scheme)) {
                let found = faults_of_layout(browser, width).into_iter();
                faults.extend(found.map(|fault| format!("{name} at {width}: {fault}")));
                let violations = axe::violations(browser);
                if violations != axe::nothing() {
                    faults.push(format!("{name} at {width}, {scheme}: {violations}"));
                }
            }
            let height = browser.see("document.documentElement.scrollHeight");
            let height = height.as_u64().unwrap().min(MAX_PICTURE_HEIGHT);
            let image = browser.picture(width, u32::try_from(height).unwrap());
            let file = folder().join(format!("{name}-{width}-{scheme}.png"));
            fs::write(file, BASE64.decode(image.as_bytes()).unwrap()).unwrap();
        }
    }
    faults
}

fn faults_of_layout(browser: &Browser, width: u32) -> Vec<String> {
    let number = |expression: &str| browser.see(expression).as_f64().unwrap();
    let mut faults = Vec::new();
    if number("document.documentElement.scrollWidth") > f64::from(width) {
        faults.push(format!("scrolls sideways: {}", browser.see(TOO_WIDE)));
    }
    let broken = browser.see(BROKEN);
    if broken != json!([]) {
        faults.push(format!("broken times: {broken}"));
    }
    let hidden = browser.see(HIDDEN_ENTRIES);
    if hidden != json!([]) {
        faults.push(format!("hidden entries of menus: {hidden}"));
    }
    let header = number("document.querySelector('header').getBoundingClientRect().height");
    if header > MAX_HEADER_HEIGHT {
        faults.push(format!("header of {header} pixels"));
    }
    let frame = number("document.querySelector('main').getBoundingClientRect().top + scrollY");
    if frame > MAX_FRAME_HEIGHT {
        faults.push(format!("header and account of {frame} pixels"));
    }
    faults
}

/// Uploads a file and sends requests, so that the pages show some.
fn fill(browser: &Browser, server: &Server) {
    let example: Value = serde_json::from_str(&demo::example(SERVED[0])).unwrap();
    assert_eq!(server.send(SERVED[0], "/trainees", &example), 201);
    assert_eq!(
        server.send(SERVED[0], "/trainees", &json!({ "data": {} })),
        422
    );
    upload_and_check(browser, server);
    open_until(
        browser,
        server,
        "/usage",
        "document.querySelector('main svg') !== null",
    );
}

#[test]
fn every_page_fits_its_pictures() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    if !axe::is_here() {
        return;
    }
    fs::create_dir_all(folder()).unwrap();
    let server = Server::start_for_operators();
    let mut faults = Vec::new();
    for path in public_paths() {
        faults.extend(show(&browser, &Page::new(&server, "public", &path)));
    }
    browser.set_width(DESK);
    sign_in(&browser, &server);
    fill(&browser, &server);
    for path in settings_paths(is_for_organisations) {
        let path = format!("/settings{path}");
        faults.extend(show(&browser, &Page::new(&server, "admin", &path)));
    }
    browser.set_width(DESK);
    operators::sign_in(&browser, &server);
    for path in settings_paths(is_for_operators) {
        let path = format!("/settings{path}");
        faults.extend(show(&browser, &Page::new(&server, "operator", &path)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
