//! Operators of the service: where they have their pages, and what their commands leave in the
//! activity log.

use std::io::Write as _;
use std::net::TcpStream;
use std::str::FromStr as _;

use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue};

use super::support::running::{FOR_OPERATORS, Running};
use super::support::{Workplace, wait_until};
use super::users::{ask, browser, form_token, sign_in};

fn serve(place: &Workplace, options: &str) -> Running {
    Running::start(place, &format!("{FOR_OPERATORS} {options}"))
}

/// A link for an operator, or for an admin of a provider.
fn link(place: &Workplace, of: &str, site: &str) -> String {
    place.done(format!(
        "user invite --email o@example.com {of} --settings-url {site} --operator-pages-url {site}"
    ))
}

/// The path of a link for an operator.
fn link_path(place: &Workplace) -> String {
    let site = "http://register.example";
    let link = link(place, "--operator", site);
    link.strip_prefix(site).unwrap().to_owned()
}

/// The page of a token that an operator makes for an organisation.
fn token_text(browser: &Agent, operators: &str, cookie: &str) -> String {
    let tokens = format!("{operators}/settings/organisations/10012345/tokens");
    let page = ask(browser, &tokens, cookie, None);
    let (token, name) = (form_token(&page.text), page.text.len());
    let form = format!("form_token={token}&name={name}");
    ask(browser, &tokens, cookie, Some(&form)).text
}

/// The path of the style sheet of a page.
fn style_of(page: &str) -> &str {
    let (_, rest) = page.split_once("rel=\"stylesheet\" href=\"").unwrap();
    rest.split('"').next().unwrap()
}

#[test]
fn operators_have_pages_on_own_listener() {
    let place = Workplace::migrated();
    place.done("provider add --ukprn 10012345 --name 'Ashdown University'");
    let server = serve(&place, "--settings-url https://register.example/");
    let (browser, operators, public) = (browser(), &*server.operators, &*server.base);
    let operator = sign_in(&browser, &link(&place, "--operator", operators));
    let admin = sign_in(&browser, &link(&place, "--provider 10012345", public));
    let home = ask(&browser, &format!("{operators}/settings"), &operator, None).text;
    let newest = super::support::path("/info");
    for (host, cookie, path, expected) in [
        (operators, &operator, "/settings", 200),
        (
            operators,
            &operator,
            "/settings/organisations/10012345",
            200,
        ),
        (operators, &operator, "/settings/registry", 200),
        (operators, &operator, "/settings/tokens", 404),
        (operators, &operator, style_of(&home), 200),
        (operators, &operator, "/", 307),
        (operators, &operator, "/docs", 404),
        (operators, &operator, "/metrics", 200),
        (operators, &operator, "/health", 404),
        (operators, &operator, "/health/live", 200),
        (operators, &operator, "/health/ready", 200),
        (operators, &operator, "/api/versions", 404),
        (operators, &operator, &newest, 404),
        // Neither session is one on the other listener.
        (public, &operator, "/settings", 303),
        (public, &operator, "/settings/activity", 303),
        (public, &operator, "/settings/organisations", 404),
        (public, &operator, "/settings/registry", 404),
        (operators, &admin, "/settings", 303),
        (operators, &admin, "/settings/organisations", 303),
        (public, &admin, "/settings", 200),
        (public, &admin, "/metrics", 404),
        (public, &admin, "/health", 404),
        (public, &admin, "/health/live", 404),
        (public, &admin, "/health/ready", 404),
    ] {
        let status = ask(&browser, &format!("{host}{path}"), cookie, None).status;
        assert_eq!(status, expected, "{host}{path}");
    }
    // A link that an operator makes leads to where the organisation has its settings.
    let people = format!("{operators}/settings/organisations/10012345/people");
    let page = ask(&browser, &people, &operator, None);
    let token = form_token(&page.text);
    let form = format!("form_token={token}&email=b@example.com&role=viewer");
    let invited = ask(&browser, &people, &operator, Some(&form)).text;
    let site = "https://register.example/settings/sign-in/";
    assert!(invited.contains(site), "{invited}");
    let text = token_text(&browser, operators, &operator);
    assert!(text.contains("https://register.example/api/"), "{text}");
    server.stop();
    // Without that address, it is not known how others reach the API.
    let server = serve(&place, "");
    let text = token_text(&browser, &server.operators, &operator);
    assert!(
        text.contains("at the API's address") && !text.contains("http://127.0.0.1"),
        "{text}"
    );
    server.stop();
}

