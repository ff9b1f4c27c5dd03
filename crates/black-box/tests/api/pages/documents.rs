//! The documents of each version below `/docs/<version>/`, and the search in them.

use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::form::{self, MemberForm};
use adapter_kit::shape::JsonType;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireRecord, for_each_record};
use adapter_kit::wire_form::DATA;
use adapter_kit::{Label, names, reference};
use domain::{Code, RecordField as _};
use serde_json::{Value, json};
use version_tools::documents::contract::CHAPTERS;
use versions::SERVED;

use super::{convert, get, longest_move, plain_text, search};
use crate::api::support::{Register, TextChecks as _, every_version};

/// The documents of a version, by their names in addresses.
const DOCUMENTS: [&str; 7] = [
    "guide",
    "contract",
    "fields",
    "problems",
    "rules",
    "reference-data",
    "funding",
];

/// The values of an attribute, without what HTML escapes in addresses.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = String> + 'a {
    let begin = format!(" {name}=\"");
    let values: Vec<&str> = page
        .split(begin.as_str())
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect();
    values
        .into_iter()
        .map(|value| value.replace("&amp;", "&").replace("&#38;", "&"))
}

/// The words of a page, with the parts of names kept together.
fn words(page: &str) -> BTreeSet<&str> {
    page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect()
}

#[test]
fn every_link_of_every_page_leads_somewhere() {
    let register = Register::start();
    let mut pages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wanted = vec!["/docs".to_owned()];
    let mut linked = BTreeSet::new();
    while let Some(address) = wanted.pop() {
        if pages.contains_key(&address) {
            continue;
        }
        let page = get(&register, &address);
        // The pages of the settings ask the reader to sign in.
        let is_settings = address.starts_with("/settings");
        assert!(
            [200, 308].contains(&page.status) || is_settings && [303, 307].contains(&page.status),
            "{address}: {}",
            page.status
        );
        pages.insert(address.clone(), attributes(&page.text, "id").collect());
        // Which pages the explorer loads is not for this test.
        let is_document = page
            .header("content-type")
            .is_some_and(|media| media.starts_with("text/html"));
        if !is_document || is_settings || page.text.contains("swagger-ui") {
            continue;
        }
        for link in attributes(&page.text, "href") {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if path.is_empty() { &address } else { path };
            assert!(path.starts_with('/'), "{link} on {address}");
            wanted.push(path.to_owned());
            linked.insert((address.clone(), path.to_owned(), anchor.to_owned()));
        }
    }
    assert!(
        pages.len() > SERVED.len() * (DOCUMENTS.len() + reference::names().count()),
        "{:?}",
        pages.keys()
    );
    let broken: Vec<_> = linked
        .iter()
        .filter(|(_, path, anchor)| !anchor.is_empty() && !pages[path].contains(anchor))
        .collect();
    assert_eq!(broken, [] as [&(String, String, String); 0]);
}

/// The documents of a version, by address, as plain text without passages about several versions.
fn own_texts(register: &Register, label: Label) -> BTreeMap<String, String> {
    let chapters = CHAPTERS
        .iter()
        .map(|chapter| format!("contract/{}", chapter.name));
    let documents = DOCUMENTS
        .iter()
        .map(|&name| name.to_owned())
        .chain(chapters);
    let text = |document: String| {
        let address = format!("/docs/{label}/{document}");
        let page = get(register, &address).is(200).text;
        let (_, main) = page.split_once("<main").expect("the text of the page");
        (address, plain_text(&without_passages(main)))
    };
    documents.map(text).collect()
}

/// A page without the elements with passages about several versions.
fn without_passages(page: &str) -> String {
    let mut parts = page.split(" class=\"as-written\">");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let element = if text.ends_with("<div") {
            "div"
        } else {
            "span"
        };
        let (start, end) = (format!("<{element}"), format!("</{element}>"));
        let mut inner = 0;
        let mut ends = part.match_indices(&end).map(|(at, _)| at);
        let end = ends.find(|at| {
            inner += 1;
            part[..*at].matches(&start).count() < inner
        });
        text.push_str(&part[end.expect("the end of the passage")..]);
    }
    text
}

