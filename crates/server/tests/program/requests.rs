//! The requests of a provider, as an operator looks at them.

use adapter_kit::ApiVersion;
use serde_json::Value;
use versions::SERVED;

use super::support::{Workplace, agent, execute};

/// The provider of the demo.
const DEMO_UKPRN: &str = "10099999";

fn oldest() -> &'static ApiVersion {
    SERVED[0]
}

/// The cells of a table, without its headings and without what follows it.
fn rows(table: &str) -> Vec<Vec<String>> {
    let lines = table.lines().skip(1).take_while(|line| !line.is_empty());
    let cells = |line: &str| {
        let cells = line
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    lines.map(cells).collect()
}

/// Two providers with a token each, and refused requests of the first.
fn logged(count: usize) -> Workplace {
    let place = Workplace::new();
    for (ukprn, name) in [("10000001", "Ashdown"), ("10000002", "Beech")] {
        assert_eq!(
            place
                .run(&["provider", "add", "--ukprn", ukprn, "--name", name], None)
                .status(),
            0
        );
        assert_eq!(
            place
                .run(
                    &["token", "issue", "--provider", ukprn, "--name", "Records"],
                    None
                )
                .status(),
            0
        );
    }
    let version = oldest().label;
    let rows = (0..count).map(|number| {
        format!(
            ", (1, '2026-10-05 09:{:02}:{:02}', 1, '{version}', 'POST /trainees', 422, 'refused', TRUE, 'r{number}', FALSE, \
             '[[\"blank\",\"email\",\"cannot be blank\"],[\"\",\"status\",\"is not valid\"]]', 2)",
            number / 60,
            number % 60
        )
    });
    let rows: Vec<String> = rows.collect();
    execute(
        &place.url(),
        &format!(
            "INSERT INTO requests (provider_id, answered_at, token_id, version, endpoint, status, result, refused, request_id,
                in_batch, problems, problems_left_out) VALUES
                (2, '2026-10-05 09:00:00', 2, '{version}', 'POST /trainees', 201, 'registered', FALSE, 'other', FALSE, NULL, 0){}",
            rows.concat()
        ),
    );
    place
}

#[test]
fn what_a_server_logged_is_there_when_it_has_stopped() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let agent = agent();
    for version in SERVED {
        let base = format!("/api/{}/trainees", version.label);
        assert_eq!(
            server
                .send(&agent, "GET", &format!("{base}/unknown"), None)
                .0,
            404
        );
        let mut body: Value =
            serde_json::from_str(&server::sandbox::demo::example(version)).unwrap();
        body["data"]["last_name"] = Value::Null;
        assert_eq!(server.send(&agent, "POST", &base, Some(&body)).0, 422);
        assert_eq!(server.send(&agent, "GET", &base, None).0, 200);
    }
    drop(agent);
    server.stop();
    let list = |more: &[&str]| {
        let ended = place.run(
            &[&["request", "list", "--provider", DEMO_UKPRN], more].concat(),
            None,
        );
        assert_eq!((ended.status(), ended.stderr()), (0, ""));
        rows(ended.stdout())
    };
    assert_eq!(list(&[]).len(), 2 * SERVED.len());
    for version in SERVED {
        let label = version.label.to_string();
        let refused = list(&[
            "--version",
            &label,
            "--outcome",
            "refused",
            "--code",
            "blank",
        ]);
        let [row] = &refused[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(row[1..4], ["422", "POST /trainees", &label]);
        assert_eq!(row.last().unwrap(), "blank last_name");
        assert_eq!(list(&["--version", &label, "--status", "4xx"]).len(), 2);
    }
    let ended = place.run(&["request", "refused", "--provider", DEMO_UKPRN], None);
    let most = rows(ended.stdout());
    assert_eq!((ended.status(), most.len()), (0, 2 * SERVED.len()));
    for version in SERVED {
        let help = format!("/docs/{}/problems#blank", version.label);
        assert!(
            most.iter()
                .any(|row| row[0] == "1" && row.last() == Some(&help)),
            "{most:?}"
        );
    }
}

