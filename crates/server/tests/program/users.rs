//! The people who sign in to the settings, from the command line to the server, and what is logged
//! of them.

use ureq::Agent;
use versions::SERVED;

use crate::program::observing::server::Watched;
use crate::program::support::{Ended, Server, Workplace, texts};

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// What was answered: the status, the cookie without its attributes, and the text.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) cookie: String,
    pub(super) text: String,
}

/// A browser that follows no redirection by itself.
pub(super) fn browser() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into()
}

/// Opens a page, or sends a form.
pub(super) fn ask(agent: &Agent, url: &str, cookie: &str, form: Option<&str>) -> Answer {
    let response = match form {
        Some(form) => agent
            .post(url)
            .header("Cookie", cookie)
            .header("Content-Type", FORM)
            .send(form),
        None => agent.get(url).header("Cookie", cookie).call(),
    };
    let (head, mut body) = response.unwrap().into_parts();
    let cookie = head.headers.get("set-cookie").map_or("", |cookie| {
        cookie.to_str().unwrap().split(';').next().unwrap()
    });
    Answer {
        status: head.status.as_u16(),
        cookie: cookie.to_owned(),
        text: body.read_to_string().unwrap(),
    }
}

/// Uses a link up, and gives the cookie.
pub(super) fn sign_in(agent: &Agent, link: &str) -> String {
    let (settings, secret) = link.rsplit_once('/').unwrap();
    let shown = ask(agent, link, "", None);
    let form = format!("form_token={}&secret={secret}", form_token(&shown.text));
    let answer = ask(agent, settings, &shown.cookie, Some(&form));
    assert_eq!(answer.status, 303, "{}", answer.text);
    answer.cookie
}

/// What each form of the session holds.
pub(super) fn form_token(page: &str) -> &str {
    page.split_once("name=\"form_token\" value=\"")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap()
}

fn done(ended: Ended) -> String {
    assert_eq!(ended.status(), 0, "{}", ended.stderr());
    ended.stdout().trim_end().to_owned()
}

