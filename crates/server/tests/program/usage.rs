//! What providers use and who is ready for the newest version, as an operator asks for it.

use adapter_kit::ApiVersion;
use chrono::{Datelike as _, Days, NaiveDate, Utc};
use serde_json::{Value, json};
use versions::SERVED;

use super::support::{Workplace, example_of, newest};

/// The version that is looked at.
fn older() -> &'static ApiVersion {
    SERVED[0]
}

/// Two providers with a token each, and counts of a day.
fn counted(day: NaiveDate) -> Workplace {
    let place = Workplace::new();
    for (ukprn, name, token) in [
        ("10000001", "Ashdown", "Records, old"),
        ("10000002", "Beech", "Beech SRS"),
    ] {
        place.done(format!("provider add --ukprn {ukprn} --name {name}"));
        place.done(format!("token issue --provider {ukprn} --name '{token}'"));
    }
    let (older, newest) = (older().label, newest().label);
    place.execute(&format!(
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
    ));
    place
}

fn recently() -> NaiveDate {
    Utc::now().date_naive() - Days::new(3)
}

/// What a command line prints as JSON.
fn json_of(place: &Workplace, line: &str) -> Value {
    serde_json::from_str(&place.done(format!("{line} --output json"))).unwrap()
}

/// Each line without what its widest neighbour adds between the columns.
fn columns(table: &str) -> String {
    let lines = table.lines().map(|line| {
        let cells = line.split("  ").map(str::trim);
        cells.filter(|cell| !cell.is_empty()).collect()
    });
    lines
        .map(|cells: Vec<&str>| cells.join(" | "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn usage_is_printed_in_three_forms() {
    let day = recently();
    let place = counted(day);
    let (older, newest) = (older().label, newest().label);
    assert_eq!(
        columns(&place.done(format!("usage --since {day}"))),
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
    assert_eq!(
        place.done("usage --provider 10000002 --output csv"),
        format!(
            "provider,token,token_name,version,endpoint,kind,name,requests,first_seen,first_request_id,last_seen,\
             last_request_id\n\
             10000002,2,Beech SRS,{newest},GET /info,request,,7,{day}T10:00:00.000Z,i1,{day}T11:00:00.000Z,i2"
        )
    );
    assert_eq!(
        json_of(&place, &format!("usage --provider 10000002 --since {day}")),
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
    let later = format!("usage --since {}", day + Days::new(1));
    assert_eq!(json_of(&place, &later)["lines"], json!([]));
}

#[test]
fn readiness_names_users_and_rejected_writes() {
    let day = recently();
    let place = counted(day);
    let (older, newest) = (older().label, newest().label);
    let today = Utc::now().date_naive();
    let since = today - Days::new(29);
    let monday = day - Days::new(u64::from(day.weekday().num_days_from_monday()));
    let text = place.done(format!("version readiness {older}"));
    let begin = format!(
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
    );
    assert!(text.starts_with(&begin), "{text}");
    let end = format!("  also uses {newest}, requests: 2");
    assert!(text.ends_with(&end), "{text}");
    let told = json_of(&place, &format!("version readiness {older}"));
    let writes = json!({ "checked": 40, "valid": 30, "percent": 75.0, "few": true });
    assert_eq!(told["writes"], writes);
    let [provider] = &told["providers"].as_array().unwrap()[..] else {
        panic!("{told}")
    };
    assert_eq!(provider["last_request_id"], "a2");
    assert_eq!(provider["problems"][0]["field"], "email");
    let newer = json!([{ "version": newest.to_string(), "requests": 2 }]);
    assert_eq!(provider["newer"], newer);
    let unknown = place.run("version readiness v1999.0");
    unknown.refuses(&[&newest.to_string()]);
}

#[test]
fn readiness_names_unused_version_as_removable() {
    let day = Utc::now().date_naive() - Days::new(40);
    let place = counted(day);
    let older = older().label;
    let text = place.done(format!("version readiness {older}"));
    let expected = format!(
        "No provider has used {older} since {day}T12:30:00.250Z; the last request a2 came from provider 10000001.\n\
         The version can be removed: see docs/adding-a-version.md."
    );
    assert!(text.ends_with(&expected), "{text}");
    let told = json_of(&place, &format!("version readiness {older} --days 60"));
    assert_eq!(told["providers"].as_array().map(Vec::len), Some(1));
}

#[test]
fn readiness_of_all_versions_has_verdicts() {
    let day = recently();
    let place = counted(day);
    let (older, newest) = (older().label, newest().label);
    let table = place.done("version readiness");
    let spaced = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = table.lines().map(spaced).collect();
    let headings = "version provider name requests last_seen checked percent newer";
    assert_eq!(lines[0], headings);
    let row = format!("{older} 10000001 Ashdown 40 {day}T12:30:00.250Z 40 75 2");
    assert!(lines.contains(&row), "{lines:?}");
    let mut verdicts = vec![format!("{older} is still used")];
    // Counts of a few days do not show that the version is unused.
    let others = SERVED
        .iter()
        .filter(|version| ![older, newest].contains(&version.label));
    verdicts.extend(others.map(|version| {
        format!(
            "{} was not used, but counts are too recent for a verdict",
            version.label
        )
    }));
    for verdict in verdicts {
        assert!(lines.contains(&verdict), "{verdict}: {lines:?}");
    }
    let told = json_of(&place, "version readiness --provider 10000001");
    assert_eq!(told.as_array().map(Vec::len), Some(SERVED.len()));
    // What one provider does not use others may.
    for version in [String::new(), older.to_string()] {
        let text = place.done(format!("version readiness {version} --provider 10000002"));
        assert!(!text.contains("removed"), "{text}");
    }
    let unknown = place.run("version readiness --provider 10999999");
    assert_eq!((unknown.status(), unknown.stdout()), (1, ""));
}

/// Writes to each version.
const WRITES: i64 = 7;

#[test]
fn counted_requests_outlive_their_server() {
    // A sandbox checks each write to an older version, unless an option turns it off.
    for (options, is_checked) in [("", true), ("--shadow-share 0", false)] {
        let place = Workplace::new();
        let server = place.serve(options);
        for version in SERVED {
            let path = format!("/api/{}/trainees", version.label);
            for number in 0..WRITES {
                let body = example_of(version, &format!("{} {number}", version.label));
                assert_eq!(server.send("POST", &path, Some(&body)).0, 201);
            }
            assert_eq!(server.send("GET", &path, None).0, 200);
        }
        server.stop();
        let told = json_of(&place, "usage");
        let lines = told["lines"].as_array().unwrap().iter();
        let lines: Vec<_> = lines
            .map(|line| json!([line["version"], line["endpoint"], line["requests"]]))
            .collect();
        let expected = SERVED.iter().flat_map(|version| {
            let label = version.label.to_string();
            [("GET /trainees", 1), ("POST /trainees", WRITES)]
                .map(|(endpoint, requests)| json!([label, endpoint, requests]))
        });
        assert_eq!(lines, expected.collect::<Vec<_>>());
        for version in SERVED {
            let label = version.label;
            let told = json_of(&place, &format!("version readiness {label}"));
            let tried = is_checked && label != newest().label;
            let tried = if tried { json!(WRITES) } else { json!(0) };
            let writes = (&told["writes"]["checked"], &told["writes"]["valid"]);
            assert_eq!(writes, (&tried, &tried), "{label}");
            assert_eq!(told["providers"][0]["requests"], WRITES + 1, "{label}");
        }
    }
}
