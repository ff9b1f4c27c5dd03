//! A server with a log that is not read.

use super::exposition::Exposition;
use super::server::{exchange, head};
use crate::program::support::Workplace;
use crate::program::support::running::{FOR_OPERATORS, Running};

/// Requests that are sent one behind the other on a connection, and how often that certainly fills
/// the log: everything that a request does is logged.
const PIPELINED: usize = 100;
const MOST_ROUNDS: usize = 500;
/// The metric of what is lost.
const LOST: &str = "register_log_lines_lost_total";

/// Serves, and reads the log only until the server listens.
fn start(place: &Workplace, filter: &str) -> Running {
    let mut command = Running::command(place, &format!("{FOR_OPERATORS} --registry off"));
    command.env("RUST_LOG", filter);
    let mut server = Running::begin_command(command);
    server.wait_until_it_listens();
    server
}

fn lost(server: &Running) -> f64 {
    let address = server.operators.trim_start_matches("http://");
    let metrics = exchange(address, &head("GET", "/metrics", &[]));
    Exposition::read(&metrics.body).value(LOST, &[]).unwrap()
}

/// Sends requests until lines are lost. All must be answered.
fn fill(server: &Running) {
    let before = lost(server);
    let request = "GET /nowhere HTTP/1.1\r\nHost: register\r\n\r\n".repeat(PIPELINED - 1);
    let requests = request + &head("GET", "/nowhere", &[]);
    for _ in 0..MOST_ROUNDS {
        let answer = exchange(server.address(), &requests);
        assert_eq!(
            (answer.status, answer.body.matches("HTTP/1.1 404").count()),
            (404, PIPELINED - 1)
        );
        if lost(server) > before {
            return;
        }
    }
    panic!("the log was never full");
}

#[test]
fn unread_log_loses_counted_lines() {
    let place = Workplace::on_sqlite();
    let server = start(&place, "trace");
    fill(&server);
    let answer = exchange(server.address(), &head("GET", "/api/versions", &[]));
    assert_eq!(answer.status, 200);
    // A server that stops while its log is not read does not wait for a reader.
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn log_is_written_before_server_ends() {
    let place = Workplace::on_sqlite();
    let log = start(&place, "warn,server=info").stop();
    assert!(
        log.ends_with("stopped\n"),
        "the last line is missing: {log}"
    );
    // An error at the start is the last line, behind what was logged before.
    let line = format!("serve --listen 192.0.2.1:0 {FOR_OPERATORS}");
    let mut command = place.command(line);
    let ended = command.env("RUST_LOG", "info").output().unwrap();
    let log = String::from_utf8(ended.stderr).unwrap();
    let last = log.lines().last().unwrap();
    assert!(last.starts_with("trainee-register: "), "{log}");
    assert!(log.contains("listening for operators on "), "{log}");
}
