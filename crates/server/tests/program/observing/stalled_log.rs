//! A server with a log that is not read.

use std::io::{BufRead as _, BufReader};
use std::process::{ChildStderr, Stdio};

use test_support::Process;

use super::exposition::Exposition;
use super::server::{exchange, head};
use crate::program::support::Workplace;

/// Requests that are sent one behind the other on a connection, and how often that certainly fills
/// the log: everything that a request does is logged.
const PIPELINED: usize = 100;
const MOST_ROUNDS: usize = 500;
/// The metric of what is lost.
const LOST: &str = "register_log_lines_lost_total";

struct Stalled {
    process: Process,
    log: BufReader<ChildStderr>,
    public: String,
    operator: String,
}

impl Stalled {
    /// Serves, and reads the log until the server listens.
    fn start(place: &Workplace, filter: &str) -> Self {
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--operator-listen",
            "127.0.0.1:0",
        ];
        let mut command = place.command(&arguments, None);
        command
            .env("RUST_LOG", filter)
            .env("REGISTER_REGISTRY", "off")
            .stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let log = BufReader::new(process.stderr());
        let mut server = Self {
            process,
            log,
            public: String::new(),
            operator: String::new(),
        };
        server.operator = server.read_until("listening for operators on http://");
        server.public = server.read_until("] listening on http://");
        server
    }

    /// Reads the log to the line with this text, and gives what stands behind it.
    fn read_until(&mut self, text: &str) -> String {
        let mut line = Vec::new();
        loop {
            line.clear();
            assert_ne!(
                self.log.read_until(b'\n', &mut line).unwrap(),
                0,
                "the server has ended without {text:?}"
            );
            if let Some((_, rest)) = String::from_utf8_lossy(&line).split_once(text) {
                return rest.trim_end().to_owned();
            }
        }
    }

    fn lost(&self) -> f64 {
        let metrics = exchange(&self.operator, &head("GET", "/metrics", &[]));
        Exposition::read(&metrics.body).value(LOST, &[]).unwrap()
    }

    /// Sends requests until lines are lost. All must be answered.
    fn fill(&self) {
        let before = self.lost();
        let request = "GET /nowhere HTTP/1.1\r\nHost: register\r\n\r\n".repeat(PIPELINED - 1);
        let requests = request + &head("GET", "/nowhere", &[]);
        for _ in 0..MOST_ROUNDS {
            let answer = exchange(&self.public, &requests);
            assert_eq!(
                (answer.status, answer.body.matches("HTTP/1.1 404").count()),
                (404, PIPELINED - 1)
            );
            if self.lost() > before {
                return;
            }
        }
        panic!("the log was never full");
    }
}

#[test]
fn server_with_unread_log_continues_and_counts_dropped_lines() {
    let place = Workplace::on_sqlite();
    let mut server = Stalled::start(&place, "trace");
    server.fill();
    assert_eq!(
        exchange(&server.public, &head("GET", "/api/versions", &[])).status,
        200
    );
    // A server that stops while its log is not read does not wait for a reader.
    server.process.signal("TERM");
    assert!(server.process.wait().success());
}

#[test]
fn what_was_logged_is_written_before_a_server_ends() {
    let place = Workplace::on_sqlite();
    let mut server = Stalled::start(&place, "warn,server=info");
    std::thread::scope(|scope| {
        let (process, log) = (&mut server.process, &mut server.log);
        process.signal("TERM");
        let last = scope.spawn(move || log.lines().map_while(Result::ok).last().unwrap());
        assert!(process.wait().success());
        assert!(
            last.join().unwrap().ends_with("stopped"),
            "the last line is missing"
        );
    });
    // An error at the start is the last line, behind what was logged before.
    let arguments = [
        "serve",
        "--listen",
        "192.0.2.1:0",
        "--operator-listen",
        "127.0.0.1:0",
    ];
    let mut command = place.command(&arguments, None);
    let ended = command.env("RUST_LOG", "info").output().unwrap();
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(
        log.lines()
            .last()
            .unwrap()
            .starts_with("trainee-register: "),
        "{log}"
    );
    assert!(log.contains("listening for operators on "), "{log}");
}