/// The names that other versions have for the fields of a version. Names of rules are other words.
fn old_names<R: WireRecord>(version: &ApiVersion) -> Vec<&'static str> {
    fn names<R: WireRecord>(version: &ApiVersion) -> Vec<(R::Field, &'static str)> {
        let sent = R::inputs(version).entries.iter();
        let shown = R::shape(version)
            .map_or(&[][..], |shape| shape.entries)
            .iter();
        let shown = shown.filter_map(|entry| Some((entry.field()?, entry.name)));
        sent.map(|input| (input.field, input.name))
            .chain(shown)
            .collect()
    }
    let fields: Vec<_> = names::<R>(version)
        .into_iter()
        .map(|(field, _)| field)
        .collect();
    let all = SERVED.iter().flat_map(|other| names::<R>(other));
    let old = all
        .filter(|(field, _)| fields.contains(field))
        .map(|(_, name)| name);
    let is_rule = |name: &str| R::rules(version).iter().any(|rule| rule.name == name);
    old.filter(|name| !is_rule(name)).collect()
}

/// The keys of all bodies of a version.
fn keys(register: &Register, label: Label) -> BTreeSet<String> {
    fn collect(schema: &Value, keys: &mut BTreeSet<String>) {
        let properties = schema.get("properties").and_then(Value::as_object);
        keys.extend(properties.into_iter().flatten().map(|(key, _)| key.clone()));
        let members = schema
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, member)| member);
        let items = schema.as_array().into_iter().flatten();
        members.chain(items).for_each(|inner| collect(inner, keys));
    }
    let openapi = register.request("GET", &format!("/api/{label}/openapi.json"));
    let mut keys = BTreeSet::new();
    collect(&openapi.send().is(200).body, &mut keys);
    keys
}

/// The values in a text that the version does not write in this way, with their keys.
fn old_values<R: WireRecord>(version: &ApiVersion, text: &str) -> Vec<String> {
    let mut old = Vec::new();
    for input in R::inputs(version).entries {
        let info = input.field.info();
        let words = version.wire.words_of(info.codes).unwrap_or_default();
        let is_old = |value: &Value| {
            let is_code = words.iter().any(|(code, _)| value == code);
            let is_text = input.accepts == Some(JsonType::Integer) && value.is_string();
            let form = input.form.filter(|form| form.form.members() == 1);
            let is_readable =
                |form: MemberForm| form::read(form.form, value, &info.into()).is_some();
            is_code || is_text || !form.is_none_or(is_readable)
        };
        let key = format!("\"{}\":", input.name);
        for (at, _) in text.match_indices(&key) {
            let rest = &text[at + key.len()..];
            let value = serde_json::Deserializer::from_str(rest).into_iter().next();
            old.extend(
                value
                    .and_then(Result::ok)
                    .filter(is_old)
                    .map(|value| format!("{key}{value}")),
            );
        }
    }
    old
}

/// The ends of paths that only other versions have for the endpoints of a version, such as
/// `/defer`.
fn old_paths(version: &ApiVersion) -> BTreeSet<&'static str> {
    let end = |path: &'static str| &path[path.rfind('/').unwrap_or(0)..];
    let own: BTreeSet<_> = version
        .endpoints
        .all()
        .map(|endpoint| end(version.row(endpoint).path))
        .collect();
    let rows = SERVED
        .iter()
        .flat_map(|other| version.endpoints.all().map(|endpoint| other.row(endpoint)));
    rows.map(|row| end(row.path))
        .filter(|end| !own.contains(end))
        .collect()
}

#[test]
fn document_shows_only_forms_of_its_version() {
    let register = Register::start();
    // A list has one name in all versions.
    let lists: BTreeSet<&str> = reference::names().collect();
    let keys: Vec<_> = SERVED
        .iter()
        .map(|version| keys(&register, version.label))
        .collect();
    let mut found = Vec::new();
    for (version, own_keys) in SERVED.iter().zip(&keys) {
        let own = names::all(version);
        let own: BTreeSet<&str> = own.iter().flat_map(|name| name.split('.')).collect();
        let old: BTreeSet<&str> = for_each_record!(old_names(version))
            .concat()
            .into_iter()
            .collect();
        let old_keys: BTreeSet<_> = keys
            .iter()
            .flatten()
            .filter(|key| !own_keys.contains(*key))
            .collect();
        let old_paths = old_paths(version);
        for (address, text) in own_texts(&register, version.label) {
            let mut add = |what: String| found.push(format!("{address}: {what}"));
            let words = words(&text);
            let names = words
                .intersection(&old)
                .filter(|name| !own.contains(*name) && !lists.contains(*name));
            names.for_each(|name| add(format!("name {name}")));
            let keys = old_keys
                .iter()
                .filter(|key| text.contains(&format!("\"{key}\":")));
            keys.for_each(|key| add(format!("key {key}")));
            let values = for_each_record!(old_values(version, &text)).concat();
            values
                .into_iter()
                .for_each(|value| add(format!("value {value}")));
            for path in &old_paths {
                let mut ends = text.split(path).skip(1);
                if ends.any(|rest| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || "-_".contains(c))
                }) {
                    add(format!("path {path}"));
                }
            }
            let is_list_in_data = text.replace(' ', "").contains("{\"data\":[]}");
            if version.wire.envelope.list != DATA && is_list_in_data {
                add("list in data".to_owned());
            }
        }
    }
    assert_eq!(found, [] as [String; 0]);
}

