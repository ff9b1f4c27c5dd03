//! Operators of the service: where they have their pages, and what their commands leave in the
//! activity log.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::str::FromStr as _;
use std::thread;
use std::time::{Duration, Instant};

use test_support::Process;
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue};

use crate::program::support::running::PATIENCE;
use crate::program::support::{Ended, Workplace, execute, texts};
use crate::program::users::{ask, browser, form_token, sign_in};

fn done(ended: Ended) -> String {
    assert_eq!(ended.status(), 0, "{}", ended.stderr());
    ended.stdout().trim_end().to_owned()
}

/// A server with a listener for operators, with the addresses of both.
struct Served {
    process: Process,
    /// Where the API is.
    public: String,
    /// Where operators are answered.
    operators: String,
}

fn serve(place: &Workplace, arguments: &[&str]) -> Served {
    let mut command = place.command(
        &[&["serve", "--listen", "127.0.0.1:0"], arguments].concat(),
        None,
    );
    command
        .env("RUST_LOG", "info")
        .env("REGISTER_OPERATOR_LISTEN", "127.0.0.1:0")
        .stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let mut lines = BufReader::new(process.stderr())
        .lines()
        .map_while(Result::ok);
    let mut address = |words: &str| {
        let line = lines
            .find_map(|line| Some(line.split_once(words)?.1.to_owned()))
            .unwrap();
        format!("http://{}", line.trim())
    };
    let (operators, public) = (
        address("listening for operators on http://"),
        address("listening on http://"),
    );
    Served {
        process,
        public,
        operators,
    }
}

impl Served {
    fn stop(mut self) {
        self.process.signal("TERM");
        assert!(self.process.wait().success());
    }
}

/// A link for an operator, or for an admin of a provider.
fn link(place: &Workplace, of: &[&str], email: &str, site: &str) -> String {
    let sites = ["--settings-url", site, "--operator-pages-url", site];
    done(place.run(
        &[&["user", "invite", "--email", email], of, &sites].concat(),
        None,
    ))
}

/// The path of a link for an operator, or for an admin of a provider.
fn link_path(place: &Workplace, of: &[&str], email: &str) -> String {
    let site = "http://register.example";
    link(place, of, email, site)
        .strip_prefix(site)
        .unwrap()
        .to_owned()
}

/// The page of a token that an operator makes for an organisation.
fn token_text(browser: &Agent, operators: &str, cookie: &str) -> String {
    let tokens = format!("{operators}/settings/organisations/10012345/tokens");
    let page = ask(browser, &tokens, cookie, None);
    let form = format!(
        "form_token={}&name={}",
        form_token(&page.text),
        page.text.len()
    );
    ask(browser, &tokens, cookie, Some(&form)).text
}

