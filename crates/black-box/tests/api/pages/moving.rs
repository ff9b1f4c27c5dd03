//! The pages about moves from one version to another, and the links to them.

use std::collections::BTreeSet;

use adapter_kit::{ApiVersion, Label, Publication, Served, Versions, date};
use form_urlencoded::Serializer;
use version_tools::Difference;
use version_tools::difference::{
    Change, ChangeDetail, CodeName, CodesChangeKind, Effect, FieldChangeKind,
};
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

/// Returns the row of a table that begins with a name or a code.
fn row<'a>(page: &'a str, first_cell: &str) -> Option<&'a str> {
    let cell = format!("><code>{first_cell}</code></th>");
    let (_, rest) = page.split_once(&cell)?;
    Some(rest.split_once("</tr>")?.0)
}

/// Whether a page shows a change: a rename, an ended code and an endpoint as the row of a table, any
/// other change with its summary and its advice. The advice of a new possibility only repeats the
/// possibility.
fn is_shown(change: &Change, page: &str, text: &str) -> bool {
    if let ChangeDetail::Field(field) = &change.detail
        && let FieldChangeKind::Renamed { before, after } = field.kind
    {
        return row(page, before).is_some_and(|row| row.contains(&format!("<code>{after}</code>")));
    }
    if let ChangeDetail::Codes(codes) = &change.detail
        && codes.change == CodesChangeKind::Refused
    {
        let is_row =
            |code: &CodeName| row(page, &code.code).is_some_and(|row| row.contains(&code.name));
        return codes.codes.iter().all(is_row);
    }
    if let ChangeDetail::Endpoint(endpoint) = &change.detail {
        return page.contains(endpoint.endpoint.path());
    }
    text.contains(&plain_markdown(&change.summary))
        && (change.effect == Effect::NewlyPossible
            || text.contains(&plain_markdown(&change.advice)))
}

fn plain_markdown(markdown: &str) -> String {
    markdown.replace('`', "")
}

#[test]
fn move_page_names_every_change_of_the_difference() {
    let register = Register::start();
    for (from, to) in pairs() {
        let path = move_page(from.version.label, to.version.label);
        let page = get(&register, &path).is(200).text;
        let text = plain_text(&page);
        let difference = Difference::between(from, to, domain::Lists::embedded());
        let missing: Vec<_> = difference
            .changes
            .iter()
            .filter(|change| !is_shown(change, &page, &text))
            .map(ToString::to_string)
            .collect();
        assert_eq!(missing, [] as [String; 0], "{path}");
        assert_eq!(
            difference.breaking().next().is_none(),
            text.contains("as it is."),
            "{path}"
        );
    }
}

#[test]
fn every_ended_code_has_a_successor_or_a_sentence() {
    let register = Register::start();
    let mut ended = 0;
    for (from, to) in pairs() {
        let path = move_page(from.version.label, to.version.label);
        let page = get(&register, &path).is(200).text;
        for list in domain::List::ALL {
            for entry in domain::Lists::embedded().entries(*list) {
                let accepts =
                    |served: &Served| served.version.accepted_codes.accepts(*list, &entry.code);
                if !accepts(from) || accepts(to) {
                    continue;
                }
                ended += 1;
                let row = row(&page, &entry.code).unwrap();
                let instead = row.split_once("What to send instead\">").unwrap().1;
                let code = &entry.code;
                let expected = match domain::ended_codes::successor(*list, code) {
                    Some(domain::ended_codes::Successor::Code(other)) => {
                        format!("Send <code>{other}</code> instead of <code>{code}</code>.")
                    }
                    Some(domain::ended_codes::Successor::None { send, ask }) => format!(
                        "No code replaces <code>{code}</code>. Send {send}. If you cannot tell, ask {ask}."
                    ),
                    None => format!("{} has no code in its place.", to.label),
                };
                assert!(instead.starts_with(&expected), "{path}: {row}");
                let accepted = format!("/docs/{}/reference-data/{}", to.label, list.name());
                assert!(instead.contains(&accepted), "{path}: {row}");
                get(&register, &accepted).is(200);
            }
        }
    }
    assert!(ended > 0);
}

/// Returns the part of a page from the heading with an identifier to the next heading.
fn section<'a>(page: &'a str, id: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("<h2 id=\"{id}\">"))?;
    Some(rest.split("<h2 ").next().unwrap())
}

/// Returns the number of rows with data in the tables of a section.
fn rows_in(page: &str, id: &str) -> usize {
    let section = section(page, id).unwrap_or_default();
    section.matches("<tr>").count() - section.matches("<thead>").count()
}