/// The status, the headers that do not differ by request, and the body.
fn reply(
    agent: &Agent,
    method: &str,
    url: &str,
    header: Option<(&str, &str)>,
) -> (u16, Vec<(String, String)>, String) {
    let mut request = ureq::http::Request::builder()
        .method(method)
        .uri(url)
        .header("Accept-Encoding", "identity");
    if let Some((name, value)) = header {
        let headers = request.headers_mut().unwrap();
        headers.insert(HeaderName::from_str(name).unwrap(), value.parse().unwrap());
    }
    let (head, mut body) = agent.run(request.body(()).unwrap()).unwrap().into_parts();
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    let mut headers: Vec<(String, String)> = head.headers.iter().map(text).collect();
    headers.retain(|(name, _)| {
        !["connection", "date", "x-request-id", "set-cookie"].contains(&name.as_str())
    });
    headers.sort();
    let body = body.read_to_vec().unwrap();
    let body = String::from_utf8_lossy(&body).into_owned();
    (head.status.as_u16(), headers, body)
}

#[test]
fn operator_listener_serves_pages_like_public_one() {
    let place = Workplace::migrated();
    let server = serve(&place, "");
    let agent = browser();
    let page = ask(
        &agent,
        &format!("{}/settings/sign-in", server.operators),
        "",
        None,
    )
    .text;
    let style = style_of(&page);
    let (_, headers, _) = reply(&agent, "GET", &format!("{}{style}", server.base), None);
    let (_, tag) = headers.iter().find(|(name, _)| name == "etag").unwrap();
    for (method, header) in [
        ("GET", None),
        ("HEAD", None),
        ("POST", None),
        ("OPTIONS", None),
        ("GET", Some(("Accept-Encoding", "gzip"))),
        ("GET", Some(("If-None-Match", tag.as_str()))),
    ] {
        for path in [style, "/settings/nothing", "/settings/"] {
            let [mut public, mut operators] = [&server.base, &server.operators]
                .map(|site| reply(&agent, method, &format!("{site}{path}"), header));
            let told = format!("{method} {path} {header:?}");
            if path == style {
                let has_body = ["GET", "POST"].contains(&method) && public.0 != 304;
                assert_eq!(!public.2.is_empty(), has_body, "{told}");
            } else {
                // The texts of the pages differ.
                for (_, headers, text) in [&mut public, &mut operators] {
                    headers.retain(|(name, _)| name != "content-length");
                    text.clear();
                }
            }
            assert_eq!(public, operators, "{told}");
        }
    }
    // Browsers get pages about errors, and others get JSON.
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/docs", 404),
        ("POST", "/metrics", 405),
        ("GET", "/settings/sign-out", 405),
    ] {
        let url = format!("{}{path}", server.operators);
        let (got, _, page) = reply(&agent, method, &url, Some(("Accept", "text/html")));
        assert_eq!(got, status, "{method} {path}");
        let is_page = page.starts_with("<!DOCTYPE html>") && page.contains("href=\"/settings\"");
        assert!(
            is_page && !page.contains("href=\"/docs\""),
            "{method} {path}: {page}"
        );
        let (got, _, error) = reply(&agent, method, &url, None);
        assert_eq!(got, status, "{method} {path}");
        assert!(
            error.starts_with("{\"errors\":"),
            "{method} {path}: {error}"
        );
    }
}

#[test]
fn operator_pages_are_where_options_say() {
    let place = Workplace::migrated();
    for (options, public, operators) in [
        ("--operator-pages settings", 200, 200),
        ("--operator-pages off", 410, 404),
        ("--settings off", 404, 404),
        (
            "--settings off --operator-pages operator-listener",
            404,
            200,
        ),
    ] {
        let server = serve(&place, options);
        let path = link_path(&place);
        let statuses = [&server.base, &server.operators]
            .map(|site| ask(&browser(), &format!("{site}{path}"), "", None).status);
        assert_eq!(statuses, [public, operators], "{options}");
        let home = format!("{}/settings", server.base);
        let accepted = Some(("Accept", "text/html"));
        let is_there = reply(&browser(), "GET", &home, accepted).0 != 404;
        assert_eq!(is_there, !options.contains("--settings off"), "{options}");
    }
}

#[test]
fn production_operators_need_tls_from_elsewhere() {
    let place = Workplace::new();
    place.done("migrate --environment production");
    let options = format!("{FOR_OPERATORS} --settings on");
    let mut server = Running::begin_command(Running::command(&place, &options));
    server.wait_until_it_listens();
    let browser = browser();
    let public = format!("{}/settings/sign-in", server.base);
    assert_eq!(ask(&browser, &public, "", None).status, 403);
    let link = format!("{}{}", server.operators, link_path(&place));
    let passed_on = Some(("X-Forwarded-For", "192.0.2.1"));
    assert_eq!(reply(&browser, "GET", &link, passed_on).0, 403);
    let cookie = sign_in(&browser, &link);
    let home = format!("{}/settings", server.operators);
    assert_eq!(ask(&browser, &home, &cookie, None).status, 200);
}