#[test]
fn operators_have_pages_on_their_own_listener_only() {
    let place = Workplace::migrated();
    let provider = ["--provider", "10012345"];
    done(place.run(
        &[
            "provider",
            "add",
            "--ukprn",
            "10012345",
            "--name",
            "Ashdown University",
        ],
        None,
    ));
    let server = serve(&place, &["--settings-url", "https://register.example/"]);
    let (browser, operators, public) = (browser(), &server.operators, &server.public);
    let status = |url: String, cookie: &str| ask(&browser, &url, cookie, None).status;

    // A link is used up where it belongs, and nowhere else.
    let secret = link_path(&place, &["--operator"], "o@example.com");
    let admin_link = link_path(&place, &provider, "a@example.com");
    let shown = ask(&browser, &format!("{public}{admin_link}"), "", None);
    let form = format!(
        "form_token={}&{}",
        form_token(&shown.text),
        secret.replace("/settings/sign-in/", "secret=")
    );
    let elsewhere = ask(
        &browser,
        &format!("{public}/settings/sign-in"),
        &shown.cookie,
        Some(&form),
    );
    assert_eq!((elsewhere.status, elsewhere.cookie.as_str()), (410, ""));
    assert_eq!(status(format!("{public}{secret}"), ""), 410);
    let operator = sign_in(&browser, &format!("{operators}{secret}"));
    assert_eq!(status(format!("{operators}{admin_link}"), ""), 410);
    let admin = sign_in(&browser, &format!("{public}{admin_link}"));

    let home = ask(&browser, &format!("{operators}/settings"), &operator, None).text;
    let style = home
        .split_once("rel=\"stylesheet\" href=\"")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap()
        .to_owned();
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
        (operators, &operator, style.as_str(), 200),
        (operators, &operator, "/", 307),
        (operators, &operator, "/docs", 404),
        (operators, &operator, "/metrics", 200),
        (operators, &operator, "/health/ready", 200),
        (operators, &operator, "/api/versions", 404),
        // Neither session is one on the other listener.
        (public, &operator, "/settings", 303),
        (public, &operator, "/settings/activity", 303),
        (public, &operator, "/settings/organisations", 404),
        (public, &operator, "/settings/registry", 404),
        (operators, &admin, "/settings", 303),
        (operators, &admin, "/settings/organisations", 303),
        (public, &admin, "/settings", 200),
        (public, &admin, "/metrics", 404),
    ] {
        assert_eq!(
            status(format!("{host}{path}"), cookie),
            expected,
            "{host}{path}"
        );
    }
    // A link that an operator makes leads to where the organisation has its settings.
    let people = format!("{operators}/settings/organisations/10012345/people");
    let page = ask(&browser, &people, &operator, None);
    let form = format!(
        "form_token={}&email=b@example.com&role=viewer",
        form_token(&page.text)
    );
    let invited = ask(&browser, &people, &operator, Some(&form));
    assert!(
        invited
            .text
            .contains("https://register.example/settings/sign-in/"),
        "{}",
        invited.text
    );
    assert!(token_text(&browser, operators, &operator).contains("https://register.example/api/"));
    server.stop();
    // Without that address, it is not known how others reach the API.
    let server = serve(&place, &[]);
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
) -> (u16, Vec<(String, String)>, Vec<u8>) {
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
    (head.status.as_u16(), headers, body.read_to_vec().unwrap())
}

#[test]
fn operator_listener_serves_files_and_pages_like_the_public_one() {
    let place = Workplace::migrated();
    let server = serve(&place, &[]);
    let browser = browser();
    let page = ask(
        &browser,
        &format!("{}/settings/sign-in", server.operators),
        "",
        None,
    )
    .text;
    let style = page
        .split_once("rel=\"stylesheet\" href=\"")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap();
    let tag = reply(&browser, "GET", &format!("{}{style}", server.public), None).1;
    let tag = tag
        .iter()
        .find(|(name, _)| name == "etag")
        .unwrap()
        .1
        .clone();
    for (method, header) in [
        ("GET", None),
        ("HEAD", None),
        ("POST", None),
        ("OPTIONS", None),
        ("GET", Some(("Accept-Encoding", "gzip"))),
        ("GET", Some(("If-None-Match", tag.as_str()))),
    ] {
        for path in [style, "/settings/nothing", "/settings/"] {
            let at = |site: &str| reply(&browser, method, &format!("{site}{path}"), header);
            let (mut public, mut operators) = (at(&server.public), at(&server.operators));
            let told = format!("{method} {path} {header:?}");
            assert_eq!(public.0, operators.0, "{told}");
            // The texts of the pages differ.
            let length = |headers: &mut Vec<(String, String)>| {
                headers.retain(|(name, _)| name != "content-length")
            };
            if path != style {
                length(&mut public.1);
                length(&mut operators.1);
            }
            assert_eq!(public.1, operators.1, "{told}");
            if path == style {
                assert_eq!(public.2, operators.2, "{told}");
                assert_eq!(
                    !public.2.is_empty(),
                    ["GET", "POST"].contains(&method) && public.0 != 304,
                    "{told}"
                );
            }
        }
    }
    server.stop();
}

