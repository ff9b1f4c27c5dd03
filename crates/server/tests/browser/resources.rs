//! The style and the files of every page, on every listener that has pages.

use std::collections::BTreeSet;

use adapter_kit::Method;
use serde_json::{Value, json};
use settings_pages::{Access, ROUTES, Route};
use versions::SERVED;

use super::driver::{Browser, Scripts};
use super::operators;
use super::served::{Server, agent};
use super::settings::sign_in;

/// Resources that were not answered 200.
const FAILED: &str = "performance.getEntriesByType('resource')
    .filter(entry => entry.responseStatus !== 200)
    .map(entry => `${entry.name}: ${entry.responseStatus}`)";
/// Resources without a body, and those that the browser still had and only asked about.
const WITHOUT_BODY: &str = "performance.getEntriesByType('resource')
    .filter(entry => entry.decodedBodySize === 0)
    .map(entry => entry.name)";

/// Fails unless the open page has a style, each of its sheets has rules, and everything that it
/// loads has arrived.
#[track_caller]
pub(crate) fn require_loaded(browser: &Browser, page: &str) {
    browser.wait_until("document.readyState === 'complete'");
    let rules = browser.see("[...document.styleSheets].map(sheet => sheet.cssRules.length)");
    let rules: Vec<u64> = rules
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .collect();
    assert!(
        !rules.is_empty() && !rules.contains(&0),
        "{page}: rules of each style sheet: {rules:?}"
    );
    assert_eq!(browser.see(FAILED), json!([]), "{page}");
    for address in browser
        .see(WITHOUT_BODY)
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
    {
        let body = agent()
            .get(address)
            .call()
            .unwrap()
            .body_mut()
            .read_to_vec()
            .unwrap();
        assert!(!body.is_empty(), "{page}: {address} is empty");
    }
}

/// The links of the open page that lead to other pages of this site, without their fragments.
fn links(browser: &Browser, site: &str) -> Vec<String> {
    let links = browser.see(
        "[...document.links].map(link => link.href.split('#')[0]).filter(link => link !== location.href.split('#')[0])",
    );
    let links = links
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned);
    links.filter(|link| link.starts_with(site)).collect()
}

/// Fails where the listener has nothing at one of the addresses.
fn require_answered(addresses: &BTreeSet<String>) {
    let agent = agent();
    for address in addresses {
        let status = agent.head(address).call().unwrap().status().as_u16();
        assert!(status < 400, "{address}: {status}");
    }
}

/// The paths of all pages of the settings that these users can have, by the table of routes.
pub(crate) fn settings_paths(is_for: fn(Access) -> bool) -> Vec<String> {
    let is_page = |route: &&Route| {
        route.method == Method::Get && is_for(route.access()) && !route.path.ends_with(".csv")
    };
    let path = |route: &Route| {
        let path = route.path.replace("{id}", "1");
        path.replace("{ukprn}", "10099999").replace("{secret}", "x")
    };
    ROUTES.iter().filter(is_page).map(path).collect()
}

/// Opens every page of the settings that these users can have on the listener.
fn walk_settings(browser: &Browser, site: &str, is_for: fn(Access) -> bool) {
    let mut linked = BTreeSet::new();
    for path in settings_paths(is_for) {
        let page = format!("{site}/settings{path}");
        browser.open(&page);
        require_loaded(browser, &page);
        linked.extend(links(browser, site));
    }
    require_answered(&linked);
}

/// Opens every page below `/docs` that a page leads to, and gives their addresses.
fn walk_documents(browser: &Browser, site: &str) -> BTreeSet<String> {
    let mut next: Vec<String> = [
        "/docs".to_owned(),
        "/docs/nothing".to_owned(),
        "/docs/search?q=cursor".to_owned(),
    ]
    .map(|path| format!("{site}{path}"))
    .into();
    let (mut seen, mut linked) = (BTreeSet::new(), BTreeSet::new());
    let documents = format!("{site}/docs");
    while let Some(page) = next.pop() {
        if !seen.insert(page.clone()) {
            continue;
        }
        browser.open(&page);
        require_loaded(browser, &page);
        let links = links(browser, site);
        next.extend(
            links
                .iter()
                .filter(|link| link.starts_with(&documents) && !seen.contains(*link))
                .cloned(),
        );
        linked.extend(links);
    }
    require_answered(&linked);
    seen
}

pub(crate) fn is_for_organisations(access: Access) -> bool {
    match access {
        Access::Public
        | Access::SignedIn
        | Access::Organisation
        | Access::Admin
        | Access::Uploader => true,
        Access::Operator => false,
    }
}

pub(crate) fn is_for_operators(access: Access) -> bool {
    match access {
        Access::Public | Access::SignedIn | Access::Operator => true,
        Access::Organisation | Access::Admin | Access::Uploader => false,
    }
}

#[test]
fn every_public_page_has_style_and_files() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start();
    let documents = walk_documents(&browser, &server.origin);
    for version in SERVED {
        let label = version.label;
        for name in [
            "guide",
            "contract",
            "fields",
            "reference-data/training_route",
            "",
        ] {
            let page = format!("{}/docs/{label}/{name}", server.origin);
            assert!(
                documents.contains(&page) || documents.contains(page.trim_end_matches('/')),
                "{page}"
            );
        }
    }
    sign_in(&browser, &server);
    walk_settings(&browser, &server.origin, is_for_organisations);
}

#[test]
fn every_operator_page_has_style_and_files() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    let server = Server::start_with(&["--operator-listen", "127.0.0.1:0"], &[]);
    operators::sign_in(&browser, &server);
    let site = browser.read("location.origin");
    assert_ne!(site, server.origin);
    walk_settings(&browser, &site, is_for_operators);
}
