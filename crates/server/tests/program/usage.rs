//! What providers use and who is ready for the newest version, as an operator asks for it.

use adapter_kit::ApiVersion;
use chrono::{Datelike as _, Days, NaiveDate, Utc};
use serde_json::{Value, json};
use versions::SERVED;

use super::support::{Workplace, agent, execute};

/// The version that is looked at.
fn older() -> &'static ApiVersion {
    SERVED[0]
}

fn newest() -> &'static ApiVersion {
    SERVED[SERVED.len() - 1]
}

/// Two providers with a token each, and counts of some days ago.
fn counted(day: NaiveDate) -> Workplace {
    let place = Workplace::new();
    for (ukprn, name, token) in [
        ("10000001", "Ashdown", "Records, old"),
        ("10000002", "Beech", "Beech SRS"),
    ] {
        assert_eq!(
            place
                .run(&["provider", "add", "--ukprn", ukprn, "--name", name], None)
                .status(),
            0
        );
        assert_eq!(
            place
                .run(
                    &["token", "issue", "--provider", ukprn, "--name", token],
                    None
                )
                .status(),
            0
        );
    }
    let (older, newest) = (older().label, newest().label);
    execute(
        &place.url(),
        &format!(
            "INSERT INTO request_totals (day, token_id, version, endpoint, status, kind, detail, requests, first_at,
                                         first_request_id, last_at, last_request_id) VALUES
                ('{day}', 2, '{newest}', 'GET /info', 200, 'request', '', 7, '{day} 10:00:00', 'i1', '{day} 11:00:00', 'i2'),
                ('{day}', 1, '{older}', 'POST /trainees', 201, 'request', '', 30, '{day} 09:00:00', 'a1', '{day} 12:00:00', 'a3'),
                ('{day}', 1, '{older}', 'POST /trainees', 422, 'request', '', 10, '{day} 09:30:00', 'a4', '{day} 12:30:00.250', 'a2'),
                ('{day}', 1, '{older}', 'POST /trainees', 201, 'name', 'other_name', 3, '{day} 09:00:00', 'a1', '{day} 10:00:00', 'a9'),
                ('{day}', 1, '{newest}', 'GET /info', 200, 'request', '', 2, '{day} 10:00:00', 'n1', '{day} 11:00:00', 'n2'),
                ('{day}', 1, '{older}', 'POST /trainees', 200, 'check', '{newest}', 30, '{day} 09:00:00', '', '{day} 09:00:00', ''),
                ('{day}', 1, '{older}', 'POST /trainees', 422, 'check', '{newest}', 10, '{day} 09:00:00', '', '{day} 09:00:00', ''),
                ('{day}', 1, '{older}', 'POST /trainees', 422, 'problem', '{newest} unknown_code sex', 2, '{day} 09:00:00', '',
                 '{day} 09:00:00', ''),
                ('{day}', 1, '{older}', 'POST /trainees', 422, 'problem', '{newest} blank email', 8, '{day} 09:00:00', '',
                 '{day} 09:00:00', '');"
        ),
    );
    place
}

fn recently() -> NaiveDate {
    Utc::now().date_naive() - Days::new(3)
}

