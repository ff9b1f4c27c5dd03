//! The pages about moves from one version to another, and the links to them.

use std::collections::BTreeSet;

use adapter_kit::{ApiVersion, Label, Publication, Served, Versions, date};
use form_urlencoded::Serializer;
use version_tools::Difference;
use versions::{REMOVED, SERVED};

use super::plain_text;
use crate::api::support::versions::republished;
use crate::api::support::{Page, Register, every_version};

fn get(register: &Register, path: &str) -> Page {
    register.request("GET", path).page()
}

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

fn oldest_and_newest() -> (&'static ApiVersion, &'static ApiVersion) {
    (SERVED[0], SERVED.last().unwrap())
}

/// Sends the form of a page about a move.
fn convert(register: &Register, path: &str, kind: &str, body: &str) -> Page {
    let form = Serializer::new(String::new())
        .extend_pairs([("kind", kind), ("body", body)])
        .finish();
    register
        .request("POST", path)
        .bytes(form)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .page()
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
                assert!(
                    text.contains(&plain_markdown(&change.advice)),
                    "{path}: {summary}"
                );
            }
            assert!(text.contains(&difference.counted()), "{path}");
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
    let (oldest, newest) = oldest_and_newest();
    let path = move_page(oldest.label, newest.label);
    convert(register, &path, kind, body).is(200).text
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
    assert!(
        of_fields.contains("course_year_whole_number"),
        "{of_fields}"
    );
    assert!(pending.contains("primary_subject"), "{pending}");
    assert!(!pending.contains("course_year_whole_number"), "{pending}");
    let other = result(&register, "update", "{\"data\": {\"email\": \"none\"}}");
    let problems = section(&other, "problems").unwrap();
    assert!(!problems.contains("New rule"), "{problems}");
}

#[test]
fn repeated_keys_and_fields_are_named() {
    let register = Register::start();
    let body = "{\"data\": {\"email\": \"a@example.org\", \"email\": \"b@example.org\"}}";
    let page = result(&register, "update", body);
    assert!(
        section(&page, "problems")
            .unwrap()
            .contains("email is sent more than once"),
        "{page}"
    );
    let (oldest, newest) = oldest_and_newest();
    let page = register
        .request("POST", &move_page(oldest.label, newest.label))
        .bytes("kind=create&kind=update&body={}")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .page();
    let page = page.is(422).text;
    assert!(
        page.contains("The field kind is sent more than once"),
        "{page}"
    );
}

#[test]
fn body_refused_as_request_and_as_response_has_both_results() {
    let register = Register::start();
    let page = result(&register, "detect", BODY_WITH_ENDED_CODE);
    assert!(
        page.contains("It can also be a response with a trainee"),
        "{page}"
    );
    let other = section(&page, "otherwise").unwrap();
    assert!(other.contains("<code>training_route</code>"), "{other}");
    let page = result(&register, "update", BODY_WITH_ENDED_CODE);
    assert_eq!(section(&page, "otherwise"), None);
}

#[test]
fn notes_do_not_repeat_a_problem() {
    let register = Register::start();
    let page = result(&register, "update", BODY_WITH_ENDED_CODE);
    assert!(
        section(&page, "problems")
            .unwrap()
            .contains("No code replaces")
    );
    assert!(section(&page, "notices").is_none(), "{page}");
    let body = "{\"data\": {\"training_route\": \"02\", \"colour\": 1}}";
    let page = result(&register, "update", body);
    let ignored = section(&page, "ignored").unwrap();
    assert!(ignored.contains("<code>colour</code>") && !ignored.contains("training_route"));
    assert!(section(&page, "notices").is_none(), "{page}");
}

#[test]
fn chosen_code_replaces_the_ended_code_in_the_translated_body() {
    let register = Register::start();
    let page = result(&register, "update", BODY_WITH_ENDED_CODE);
    let (_, choice) = page
        .split_once("<select id=\"code-0\" name=\"code:training_route\">")
        .unwrap();
    let (choice, _) = choice.split_once("</select>").unwrap();
    assert!(
        choice.contains("<option value=\"11\">11 - Primary and Secondary Undergraduate Fee Funded"),
        "{choice}"
    );
    assert!(!choice.contains("value=\"02\"") && !choice.contains("selected"));
    let (oldest, newest) = oldest_and_newest();
    let choose = |code: &str| {
        let form = [
            ("kind", "update"),
            ("body", BODY_WITH_ENDED_CODE),
            ("code:training_route", code),
        ];
        let encoded = Serializer::new(String::new()).extend_pairs(form).finish();
        let page = register
            .request("POST", &move_page(oldest.label, newest.label))
            .bytes(encoded)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .page();
        page.is(200).text
    };
    let page = choose("11");
    assert!(section(&page, "problems").is_none(), "{page}");
    assert!(
        page.contains("&#34;training_route&#34;: &#34;11&#34;"),
        "{page}"
    );
    assert!(page.contains("<option value=\"11\" selected>"), "{page}");
    let page = choose("no-candidate");
    assert!(section(&page, "problems").is_some(), "{page}");
}

