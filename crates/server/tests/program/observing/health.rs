//! Health: whether the process serves, and whether requests should be sent to it.

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use serde_json::json;
use test_support::{Cluster, Settings, Tool, has_tools};

use super::server::Watched;
use crate::program::support::{Workplace, execute};

#[test]
fn operators_and_clients_have_separate_listeners_and_paths() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    for (path, body) in [
        ("/health/live", json!({"status": "live"})),
        ("/health/ready", json!({"status": "ready"})),
    ] {
        let answer = server.ask(path);
        assert_eq!((answer.status, answer.json()), (200, body));
    }
    assert_eq!(server.ask("/metrics").status, 200);
    for path in ["/metrics", "/health", "/health/live", "/health/ready"] {
        assert_eq!(server.send("GET", path, &[]).status, 404, "{path}");
    }
    let newest = versions::all().newest().unwrap().version.label;
    for path in [
        "/health",
        "/docs",
        "/api/versions",
        &format!("/api/{newest}/info"),
    ] {
        assert_eq!(server.ask(path).status, 404, "{path}");
    }
}

#[test]
fn a_register_whose_writers_wait_is_ready() {
    let place = Workplace::on_sqlite();
    let server = Watched::start(place.command(&["serve"], None));
    let mut other =
        SqliteConnection::establish(place.path("register.db").to_str().unwrap()).unwrap();
    other
        .batch_execute("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE")
        .unwrap();
    assert_eq!(server.ask("/health/ready").status, 200);
    other.batch_execute("ROLLBACK").unwrap();
}

#[test]
fn server_without_its_database_is_alive_but_not_ready() {
    if !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let mut cluster = Cluster::start(Settings::Durable);
    let mut command = Workplace::on_sqlite().command(&["serve"], None);
    command.env("REGISTER_DATABASE_URL", cluster.url("postgres"));
    let server = Watched::start(command);
    assert_eq!(server.ask("/health/ready").status, 200);

    cluster.stop_immediately();
    let away = server.ask("/health/ready");
    assert_eq!(
        (away.status, away.json()),
        (503, json!({"status": "not_ready", "reason": "database"}))
    );
    assert_eq!(server.ask("/health/live").status, 200);
    assert_eq!(server.ask("/metrics").status, 200);
    // A request for a record during the outage is in the log, by its identifier only.
    let path = format!(
        "/api/{}/info",
        versions::all().newest().unwrap().version.label
    );
    assert_eq!(
        server
            .send_body("GET", &path, &["X-Request-Id: away"], "")
            .status,
        503
    );
    let lines = server.lines_until("away");
    let is_told =
        |line: &&serde_json::Value| line["level"] == "WARN" && line["request_id"] == "away";
    assert_eq!(lines.iter().filter(is_told).count(), 1, "{lines:#?}");

    cluster.start_again();
    assert_eq!(server.ask("/health/ready").status, 200);
}

#[test]
fn server_lacking_a_table_is_not_ready_and_names_it() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    let rename =
        |from: &str, to: &str| execute(&place.url(), &format!("ALTER TABLE {from} RENAME TO {to}"));
    rename("trainees", "elsewhere");
    let path = format!(
        "/api/{}/trainees/unknown",
        versions::all().newest().unwrap().version.label
    );
    let reply = server.send_body("GET", &path, &["X-Request-Id: fault"], "");
    assert_eq!(
        (reply.status, reply.header("retry-after").is_some()),
        (503, true)
    );
    let lines = server.lines_until("fault");
    let names_it = |line: &&serde_json::Value| {
        line["level"] == "ERROR"
            && line["request_id"] == "fault"
            && line["message"]
                .as_str()
                .is_some_and(|message| message.contains("trainees"))
    };
    assert_eq!(lines.iter().filter(names_it).count(), 1, "{lines:#?}");
    let ready = server.ask("/health/ready");
    assert_eq!(
        (ready.status, ready.json()),
        (503, json!({"status": "not_ready", "reason": "database"}))
    );
    rename("elsewhere", "trainees");
    assert_eq!(server.ask("/health/ready").status, 200);
    assert_eq!(server.send_body("GET", &path, &[], "").status, 404);
}

#[test]
fn operator_address_in_use_is_reported_at_once() {
    let place = Workplace::on_sqlite();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = place.run(
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--operator-listen",
            &address,
        ],
        None,
    );
    assert_eq!(ended.status(), 1);
    let told = format!("cannot listen on {address}: ");
    assert!(
        ended.stderr().contains(&told) && ended.stderr().contains("--operator-listen"),
        "{}",
        ended.stderr()
    );
}
