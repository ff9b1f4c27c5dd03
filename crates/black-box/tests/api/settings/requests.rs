//! The page of requests: what was refused and why, found by the form, and nothing of anybody else.

use adapter_kit::Endpoint;
use chrono::{DateTime, TimeDelta, Utc};
use domain::{Trainee, TraineeField as F};
use storage::accounts::users::UserRole;
use storage::base::cause::Cause;
use storage::base::token::{Environment, TokenDigest};
use storage::observations::requests::{NewRequest, RecordResult, RecordedProblem, RecordedRequest};
use versions::SERVED;

use super::browser::{Browser, encode, text_after};
use crate::api::support::bodies::input;
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Api, Body, Page, Register, Response, Setup, TextChecks as _};

const SCRIPT: &str = "<script>alert(1)</script>\"'>";

fn find(browser: &Browser<'_>, fields: &[(&str, &str)]) -> Page {
    browser.open(&format!("/settings/requests/search?{}", encode(fields)))
}

/// The APIs of the oldest and of the newest version.
pub(super) fn oldest_and_newest(register: &Register) -> (Api<'_>, Api<'_>) {
    let newest = SERVED.last().unwrap();
    (register.api(SERVED[0]), register.api(newest))
}

/// Sends a request with this identifier; without a body it is a GET.
fn send(api: &Api<'_>, id: &str, path: &str, body: Option<Body>) -> Response {
    let request = match body {
        Some(body) => api.request("POST", path).json(body),
        None => api.request("GET", path),
    };
    request.header("X-Request-Id", id).send()
}

/// Refused requests of the provider, each a second older than the one before.
fn plant(register: &Register, ids: impl Iterator<Item = String>) {
    let ids: Vec<String> = ids.collect();
    let digest = TokenDigest::from_text(&register.api(SERVED[0]).token);
    register.operate(move |session| {
        let token = session
            .authenticate(&digest, Cause::new("test"))?
            .unwrap()
            .token()
            .unwrap();
        let now: DateTime<Utc> = session.now();
        let requests: Vec<_> = (0..)
            .zip(&ids)
            .map(|(number, id)| {
                let problem = RecordedProblem {
                    code: "blank".to_owned(),
                    field: format!("<b>{SCRIPT}"),
                    message: "cannot be blank".to_owned(),
                    without_value: None,
                };
                let request = RecordedRequest {
                    answered_at: now - TimeDelta::seconds(number),
                    sender: storage::base::sender::Sender::Token(token.id),
                    version: SERVED[0].label.to_string(),
                    endpoint: Endpoint::CreateTrainee.to_string(),
                    status: 422,
                    result: RecordResult::Refused,
                    request_id: id.clone(),
                    in_batch: false,
                    item: None,
                    record_key: None,
                    names: Vec::new(),
                    problems: vec![problem],
                    problems_left_out: 0,
                    newest_problems: None,
                };
                NewRequest {
                    provider_id: token.provider_id,
                    request,
                    trainee_id: None,
                }
            })
            .collect();
        session.record_requests(&requests, &[])
    });
}

/// The links of a page to the documents, as they are sent.
fn links_to_documents(page: &str) -> Vec<String> {
    let links = page
        .split("href=\"/docs/")
        .skip(1)
        .map(|rest| &rest[..rest.find('"').unwrap()]);
    links
        .filter(|link| !link.starts_with("assets"))
        .map(|link| format!("/docs/{}", link.replace("&#38;", "&")))
        .collect()
}

/// Every link of a page to the documents leads to a page, and to a place on it.
#[track_caller]
pub(super) fn links_lead_somewhere(browser: &Browser<'_>, page: &str) -> usize {
    let links = links_to_documents(page);
    for link in &links {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let target = browser.open(path).is(200);
        assert!(
            anchor.is_empty() || target.text.contains(&format!("id=\"{anchor}\"")),
            "{link}"
        );
    }
    links.len()
}