#[test]
fn list_under_its_name_in_replies_has_the_input_to_use() {
    let register = Register::start();
    let ignored = |kind: &str| {
        let page = result(
            &register,
            kind,
            "{\"data\": {\"degrees\": [{\"grade\": \"02\"}]}}",
        );
        section(&page, "ignored").unwrap().to_owned()
    };
    let created = ignored("create");
    assert!(created.contains("use degrees_attributes"), "{created}");
    let updated = ignored("update");
    assert!(
        updated.contains("use the endpoints of its records"),
        "{updated}"
    );
    let page = result(&register, "create", "{\"data\": {\"degrees\": []}}");
    assert!(section(&page, "ignored").is_none(), "{page}");
    let page = result(&register, "update", "{\"data\": {\"favourite\": \"x\"}}");
    let unknown = section(&page, "ignored").unwrap();
    assert!(unknown.contains("favourite is not a field in"), "{unknown}");
    assert!(
        page.contains("would accept this body, but ignore a part of it"),
        "{page}"
    );
}

#[test]
fn correction_and_remaining_steps_follow_the_problems() {
    let register = Register::start();
    let page = result(&register, "update", BODY_WITH_ENDED_CODE);
    let (_, after_problems) = page.split_once("<h2 id=\"problems\">").unwrap();
    let sections: Vec<&str> = after_problems.split("<h2 ").collect();
    let [_, correction, next, ..] = sections.as_slice() else {
        panic!("{after_problems}");
    };
    assert!(
        correction.starts_with("id=\"convert\">Correction of your body</h2>"),
        "{correction}"
    );
    assert!(
        correction.contains("name=\"body\"") && correction.contains("training_route"),
        "{correction}"
    );
    assert_eq!(page.matches("name=\"body\"").count(), 1);
    assert!(
        next.starts_with("id=\"steps\">What else to do</h2>"),
        "{next}"
    );
    assert_eq!(page.matches("id=\"steps\"").count(), 1);
    assert!(next.contains("Correct the body as described above"));
    assert!(!next.contains("Convert one body of each kind"));
    for anchor in ["convert", "renamed-fields", "stricter-rules", "ended-codes"] {
        assert!(
            next.contains(&format!("<a href=\"#{anchor}\">")),
            "{anchor}"
        );
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
    let page = result(
        &register,
        "update",
        "{\"data\": {\"email\": \"a@example.com\"}}",
    );
    let steps = section(&page, "steps").unwrap();
    assert!(!steps.contains("Fix the"), "{steps}");
    assert!(
        steps.contains("Convert one body of each other kind"),
        "{steps}"
    );
}

#[test]
fn result_has_the_command_that_checks_the_body() {
    let register = Register::start();
    let (_, newest) = oldest_and_newest();
    let base = newest.label.base_path();
    for (kind, method, path) in [
        ("create", "POST", "/trainees"),
        ("update", "PATCH", "/trainees/TRAINEE_ID"),
    ] {
        let page = result(
            &register,
            kind,
            "{\"data\": {\"email\": \"a@example.com\"}}",
        );
        let command = format!("<pre><code>curl -i -X {method} http://");
        let (_, command) = page.split_once(&command).unwrap();
        let (command, _) = command.split_once("</code>").unwrap();
        assert!(command.contains(&format!("{base}{path} \\\n")), "{command}");
        assert!(command.contains("Prefer: validate-only"), "{command}");
    }
    let reply = result(&register, "reply", "{\"data\": {\"trn\": \"1234567\"}}");
    assert!(!reply.contains("curl -i"), "{reply}");
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
    let list = [old, SERVED[1]];
    let register = Register::with_versions(Box::leak(Box::new(Versions::new(&list))));
    let page = get(&register, &move_page(old.label, SERVED[1].label)).is(200);
    for words in ["1 September 2026", "1 September 2027", "No end date is set"] {
        assert!(page.text.contains(words), "{words}");
    }
}

#[test]
fn form_on_move_page_shows_the_converted_body_there() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let field = domain::TraineeField::course_subject_1;
    let before = oldest.inputs.trainee.name_of(field).unwrap();
    let after = newest.inputs.trainee.name_of(field).unwrap();
    let path = move_page(oldest.label, newest.label);
    let shown = get(&register, &path).is(200);
    assert!(
        shown
            .text
            .contains(&format!("<form action=\"{path}\" method=\"post\">"))
    );
    assert!(shown.text.contains(&format!("&#34;{before}&#34;: ")));
    let body = format!("{{\"{before}\": \"100403\", \"email\": \"none\"}}");
    let page = convert(&register, &path, "update", &body).is(200);
    assert!(
        page.text
            .contains(&format!("&#34;{after}&#34;: &#34;100403&#34;"))
    );
    assert!(page.text.contains("1 name changed") && page.text.contains("1 problem"));
    assert!(page.text.contains("id=\"renamed-fields\"") && page.text.contains("id=\"steps\""));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let page = convert(&register, &path, "update", "{").is(422);
    assert!(
        page.text.contains("<title>Error: Move from ") && page.text.contains("id=\"body-fault\"")
    );
}

#[test]
fn older_addresses_redirect_to_the_move_page() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let usual = move_page(oldest.label, newest.label);
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
                assert!(page.text.contains(&link), "{path}: {}", page.text);
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
                assert!(row.contains(&link), "{link} in {row}");
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