/// Returns the number at the end of a text.
fn number_before(text: &str) -> usize {
    let start = text.rfind(|letter: char| !letter.is_ascii_digit());
    text[start.map_or(0, |at| at + 1)..].parse().unwrap()
}

#[test]
fn summary_counts_are_those_of_the_sections() {
    let register = Register::start();
    let anchors = [
        "renamed-fields",
        "rules",
        "ended-codes",
        "requests",
        "responses",
    ];
    for (from, to) in pairs() {
        let path = move_page(from.version.label, to.version.label);
        let page = get(&register, &path).is(200).text;
        let summary = section(&page, "overview").unwrap();
        let mut listed = 0;
        for anchor in anchors {
            let count = rows_in(&page, anchor);
            let is_linked = summary.contains(&format!("<a href=\"#{anchor}\">{count} "));
            assert_eq!(is_linked, count > 0, "{path}: {anchor} in {summary}");
            listed += count;
        }
        let removed = format!("not in {}", to.label);
        listed += section(&page, "endpoints").map_or(0, |table| table.matches(&removed).count());
        let stated = summary
            .split_once(" change")
            .filter(|_| !summary.contains("as it is."))
            .map_or(0, |(before, _)| number_before(before));
        assert_eq!(stated, listed, "{path}: {summary}");
        let optional = rows_in(&page, "optional");
        let link = format!("<a href=\"#optional\">{optional} other change");
        assert_eq!(summary.contains(&link), optional > 0, "{path}: {summary}");
    }
}