#[test]
fn fields_document_has_every_name_of_its_version() {
    let register = Register::start();
    for version in SERVED {
        let fields = get(&register, &format!("/docs/{}/fields", version.label)).is(200);
        let words = words(&fields.text);
        let own = names::all(version);
        let missing: Vec<_> = own
            .iter()
            .filter(|name| !name.split('.').all(|step| words.contains(step)))
            .collect();
        assert_eq!(missing, [] as [&&str; 0], "{}", version.label);
    }
}

#[test]
fn a_page_with_commands_has_the_address_of_its_reader() {
    let register = Register::start();
    let path = format!("/docs/{}/guide", SERVED[0].label);
    let page = register
        .request("GET", &path)
        .header("Host", "register.example:8443")
        .page()
        .is(200);
    page.shows(&[&format!(
        "BASE=http://register.example:8443/api/{}\n",
        SERVED[0].label
    )]);
    page.lacks(&["127.0.0.1"]);
    let strange = register
        .request("GET", &path)
        .header("Host", "\"><b>")
        .page();
    strange.lacks(&["\"><b>"]);
}

#[test]
fn documents_are_cached_by_etag_and_search_is_not() {
    let register = Register::start();
    for document in DOCUMENTS {
        let path = format!("/docs/{}/{document}", SERVED[0].label);
        let page = get(&register, &path).is(200);
        let tag = page.header("etag").unwrap();
        assert_eq!(page.header("cache-control"), Some("no-cache"));
        let again = register.request("GET", &path).header("If-None-Match", tag);
        assert_eq!(again.page().is(304).text, "");
        assert_eq!(register.request("HEAD", &path).page().is(200).text, "");
        let wrong = register.request("POST", &path).send();
        wrong.error(405, "MethodNotAllowed");
    }
    assert_eq!(
        search(&register, "", "email").header("cache-control"),
        Some("no-store")
    );
    register
        .request(
            "GET",
            &format!("/docs/{}/reference-data/nothing", SERVED[0].label),
        )
        .send()
        .error(404, "NotFound");
}

#[test]
fn code_list_page_has_every_code_name_and_accepting_version() {
    let register = Register::start();
    let lists = domain::Lists::embedded();
    for list in domain::List::ALL {
        let page = get(
            &register,
            &format!("/docs/{}/reference-data/{}", SERVED[0].label, list.name()),
        )
        .is(200);
        for entry in lists.entries(*list) {
            let row = format!(
                "<tr id=\"{}\"><th scope=\"row\" data-name=\"code\"><code>{}</code></th>",
                entry.code.to_lowercase(),
                entry.code
            );
            let (_, rest) = page
                .text
                .split_once(&row)
                .unwrap_or_else(|| panic!("no {row}"));
            let row = rest.split_once("</tr>").unwrap().0;
            let accepts = |version: &ApiVersion| version.accepted_codes.accepts(*list, &entry.code);
            if SERVED.iter().all(|version| accepts(version)) {
                continue;
            }
            for version in SERVED {
                let is_named = row.contains(&version.label.to_string());
                assert_eq!(is_named, accepts(version), "{}: {row}", version.label);
            }
        }
    }
}

#[test]
fn an_error_links_to_the_page_about_it() {
    every_version(|api| {
        let label = api.version.label;
        let problems = api
            .register
            .request("GET", &format!("/docs/{label}/problems"))
            .page()
            .is(200);
        let ids: BTreeSet<String> = attributes(&problems.text, "id").collect();
        assert!(
            Code::ALL.iter().all(|code| ids.contains(code.name())),
            "{ids:?}"
        );
        let path = api.create(api.example()).path();
        let change = |data: Value| api.send("PATCH", &path, json!({ "data": data })).is(422);
        let strange = api.request("GET", "/trainees").without("Authorization");
        let replies = [
            (change(json!({ "email": "none" })), "not_email"),
            (change(json!({ "email": "none", "sex": "x" })), "status-422"),
            (api.get("/nothing").is(404), "status-404"),
            (strange.send().is(401), "status-401"),
            (api.request("DELETE", "/info").send().is(405), "status-405"),
            (api.get("/trainees?sort_order=x").is(422), "status-422"),
            (
                api.send("POST", "/trainees", api.example()).is(409),
                "status-409",
            ),
        ];
        for (reply, anchor) in replies {
            let link =
                format!("</docs/{label}/problems#{anchor}>; rel=\"help\"; type=\"text/html\"");
            assert_eq!(reply.header("link"), Some(link.as_str()));
            assert!(ids.contains(anchor), "{anchor}");
        }
        assert_eq!(api.get("/info").is(200).header("link"), None);
        let options = api.request("OPTIONS", "/info").send().is(204);
        assert_eq!(options.header("link"), None);
    });
}