#[test]
fn browsers_get_error_pages_on_the_listener_of_operators() {
    let place = Workplace::migrated();
    let server = serve(&place, &[]);
    let agent = browser();
    for (method, path, status) in [
        ("GET", "/nothing", 404),
        ("GET", "/docs", 404),
        ("POST", "/metrics", 405),
        ("GET", "/settings/sign-out", 405),
    ] {
        let url = format!("{}{path}", server.operators);
        let (got, _, page) = reply(&agent, method, &url, Some(("Accept", "text/html")));
        let page = String::from_utf8(page).unwrap();
        assert_eq!(got, status, "{method} {path}");
        assert!(
            page.starts_with("<!DOCTYPE html>"),
            "{method} {path}: {page}"
        );
        assert!(page.contains("href=\"/settings\"") && !page.contains("href=\"/docs\""));
        let (got, _, error) = reply(&agent, method, &url, None);
        let error = String::from_utf8(error).unwrap();
        assert_eq!(got, status, "{method} {path}");
        assert!(
            error.starts_with("{\"errors\":"),
            "{method} {path}: {error}"
        );
    }
    server.stop();
}

#[test]
fn settings_that_are_off_have_no_address() {
    let place = Workplace::migrated();
    let server = serve(&place, &["--settings", "off"]);
    let url = format!("{}/settings", server.public);
    for accepted in [Some(("Accept", "text/html")), None] {
        assert_eq!(reply(&browser(), "GET", &url, accepted).0, 404);
    }
    server.stop();
}

#[test]
fn operator_pages_can_be_beside_organisation_pages_or_nowhere() {
    let place = Workplace::migrated();
    for (arguments, public, operators) in [
        (&["--operator-pages", "settings"][..], 200, 200),
        (&["--operator-pages", "off"], 410, 404),
        (&["--settings", "off"], 404, 404),
        (
            &["--settings", "off", "--operator-pages", "operator-listener"],
            404,
            200,
        ),
    ] {
        let server = serve(&place, arguments);
        let path = link_path(&place, &["--operator"], "o@example.com");
        let status = |host: &str| ask(&browser(), &format!("{host}{path}"), "", None).status;
        assert_eq!(
            (status(&server.public), status(&server.operators)),
            (public, operators),
            "{arguments:?}"
        );
        server.stop();
    }
}

#[test]
fn production_operators_connect_without_tls_only_from_this_machine() {
    let place = Workplace::new();
    done(place.run(&["migrate", "--environment", "production"], None));
    let server = serve(&place, &["--settings", "on"]);
    let path = link_path(&place, &["--operator"], "o@example.com");
    let browser = browser();
    assert_eq!(
        ask(
            &browser,
            &format!("{}/settings/sign-in", server.public),
            "",
            None
        )
        .status,
        403
    );
    let passed_on = browser
        .get(format!("{}{path}", server.operators))
        .header("X-Forwarded-For", "192.0.2.1")
        .call();
    assert_eq!(passed_on.unwrap().status().as_u16(), 403);
    let cookie = sign_in(&browser, &format!("{}{path}", server.operators));
    assert_eq!(
        ask(
            &browser,
            &format!("{}/settings", server.operators),
            &cookie,
            None
        )
        .status,
        200
    );
    server.stop();
}

