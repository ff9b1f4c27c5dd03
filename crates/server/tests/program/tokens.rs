//! The life of a token, from the command line to the server that accepts it.

use super::observing::server::Watched;
use super::support::{DEMO, Workplace};

const ISSUE: &str = "token issue --provider 10099999 --name Records --by 'A. Operator'";

#[test]
fn tokens_are_issued_listed_and_revoked() {
    let place = Workplace::new();
    let server = place.serve("");
    let first = place.done(ISSUE);
    assert_eq!(server.info(&first), 200);
    let second = place.done(ISSUE);
    assert_ne!(first, second);
    // The demo has the first number.
    let revoked = place.run("token revoke 2 --by 'B. Operator'");
    revoked.ends(0, &["is revoked\n"]);
    let statuses = || [&first, &second].map(|token| server.info(token));
    assert_eq!(statuses(), [401, 200]);

    let listed = place.done(format!("token list --provider {DEMO}"));
    let line = |number: &str| {
        let mut lines = listed.lines();
        lines.find(|line| line.starts_with(number)).unwrap()
    };
    for text in ["revoked", "A. Operator", "B. Operator"] {
        assert!(line("2 ").contains(text), "{text}: {listed}");
    }
    assert!(
        line("2 ").ends_with("B. Operator") && line("3 ").contains("active"),
        "{listed}"
    );
    for token in [&first, &second] {
        assert!(!listed.contains(token.split_once('_').unwrap().1));
    }

    for _ in 0..2 {
        let closed = place.run(format!("provider close {DEMO}"));
        closed.ends(0, &[" is closed\n"]);
        assert_eq!(closed.stdout(), "");
    }
    assert_eq!(statuses(), [401, 401]);
    place
        .run(ISSUE)
        .refuses(&["trainee-register: provider is closed\n"]);
    for unknown in ["token list --provider 10000001", "provider close 10000001"] {
        let refused = place.run(unknown);
        refused.refuses(&["trainee-register: no provider has the UKPRN 10000001; to list all providers, run `provider list`\n"]);
    }
}

#[test]
fn expiring_tokens_are_listed_and_counted() {
    let place = Workplace::new();
    place.done("provider add --ukprn 10067890 --name Another");
    let today = chrono::Utc::now().date_naive();
    for days in [10, 40] {
        let day = today + chrono::Days::new(days);
        place.done(format!(
            "token issue --provider 10067890 --name Records --expires {day}"
        ));
    }
    for (days, expected) in [("5", &[][..]), ("30", &["1"]), ("50", &["1", "2"])] {
        let listed = place.done(format!("token list --expiring {days}"));
        let lines = listed.lines().skip(1);
        let numbers: Vec<_> = lines.map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(numbers, expected);
    }
    // The demo's own token has six months.
    let server = Watched::start(&place, "");
    let expiring = server.scrape().value("register_tokens_expiring", &[]);
    assert_eq!(expiring, Some(1.0));
}
