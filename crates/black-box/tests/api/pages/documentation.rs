//! The pages below `/docs`, as a browser gets them.

use adapter_kit::{ApiVersion, Publication, date};
use versions::{REMOVED, SERVED};

use super::{convert, get, longest_move};
use crate::api::settings::pages::loads_nothing_foreign;
use crate::api::support::versions::{in_place, republished};
use crate::api::support::{Register, TextChecks as _};

/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 262_144;

#[test]
fn every_page_keeps_to_itself() {
    let register = Register::start();
    let pages = [
        get(&register, "/docs").is(200),
        get(&register, "/docs/data-managers").is(200),
        get(&register, &longest_move()).is(200),
        convert(&register, &[("kind", "detect"), ("body", "{}")]).is(200),
        convert(&register, &[("kind", "detect"), ("body", "{")]).is(422),
    ];
    for page in pages {
        loads_nothing_foreign(&page);
        for foreign in ["http:", "https:"] {
            // Commands for the reader are no links.
            let text = page.text.replace("curl -i http:", "");
            let text = text.replace("curl -i -X POST http:", "");
            text.lacks(&[foreign]);
        }
        assert!(
            page.text
                .starts_with("<!DOCTYPE html>\n<html lang=\"en-GB\">")
        );
        page.shows(&["href=\"#main\">Skip to the main content"]);
    }
}

#[test]
fn list_shows_every_version_with_its_dates_and_links() {
    let publication = |version: &ApiVersion| Publication {
        deprecated_on: Some(date(2026, 9, 1)),
        sunset_on: Some(date(2027, 9, 1)),
        ..version.publication
    };
    let old = republished(SERVED[0], publication(SERVED[0]));
    let register = Register::with_versions(in_place(old));
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
            page.shows(&[&format!("href=\"{address}\"")]);
        }
        let guide = format!("href=\"/docs/move/{label}/{newest}\"");
        assert_eq!(
            page.text.contains(&guide),
            label != newest,
            "{guide} {}",
            page.text
        );
    }
    page.shows(&[
        "1 September 2026",
        "1 September 2027",
        "deprecated",
        "for use in the sandbox",
        "newest",
    ]);
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
    let register = Register::with_versions(in_place(old));
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
fn form_errors_are_shown_at_fields_and_at_the_top() {
    let register = Register::start();
    let body = "{\n  \"sex\": ,";
    let page = convert(&register, &[("kind", "detect"), ("body", body)]).is(422);
    page.shows(&[
        "<title>Error: ",
        "<a href=\"#body\">The body is not valid JSON: expected value at line 2 column 10</a>",
        "aria-describedby=\"body-hint body-fault\" aria-invalid=\"true\"",
    ]);
    page.shows(&["  &#34;sex&#34;: ,"]);
    let page = convert(&register, &[("kind", "<i>"), ("body", " ")]).is(422);
    for field in ["kind", "body"] {
        let link = format!("<a href=\"#{field}\">");
        let fault = format!("id=\"{field}-fault\"");
        page.shows(&[&link, &fault]);
    }
    page.lacks(&["<i>"]);
}

#[test]
fn a_body_can_have_256_kib_and_no_more() {
    let register = Register::start();
    let sized = |bytes: usize| format!("\"{}\"", "+".repeat(bytes - 2));
    let send = |body: &str| convert(&register, &[("kind", "detect"), ("body", body)]);
    send(&sized(MAX_BODY_BYTES)).is(200);
    let page = send(&sized(MAX_BODY_BYTES + 1)).is(422);
    page.shows(&["the limit is 256 KiB"]);
    let page = register
        .request("POST", &longest_move())
        .header("Accept", "text/html")
        .bytes(sized(4 * MAX_BODY_BYTES))
        .page()
        .is(413);
    page.shows(&["<h1>The request is too large</h1>"]);
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
    style.lacks(&["url(", "@import"]);
}

#[test]
fn pages_answer_their_methods_and_state_them() {
    let register = Register::start();
    let reading = "GET, HEAD, OPTIONS";
    let move_page = longest_move();
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
        let options = register.request("OPTIONS", path).send().is(204);
        assert_eq!(options.header("allow"), Some(allowed), "{path}");
    }
    let head = register.request("HEAD", "/docs").page().is(200);
    assert_eq!(head.text, "");
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
fn error_is_html_for_browsers_and_json_for_programs() {
    let register = Register::start();
    let request = |path: &str, accept: &str| register.request("GET", path).header("Accept", accept);
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let missing = (404, "<h1>Page not found</h1>", "NotFound");
    let wrong_method = (
        405,
        "<h1>This address does not accept the request</h1>",
        "MethodNotAllowed",
    );
    for (path, (status, title, name)) in [
        ("/nothing", missing),
        ("/docs/nothing", missing),
        ("/docs/v9", missing),
        (&format!("/docs/{}/nothing", SERVED[0].label), missing),
        ("/docs/versions/v1999.0", missing),
        ("/settings/sign-out", wrong_method),
    ] {
        let page = request(path, browser).page().is(status);
        page.shows(&[title, "href=\"/settings\""]);
        let html = Some("text/html; charset=utf-8");
        assert_eq!(page.header("content-type"), html, "{path}");
        assert_eq!(page.header("vary"), Some("Accept"), "{path}");
        for accept in ["*/*", "application/json"] {
            request(path, accept).send().error(status, name);
        }
    }
    request("/nothing", browser)
        .page()
        .shows(&["href=\"/docs\""]);
    let page = request("/settings/sign-out", browser).page();
    assert_eq!(page.header("allow"), Some("POST, OPTIONS"));
    for path in ["/api/nothing", "/api/v9/info"] {
        request(path, browser).send().error(404, "NotFound");
    }
}

#[test]
fn pages_have_an_icon_and_follow_the_colour_scheme() {
    let register = Register::start();
    for path in ["/docs", "/settings/sign-in"] {
        let page = get(&register, path).is(200).text;
        page.shows(&["<meta name=\"color-scheme\" content=\"light dark\">"]);
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
    for served in SERVED {
        let label = served.label;
        let page = get(&register, &format!("/docs/{label}/")).is(200);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("http"));
        let page = page.text;
        page.shows(&[
            &format!("<title>API explorer for {label} - "),
            "<html lang=\"en-GB\">",
            "name=\"viewport\"",
            &format!("<h1>API explorer for {label}</h1>"),
            &format!("<a href=\"/docs/{label}/guide\">"),
            &format!("<a href=\"/api/{label}/openapi.json\">"),
            &format!("data-openapi=\"/api/{label}/openapi.json\""),
            "swagger-ui-bundle.js",
        ]);
        assert_eq!(page.matches("<h1").count(), 1);
        page.lacks(&["\"./", "<style", "<script>"]);
        // A token cannot become part of an address, even without scripts.
        page.shows(&["id=\"token\""]);
        page.lacks(&["name=\"token\""]);
        // The explorer asks no other host.
        page.lacks(&["//"]);
        let script = get(&register, &format!("/docs/{label}/explorer.js")).is(200);
        script.shows(&["validatorUrl: \"none\""]);
    }
}
