//! The requests of a provider, as an operator looks at them.

use serde_json::Value;
use versions::SERVED;

use super::support::{DEMO, Workplace, example_of};

/// The cells of a table, without its headings and without what follows it.
fn rows(table: &str) -> Vec<Vec<String>> {
    let lines = table.lines().skip(1).take_while(|line| !line.is_empty());
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    lines.map(cells).collect()
}

#[test]
fn logged_requests_outlive_their_server() {
    let place = Workplace::new();
    let server = place.serve("");
    for version in SERVED {
        let base = format!("/api/{}/trainees", version.label);
        let unknown = server.send("GET", &format!("{base}/unknown"), None);
        assert_eq!(unknown.0, 404);
        let mut body = example_of(version, "");
        body["data"]["last_name"] = Value::Null;
        assert_eq!(server.send("POST", &base, Some(&body)).0, 422);
        assert_eq!(server.send("GET", &base, None).0, 200);
    }
    server.stop();
    let list =
        |options: &str| rows(&place.done(format!("request list --provider {DEMO} {options}")));
    assert_eq!(list("").len(), 2 * SERVED.len());
    let most = rows(&place.done(format!("request refused --provider {DEMO}")));
    assert_eq!(most.len(), 2 * SERVED.len());
    for version in SERVED {
        let label = version.label.to_string();
        let refused = list(&format!("--version {label} --outcome refused --code blank"));
        let [row] = &refused[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(row[1..4], ["422", "POST /trainees", &label]);
        assert_eq!(row.last().unwrap(), "blank last_name");
        assert_eq!(list(&format!("--version {label} --status 4xx")).len(), 2);
        let help = format!("/docs/{label}/problems#blank");
        let is_named = most
            .iter()
            .any(|row| row[0] == "1" && row.last() == Some(&help));
        assert!(is_named, "{most:?}");
    }
    // A server whose log is off adds nothing.
    let server = place.serve("--request-log off");
    assert_eq!(server.get("/trainees/unknown").0, 404);
    server.stop();
    assert_eq!(list("").len(), 2 * SERVED.len());
}

/// Command lines about nothing that there is, and the first line that is printed.
const EMPTY: &str = r"
provider list | none
token list | none
user list | none
registry queue | none
registry queue --for award | none
trainee erasures | none
version readiness | none
token list --expiring 0 | none
request list --provider 10000001 | none
request refused --provider 10000001 | none\n\nsince
usage | none\n\nsince
";

#[test]
fn empty_lists_say_none() {
    let place = Workplace::migrated();
    for line in EMPTY.trim().lines() {
        let (line, expected) = line.split_once(" | ").unwrap();
        if line.contains("10000001") {
            place.run("provider add --ukprn 10000001 --name Ashdown");
        }
        let printed = place.done(line);
        assert!(
            printed.starts_with(&expected.replace("\\n", "\n")),
            "{line}: {printed}"
        );
    }
}

/// Filters that can match nothing, and what is said about them. The second token is another
/// provider's.
const IMPOSSIBLE: &str = "
--version v9 | no version is called v9; there are v2025.0,
--version v1999.0 | no version is called v1999.0; there are v2025.0,
--request-id none | no request with the identifier none was found; identifiers created by the register have 24
--code nonsense | no problem has this code
--token 99 | no token has this number
--token 2 | no token has this number
";

#[test]
fn filters_that_can_match_nothing_are_refused() {
    let place = Workplace::new();
    for ukprn in ["10000001", "10000002"] {
        place.done(format!("provider add --ukprn {ukprn} --name Ashdown"));
        place.done(format!("token issue --provider {ukprn} --name Records"));
    }
    for line in IMPOSSIBLE.trim().lines() {
        let (filter, expected) = line.split_once(" | ").unwrap();
        let ended = place.run(format!("request list --provider 10000001 {filter}"));
        assert!(
            ended.status() != 0 && ended.stdout().is_empty(),
            "{line}: {}",
            ended.stdout()
        );
        assert!(
            ended.stderr().contains(expected),
            "{line}: {}",
            ended.stderr()
        );
    }
    for command in ["list", "refused"] {
        let ended = place.run(format!("request {command} --provider 10000009"));
        ended.refuses(&["no provider has the UKPRN 10000009"]);
    }
    let again = place.run("provider add --ukprn 10000001 --name Ashdown");
    again.refuses(&["there is a provider with this ukprn already"]);
}
