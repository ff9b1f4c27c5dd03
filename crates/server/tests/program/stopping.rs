//! How a server is told to stop.

use std::io::Write as _;
use std::net::TcpStream;

use super::support::Workplace;
use super::support::running::{Running, ask, reply, rest};

const GET: &str = "GET /api/versions HTTP/1.1\r\nHost: register\r\n\r\n";
/// The beginning of a request that is not answered before two more bytes have come.
const BEGUN: &str = "POST /docs/translate HTTP/1.1\r\nHost: register\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
/// What the server says when it has begun to work on that.
const GO_ON: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// Begins a request, which is in flight then.
fn begin(server: &Running) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(BEGUN.as_bytes()).unwrap();
    let mut told = [0; GO_ON.len()];
    std::io::Read::read_exact(&mut stream, &mut told).unwrap();
    assert_eq!(str::from_utf8(&told), Ok(GO_ON));
    stream
}

#[test]
fn request_in_flight_is_answered_before_stop() {
    for signal in ["TERM", "INT"] {
        let workplace = Workplace::new();
        let mut server = Running::start(&workplace, "--drain-time 600");
        let mut idle = server.connect();
        assert!(ask(&mut idle, GET).starts_with("HTTP/1.1 200 "));
        let mut stream = begin(&server);
        server.signal(signal);
        server.wait_for(&format!("SIG{signal}: server stopping"));
        // Idle connections are closed, which shows that the server accepts no more requests.
        assert_eq!(rest(&mut idle), "");
        stream.write_all(b"{}").unwrap();
        let answer = reply(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 422 "), "{answer}");
        assert_eq!(rest(&mut stream), "");
        server.wait_for("stopped");
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn unfinished_request_is_dropped_after_drain_time() {
    let workplace = Workplace::new();
    let server = Running::start(&workplace, "--drain-time 1 --body-timeout 600");
    let mut stream = begin(&server);
    server.signal("TERM");
    assert_eq!(rest(&mut stream), "");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn server_accepts_requests_until_delayed_stop() {
    let workplace = Workplace::new();
    let mut server = Running::start(&workplace, "--stop-delay 600");
    let mut stream = server.connect();
    server.signal("TERM");
    server.wait_for("stopping");
    assert!(ask(&mut stream, GET).starts_with("HTTP/1.1 200 "));
    assert!(ask(&mut server.connect(), GET).starts_with("HTTP/1.1 200 "));
    // And when the time has come it stops.
    let server = Running::start(&workplace, "--stop-delay 1");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn second_signal_ends_server_immediately() {
    for (first, second, status) in [
        ("TERM", "TERM", 143),
        ("TERM", "INT", 130),
        ("INT", "INT", 130),
    ] {
        let workplace = Workplace::new();
        let mut server = Running::start(&workplace, "--stop-delay 600");
        server.signal(first);
        server.wait_for("stopping");
        server.signal(second);
        assert_eq!(server.wait().code(), Some(status));
    }
}
