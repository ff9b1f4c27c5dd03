//! The pages about moves from one version to another, and the links to them.

use std::collections::BTreeSet;

use adapter_kit::{Label, Publication, Served, date};
use version_tools::Difference;
use versions::{REMOVED, SERVED};

use super::{convert, get, longest_move, plain_text};
use crate::api::support::versions::{in_place, republished};
use crate::api::support::{Register, TextChecks as _, every_version};

/// Every ordered pair of two served versions.
fn pairs() -> Vec<(&'static Served, &'static Served)> {
    let all = || versions::all().iter();
    all()
        .flat_map(|from| all().map(move |to| (from, to)))
        .filter(|(from, to)| from.version.label != to.version.label)
        .collect()
}

fn move_page(from: Label, to: Label) -> String {
    format!("/docs/move/{from}/{to}")
}

fn plain_markdown(markdown: &str) -> String {
    markdown.replace('`', "")
}

/// The pages that show the difference between two versions.
fn pages_about(from: &Served, to: &Served) -> Vec<String> {
    let (before, after) = (from.version.label, to.version.label);
    let mut pages = vec![move_page(before, after)];
    if versions::all().successor(before) == Some(after) {
        pages.push(format!("/docs/versions/{after}"));
    }
    if SERVED.last().map(|newest| newest.label) == Some(after) {
        pages.push(format!("/docs/versions/migrating-from-{before}"));
    }
    pages
}

#[test]
fn every_change_is_once_on_page_notes_and_guide() {
    let register = Register::start();
    for (from, to) in pairs() {
        let difference = Difference::between(from, to, domain::Lists::embedded());
        for path in pages_about(from, to) {
            let text = plain_text(&get(&register, &path).is(200).text);
            for change in &difference.changes {
                let summary = plain_markdown(&change.summary_with_example());
                assert_eq!(text.matches(&summary).count(), 1, "{path}: {summary}");
                text.shows(&[&plain_markdown(&change.advice)]);
            }
            text.shows(&[&difference.counted()]);
        }
    }
}

/// Returns the part of a page from the heading with an identifier to the next heading.
fn section<'a>(page: &'a str, id: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("<h2 id=\"{id}\">"))?;
    Some(rest.split("<h2 ").next().unwrap())
}

/// The body of an update of the oldest version with a code that the newest version refuses.
const BODY_WITH_ENDED_CODE: &str = "{\"data\": {\"training_route\": \"02\"}}";

/// Returns the result for a body on the page about the move from the oldest version to the newest.
fn result(register: &Register, kind: &str, body: &str) -> String {
    convert(register, &[("kind", kind), ("body", body)])
        .is(200)
        .text
}

/// Bodies and their results: the kind, the body, a section or the whole page, and texts in it. `!`
/// precedes a text that is not in it.
const RESULTS: &str = r##"
update | {"data": {"email": "none"}} | problems | !New rule
update | {"data": {"email": "a", "email": "b"}} | problems | email is sent more than once
update | {"data": {"email": "<b>&\""}} | page | not a valid e-mail address; <option value="update" selected>; !<b>
update | {"data": {"training_route": "02"}} | problems | No code replaces
update | {"data": {"training_route": "02"}} | page | !<h2 id="otherwise">; !<h2 id="notices">
update | {"data": {"training_route": "02"}} | page | id="renamed-fields"; id="stricter-rules"; id="ended-codes"
update | {"data": {"training_route": "02"}} | convert | training_route
update | {"data": {"training_route": "02"}} | steps | Correct the body as described above; !Convert one body of each kind
update | {"data": {"training_route": "02"}} | steps | href="#convert"; href="#renamed-fields"; href="#stricter-rules"; href="#ended-codes"
detect | {"data": {"training_route": "02"}} | page | It can also be a response with a trainee
detect | {"data": {"training_route": "02"}} | otherwise | <code>training_route</code>
update | {"data": {"training_route": "02", "colour": 1}} | ignored | <code>colour</code>; !training_route
update | {"data": {"colour": 1}} | page | would accept this body, but ignore a part of it; colour is not a field in
create | {"data": {"degrees": [{"grade": "02"}]}} | ignored | use degrees_attributes
update | {"data": {"degrees": [{"grade": "02"}]}} | ignored | use the endpoints of its records
create | {"data": {"degrees": []}} | page | !<h2 id="ignored">
update | {"data": {"email": "a@example.com"}} | steps | Convert one body of each other kind; !Fix the
create | {"data": {"email": "a@example.com"}} | page | <code>curl -i -X POST http://; /trainees \; Prefer: validate-only
update | {"data": {"email": "a@example.com"}} | page | <code>curl -i -X PATCH http://; /trainees/TRAINEE_ID \; Prefer: validate-only
reply | {"data": {"trn": "1234567"}} | page | !curl -i
update | {"course_subject_one": "100403", "email": "none"} | page | &#34;course_subject_1&#34;: &#34;100403&#34;; 1 name changed; 1 problem; id="renamed-fields"; id="steps"
reply | {"data": {"trainee_id": "x", "expected_end_date": "x"}} | page | Values without a field in; 1 value lost; no name changed
"##;

