//! A server that is watched: the real program with a listener for operators, whose log is read line
//! by line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use test_support::{Demo, Process};

use super::exposition::Exposition;
use crate::program::support::Workplace;
use crate::program::support::running::FOR_OPERATORS;

/// Timeout for an expected event. Reaching it is a fault.
const PATIENCE: Duration = Duration::from_mins(2);

/// A server, which is killed when this is dropped.
pub(crate) struct Watched {
    _process: Process,
    /// Kept open: a server that cannot print ends.
    _stdout: BufReader<ChildStdout>,
    lines: Receiver<String>,
    pub(crate) public: String,
    pub(crate) operator: String,
    pub(crate) token: String,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Watched {
    /// Serves a demo with a listener for operators. The log is JSON.
    pub(crate) fn start(place: &Workplace, options: &str) -> Self {
        let mut command =
            place.serve_command(&format!("{FOR_OPERATORS} --log-format json {options}"));
        command.env("RUST_LOG", "info");
        let mut process = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
        let (told, lines) = channel();
        let log = BufReader::new(process.stderr()).lines();
        thread::spawn(move || {
            log.map_while(Result::ok)
                .all(|line| told.send(line).is_ok())
        });
        let mut stdout = BufReader::new(process.stdout());
        let token = Demo::read(&mut stdout).token;
        let (public, operator) = (String::new(), String::new());
        let mut server = Self {
            _process: process,
            _stdout: stdout,
            lines,
            public,
            operator,
            token,
        };
        server.operator = server.address_in("listening for operators on http://");
        server.public = server.address_in("listening on http://");
        server
    }

    fn address_in(&self, message: &str) -> String {
        let line = self.line(|line| {
            line["message"]
                .as_str()
                .is_some_and(|text| text.starts_with(message))
        });
        line["message"].as_str().unwrap()[message.len()..].to_owned()
    }

    /// Waits for a line of the log. Those before it are passed over; each must be an object.
    pub(crate) fn line(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self
                .lines
                .recv_timeout(PATIENCE)
                .expect("the line is not in the log");
            let line: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(line.is_object(), "{line}");
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Waits for the line of the request with this identifier, and gives it with all lines before
    /// it.
    pub(crate) fn lines_until(&self, request_id: &str) -> Vec<Value> {
        let lines = std::cell::RefCell::new(Vec::new());
        self.line(|line| {
            lines.borrow_mut().push(line.clone());
            line["target"] == "access" && line["request_id"] == request_id
        });
        lines.into_inner()
    }

    /// Asks as an operator does.
    pub(crate) fn ask(&self, path: &str) -> Answer {
        exchange(&self.operator, &head("GET", path, &[]))
    }

    /// The metrics of this moment.
    pub(crate) fn scrape(&self) -> Exposition {
        let answer = self.ask("/metrics");
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; version=0.0.4; charset=utf-8")
        );
        assert_eq!(answer.status, 200);
        Exposition::read(&answer.body)
    }

    /// A request of a client without a token.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        exchange(&self.public, &head(method, path, headers))
    }

    /// A request of a client with its token and a body.
    pub(crate) fn send_body(
        &self,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> Answer {
        let own = [
            format!("Authorization: Bearer {}", self.token),
            format!("Content-Length: {}", body.len()),
        ];
        let headers: Vec<&str> = own
            .iter()
            .map(String::as_str)
            .chain(headers.iter().copied())
            .collect();
        exchange(
            &self.public,
            &format!("{}{body}", head(method, path, &headers)),
        )
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields
            .filter(|(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The head of a request that closes the connection.
pub(crate) fn head(method: &str, path: &str, headers: &[&str]) -> String {
    let headers: String = headers
        .iter()
        .map(|header| format!("{header}\r\n"))
        .collect();
    format!("{method} {path} HTTP/1.1\r\nHost: register\r\nConnection: close\r\n{headers}\r\n")
}

/// Sends something that may be a request, and receives what is answered.
pub(crate) fn exchange(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{request}: {answer}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
