//! Metrics: what is counted, and that the document names all of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::server::Watched;
use crate::program::support::{Workplace, wait_until};

const DOCUMENT: &str = include_str!("../../../../../docs/monitoring.md");

/// The metrics in the table of the document: the type and the labels of each.
fn documented() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let names = |cell: &str| {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows = DOCUMENT
        .lines()
        .filter(|line| line.starts_with("| `register_") || line.starts_with("| `process_"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name] = &names(cells[1])[..] else {
            panic!("{row}")
        };
        assert!(!cells[4].is_empty(), "{row}");
        (
            name.clone(),
            (cells[2].to_owned(), names(cells[3]).into_iter().collect()),
        )
    })
    .collect()
}

#[test]
fn document_lists_every_metric() {
    let place = Workplace::on_sqlite();
    let server = Watched::start(&place, "");
    assert_eq!(server.send("GET", "/api/versions", &[]).status, 200);
    let exposition = server.scrape();
    let mut exported: BTreeMap<String, (String, BTreeSet<String>)> = exposition
        .types
        .iter()
        .map(|(name, kind)| (name.clone(), (kind.clone(), BTreeSet::new())))
        .collect();
    for (name, labels) in exposition.series() {
        exported
            .get_mut(&name)
            .unwrap()
            .1
            .extend(labels.into_keys());
    }
    assert_eq!(exported, documented());
    assert_eq!(
        exposition.described,
        exposition.types.keys().cloned().collect()
    );
}

#[test]
fn what_happens_is_counted() {
    let place = Workplace::on_sqlite();
    let server = Watched::start(&place, "--rate-limit 50");
    // A version with a deprecated endpoint, and with its own names.
    let mut all = versions::all().iter();
    let served = all
        .find(|served| !served.version.endpoints.deprecated.is_empty())
        .unwrap();
    let version = served.version;
    let label = version.label.to_string();
    let trainees = format!("/api/{label}/trainees");

    assert_eq!(server.send("GET", &trainees, &[]).status, 401);
    let secret = "0".repeat(64);
    let (other, unknown) = (
        format!("Bearer production_{secret}"),
        format!("Bearer sandbox_{secret}"),
    );
    for header in [
        "Basic abc",
        "Bearer",
        "Bearer sandbox_abc",
        &other,
        &unknown,
    ] {
        assert_eq!(
            server
                .send("GET", &trainees, &[&format!("Authorization: {header}")])
                .status,
            401,
            "{header}"
        );
    }
    let foreign = served
        .other_names
        .trainee
        .refused
        .iter()
        .map(|(name, _)| *name);
    let mut data: serde_json::Map<_, _> =
        foreign.map(|name| (name.to_owned(), json!("x"))).collect();
    let count = data.len();
    assert!(count > 0);
    data.insert("qqqqqqqqqqqq".to_owned(), json!("x"));
    data.insert("zzzzzzzzzzzz".to_owned(), json!("x"));
    let nested = version
        .inputs
        .trainee
        .name_of(domain::TraineeField::placements)
        .unwrap();
    data.insert(nested.to_owned(), json!([{ "yyyyyyyyyyyy": "x" }]));
    let body = json!({ "data": data }).to_string();
    assert_eq!(server.send_body("POST", &trainees, &[], &body).status, 422);
    let gone = version.endpoints.deprecated.first().unwrap();
    let path = format!(
        "/api/{label}{}",
        gone.endpoint.path().replace("{trainee_id}", "abc")
    );
    assert_eq!(server.send_body("POST", &path, &[], "{}").status, 404);

    let exposition = server.scrape();
    let value =
        |name: &str, labels: &[(&str, &str)]| exposition.value(name, labels).unwrap_or(-1.0);
    for (reason, times) in [
        ("missing", 1.0),
        ("wrong_scheme", 1.0),
        ("malformed", 2.0),
        ("other_environment", 1.0),
        ("unknown", 1.0),
        ("revoked", 0.0),
        ("expired", 0.0),
        ("provider_closed", 0.0),
    ] {
        assert_eq!(
            value("register_token_failures_total", &[("reason", reason)]),
            times,
            "{reason}"
        );
    }
    let asked = [
        ("endpoint", "/trainees"),
        ("method", "GET"),
        ("status", "401"),
        ("version", label.as_str()),
    ];
    assert_eq!(value("register_requests_total", &asked), 6.0);
    let place = [("endpoint", "/trainees"), ("version", label.as_str())];
    assert_eq!(
        value("register_request_duration_seconds_count", &place),
        7.0
    );
    let count = u32::try_from(count).unwrap();
    for (name, kind, names) in [
        (
            "register_unrecognised_names_total",
            "other_version",
            f64::from(count),
        ),
        ("register_unrecognised_names_total", "unknown", 3.0),
    ] {
        assert_eq!(
            value(name, &[("kind", kind), ("version", &label)]),
            names,
            "{name} {kind}"
        );
    }
    let gone = [
        ("endpoint", gone.endpoint.path()),
        ("version", label.as_str()),
    ];
    assert_eq!(value("register_deprecated_requests_total", &gone), 1.0);
    // The first request, and what the server writes after a reply, may still be running.
    wait_until("no request is in flight and no write is queued", || {
        let exposition = server.scrape();
        let queued = exposition.value("register_store_queue_length", &[("queue", "writer")]);
        exposition.value("register_requests_in_flight", &[]) == Some(0.0) && queued == Some(0.0)
    });
    assert_eq!(
        value("register_store_queue_limit", &[("queue", "pool")]),
        256.0
    );
    assert!(value("register_store_commits_total", &[]) > 0.0);
    assert!(
        value(
            "register_store_job_duration_seconds_count",
            &[("access", "read")]
        ) > 0.0
    );
    assert!(value("register_store_group_size_count", &[]) > 0.0);
    assert!(value("process_start_time_seconds", &[]) > 1e9);

    while server.send_body("GET", &trainees, &[], "").status != 429 {}
    assert_eq!(
        server
            .scrape()
            .value("register_rate_limited_requests_total", &[("by", "token")]),
        Some(1.0)
    );
}