#[test]
fn commands_for_organisations_trainees_and_files_are_in_activity_log() {
    let place = Workplace::migrated();
    let run = |arguments: &[&str]| place.run(&[arguments, &["--by", "A. Operator"]].concat(), None);
    let ukprn = "10012345";
    done(run(&[
        "provider",
        "add",
        "--ukprn",
        ukprn,
        "--name",
        "Ashdown University",
    ]));
    for _ in 0..2 {
        done(run(&["provider", "close", ukprn]));
    }
    done(run(&[
        "sandbox",
        "seed",
        "--provider",
        ukprn,
        "--trainees",
        "100",
    ]));
    let waiting = texts(
        &place.url(),
        "SELECT trainee_id AS text FROM trainees WHERE submitted_for_trn_at IS NOT NULL AND trn IS NULL",
    );
    let Some(trainee) = waiting.first() else {
        panic!("no invented trainee waits for a TRN")
    };
    let queue = done(run(&["registry", "queue", "--provider", ukprn]));
    assert_eq!(queue.lines().count(), waiting.len() + 1, "{queue}");
    assert!(queue.contains(trainee) && queue.contains(ukprn));
    assert!(!done(run(&["registry", "queue", "--for", "award"])).contains(trainee));
    let rows = format!("trainee_id,trn\n{trainee},1\nnobody,\n{trainee},\n");
    let ended = place.apply("issue-trn", &rows, &["--by", "A. Operator"]);
    assert_eq!(ended.status(), 1, "{}", ended.stderr());
    let schools = place.write(
        "schools.csv",
        "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n1,Ash,,Open\n",
    );
    assert_eq!(
        run(&["school", "import", &schools.display().to_string()]).status(),
        1
    );

    let acts = texts(
        &place.url(),
        "SELECT action || ' by ' || acted_by AS text FROM activity_log ORDER BY id",
    );
    let expected = [
        "organisation_added by A. Operator",
        "organisation_closed by A. Operator",
        "registry_acted by A. Operator",
        "file_imported by A. Operator",
        "file_imported by A. Operator",
    ];
    assert_eq!(acts, expected);
    let imports = "SELECT operation || ' ' || refused_rows AS text FROM imports ORDER BY id";
    assert_eq!(
        texts(&place.url(), imports),
        [
            "registry issue-trn [[2,\"trn must be 7 digits\"],[3,\"no trainee has this identifier\"]]",
            "school import [[2,\"URN must be 6 digits\"]]",
        ]
    );
}

#[test]
fn page_says_that_its_report_could_not_be_stored() {
    let place = Workplace::migrated();
    let server = serve(&place, &[]);
    let (browser, path) = (
        browser(),
        format!("{}/settings/registry/file", server.operators),
    );
    let link = link_path(&place, &["--operator"], "o@example.com");
    let cookie = sign_in(&browser, &format!("{}{link}", server.operators));
    let form = ask(&browser, &path, &cookie, None);
    let form = format!(
        "form_token={}&action=award&rows=trainee_id%0Anobody",
        form_token(&form.text)
    );
    let report = || ask(&browser, &path, &cookie, Some(&form)).text;
    assert!(!report().contains("could not be stored"));
    execute(&place.url(), "ALTER TABLE imports RENAME TO other_imports");
    let report = report();
    assert!(
        report.contains("could not be stored") && report.contains("<dt>Refused</dt><dd>1</dd>"),
        "{report}"
    );
    server.stop();
}

#[test]
fn shutdown_keeps_the_file_report_without_a_waiting_browser() {
    let place = Workplace::new();
    let server = place.serve(&["--operator-pages", "settings"], None);
    let (browser, site) = (browser(), format!("http://{}", server.address()));
    let cookie = sign_in(
        &browser,
        &link(&place, &["--operator"], "o@example.com", &site),
    );
    let queue = done(place.run(&["registry", "queue"], None));
    let waiting = queue
        .lines()
        .find_map(|line| line.split_whitespace().find(|word| word.len() == 24))
        .unwrap();
    let token = ask(
        &browser,
        &format!("{site}/settings/registry/file"),
        &cookie,
        None,
    )
    .text;
    let rows = format!("trainee_id,trn%0A{waiting},{}", "%0Anobody,".repeat(900));
    let form = format!(
        "form_token={}&action=issue-trn&rows={rows}",
        form_token(&token)
    );
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "POST /settings/registry/file HTTP/1.1\r\nHost: {}\r\nCookie: {cookie}\r\n",
        server.address()
    );
    let kind = "Content-Type: application/x-www-form-urlencoded";
    write!(
        stream,
        "{head}{kind}\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    )
    .unwrap();
    // The first row is done.
    let acted = "SELECT action AS text FROM activity_log WHERE action = 'registry_acted'";
    let begun = Instant::now();
    while texts(&place.url(), acted).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "no row was done");
        thread::sleep(Duration::from_millis(2));
    }
    drop(stream);
    server.stop();
    let imports = texts(
        &place.url(),
        "SELECT operation AS text FROM imports WHERE stopped_at_line IS NOT NULL",
    );
    assert_eq!(imports, ["registry issue-trn"]);
}