#[test]
fn result_of_a_body_has_its_sections() {
    let register = Register::start();
    for line in RESULTS.trim().lines() {
        let [kind, body, name, texts] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let page = result(&register, kind, body);
        let shown = match name {
            "page" => &page,
            _ => section(&page, name).unwrap_or_else(|| panic!("{line}: {page}")),
        };
        for text in texts.split("; ") {
            let (text, is_shown) = text
                .strip_prefix('!')
                .map_or((text, true), |text| (text, false));
            assert_eq!(shown.contains(text), is_shown, "{line}: {text}: {shown}");
        }
    }
}

#[test]
fn repeated_field_of_the_form_is_named() {
    let register = Register::start();
    let fields = [("kind", "create"), ("kind", "update"), ("body", "{}")];
    let page = convert(&register, &fields).is(422).text;
    page.shows(&["The field kind is sent more than once"]);
}

#[test]
fn problems_are_explained_by_stricter_rules() {
    let register = Register::start();
    let body = "{\"data\": {\"training_route\": \"02\", \"course_year\": \"one\"}}";
    let page = result(&register, "update", body);
    let problems = section(&page, "problems").unwrap();
    let (of_fields, pending) = problems
        .split_once("These rules also depend on fields with a problem.")
        .unwrap();
    of_fields.shows(&["course_year_whole_number"]);
    pending.shows(&["primary_subject"]);
    pending.lacks(&["course_year_whole_number"]);
}

#[test]
fn chosen_code_replaces_the_ended_code_in_the_translated_body() {
    let register = Register::start();
    let page = result(&register, "update", BODY_WITH_ENDED_CODE);
    let (_, choice) = page
        .split_once("<select id=\"code-0\" name=\"code:training_route\">")
        .unwrap();
    let (choice, _) = choice.split_once("</select>").unwrap();
    choice.shows(&["<option value=\"11\">11 - Primary and Secondary Undergraduate Fee Funded"]);
    choice.lacks(&["value=\"02\"", "selected"]);
    let choose = |code: &str| {
        let form = [
            ("kind", "update"),
            ("body", BODY_WITH_ENDED_CODE),
            ("code:training_route", code),
        ];
        convert(&register, &form).is(200).text
    };
    let page = choose("11");
    assert!(section(&page, "problems").is_none(), "{page}");
    page.shows(&["&#34;training_route&#34;: &#34;11&#34;"]);
    page.shows(&["<option value=\"11\" selected>"]);
    let page = choose("no-candidate");
    assert!(section(&page, "problems").is_some(), "{page}");
}

#[test]
fn correction_and_remaining_steps_follow_the_problems() {
    let register = Register::start();
    let page = result(&register, "update", BODY_WITH_ENDED_CODE);
    let sections: Vec<&str> = page.split("<h2 id=\"").collect();
    let at = sections
        .iter()
        .position(|section| section.starts_with("problems\">"));
    let [correction, next] = [1, 2].map(|place| sections[at.unwrap() + place]);
    correction.shows(&["convert\">Correction of your body</h2>", "name=\"body\""]);
    next.shows(&["steps\">What else to do</h2>"]);
    for count in ["name=\"body\"", "id=\"steps\""] {
        assert_eq!(page.matches(count).count(), 1, "{count}");
    }
}

#[test]
fn move_page_shows_the_dates_of_both_versions() {
    let old = republished(
        SERVED[0],
        Publication {
            deprecated_on: Some(date(2026, 9, 1)),
            sunset_on: Some(date(2027, 9, 1)),
            ..SERVED[0].publication
        },
    );
    let register = Register::with_versions(in_place(old));
    let page = get(&register, &move_page(old.label, SERVED[1].label)).is(200);
    page.shows(&["1 September 2026", "1 September 2027", "No end date is set"]);
}