#[test]
fn the_search_finds_fields_codes_problems_rules_and_sections() {
    let register = Register::start();
    for version in SERVED {
        let label = version.label.to_string();
        let subject = domain::TraineeField::course_subject_1;
        let subject = version.inputs.trainee.name_of(subject).unwrap();
        for (query, place) in [
            (subject, format!("fields#{subject}").as_str()),
            ("100511", "reference-data/course_subject#100511"),
            ("open university", "reference-data/institution#0001"),
            ("no_such_funding", "problems#no_such_funding"),
            ("funding_exists", "rules#funding_exists"),
            ("keep a mirror current", "guide#keep-a-mirror-current"),
            ("retry-after", "contract/8-limits"),
        ] {
            let page = search(&register, &label, query);
            page.shows(&[&format!("<a href=\"/docs/{label}/{place}\">")]);
        }
    }
}

#[test]
fn a_query_is_bounded_and_shown_as_text() {
    let register = Register::start();
    let page = search(&register, "", "<b>&\"'");
    page.shows(&["No results for"]);
    page.lacks(&["<b>"]);
    let long = search(&register, "", &"é".repeat(5_000));
    long.shows(&[&"é".repeat(100)]);
    long.lacks(&[&"é".repeat(101)]);
    search(&register, "", "").lacks(&["id=\"results\""]);
    get(&register, "/docs/search")
        .is(200)
        .lacks(&["id=\"results\""]);
    // A version that there is not stands for the newest.
    let newest = SERVED.last().unwrap().label;
    search(&register, "v1999.1", "email").shows(&[&format!("<option selected>{newest}")]);
    // Broad ones end with the best.
    let broad = search(&register, "", "a");
    assert_eq!(broad.text.matches("<mark>").count(), 50);
    broad.shows(&["more results are not shown"]);
}

#[test]
fn no_page_links_to_a_guide_between_identical_versions() {
    let register = Register::start();
    for version in SERVED {
        let itself = format!("from={0}&to={0}\"", version.label);
        for path in [
            "/docs".to_owned(),
            format!("/docs/versions/{}", version.label),
        ] {
            let page = get(&register, &path).is(200);
            assert!(
                attributes(&page.text, "href").all(|link| !format!("{link}\"").contains(&itself)),
                "{path}"
            );
        }
    }
    let list = register.request("GET", "/api/versions").send().is(200);
    for version in SERVED {
        list.body
            .to_string()
            .lacks(&[&format!("from={0}&to={0}\"", version.label)]);
    }
}

#[test]
fn form_has_an_example_of_the_selected_kind() {
    let register = Register::start();
    let oldest = SERVED[0];
    let path = longest_move();
    let example = |kind: &str| get(&register, &format!("{path}?kind={kind}")).is(200).text;
    let subject = oldest
        .inputs
        .trainee
        .name_of(domain::TraineeField::course_subject_1)
        .unwrap();
    for kind in ["create", ""] {
        example(kind).shows(&[&format!("&#34;{subject}&#34;: ")]);
    }
    let date = oldest
        .inputs
        .withdrawal
        .name_of(domain::WithdrawalField::withdrawal_date)
        .unwrap();
    let withdrawal = example("withdraw");
    withdrawal.shows(&[&format!("&#34;{date}&#34;: ")]);
    withdrawal.shows(&[
        &format!("This is an example of {}", oldest.label),
        "<option value=\"withdraw\" selected>",
    ]);
    // The second button replaces the body, even an invalid one.
    let form = [("kind", "degree"), ("body", "{"), ("example", "yes")];
    let page = convert(&register, &form).is(200);
    page.shows(&["&#34;graduation_year&#34;: "]);
    page.lacks(&["There is a problem"]);
    assert_eq!(page.header("cache-control"), Some("no-store"));
}
