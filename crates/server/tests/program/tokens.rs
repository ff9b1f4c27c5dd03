//! The life of a token, from the command line to the server that accepts it.

use ureq::Agent;

use crate::program::observing::server::Watched;
use crate::program::support::{Ended, Server, Workplace, agent};

/// The provider of the demo.
fn provider(place: &Workplace) -> String {
    let listed = place.run(&["provider", "list"], None);
    listed
        .stdout()
        .lines()
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .to_owned()
}

fn printed(ended: &Ended) -> String {
    assert_eq!(ended.status(), 0, "{}", ended.stderr());
    ended.stdout().trim_end().to_owned()
}

fn status(server: &Server, agent: &Agent, token: &str) -> u16 {
    let newest = versions::all().newest().unwrap().version.label;
    let authorization = format!("Bearer {token}");
    server
        .send_with(
            agent,
            "GET",
            &format!("/api/{newest}/info"),
            &[("Authorization", &authorization)],
            None,
        )
        .0
}

#[test]
fn revoked_token_is_rejected_immediately_and_others_work() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let agent = agent();
    let ukprn = provider(&place);
    let issue = [
        "token",
        "issue",
        "--provider",
        &ukprn,
        "--name",
        "Records",
        "--by",
        "A. Operator",
    ];
    let first = printed(&place.run(&issue, None));
    assert_eq!(status(&server, &agent, &first), 200);

    let second = printed(&place.run(&issue, None));
    assert_ne!(first, second);
    // The demo has the first number.
    let revoked = place.run(&["token", "revoke", "2", "--by", "B. Operator"], None);
    assert!(
        revoked.stderr().ends_with("is revoked\n"),
        "{}",
        revoked.stderr()
    );
    assert_eq!(
        [
            status(&server, &agent, &first),
            status(&server, &agent, &second)
        ],
        [401, 200]
    );

    let listed = printed(&place.run(&["token", "list", "--provider", &ukprn], None));
    let line = |number: &str| {
        listed
            .lines()
            .find(|line| line.starts_with(number))
            .unwrap()
            .to_owned()
    };
    assert!(
        line("2 ").contains("revoked") && line("2 ").ends_with("B. Operator"),
        "{listed}"
    );
    assert!(
        line("2 ").contains("A. Operator") && line("3 ").contains("active"),
        "{listed}"
    );
    for token in [&first, &second] {
        assert!(!listed.contains(token.split_once('_').unwrap().1));
    }

    let refused = place.run(&["token", "revoke", "3", "--by", "A\nB"], None);
    assert_eq!(refused.status(), 2, "{}", refused.stderr());
    let none = place.run(&["token", "list", "--provider", "10000001"], None);
    assert_eq!(
        (none.status(), none.stderr()),
        (
            1,
            "trainee-register: no provider has the UKPRN 10000001; to list all providers, run `provider list`\n"
        )
    );
}

#[test]
fn closed_provider_tokens_are_rejected_beside_a_server() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let agent = agent();
    let ukprn = provider(&place);
    let issue = |name| {
        printed(&place.run(
            &["token", "issue", "--provider", &ukprn, "--name", name],
            None,
        ))
    };
    let tokens = ["Records", "Others"].map(issue);
    assert_eq!(
        tokens
            .each_ref()
            .map(|token| status(&server, &agent, token)),
        [200, 200]
    );
    let said = |arguments: &[&str]| {
        let ended = place.run(arguments, None);
        assert_eq!(
            (ended.status(), ended.stdout()),
            (0, ""),
            "{}",
            ended.stderr()
        );
        ended.stderr().to_owned()
    };
    for _ in 0..2 {
        let closed = said(&["provider", "close", &ukprn]);
        assert!(closed.ends_with(" is closed\n"), "{closed}");
    }
    assert_eq!(
        tokens
            .each_ref()
            .map(|token| status(&server, &agent, token)),
        [401, 401]
    );
    let refused = place.run(
        &["token", "issue", "--provider", &ukprn, "--name", "Records"],
        None,
    );
    assert_eq!(
        (refused.status(), refused.stderr()),
        (1, "trainee-register: provider is closed\n")
    );
    let unknown = place.run(&["provider", "close", "10000001"], None);
    assert_eq!(
        (unknown.status(), unknown.stderr()),
        (
            1,
            "trainee-register: no provider has the UKPRN 10000001; to list all providers, run `provider list`\n"
        )
    );
}

#[test]
fn tokens_that_expire_soon_are_listed_and_counted() {
    let place = Workplace::new();
    printed(&place.run(
        &[
            "provider", "add", "--ukprn", "10067890", "--name", "Another",
        ],
        None,
    ));
    let today = chrono::Utc::now().date_naive();
    for days in [10, 40] {
        let day = (today + chrono::Days::new(days)).to_string();
        let name = format!("In {days} days");
        let issue = [
            "token",
            "issue",
            "--provider",
            "10067890",
            "--name",
            &name,
            "--expires",
            &day,
        ];
        printed(&place.run(&issue, None));
    }
    let listed = |days: &str| {
        let listed = printed(&place.run(&["token", "list", "--expiring", days], None));
        listed
            .lines()
            .skip(1)
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("5"), [""; 0]);
    assert_eq!(listed("30"), ["1"]);
    assert_eq!(listed("50"), ["1", "2"]);
    // The demo's own token has six months.
    let server = Watched::start(place.command(&["serve"], None));
    assert_eq!(
        server.scrape().value("register_tokens_expiring", &[]),
        Some(1.0)
    );
}