#[test]
fn older_addresses_redirect_to_the_move_page() {
    let register = Register::start();
    let newest = SERVED.last().unwrap();
    let usual = longest_move();
    let mut cases = vec![(
        "/docs/migrate?kind=withdraw".to_owned(),
        format!("{usual}?kind=withdraw"),
    )];
    let removed = REMOVED
        .iter()
        .map(|removed| format!("?from={}", removed.label));
    let queries = [
        String::new(),
        "?kind=nothing".to_owned(),
        "?from=//elsewhere.example&to=x".to_owned(),
        format!("?from={0}&to={0}", newest.label),
    ];
    for query in queries.into_iter().chain(removed) {
        for path in ["/docs/move", "/docs/migrate", "/docs/differences"] {
            cases.push((format!("{path}{query}"), usual.clone()));
        }
    }
    for (from, to) in pairs() {
        let (from, to) = (from.version.label, to.version.label);
        for path in [
            format!("/docs/migrate?from={from}&to={to}"),
            format!("/docs/differences/{from}..{to}"),
        ] {
            cases.push((path, move_page(from, to)));
        }
    }
    for (path, target) in cases {
        let reply = get(&register, &path).is(308);
        assert_eq!(reply.header("location"), Some(target.as_str()), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{path}");
    }
}

#[test]
fn unknown_version_gets_a_page_that_lists_the_versions() {
    let register = Register::start();
    let known = SERVED[0].label;
    for path in [
        format!("/docs/move/{known}/v1999.9"),
        format!("/docs/move/nothing/{known}"),
        format!("/docs/move/{known}/{known}"),
        format!("/docs/differences/{known}..{known}"),
        format!("/docs/differences/{known}..v1999.9"),
        "/docs/differences/x".to_owned(),
    ] {
        let is_former = path.starts_with("/docs/differences");
        let methods = if is_former {
            &["GET"][..]
        } else {
            &["GET", "POST"]
        };
        for method in methods {
            let page = register
                .request(method, &path)
                .header("Accept", "text/html")
                .page()
                .is(404);
            for version in SERVED {
                let link = format!("<a href=\"/docs/{0}/guide\">{0}</a>", version.label);
                page.shows(&[&link]);
            }
            register
                .request(method, &path)
                .send()
                .error(404, "NotFound");
        }
    }
}

#[test]
fn documents_about_versions_begin_with_the_move_page() {
    let register = Register::start();
    for (from, to) in pairs() {
        let (from, to) = (from.version.label, to.version.label);
        let mut paths = Vec::new();
        if from < to {
            paths.extend([
                format!("/docs/versions/{from}"),
                format!("/docs/versions/{to}"),
            ]);
        }
        if Some(to) == SERVED.last().map(|newest| newest.label) {
            paths.push(format!("/docs/versions/migrating-from-{from}"));
        }
        let link = format!("href=\"{}\"", move_page(from, to));
        for path in paths {
            let page = get(&register, &path).is(200).text;
            let at = page
                .find(&link)
                .unwrap_or_else(|| panic!("{link} on {path}"));
            assert!(at < page.find("<h1").unwrap(), "{path}");
        }
    }
}

#[test]
fn problem_about_a_name_links_to_the_move_pages() {
    every_version(|api| {
        let label = api.version.label;
        let created = api.create(api.example());
        let foreign = &api.served().other_names.trainee.refused;
        let Some((name, _)) = foreign.first() else {
            return;
        };
        let body = serde_json::json!({ "data": { *name: "x" } });
        let reply = api.send("PATCH", &created.path(), body).is(422);
        let help = reply.header("link").unwrap();
        let (path, anchor) = help[1..].split_once('#').unwrap();
        let anchor = anchor.split_once('>').unwrap().0;
        assert_eq!(anchor, "other_versions_name");
        let page = get(api.register, path).is(200).text;
        for anchor in [anchor, "unknown_code", "status-422"] {
            let (_, rest) = page.split_once(&format!("<tr id=\"{anchor}\">")).unwrap();
            let row = rest.split_once("</tr>").unwrap().0;
            let others: BTreeSet<Label> = SERVED.iter().map(|other| other.label).collect();
            for other in others.into_iter().filter(|other| *other != label) {
                let (from, to) = (other.min(label), other.max(label));
                let link = format!("<a href=\"{}\">{from} to {to}</a>", move_page(from, to));
                row.shows(&[&link]);
            }
        }
    });
}

#[test]
fn readiness_is_linked_from_moves_to_the_newest_version() {
    let register = Register::start();
    let newest = SERVED.last().unwrap().label;
    for (from, to) in pairs() {
        let page = get(&register, &move_page(from.version.label, to.version.label)).is(200);
        assert_eq!(
            page.text.contains("<a href=\"/settings/readiness\">"),
            to.version.label == newest
        );
    }
}