#[test]
fn commands_invite_remove_and_erase_users_with_activity_log() {
    let place = Workplace::migrated();
    let run = |arguments: &[&str]| place.run(&[arguments, &["--by", "A. Operator"]].concat(), None);
    done(run(&[
        "provider",
        "add",
        "--ukprn",
        "10012345",
        "--name",
        "Ashdown University",
    ]));
    let email = "Person@Example.com";
    let invite = ["user", "invite", "--provider", "10012345", "--email", email];
    let link = done(run(&invite));
    assert!(
        link.starts_with("http://127.0.0.1:8080/settings/sign-in/") && link.lines().count() == 1,
        "{link}"
    );
    let users = done(run(&["user", "list"]));
    let invitation = "person@example.com (admin of provider 10012345), valid until ";
    assert!(
        users.starts_with("none\n") && users.contains(invitation),
        "{users}"
    );
    let elsewhere = run(&[
        &invite[..],
        &["--settings-url", "https://register.example/"],
    ]
    .concat());
    assert!(
        !elsewhere.stderr().contains("production"),
        "{}",
        elsewhere.stderr()
    );
    let elsewhere = done(elsewhere);
    assert!(
        elsewhere.starts_with("https://register.example/settings/sign-in/"),
        "{elsewhere}"
    );
    for address in [
        "register.example",
        "https://h/settings",
        "https://h/x?y=z",
        "ftp://h",
        "",
    ] {
        for option in ["--settings-url", "--operator-pages-url"] {
            let ended = run(&[&invite[..], &[option, address]].concat());
            assert_eq!((ended.status(), ended.stdout()), (2, ""), "{address}");
            assert!(
                ended.stderr().contains("must be a scheme and a host"),
                "{}",
                ended.stderr()
            );
        }
    }
    for wrong in [
        &["user", "invite", "--email", email][..],
        &[
            "user",
            "invite",
            "--email",
            email,
            "--operator",
            "--provider",
            "10012345",
        ],
        &[
            "user",
            "invite",
            "--email",
            "unknown",
            "--provider",
            "10012345",
        ],
        &["user", "invite", "--email", email, "--provider", "10099998"],
        &[
            "user",
            "invite",
            "--email",
            email,
            "--provider",
            "10012345",
            "--role",
            "operator",
        ],
        &["user", "remove", "7"],
        &["user", "sign-out", "7"],
        &["user", "sign-out"],
    ] {
        assert_ne!(run(wrong).status(), 0, "{wrong:?}");
    }

    let server = place.serve(&[], None);
    let browser = browser();
    let here = |link: &str| {
        format!(
            "http://{}{}",
            server.address(),
            link.split_once("/settings")
                .map(|(_, path)| format!("/settings{path}"))
                .unwrap()
        )
    };
    assert_eq!(
        ask(&browser, &here(&link), "", None).status,
        410,
        "it was replaced"
    );
    let cookie = sign_in(&browser, &here(&elsewhere));
    let home = format!("http://{}/settings", server.address());
    let page = ask(&browser, &home, &cookie, None);
    assert!(
        page.status == 200 && page.text.contains("person@example.com (admin)"),
        "{}",
        page.text
    );
    let users = done(run(&["user", "list", "--provider", "10012345"]));
    assert!(
        users.contains("person@example.com") && users.lines().count() == 2,
        "{users}"
    );

    done(run(&["user", "sign-out", "1"]));
    done(run(&["user", "sign-out", "--all"]));
    done(run(&["user", "remove", "1"]));
    assert_eq!(ask(&browser, &home, &cookie, None).status, 303);
    for reason in ["request of person@example.com", "PERSON@EXAMPLE.COM", ""] {
        assert_ne!(
            run(&["user", "erase", "1", "--reason", reason]).status(),
            0,
            "{reason:?}"
        );
    }
    assert!(done(run(&["user", "list"])).contains("person@example.com"));
    done(run(&[
        "user",
        "erase",
        "1",
        "--reason",
        "request of 1 March",
    ]));
    assert!(!done(run(&["user", "list"])).contains("person@"));
    let again = run(&["user", "remove", "1"]);
    assert!(
        again.stderr().contains("user 1 was erased"),
        "{}",
        again.stderr()
    );
    done(run(&[
        "token",
        "issue",
        "--provider",
        "10012345",
        "--name",
        "Records",
    ]));
    server.stop();

    let acts = texts(
        &place.url(),
        "SELECT action || ' by ' || coalesce(acted_by, '') AS text FROM activity_log \
         WHERE acted_by IS NULL OR acted_by <> 'demo' ORDER BY id",
    );
    let expected = [
        "organisation_added by A. Operator",
        "user_invited by A. Operator",
        "user_invited by A. Operator",
        "user_signed_in by ",
        "user_signed_out_everywhere by A. Operator",
        "user_removed by A. Operator",
        "user_erased by A. Operator",
        "token_issued by A. Operator",
    ];
    assert_eq!(acts, expected);
    let reasons = texts(
        &place.url(),
        "SELECT detail AS text FROM activity_log WHERE action = 'user_erased'",
    );
    assert_eq!(reasons, ["request of 1 March"]);
    // Nothing of the address is left in any table.
    for (table, rows) in super::privacy::tables(&place.url()) {
        assert!(!rows.to_lowercase().contains("person@"), "{table}: {rows}");
    }
}

