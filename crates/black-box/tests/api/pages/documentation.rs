//! The pages below `/docs`, as a browser gets them.

use adapter_kit::{Publication, Source, Versions, date};
use form_urlencoded::Serializer;
use versions::{REMOVED, SERVED};

use crate::api::support::versions::republished;
use crate::api::support::{Page, Register};

/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 262_144;

fn get(register: &Register, path: &str) -> Page {
    register.request("GET", path).page()
}

/// The form, filled in and sent.
fn rewrite(register: &Register, from: &str, to: &str, kind: &str, body: &str) -> Page {
    let pairs = [("kind", kind), ("body", body)];
    let form = Serializer::new(String::new()).extend_pairs(pairs).finish();
    let path = format!("/docs/move/{from}/{to}");
    let request = register.request("POST", &path).bytes(form);
    request
        .header("Content-Type", "application/x-www-form-urlencoded")
        .page()
}

fn oldest_and_newest() -> (String, String) {
    (
        SERVED[0].label.to_string(),
        SERVED.last().unwrap().label.to_string(),
    )
}

#[test]
fn every_page_keeps_to_itself() {
    let register = Register::start();
    let (oldest, newest) = oldest_and_newest();
    let pages = [
        get(&register, "/docs").is(200),
        get(&register, "/docs/data-managers").is(200),
        get(&register, &format!("/docs/move/{oldest}/{newest}")).is(200),
        rewrite(&register, &oldest, &newest, "detect", "{}").is(200),
        rewrite(&register, &oldest, &newest, "detect", "{").is(422),
    ];
    for page in pages {
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(
            page.header("content-security-policy"),
            Some(
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
            )
        );
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        for foreign in ["<style", "style=", "onclick", "http:", "https:"] {
            // Commands for the reader are no links.
            let text = page.text.replace("curl -i http:", "");
            let text = text.replace("curl -i -X POST http:", "");
            assert!(!text.contains(foreign), "{foreign} in {text}");
        }
        assert_eq!(page.text.matches("<script").count(), 1);
        assert_eq!(page.text.matches("src=").count(), 1);
        assert!(page.text.contains("<script src=\"/docs/assets/"));
        assert!(
            page.text
                .starts_with("<!DOCTYPE html>\n<html lang=\"en-GB\">")
        );
        assert_eq!(page.text.matches("<h1").count(), 1);
        assert!(
            page.text
                .contains("href=\"#main\">Skip to the main content")
        );
    }
}

#[test]
fn list_shows_every_version_with_its_dates_and_links() {
    let publication = |version: &adapter_kit::ApiVersion| Publication {
        deprecated_on: Some(date(2026, 9, 1)),
        sunset_on: Some(date(2027, 9, 1)),
        ..version.publication
    };
    let old = republished(SERVED[0], publication(SERVED[0]));
    let list: Vec<_> = SERVED
        .iter()
        .map(|version| {
            if version.label == old.label {
                old
            } else {
                *version
            }
        })
        .collect();
    let register = Register::with_versions(Box::leak(Box::new(Versions::new(&list))));
    let page = get(&register, "/docs").is(200);
    let newest = SERVED.last().unwrap().label;
    for version in SERVED {
        let label = version.label;
        for address in [
            format!("/docs/{label}/"),
            format!("/docs/{label}/guide"),
            format!("/docs/{label}/fields"),
            format!("/docs/versions/{label}"),
            format!("/api/{label}/openapi.json"),
        ] {
            assert!(
                page.text.contains(&format!("href=\"{address}\"")),
                "{address}"
            );
        }
        let guide = format!("href=\"/docs/move/{label}/{newest}\"");
        assert_eq!(
            page.text.contains(&guide),
            label != newest,
            "{guide} {}",
            page.text
        );
    }
    for words in [
        "1 September 2026",
        "1 September 2027",
        "deprecated",
        "for use in the sandbox",
        "newest",
    ] {
        assert!(page.text.contains(words), "{words}");
    }
    assert!(
        REMOVED
            .iter()
            .all(|removed| page.text.contains(&removed.label.to_string()))
    );
}

#[test]
fn version_without_a_date_is_shown_as_not_released() {
    let old = republished(
        SERVED[0],
        Publication {
            since: None,
            ..SERVED[0].publication
        },
    );
    let list: Vec<_> = SERVED
        .iter()
        .map(|version| {
            if version.label == old.label {
                old
            } else {
                *version
            }
        })
        .collect();
    let register = Register::with_versions(Box::leak(Box::new(Versions::new(&list))));
    let label = old.label;
    for path in [
        "/docs".to_owned(),
        format!("/docs/versions/{label}"),
        format!("/api/{label}/openapi.json"),
    ] {
        let text = get(&register, &path).is(200).text;
        assert!(
            text.to_lowercase().contains("not released") && !text.contains("9999-12-31"),
            "{path}: {text}"
        );
    }
    let listed = register.request("GET", "/api/versions").send().is(200).body;
    let listed = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .find(|listed| listed["label"] == label.to_string());
    assert_eq!(listed.unwrap()["since"], serde_json::Value::Null);
}