#[test]
fn most_frequent_rejection_links_to_its_rule_and_requests() {
    let register = Register::start();
    let viewer = Browser::viewer(&register);
    let empty = viewer.open("/settings/requests/search").is(200).text;
    empty.shows(&[
        "No request has been refused since 2026-09-28T09:00:00.000Z",
        "There are no requests yet",
    ]);

    let api = register.api(SERVED[0]);
    for id in ["first", "second"] {
        let body = api.example().without(F::last_name);
        send(&api, id, "/trainees", Some(body)).is(422);
    }
    send(&api, "third", "/trainees/unknown", None).is(404);
    register.write_record();
    let page = viewer.open("/settings/requests/search").is(200).text;
    let most = text_after(&page, "id=\"refused\"", "</main>");
    most.shows(&["covers 3 refused requests since 2026-09-28"]);
    let rows: Vec<&str> = most.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 2, "{most}");
    let field = input::<Trainee>(SERVED[0], F::last_name);
    rows[0].shows(&[
        field,
        ">blank</a>",
        ">2<span",
        ">second</a>",
        "POST /trainees",
    ]);
    rows[1].shows(&[">status 404</a>", ">1<span", ">third</a>"]);
    assert_eq!(links_lead_somewhere(&viewer, most), 2);
    // Those that were refused alike, and the newest of them.
    let alike =
        text_after(rows[0], "data-name=\"Requests\"><a href=\"", "\"").replace("&#38;", "&");
    let found = viewer.see(&alike, &[">first<", ">second<"]).text;
    found.lacks(&[">third<"]);
    let newest =
        text_after(rows[1], "data-name=\"Newest request\"><a href=\"", "\"").replace("&#38;", "&");
    assert_eq!(ids(&viewer.open(&newest).is(200)), ["third"]);
}

/// The identifiers in the list of requests.
fn ids(page: &Page) -> Vec<String> {
    let cells = page.text.split("<td data-name=\"Request\">").skip(1);
    cells
        .map(|cell| cell[..cell.find('<').unwrap()].to_owned())
        .collect()
}

#[test]
fn requests_are_found_by_each_field_of_the_form() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest(&register);
    let body = oldest.example().without(F::last_name);
    send(&oldest, "a", "/trainees", Some(body)).is(422);
    register.clock.set("2026-10-05T10:00:00Z");
    send(&newest, "b", "/trainees/unknown", None).is(404);
    register.clock.set("2026-10-05T11:00:00Z");
    let token = register.issue_token(UKPRN, Environment::Sandbox, None);
    let other = register.api_with_token(SERVED[0], token);
    send(&other, "c", "/trainees", Some(other.example())).is(201);
    register.write_record();
    let viewer = Browser::viewer(&register);
    let number = register
        .operate(|session| session.list_tokens(Some(UKPRN)))
        .last()
        .unwrap()
        .id
        .to_string();
    let (first, last) = (SERVED[0].label, SERVED.last().unwrap().label);
    for (query, expected) in [
        ("", "c b a"),
        ("outcome=accepted", "c"),
        ("outcome=refused", "b a"),
        ("status=404", "b"),
        ("status=4xx", "b a"),
        ("endpoint=POST /trainees", "c a"),
        (&format!("version={first}"), "c a"),
        (&format!("version={last}"), "b"),
        (&format!("token={number}"), "c"),
        ("code=blank", "a"),
        ("from=2026-10-05T10:00:00Z", "c b"),
        ("until=2026-10-05T10:00", "a"),
        ("from=2026-10-05&until=2026-10-06&status=422", "a"),
        ("request_id=b", "b"),
        ("request_id=unknown", ""),
        ("after=253402300799000-9223372036854775807", "c b a"),
    ] {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let fields: Vec<(&str, &str)> = pairs.collect();
        let page = find(&viewer, &fields).is(200);
        assert_eq!(ids(&page).join(" "), expected, "{query}");
        // What was typed stays, and what it is typed in is in sight.
        for (name, value) in fields.iter().filter(|(name, _)| *name != "after") {
            let stays = page.text.contains(&format!("value=\"{value}\" selected"))
                || page.text.contains(&format!(
                    "name=\"{name}\" maxlength=\"100\" autocomplete=\"off\" spellcheck=\"false\" value=\"{value}\""
                ));
            assert!(stays, "{name} in {}", page.text);
        }
        let is_detailed = fields.iter().any(|(name, _)| *name != "after");
        assert_eq!(
            page.text.contains("<details id=\"find\" open"),
            is_detailed,
            "{fields:?}"
        );
    }
    viewer
        .open("/settings/requests/search?after=nothing")
        .is(404);
    // A date that is later than any of a calendar.
    viewer
        .open("/settings/requests/search?after=8210266876799999-1")
        .is(200);
}