#[test]
fn a_server_whose_log_of_requests_is_off_logs_nothing() {
    let place = Workplace::new();
    let server = place.serve(&["--request-log", "off"], None);
    let agent = agent();
    let path = format!("/api/{}/trainees/unknown", oldest().label);
    assert_eq!(server.send(&agent, "GET", &path, None).0, 404);
    drop(agent);
    server.stop();
    let ended = place.run(&["request", "list", "--provider", DEMO_UKPRN], None);
    assert_eq!(rows(ended.stdout()), Vec::<Vec<String>>::new());
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    let place = Workplace::migrated();
    for command in [["request", "list"], ["request", "refused"]] {
        let ended = place.run(&[&command[..], &["--provider", "10000009"]].concat(), None);
        assert_eq!((ended.status(), ended.stdout()), (1, ""), "{command:?}");
        assert!(
            ended
                .stderr()
                .contains("no provider has the UKPRN 10000009"),
            "{}",
            ended.stderr()
        );
        assert_eq!(place.run(&command, None).status(), 2, "{command:?}");
    }
    for (option, value) in [
        ("--status", "6xx"),
        ("--from", "yesterday"),
        ("--endpoint", "GET /nothing"),
        ("--token", "x"),
        ("--after", "x"),
        ("--outcome", "lost"),
    ] {
        let ended = place.run(
            &["request", "list", "--provider", "10000001", option, value],
            None,
        );
        assert_eq!(ended.status(), 2, "{option}");
    }
}

#[test]
fn empty_lists_say_none() {
    let place = logged(0);
    for arguments in [
        &["request", "list", "--provider", "10000001"][..],
        &["user", "list"],
        &["registry", "queue"],
        &["registry", "queue", "--for", "award"],
        &["trainee", "erasures"],
        &["version", "readiness"],
        &["token", "list", "--expiring", "0"],
    ] {
        let ended = place.run(arguments, None);
        assert_eq!(
            (ended.status(), ended.stdout().lines().next()),
            (0, Some("none")),
            "{arguments:?}: {}",
            ended.stderr()
        );
    }
    for arguments in [
        &["request", "refused", "--provider", "10000001"][..],
        &["usage"],
    ] {
        let ended = place.run(arguments, None);
        assert!(
            ended.stdout().starts_with("none\n\nsince "),
            "{arguments:?}: {}",
            ended.stdout()
        );
    }
    let empty = Workplace::migrated();
    for list in ["provider", "token"] {
        assert_eq!(
            empty.run(&[list, "list"], None).stdout(),
            "none\n",
            "{list}"
        );
    }
}

#[test]
fn filters_that_can_match_nothing_are_refused() {
    let place = logged(1);
    let list = ["request", "list", "--provider", "10000001"];
    for (option, value, expected) in [
        (
            "--version",
            "v9",
            "no version is called v9; there are v2025.0, ",
        ),
        (
            "--version",
            "v1999.0",
            "no version is called v1999.0; there are v2025.0, ",
        ),
        (
            "--request-id",
            "none",
            "no request with the identifier none was found; identifiers created by the register have 24",
        ),
        ("--code", "nonsense", "no problem has this code"),
        ("--token", "99", "no token has this number"),
        // The token of another provider.
        ("--token", "2", "no token has this number"),
    ] {
        let ended = place.run(&[&list[..], &[option, value]].concat(), None);
        assert!(
            ended.status() != 0 && ended.stdout().is_empty(),
            "{option} {value}: {}",
            ended.stdout()
        );
        assert!(
            ended.stderr().contains(expected),
            "{option} {value}: {}",
            ended.stderr()
        );
    }
    let again = place.run(
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ],
        None,
    );
    assert!(
        again
            .stderr()
            .contains("there is a provider with this ukprn already"),
        "{}",
        again.stderr()
    );
}