#[test]
fn result_shows_what_was_sent_as_text() {
    let register = Register::start();
    let (from, to) = oldest_and_newest();
    let body = "{\"data\": {\"email\": \"<b>&\\\"\"}}";
    let page = rewrite(&register, &from, &to, "update", body).is(200);
    assert!(page.text.contains("not a valid e-mail address"));
    assert!(!page.text.contains("<b>"), "{}", page.text);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    // The form has what was sent.
    assert!(page.text.contains("<option value=\"update\" selected>"));
}

#[test]
fn a_value_without_a_place_is_shown_with_the_reason() {
    let register = Register::start();
    let (from, to) = oldest_and_newest();
    // A field that only the oldest version has.
    let own = SERVED[0]
        .shapes
        .trainee
        .entries
        .iter()
        .find(|entry| matches!(entry.source, Source::Own(_)));
    let lost = own.unwrap().name;
    let body = format!("{{\"data\": {{\"trainee_id\": \"x\", \"{lost}\": \"something\"}}}}");
    let page = rewrite(&register, &from, &to, "reply", &body).is(200);
    assert!(page.text.contains("Values without a field in"));
    assert!(
        page.text.contains("1 value lost") && page.text.contains("no name changed"),
        "{}",
        page.text
    );
}

#[test]
fn form_errors_are_shown_at_fields_and_at_the_top() {
    let register = Register::start();
    let (from, to) = oldest_and_newest();
    let page = rewrite(&register, &from, &to, "detect", "{\n  \"sex\": ,").is(422);
    assert!(page.text.contains("<title>Error: "));
    assert!(page.text.contains(
        "<a href=\"#body\">The body is not valid JSON: expected value at line 2 column 10</a>"
    ));
    assert!(
        page.text
            .contains("aria-describedby=\"body-hint body-fault\" aria-invalid=\"true\"")
    );
    assert!(page.text.contains("  &#34;sex&#34;: ,"));
    let page = rewrite(&register, &from, &to, "<i>", " ").is(422);
    for field in ["kind", "body"] {
        let link = format!("<a href=\"#{field}\">");
        let fault = format!("id=\"{field}-fault\"");
        assert!(page.text.contains(&link) && page.text.contains(&fault));
    }
    assert!(!page.text.contains("<i>"));
}

#[test]
fn a_body_can_have_256_kib_and_no_more() {
    let register = Register::start();
    let (from, to) = oldest_and_newest();
    let sized = |bytes: usize| format!("\"{}\"", "+".repeat(bytes - 2));
    rewrite(&register, &from, &to, "detect", &sized(MAX_BODY_BYTES)).is(200);
    let page = rewrite(&register, &from, &to, "detect", &sized(MAX_BODY_BYTES + 1)).is(422);
    assert!(page.text.contains("the limit is 256 KiB"));
    let page = register
        .request("POST", &format!("/docs/move/{from}/{to}"))
        .header("Accept", "text/html")
        .bytes(sized(4 * MAX_BODY_BYTES))
        .page()
        .is(413);
    assert!(page.text.contains("<h1>The request is too large</h1>"));
}

#[test]
fn the_style_is_kept_by_its_tag() {
    let register = Register::start();
    let style = get(&register, "/docs/style.css").is(200);
    assert_eq!(
        style.header("content-type"),
        Some("text/css; charset=utf-8")
    );
    assert_eq!(style.header("cache-control"), Some("public, max-age=3600"));
    let tag = style.header("etag").unwrap();
    let again = register
        .request("GET", "/docs/style.css")
        .header("If-None-Match", tag)
        .page()
        .is(304);
    assert!(again.text.is_empty());
    assert!(!style.text.contains("url(") && !style.text.contains("@import"));
}