#[test]
fn link_secret_is_in_no_log_and_no_metric() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    let provider = texts(&place.url(), "SELECT ukprn AS text FROM providers").remove(0);
    let url = format!("http://{}", server.public);
    let invite = [
        "user",
        "invite",
        "--provider",
        &provider,
        "--email",
        "zqx@example.com",
        "--settings-url",
        &url,
    ];
    let invited = place.run(&invite, None);
    assert!(!invited.stderr().contains("/settings/sign-in/"));
    let link = done(invited);
    let secret = link.rsplit_once('/').unwrap().1;
    let browser = browser();
    assert_eq!(ask(&browser, &link, "", None).status, 200);
    let cookie = sign_in(&browser, &link);
    assert_eq!(ask(&browser, &link, &cookie, None).status, 410);
    let page = ask(&browser, &format!("{url}/settings"), &cookie, None);
    assert_eq!(page.status, 200);
    let form_token = form_token(&page.text).to_owned();
    let made = ask(
        &browser,
        &format!("{url}/settings/tokens"),
        &cookie,
        Some(&format!("form_token={form_token}&name=Records")),
    );
    let token = made.text.split_once("sandbox_").unwrap().1[..64].to_owned();
    let hidden = [
        secret,
        cookie.split_once('=').unwrap().1,
        &form_token,
        &token,
        "zqx@example.com",
    ];
    server.send("GET", "/api/versions", &["X-Request-Id: last"]);
    let lines = server.lines_until("last");
    assert!(
        lines
            .iter()
            .any(|line| line["endpoint"] == "/settings/sign-in/{secret}"),
        "{lines:#?}"
    );
    let metrics = server.ask("/metrics").body;
    assert!(metrics.contains("endpoint=\"/settings\""), "{metrics}");
    let text = lines
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
        + &metrics;
    for hidden in hidden {
        assert!(!text.contains(hidden), "{hidden} is in {text}");
    }
    for (table, rows) in super::privacy::tables(&place.url()) {
        for secret in [secret, cookie.split_once('=').unwrap().1, &token] {
            assert!(!rows.contains(secret), "{table}");
        }
    }
}

#[test]
fn ended_token_and_session_are_rejected_immediately_by_other_server() {
    let place = Workplace::migrated();
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
    let (one, other) = (place.serve(&[], None), place.serve(&[], None));
    let site = |server: &Server| format!("http://{}", server.address());
    let invite = [
        "user",
        "invite",
        "--provider",
        "10012345",
        "--email",
        "a@example.com",
    ];
    let link = done(place.run(
        &[&invite[..], &["--settings-url", &site(&one)]].concat(),
        None,
    ));
    let browser = browser();
    let cookie = sign_in(&browser, &link);
    let open = |server: &Server, path: &str| {
        ask(
            &browser,
            &format!("{}/settings{path}", site(server)),
            &cookie,
            None,
        )
    };
    let send = |path: &str, fields: &str| {
        let form = format!("form_token={}{fields}", form_token(&open(&one, "").text));
        ask(
            &browser,
            &format!("{}/settings{path}", site(&one)),
            &cookie,
            Some(&form),
        )
    };
    let info = |server: &Server, token: &str| {
        let authorization = format!("Bearer {token}");
        let path = format!("/api/{}/info", SERVED[0].label);
        server
            .send_with(
                &browser,
                "GET",
                &path,
                &[("Authorization", &authorization)],
                None,
            )
            .0
    };

    let made = send("/tokens", "&name=Records").text;
    let token = made
        .split_once("value=\"sandbox_")
        .unwrap()
        .1
        .split('"')
        .next()
        .unwrap();
    let token = format!("sandbox_{token}");
    assert!(
        made.contains(&format!("{}/api/{}/info", site(&one), SERVED[0].label)),
        "{made}"
    );
    assert_eq!((info(&one, &token), info(&other, &token)), (200, 200));
    let listed = done(place.run(&["token", "list", "--provider", "10012345"], None));
    let id = listed
        .lines()
        .last()
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap();
    assert_eq!(send(&format!("/tokens/{id}/revoke"), "").status, 303);
    assert_eq!((info(&one, &token), info(&other, &token)), (401, 401));

    assert_eq!((open(&one, "").status, open(&other, "").status), (200, 200));
    assert_eq!(send("/sign-out", "").status, 303);
    assert_eq!((open(&other, "").status, open(&one, "").status), (303, 303));
}
