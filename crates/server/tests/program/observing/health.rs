//! Health: whether the process serves, and whether requests should be sent to it.

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use serde_json::json;
use test_support::{Cluster, Settings, Tool, has_tools};

use super::server::{Answer, Watched};
use crate::program::support::{Workplace, path};

/// Requires that the register is not ready because of its database.
#[track_caller]
fn is_not_ready(answer: &Answer) {
    let expected = json!({"status": "not_ready", "reason": "database"});
    assert_eq!((answer.status, answer.json()), (503, expected));
}

#[test]
fn register_whose_writers_wait_is_ready() {
    let place = Workplace::on_sqlite();
    let server = Watched::start(&place, "");
    let mut other =
        SqliteConnection::establish(place.path("register.db").to_str().unwrap()).unwrap();
    other
        .batch_execute("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE")
        .unwrap();
    let answer = server.ask("/health/ready");
    assert_eq!(
        (answer.status, answer.json()),
        (200, json!({"status": "ready"}))
    );
    other.batch_execute("ROLLBACK").unwrap();
}

#[test]
fn server_without_its_database_is_not_ready() {
    if !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let mut cluster = Cluster::start(Settings::Durable);
    let place = Workplace::on_sqlite();
    let server = Watched::start(
        &place,
        &format!("--database-url {}", cluster.url("postgres")),
    );
    assert_eq!(server.ask("/health/ready").status, 200);

    cluster.stop_immediately();
    is_not_ready(&server.ask("/health/ready"));
    let live = server.ask("/health/live");
    assert_eq!((live.status, live.json()), (200, json!({"status": "live"})));
    assert_eq!(server.ask("/metrics").status, 200);
    // A request for a record during the outage is in the log, by its identifier only.
    let reply = server.send_body("GET", &path("/info"), &["X-Request-Id: away"], "");
    assert_eq!(reply.status, 503);
    let lines = server.lines_until("away");
    let is_told =
        |line: &&serde_json::Value| line["level"] == "WARN" && line["request_id"] == "away";
    assert_eq!(lines.iter().filter(is_told).count(), 1, "{lines:#?}");

    cluster.start_again();
    assert_eq!(server.ask("/health/ready").status, 200);
}

#[test]
fn server_lacking_a_table_is_not_ready() {
    let place = Workplace::new();
    let server = Watched::start(&place, "");
    place.execute("ALTER TABLE trainees RENAME TO elsewhere");
    let path = path("/trainees/unknown");
    let reply = server.send_body("GET", &path, &["X-Request-Id: fault"], "");
    let retry = reply.header("retry-after").is_some();
    assert_eq!((reply.status, retry), (503, true));
    let lines = server.lines_until("fault");
    let names_it = |line: &&serde_json::Value| {
        line["level"] == "ERROR"
            && line["request_id"] == "fault"
            && line["message"]
                .as_str()
                .is_some_and(|message| message.contains("trainees"))
    };
    assert_eq!(lines.iter().filter(names_it).count(), 1, "{lines:#?}");
    is_not_ready(&server.ask("/health/ready"));
    place.execute("ALTER TABLE elsewhere RENAME TO trainees");
    assert_eq!(server.ask("/health/ready").status, 200);
    assert_eq!(server.send_body("GET", &path, &[], "").status, 404);
}