#[test]
fn pages_answer_their_methods_and_state_them() {
    let register = Register::start();
    let reading = "GET, HEAD, OPTIONS";
    let (oldest, newest) = oldest_and_newest();
    let move_page = format!("/docs/move/{oldest}/{newest}");
    for (path, allowed) in [
        ("/docs", reading),
        ("/docs/style.css", reading),
        ("/docs/differences", reading),
        ("/docs/migrate", reading),
        (move_page.as_str(), "GET, HEAD, POST, OPTIONS"),
    ] {
        let refused = register.request("DELETE", path).send();
        refused.error(405, "MethodNotAllowed");
        assert_eq!(refused.header("allow"), Some(allowed), "{path}");
        assert_eq!(
            register
                .request("OPTIONS", path)
                .send()
                .is(204)
                .header("allow"),
            Some(allowed),
            "{path}"
        );
    }
    assert!(
        register
            .request("HEAD", "/docs")
            .page()
            .is(200)
            .text
            .is_empty()
    );
    register
        .request("GET", "/docs/nothing")
        .send()
        .error(404, "NotFound");
}

#[test]
fn addresses_without_a_page_lead_to_the_documentation() {
    let register = Register::start();
    for (path, status) in [("/", 307), ("/docs/", 308)] {
        let reply = register.request("GET", path).page().is(status);
        assert_eq!(reply.header("location"), Some("/docs"), "{path}");
    }
}

#[test]
fn missing_page_is_html_for_browsers_and_json_for_programs() {
    let register = Register::start();
    let label = SERVED[0].label;
    for path in [
        "/docs/nothing",
        "/docs/v9",
        &format!("/docs/{label}/nothing"),
    ] {
        let accept = "text/html,application/xhtml+xml,*/*;q=0.8";
        let page = register
            .request("GET", path)
            .header("Accept", accept)
            .page()
            .is(404);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8"),
            "{path}"
        );
        assert_eq!(page.header("vary"), Some("Accept"), "{path}");
        assert!(
            page.text.contains("<h1>Page not found</h1>"),
            "{path}: {}",
            page.text
        );
        for accept in ["*/*", "application/json"] {
            register
                .request("GET", path)
                .header("Accept", accept)
                .send()
                .error(404, "NotFound");
        }
    }
}

#[test]
fn browser_gets_a_page_for_unknown_paths_outside_the_api() {
    let register = Register::start();
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let page = register
        .request("GET", "/nothing")
        .header("Accept", browser)
        .page()
        .is(404);
    for link in ["href=\"/docs\"", "href=\"/settings\""] {
        assert!(page.text.contains(link), "{link}: {}", page.text);
    }
    assert_eq!(page.header("vary"), Some("Accept"));
    for path in ["/api/nothing", "/api/v9/info"] {
        let request = register.request("GET", path).header("Accept", browser);
        request.send().error(404, "NotFound");
    }
    let program = register.request("GET", "/nothing").header("Accept", "*/*");
    program.send().error(404, "NotFound");
}

#[test]
fn browser_gets_a_page_for_a_method_that_settings_do_not_have() {
    let register = Register::start();
    let page = register
        .request("GET", "/settings/sign-out")
        .header("Accept", "text/html")
        .page()
        .is(405);
    assert_eq!(page.header("allow"), Some("POST, OPTIONS"));
    assert!(
        page.text
            .contains("<h1>This address does not accept the request</h1>")
    );
}

#[test]
fn pages_have_an_icon_and_follow_the_colour_scheme() {
    let register = Register::start();
    for path in ["/docs", "/settings/sign-in"] {
        let page = get(&register, path).is(200).text;
        assert!(page.contains("<meta name=\"color-scheme\" content=\"light dark\">"));
        let icon = page.split("rel=\"icon\"").nth(1).unwrap();
        let icon = icon.split("href=\"").nth(1).unwrap();
        let icon = get(&register, icon.split('"').next().unwrap()).is(200);
        assert_eq!(icon.header("content-type"), Some("image/svg+xml"));
        assert!(icon.text.starts_with("<svg"), "{}", icon.text);
    }
}

#[test]
fn each_explorer_has_a_title_and_document_links_without_scripts() {
    let register = Register::start();
    for served in SERVED.iter() {
        let label = served.label;
        let page = get(&register, &format!("/docs/{label}/")).is(200).text;
        for part in [
            format!("<title>API explorer for {label} - "),
            "<html lang=\"en-GB\">".to_owned(),
            "name=\"viewport\"".to_owned(),
            format!("<h1>API explorer for {label}</h1>"),
            format!("<a href=\"/docs/{label}/guide\">"),
            format!("<a href=\"/api/{label}/openapi.json\">"),
        ] {
            assert!(page.contains(&part), "{part}: {page}");
        }
        assert_eq!(page.matches("<h1").count(), 1);
        assert!(!page.contains("\"./"), "{page}");
        assert!(
            !page.contains("<style") && !page.contains("<script>"),
            "{page}"
        );
        // A token cannot become part of an address, even without scripts.
        assert!(page.contains("id=\"token\"") && !page.contains("name=\"token\""));
    }
}
