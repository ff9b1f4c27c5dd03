//! The search: field names of other versions, and the pages.

use versions::SERVED;

use super::{get, plain_text, search};
use crate::api::support::{Page, Register, TextChecks as _};

/// Returns the addresses of the results, in order.
fn results(page: &Page) -> Vec<&str> {
    let (_, list) = page
        .text
        .split_once("<ol class=\"results\">")
        .unwrap_or_else(|| panic!("no results: {}", page.text));
    list.split("<li>\n<a href=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

#[test]
fn name_of_another_version_is_explained_first() {
    let register = Register::start();
    let field = domain::TraineeField::course_subject_1;
    let mut explained = 0;
    for version in SERVED {
        let now = version.inputs.trainee.name_of(field).unwrap();
        for other in SERVED {
            let name = other.inputs.trainee.name_of(field).unwrap();
            if name == now {
                continue;
            }
            explained += 1;
            let page = search(&register, &version.label.to_string(), name);
            let sentence = format!("{name} of {} is {now} in {}.", other.label, version.label);
            plain_text(&page.text).shows(&[&sentence]);
            let link = format!("/docs/move/{}/{}", other.label, version.label);
            let first = results(&page).into_iter().take(SERVED.len());
            assert!(first.into_iter().any(|found| found == link), "{link}");
        }
    }
    assert!(explained > 0);
}

#[test]
fn name_of_the_searched_version_is_not_explained() {
    let register = Register::start();
    for version in SERVED {
        for query in ["email", "course_age_range", "open university"] {
            let page = search(&register, &version.label.to_string(), query);
            page.lacks(&["Field of v"]);
        }
    }
}

#[test]
fn every_removed_name_is_explained_or_has_no_field() {
    let register = Register::start();
    let newest = SERVED.last().unwrap();
    let own = adapter_kit::names::all(newest);
    for other in SERVED {
        for name in adapter_kit::names::all(other) {
            // Paths of values inside records are not names of fields.
            if own.contains(name) || name.contains('.') {
                continue;
            }
            let page = search(&register, &newest.label.to_string(), name);
            let text = plain_text(&page.text);
            let sentence = format!("{name} of {} ", other.label);
            text.shows(&[&sentence]);
        }
    }
}

#[test]
fn words_of_pages_lead_to_the_pages() {
    let register = Register::start();
    let newest = SERVED.last().unwrap().label.to_string();
    for (query, address) in [
        ("import", "/settings/requests"),
        ("refused", "/settings/requests"),
        ("csv", "/settings/requests"),
        ("token", "/settings/tokens"),
        ("sign in", "/settings/sign-in"),
        ("session", "/settings/sessions"),
        ("colleague", "/settings/people"),
        ("log of changes", "/settings/activity"),
        ("deadline", "/docs"),
        ("readiness", "/settings/readiness"),
    ] {
        let page = search(&register, &newest, query);
        let found = results(&page);
        let place = found.iter().position(|found| *found == address);
        assert!(place.is_some_and(|place| place < 3), "{query}: {found:?}");
        for address in found.iter().filter(|found| found.starts_with("/settings")) {
            let status = get(&register, address).status;
            assert!([200, 303].contains(&status), "{address}: {status}");
        }
    }
    let page = search(&register, &newest, "rate limit");
    let chapter = format!("/docs/{newest}/contract/8-limits");
    assert!(
        results(&page)
            .iter()
            .take(5)
            .any(|found| found.starts_with(&chapter)),
        "{:?}",
        results(&page)
    );
}
