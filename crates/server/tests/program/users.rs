//! The people who sign in to the settings, from the command line to the server, and what is logged
//! of them.

use ureq::Agent;

use crate::program::observing::server::Watched;
use crate::program::support::{DEMO, Workplace};

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

#[test]
fn commands_invite_remove_and_erase_users() {
    let place = Workplace::migrated();
    let run = |line: &str| place.run(format!("{line} --by 'A. Operator'"));
    run("provider add --ukprn 10012345 --name 'Ashdown University'").done();
    let invite = "user invite --provider 10012345 --email Person@Example.com";
    let replaced = run(invite).done();
    let default = "http://127.0.0.1:8080/settings/sign-in/";
    assert!(replaced.starts_with(default), "{replaced}");
    assert_eq!(replaced.lines().count(), 1);
    let invited = run(&format!(
        "{invite} --settings-url https://register.example/"
    ));
    assert!(
        !invited.stderr().contains("production"),
        "{}",
        invited.stderr()
    );
    let link = invited.done();
    assert!(
        link.starts_with("https://register.example/settings/sign-in/"),
        "{link}"
    );
    let invitation = "person@example.com (admin of provider 10012345), valid until ";
    let users = place.done("user list");
    assert!(
        users.starts_with("none\n") && users.contains(invitation),
        "{users}"
    );
    for wrong in [
        "user invite --email unknown --provider 10012345",
        "user invite --email a@example.com --provider 10099998",
        "user remove 7",
        "user sign-out 7",
    ] {
        assert_ne!(run(wrong).status(), 0, "{wrong}");
    }

    let server = place.serve("");
    let browser = browser();
    let home = format!("http://{}/settings", server.address());
    let here = |link: &str| format!("{home}{}", link.split_once("/settings").unwrap().1);
    assert_eq!(ask(&browser, &here(&replaced), "", None).status, 410);
    let cookie = sign_in(&browser, &here(&link));
    let page = ask(&browser, &home, &cookie, None);
    let is_shown = page.text.contains("person@example.com (admin)");
    assert!(page.status == 200 && is_shown, "{}", page.text);
    let users = place.done("user list --provider 10012345");
    assert!(users.contains("person@example.com"), "{users}");
    assert_eq!(users.lines().count(), 2, "{users}");

    for line in ["user sign-out 1", "user sign-out --all", "user remove 1"] {
        run(line).done();
    }
    assert_eq!(ask(&browser, &home, &cookie, None).status, 303);
    for reason in ["request of person@example.com", "PERSON@EXAMPLE.COM", ""] {
        let refused = run(&format!("user erase 1 --reason '{reason}'"));
        assert_ne!(refused.status(), 0, "{reason}");
    }
    assert!(place.done("user list").contains("person@example.com"));
    run("user erase 1 --reason 'request of 1 March'").done();
    assert!(!place.done("user list").contains("person@"));
    run("user remove 1").ends(1, &["user 1 was erased"]);
    server.stop();

    let acts = place.texts(
        "SELECT action || ' ' || subject || ' by ' || coalesce(acted_by, '') AS text FROM activity_log \
         WHERE acted_by IS NULL OR acted_by <> 'demo' ORDER BY id",
    );
    let expected = [
        "organisation_added organisation 10012345 by A. Operator",
        "user_invited invitation 1 by A. Operator",
        "user_invited invitation 2 by A. Operator",
        "user_signed_in invitation 2 by ",
        "user_signed_out_everywhere user 1 by A. Operator",
        "user_removed user 1 by A. Operator",
        "user_erased user 1 by A. Operator",
    ];
    assert_eq!(acts, expected);
    let reasons =
        place.texts("SELECT detail AS text FROM activity_log WHERE action = 'user_erased'");
    assert_eq!(reasons, ["request of 1 March"]);
    // Nothing of the address is left in any table.
    for (table, rows) in super::privacy::tables(&place.url()) {
        assert!(!rows.to_lowercase().contains("person@"), "{table}: {rows}");
    }
}

#[test]
fn link_secret_is_in_no_log() {
    let place = Workplace::new();
    let server = Watched::start(&place, "");
    let url = format!("http://{}", server.public);
    let invited = place.run(format!(
        "user invite --provider {DEMO} --email zqx@example.com --settings-url {url}"
    ));
    assert!(!invited.stderr().contains("/settings/sign-in/"));
    let link = invited.done();
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