#[test]
fn commands_are_in_activity_log() {
    let place = Workplace::migrated();
    let run = |line: &str| place.run(format!("{line} --by 'A. Operator'"));
    run("provider add --ukprn 10012345 --name Ashdown").done();
    for _ in 0..2 {
        run("provider close 10012345").done();
    }
    run("sandbox seed --provider 10012345 --trainees 100").done();
    let waiting = place.texts(
        "SELECT trainee_id AS text FROM trainees WHERE submitted_for_trn_at IS NOT NULL AND trn IS NULL",
    );
    let trainee = waiting
        .first()
        .expect("no invented trainee waits for a TRN");
    let queue = place.done("registry queue --provider 10012345");
    assert_eq!(queue.lines().count(), waiting.len() + 1, "{queue}");
    assert!(queue.contains(trainee) && queue.contains("10012345"));
    assert!(!place.done("registry queue --for award").contains(trainee));
    let rows = format!("trainee_id,trn\n{trainee},1\nnobody,\n{trainee},\n");
    place
        .apply("issue-trn", &rows, "--by 'A. Operator'")
        .ends(1, &[]);
    place.write(
        "schools.csv",
        "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n1,Ash,,Open\n",
    );
    run("school import schools.csv").ends(1, &[]);

    let acts = "SELECT action || ' by ' || acted_by AS text FROM activity_log ORDER BY id";
    let expected = [
        "organisation_added by A. Operator",
        "organisation_closed by A. Operator",
        "registry_acted by A. Operator",
        "file_imported by A. Operator",
        "file_imported by A. Operator",
    ];
    assert_eq!(place.texts(acts), expected);
    let imports = "SELECT operation || ' ' || refused_rows AS text FROM imports ORDER BY id";
    assert_eq!(
        place.texts(imports),
        [
            "registry issue-trn [[2,\"trn must be 7 digits\"],[3,\"no trainee has this identifier\"]]",
            "school import [[2,\"URN must be 6 digits\"]]",
        ]
    );
}

#[test]
fn page_says_that_report_is_not_stored() {
    let place = Workplace::migrated();
    let server = serve(&place, "");
    let (browser, site) = (browser(), &server.operators);
    let cookie = sign_in(&browser, &format!("{site}{}", link_path(&place)));
    let path = format!("{site}/settings/registry/file");
    let page = ask(&browser, &path, &cookie, None).text;
    let token = form_token(&page);
    let form = format!("form_token={token}&action=award&rows=trainee_id%0Anobody");
    let report = || ask(&browser, &path, &cookie, Some(&form)).text;
    assert!(!report().contains("could not be stored"));
    place.execute("ALTER TABLE imports RENAME TO other_imports");
    let report = report();
    assert!(
        report.contains("could not be stored") && report.contains("<dt>Refused</dt><dd>1</dd>"),
        "{report}"
    );
}

#[test]
fn shutdown_keeps_report_of_running_file() {
    let place = Workplace::new();
    let server = place.serve("--operator-pages settings");
    let (browser, site) = (browser(), format!("http://{}", server.address()));
    let cookie = sign_in(&browser, &link(&place, "--operator", &site));
    let queue = place.done("registry queue");
    let mut words = queue.split_whitespace();
    let waiting = words.find(|word| word.len() == 24).unwrap();
    let page = ask(
        &browser,
        &format!("{site}/settings/registry/file"),
        &cookie,
        None,
    )
    .text;
    let token = form_token(&page);
    let rows = format!("trainee_id,trn%0A{waiting},{}", "%0Anobody,".repeat(900));
    let form = format!("form_token={token}&action=issue-trn&rows={rows}");
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let (host, length) = (server.address(), form.len());
    let head = format!(
        "POST /settings/registry/file HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + &form).as_bytes()).unwrap();
    let acted = "SELECT action AS text FROM activity_log WHERE action = 'registry_acted'";
    wait_until("the first row is done", || !place.texts(acted).is_empty());
    drop(stream);
    server.stop();
    let stopped = "SELECT operation AS text FROM imports WHERE stopped_at_line IS NOT NULL";
    assert_eq!(place.texts(stopped), ["registry issue-trn"]);
}