#[test]
fn wrong_filter_is_named_at_its_field_and_kept() {
    let register = Register::start();
    let viewer = Browser::viewer(&register);
    let escaped = SCRIPT
        .replace('<', "&#60;")
        .replace('>', "&#62;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;");
    for name in [
        "outcome",
        "status",
        "endpoint",
        "version",
        "token",
        "code",
        "from",
        "until",
        "request_id",
    ] {
        for wrong in [SCRIPT, "nothing such", "\u{0}", "%", "-1/x"] {
            let page = find(&viewer, &[(name, wrong)]).is(422).text;
            page.shows(&[
                "<title>Error: Single requests",
                &format!("<li><a href=\"#{name}\">"),
                &format!("id=\"{name}-fault\""),
            ]);
            page.shows(&[&format!(
                "aria-describedby=\"{name}-hint {name}-fault\" aria-invalid=\"true\""
            )]);
            page.lacks(&["id=\"requests\"", "<script>"]);
        }
        find(&viewer, &[(name, SCRIPT)]).shows(&[&format!("value=\"{escaped}\"")]);
    }
    // All of them at once, each in its place, next to one that is right.
    let page = find(
        &viewer,
        &[("status", "x"), ("token", "y"), ("code", "blank")],
    )
    .is(422)
    .text;
    assert_eq!(page.matches("class=\"fault\"").count(), 2, "{page}");
    page.shows(&["value=\"x\"", "value=\"y\"", "value=\"blank\""]);
    let page = find(&viewer, &[("from", "2026-10-05"), ("until", "2026-10-04")])
        .is(422)
        .text;
    page.shows(&["Enter a time after"]);
}

#[test]
fn older_requests_are_on_further_pages_of_the_same_filter() {
    let register = Register::start();
    plant(
        &register,
        (0..120).map(|number| format!("planted-{number}")),
    );
    let viewer = Browser::viewer(&register);
    let mut path = "/settings/requests/search?outcome=refused&status=422".to_owned();
    let mut found = Vec::new();
    for expected in [20; 6] {
        let page = viewer.open(&path).is(200);
        assert_eq!(ids(&page).len(), expected);
        found.extend(ids(&page));
        if !page.text.contains("Show older requests") {
            break;
        }
        path = text_after(&page.text, "<a class=\"button second\" href=\"", "\"")
            .replace("&#38;", "&");
        path.shows(&["outcome=refused", "status=422"]);
    }
    let planted = (0..120).map(|number| format!("planted-{number}"));
    assert_eq!(found, planted.collect::<Vec<_>>());
}

#[test]
fn no_page_shows_what_another_provider_requested() {
    let register = Register::with_setup(Setup {
        shadow_share: 100,
        ..Setup::default()
    });
    let other = register.other_provider(SERVED[0]);
    let body = other.example().without(F::last_name);
    send(&other, "of-the-other", "/trainees", Some(body)).is(422);
    send(&other, "of-the-other", "/trainees", Some(other.example())).is(201);
    register.write_record();
    let own = Browser::viewer(&register);
    let tokens = register.operate(|session| session.list_tokens(Some(OTHER_UKPRN)));
    let number = tokens[0].id.to_string();
    for path in [
        "/settings/requests",
        "/settings/usage",
        "/settings/usage.csv",
        "/settings/readiness",
    ] {
        let page = own.open(path).is(200).text;
        page.lacks(&["of-the-other", OTHER_UKPRN, "data-name=", "2026-10,"]);
    }
    for field in [
        ("request_id", "of-the-other"),
        ("token", number.as_str()),
        ("outcome", "refused"),
    ] {
        assert_eq!(
            ids(&find(&own, &[field]).is(200)),
            Vec::<String>::new(),
            "{field:?}"
        );
    }
    // Those of the other one see it.
    let theirs = Browser::signed_in(
        &register,
        Some(OTHER_UKPRN),
        "o@example.com",
        UserRole::Viewer,
    );
    assert_eq!(
        ids(&find(&theirs, &[("request_id", "of-the-other")]).is(200)).len(),
        2
    );
    theirs.see("/settings/usage", &["data-name="]);
    theirs.see("/settings/usage.csv", &["2026-10,"]);
    theirs.see("/settings/readiness", &["1 of 1 checked writes"]);
}

#[test]
fn script_in_what_was_logged_is_shown_as_text() {
    let register = Register::start();
    plant(
        &register,
        ["\"><script>alert(2)</script>".to_owned()].into_iter(),
    );
    let page = Browser::viewer(&register)
        .open("/settings/requests/search")
        .is(200)
        .text;
    assert!(
        page.matches("&#60;script&#62;alert(2)").count() >= 2,
        "{page}"
    );
    assert!(
        page.matches("&#60;b&#62;&#60;script&#62;alert(1)").count() >= 2,
        "{page}"
    );
    page.lacks(&["<script>", "<b>", "\"'>"]);
}