/// Each line without what its widest neighbour adds between the columns.
fn columns(table: &str) -> String {
    let lines = table.lines().map(|line| {
        line.split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect()
    });
    lines
        .map(|cells: Vec<&str>| cells.join(" | "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn usage_is_printed_as_a_table_with_its_total() {
    let day = recently();
    let place = counted(day);
    let (older, newest) = (older().label, newest().label);
    let ended = place.run(&["usage", "--since", &day.to_string()], None);
    assert_eq!((ended.status(), ended.stderr()), (0, ""));
    assert_eq!(
        columns(ended.stdout()),
        format!(
            "provider | token | token_name | version | endpoint | kind | name | requests | first_seen | \
             first_request_id | last_seen | last_request_id\n\
             10000001 | 1 | Records, old | {older} | POST /trainees | request | 40 | {day}T09:00:00.000Z | a1 | \
             {day}T12:30:00.250Z | a2\n\
             10000001 | 1 | Records, old | {older} | POST /trainees | foreign_name | other_name | 3 | \
             {day}T09:00:00.000Z | a1 | {day}T10:00:00.000Z | a9\n\
             10000001 | 1 | Records, old | {newest} | GET /info | request | 2 | {day}T10:00:00.000Z | n1 | \
             {day}T11:00:00.000Z | n2\n\
             10000002 | 2 | Beech SRS | {newest} | GET /info | request | 7 | {day}T10:00:00.000Z | i1 | \
             {day}T11:00:00.000Z | i2\n\n\
             since {day}: requests 49, to deprecated endpoints 0; providers 2, tokens 2"
        )
    );
}

#[test]
fn usage_prints_csv_and_json_by_provider_and_start_date() {
    let day = recently();
    let place = counted(day);
    let newest = newest().label;
    let ended = place.run(
        &["usage", "--provider", "10000002", "--output", "csv"],
        None,
    );
    assert_eq!(
        ended.stdout(),
        format!(
            "provider,token,token_name,version,endpoint,kind,name,requests,first_seen,first_request_id,last_seen,\
             last_request_id\n\
             10000002,2,Beech SRS,{newest},GET /info,request,,7,{day}T10:00:00.000Z,i1,{day}T11:00:00.000Z,i2\n"
        )
    );
    let ended = place.run(
        &[
            "usage",
            "--provider",
            "10000002",
            "--since",
            &day.to_string(),
            "--output",
            "json",
        ],
        None,
    );
    assert_eq!(
        serde_json::from_str::<Value>(ended.stdout()).unwrap(),
        json!({
            "since": day.to_string(),
            "lines": [{
                "provider": "10000002", "token": 2, "token_name": "Beech SRS", "version": newest.to_string(),
                "endpoint": "GET /info", "kind": "request", "name": null, "requests": 7,
                "first_seen": format!("{day}T10:00:00.000Z"), "first_request_id": "i1",
                "last_seen": format!("{day}T11:00:00.000Z"), "last_request_id": "i2",
            }],
            "total": { "requests": 7, "to_deprecated_endpoints": 0, "providers": 1, "tokens": 1 },
        })
    );
    let since = (day + Days::new(1)).to_string();
    let ended = place.run(&["usage", "--since", &since, "--output", "json"], None);
    assert_eq!(
        serde_json::from_str::<Value>(ended.stdout()).unwrap()["lines"],
        json!([])
    );
}

#[test]
fn readiness_names_users_of_a_version_and_their_rejected_writes() {
    let day = recently();
    let place = counted(day);
    let (older, newest) = (older().label, newest().label);
    let today = Utc::now().date_naive();
    let since = today - Days::new(29);
    let monday = day - Days::new(u64::from(day.weekday().num_days_from_monday()));
    let ended = place.run(&["version", "readiness", &older.to_string()], None);
    assert_eq!((ended.status(), ended.stderr()), (0, ""));
    let text = ended.stdout();
    assert!(
        text.starts_with(&format!(
            "{older} from {since} to {today}; the newest version is {newest}\n\
             The first counts are from {day}.\n\n\
             providers: 1, tokens: 1, requests: 40\n\
             writes checked against {newest}: 40, accepted: 30 (75 %; unreliable below 50 writes)\n\
             \x20 week of {monday}: 40, accepted: 30 (75 %; unreliable below 50 writes)\n\n\
             provider 10000001 Ashdown\n\
             \x20 requests: 40, last {day}T12:30:00.250Z (request a2)\n\
             \x20 token 1 Records, old: 40, last {day}T12:30:00.250Z (request a2)\n\
             \x20 name of other versions: other_name, requests: 3\n\
             \x20 writes checked against {newest}: 40, accepted: 30 (75 %; unreliable below 50 writes)\n\
             \x20   email blank, writes: 8. A required value is missing."
        )),
        "{text}"
    );
    assert!(
        text.ends_with(&format!("  also uses {newest}, requests: 2\n")),
        "{text}"
    );
    let ended = place.run(
        &[
            "version",
            "readiness",
            &older.to_string(),
            "--output",
            "json",
        ],
        None,
    );
    let told: Value = serde_json::from_str(ended.stdout()).unwrap();
    assert_eq!(
        told["writes"],
        json!({ "checked": 40, "valid": 30, "percent": 75.0, "few": true })
    );
    let [provider] = &told["providers"].as_array().unwrap()[..] else {
        panic!("{told}")
    };
    assert_eq!(provider["last_request_id"], "a2");
    assert_eq!(provider["problems"][0]["field"], "email");
    assert_eq!(
        provider["newer"],
        json!([{ "version": newest.to_string(), "requests": 2 }])
    );
}

#[test]
fn readiness_says_that_an_unused_version_can_be_removed() {
    let day = Utc::now().date_naive() - Days::new(40);
    let place = counted(day);
    let older = older().label;
    let ended = place.run(&["version", "readiness", &older.to_string()], None);
    let text = ended.stdout();
    let expected = format!(
        "No provider has used {older} since {day}T12:30:00.250Z; the last request a2 came from provider 10000001.\n\
         The version can be removed: see docs/adding-a-version.md.\n"
    );
    assert!(text.ends_with(&expected), "{text}");
    let ended = place.run(
        &[
            "version",
            "readiness",
            &older.to_string(),
            "--days",
            "60",
            "--output",
            "json",
        ],
        None,
    );
    let told: Value = serde_json::from_str(ended.stdout()).unwrap();
    assert_eq!(told["providers"].as_array().map(Vec::len), Some(1));
}

#[test]
fn readiness_of_all_versions_is_a_table_with_verdicts() {
    let day = recently();
    let place = counted(day);
    let (older, newest) = (older().label, newest().label);
    let ended = place.run(&["version", "readiness"], None);
    assert_eq!((ended.status(), ended.stderr()), (0, ""));
    let lines: Vec<Vec<&str>> = ended
        .stdout()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let headings = [
        "version",
        "provider",
        "name",
        "requests",
        "last_seen",
        "checked",
        "percent",
        "newer",
    ];
    assert_eq!(lines[0], headings);
    let last = format!("{day}T12:30:00.250Z");
    let row = [
        older.to_string(),
        "10000001".to_owned(),
        "Ashdown".to_owned(),
        "40".to_owned(),
        last,
    ];
    let row: Vec<&str> = row
        .iter()
        .map(String::as_str)
        .chain(["40", "75", "2"])
        .collect();
    assert!(lines.contains(&row), "{lines:?}");
    let verdicts: Vec<&str> = ended
        .stdout()
        .lines()
        .filter(|line| line.contains(" used"))
        .collect();
    assert!(
        verdicts.contains(&format!("{older} is still used").as_str()),
        "{verdicts:?}"
    );
    // Counts of a few days do not show that the version is unused.
    let unused = "was not used, but counts are too recent for a verdict";
    let others = SERVED
        .iter()
        .filter(|version| ![older, newest].contains(&version.label));
    for version in others {
        assert!(
            verdicts.contains(&format!("{} {unused}", version.label).as_str()),
            "{verdicts:?}"
        );
    }
    let ended = place.run(
        &[
            "version",
            "readiness",
            "--output",
            "json",
            "--provider",
            "10000001",
        ],
        None,
    );
    let told: Value = serde_json::from_str(ended.stdout()).unwrap();
    assert_eq!(told.as_array().map(Vec::len), Some(SERVED.len()));
    // What one provider does not use others may.
    for arguments in [
        &["version", "readiness"][..],
        &["version", "readiness", &older.to_string()],
    ] {
        let ended = place.run(&[arguments, &["--provider", "10000002"]].concat(), None);
        assert!(
            ended.status() == 0 && !ended.stdout().contains("removed"),
            "{}",
            ended.stdout()
        );
    }
    let ended = place.run(&["version", "readiness", "--provider", "10999999"], None);
    assert_eq!((ended.status(), ended.stdout()), (1, ""));
}

#[test]
fn readiness_of_a_version_that_nobody_knows_is_refused() {
    let ended = Workplace::new().run(&["version", "readiness", "v1999.0"], None);
    assert_eq!((ended.status(), ended.stdout()), (1, ""));
    assert!(
        ended.stderr().contains(&newest().label.to_string()),
        "{}",
        ended.stderr()
    );
}

#[test]
fn sandbox_checks_every_write_and_an_option_turns_it_off() {
    for (options, expected) in [(&[][..], 20), (&["--shadow-share", "0"][..], 0)] {
        let place = Workplace::new();
        let server = place.serve(options, None);
        let agent = agent();
        for number in 0..20 {
            let mut body: Value =
                serde_json::from_str(&server::sandbox::demo::example(older())).unwrap();
            body["data"]["last_name"] = format!("Name {number}").into();
            let path = format!("/api/{}/trainees", older().label);
            assert_eq!(server.send(&agent, "POST", &path, Some(&body)).0, 201);
        }
        drop(agent);
        server.stop();
        let label = older().label.to_string();
        let ended = place.run(&["version", "readiness", &label, "--output", "json"], None);
        let told: Value = serde_json::from_str(ended.stdout()).unwrap();
        assert_eq!(told["writes"]["checked"], expected, "{told}");
    }
}

#[test]
fn what_a_server_counted_is_there_when_it_has_stopped() {
    let place = Workplace::new();
    let server = place.serve(&["--shadow-share", "100"], None);
    let agent = agent();
    for version in SERVED {
        let mut body: Value =
            serde_json::from_str(&server::sandbox::demo::example(version)).unwrap();
        body["data"]["last_name"] = version.label.to_string().into();
        let path = format!("/api/{}/trainees", version.label);
        assert_eq!(server.send(&agent, "POST", &path, Some(&body)).0, 201);
        assert_eq!(server.send(&agent, "GET", &path, None).0, 200);
    }
    drop(agent);
    server.stop();
    let ended = place.run(&["usage", "--output", "json"], None);
    let told: Value = serde_json::from_str(ended.stdout()).unwrap();
    let lines = told["lines"].as_array().unwrap().iter();
    let lines: Vec<_> = lines
        .map(|line| {
            (
                line["version"].as_str().unwrap().to_owned(),
                line["endpoint"].as_str().unwrap(),
                line["requests"].as_i64(),
            )
        })
        .collect();
    let expected = SERVED.iter().flat_map(|version| {
        ["GET /trainees", "POST /trainees"]
            .map(|endpoint| (version.label.to_string(), endpoint, Some(1)))
    });
    assert_eq!(lines, expected.collect::<Vec<_>>());
    for version in SERVED {
        let label = version.label.to_string();
        let ended = place.run(&["version", "readiness", &label, "--output", "json"], None);
        let told: Value = serde_json::from_str(ended.stdout()).unwrap();
        let tried = i64::from(label != newest().label.to_string());
        assert_eq!(
            (&told["writes"]["checked"], &told["writes"]["valid"]),
            (&json!(tried), &json!(tried)),
            "{label}"
        );
        assert_eq!(told["providers"][0]["requests"], 2, "{label}");
    }
}