#[test]
fn tables_of_move_page_have_no_column_of_equal_cells() {
    let register = Register::start();
    for (from, to) in pairs() {
        let path = move_page(from.version.label, to.version.label);
        let page = get(&register, &path).is(200).text;
        for id in ["renamed-fields", "rules", "requests", "responses"] {
            let section = section(&page, id).unwrap_or_default();
            for column in ["Subject", &format!("Old name in {}", to.label)] {
                let before = format!("data-name=\"{column}\">");
                let cells = section.split(&before).skip(1);
                let cells: Vec<_> = cells.map(|rest| rest.split('<').next().unwrap()).collect();
                let distinct: BTreeSet<_> = cells.iter().collect();
                assert!(
                    cells.is_empty() || distinct.len() > 1,
                    "{path}: {column} {cells:?}"
                );
            }
        }
    }
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
fn problem_about_a_code_lists_the_accepted_codes() {
    let register = Register::start();
    let (_, newest) = oldest_and_newest();
    let lists = domain::Lists::embedded();
    let ended = result(&register, "update", BODY_WITH_ENDED_CODE);
    let unknown = "{\"data\": {\"training_route\": \"none\"}}";
    for page in [ended, result(&register, "update", unknown)] {
        let problems = section(&page, "problems").unwrap();
        let (_, codes) = problems
            .split_once("<details id=\"codes-training_route\">")
            .unwrap();
        assert!(codes.contains(&format!("Codes that {} accepts", newest.label)));
        for entry in lists.entries(domain::List::TrainingRoute) {
            let is_accepted = newest
                .accepted_codes
                .accepts(domain::List::TrainingRoute, &entry.code);
            let line = format!("<li><code>{}</code> {}</li>", entry.code, entry.name);
            assert_eq!(codes.contains(&line), is_accepted, "{line} in {codes}");
        }
    }
}

#[test]
fn problems_are_explained_by_stricter_rules() {
    let register = Register::start();
    let body = "{\"data\": {\"training_route\": \"02\", \"course_year\": \"first\"}}";
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
fn accepted_codes_are_listed_once_and_long_lists_are_linked() {
    let register = Register::start();
    let (_, newest) = oldest_and_newest();
    let batch = format!(
        "[{BODY_WITH_ENDED_CODE}, {BODY_WITH_ENDED_CODE}, {{\"data\": {{\"nationality\": \"none\"}}}}]"
    );
    let page = result(&register, "update", &batch);
    let problems = section(&page, "problems").unwrap();
    assert_eq!(problems.matches("<details").count(), 1, "{problems}");
    assert_eq!(
        problems
            .matches("<a href=\"#codes-training_route\">")
            .count(),
        1
    );
    let nationalities = format!("href=\"/docs/{}/reference-data/nationality\"", newest.label);
    assert!(problems.contains(&nationalities), "{problems}");
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
    let notes = section(&page, "notices").unwrap();
    assert!(notes.contains("<code>colour</code>") && !notes.contains("training_route"));
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
    assert!(next.contains("Fix the problem above"));
    assert!(!next.contains("Convert one body of each kind"));
    for anchor in ["convert", "renamed-fields", "rules", "ended-codes"] {
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
fn dry_run_step_states_the_status_of_the_answers() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let page = get(&register, &move_page(oldest.label, newest.label)).is(200);
    let steps = section(&page.text, "steps").unwrap();
    assert!(
        steps.contains("201 for a new trainee and 200 for an update"),
        "{steps}"
    );
    assert!(steps.contains("422"));
    let api = register.api(newest);
    let created = api.create(api.example());
    let dry_run = |method: &str, path: &str, body: serde_json::Value| {
        let request = api.request(method, path);
        let request = request.header("Prefer", "validate-only, handling=strict");
        request.json(body).send().status
    };
    let update = |email: &str| serde_json::json!({ "data": { "email": email } });
    assert_eq!(
        dry_run("PATCH", &created.path(), update("a@example.com")),
        200
    );
    assert_eq!(dry_run("PATCH", &created.path(), update("none")), 422);
    let other = api
        .example()
        .with(domain::TraineeField::last_name, "Other")
        .with(domain::TraineeField::provider_trainee_id, "other");
    assert_eq!(dry_run("POST", "/trainees", other.into()), 201);
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
fn steps_are_check_boxes_with_labels() {
    let register = Register::start();
    for (from, to) in pairs() {
        let page = get(&register, &move_page(from.version.label, to.version.label)).is(200);
        let steps = page.text.matches("<input type=\"checkbox\"").count();
        assert!(steps >= 3, "{}", page.text);
        for step in 1..=steps {
            assert!(page.text.contains(&format!("id=\"step-{step}\"")));
            assert!(page.text.contains(&format!("<label for=\"step-{step}\">")));
        }
    }
}

#[test]
fn deprecated_endpoint_has_its_date_and_successor() {
    let register = Register::start();
    for (from, to) in pairs() {
        let path = move_page(from.version.label, to.version.label);
        let page = get(&register, &path).is(200).text;
        for deprecation in to.version.endpoints.deprecated {
            let endpoint = deprecation.endpoint;
            let (_, rest) = page
                .split_once(&format!("{}</code></th>", endpoint.path()))
                .unwrap();
            let row = rest.split_once("</tr>").unwrap().0;
            let successor = to.version.endpoints.replacement(endpoint).unwrap();
            for words in [
                deprecation.since.format("%-d %B %Y").to_string(),
                format!("removed in {}", deprecation.removed_in),
                format!("{} with the same body instead", successor.path()),
            ] {
                assert!(row.contains(&words), "{words} in {row}");
            }
        }
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
    assert!(page.text.contains(&format!("renamed to {after}")));
    assert!(page.text.contains("id=\"renamed-fields\"") && page.text.contains("id=\"steps\""));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let page = convert(&register, &path, "update", "{").is(422);
    assert!(
        page.text.contains("<title>Error: Move from ") && page.text.contains("id=\"body-fault\"")
    );
}

#[test]
fn kind_in_the_address_selects_the_example() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let date = oldest
        .inputs
        .withdrawal
        .name_of(domain::WithdrawalField::withdrawal_date)
        .unwrap();
    let path = move_page(oldest.label, newest.label);
    let page = get(&register, &format!("{path}?kind=withdraw")).is(200);
    assert!(page.text.contains(&format!("&#34;{date}&#34;: ")));
    assert!(page.text.contains("<option value=\"withdraw\" selected>"));
}

#[test]
fn older_address_redirects_to_the_move_page() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let usual = move_page(oldest.label, newest.label);
    let mut cases = vec![
        (String::new(), usual.clone()),
        (
            "?kind=withdraw".to_owned(),
            format!("{usual}?kind=withdraw"),
        ),
        ("?kind=nothing".to_owned(), usual),
    ];
    cases.extend(pairs().into_iter().map(|(from, to)| {
        (
            format!("?from={}&to={}", from.label, to.label),
            move_page(from.version.label, to.version.label),
        )
    }));
    for (query, target) in cases {
        let reply = get(&register, &format!("/docs/migrate{query}")).is(308);
        assert_eq!(reply.header("location"), Some(target.as_str()), "{query}");
        assert_eq!(reply.header("cache-control"), Some("no-cache"), "{query}");
    }
}

#[test]
fn guide_of_removed_version_links_to_a_move_page() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let link = format!("href=\"{}\"", move_page(oldest.label, newest.label));
    for removed in REMOVED {
        let path = format!("/docs/migrate?from={}&to={}", removed.label, newest.label);
        assert!(get(&register, &path).is(200).text.contains(&link), "{path}");
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
    ] {
        for method in ["GET", "POST"] {
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
        let mut paths = vec![format!("/docs/differences/{from}..{to}?format=html")];
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
