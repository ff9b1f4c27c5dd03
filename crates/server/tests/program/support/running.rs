//! A server that a test talks to byte by byte, and tells things by signals.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

use test_support::Process;

use super::Workplace;

/// How long a test waits for what must happen before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Limits of a server for heads, bodies and pauses, in seconds, that a test can wait for.
pub(crate) const SHORT_LIMITS: &str = "--header-timeout 2 --body-timeout 2 --keep-alive 2";

/// The option for a listener for operators on a free port.
pub(crate) const FOR_OPERATORS: &str = "--operator-listen 127.0.0.1:0";

/// A server process. It is killed when this is dropped.
pub(crate) struct Running {
    process: Process,
    log: BufReader<ChildStderr>,
    /// Scheme, host and port, as the log says them.
    pub(crate) base: String,
    /// Scheme, host and port of the listener for operators, if there is one.
    pub(crate) operators: String,
}

impl Running {
    /// Serves a sandbox on its own port, and waits until the server listens.
    pub(crate) fn start(workplace: &Workplace, options: &str) -> Self {
        let mut running = Self::begin(workplace, options);
        running.wait_until_it_listens();
        running
    }

    /// Starts a server as [`Running::start`] does, and does not wait.
    pub(crate) fn begin(workplace: &Workplace, options: &str) -> Self {
        let options = format!("--registry off {options}");
        Self::begin_command(Self::command(workplace, &options))
    }

    /// A server that is not started yet, which plays the registry in a sandbox.
    pub(crate) fn command(workplace: &Workplace, options: &str) -> Command {
        let mut command = workplace.command(format!("serve --listen 127.0.0.1:0 {options}"));
        command.env("RUST_LOG", "warn,server=info");
        command
    }

    /// Starts a command that serves, and does not wait.
    pub(crate) fn begin_command(mut command: Command) -> Self {
        let mut process = Process::start(command.stderr(Stdio::piped()));
        let log = BufReader::new(process.stderr());
        Self {
            process,
            log,
            base: String::new(),
            operators: String::new(),
        }
    }

    /// Waits until the server listens.
    pub(crate) fn wait_until_it_listens(&mut self) {
        let said = self.log_until("listening on ");
        let address = |words: &str| {
            let line = said.lines().find_map(|line| line.split_once(words));
            line.map(|(_, address)| address.trim().to_owned())
        };
        self.base = address("listening on ").unwrap();
        self.operators = address("listening for operators on ").unwrap_or_default();
    }

    /// Asks the server to stop in good order. Returns the lines of its log that were not read yet.
    pub(crate) fn stop(mut self) -> String {
        self.signal("TERM");
        let log = self.log_until("stopped");
        assert!(self.process.wait().success());
        log
    }

    /// Waits for a line of the log with this text.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let mut said = self.log_until(text);
        let begin = said.trim_end().rfind('\n').map_or(0, |end| end + 1);
        said.split_off(begin)
    }

    /// Waits for a line of the log with this text. Returns it with the lines before it that were
    /// not returned yet.
    pub(crate) fn log_until(&mut self, text: &str) -> String {
        let mut said = String::new();
        loop {
            let begin = said.len();
            assert_ne!(
                self.log.read_line(&mut said).unwrap(),
                0,
                "the server has ended without {text:?}: {said}"
            );
            if said[begin..].contains(text) {
                return said;
            }
        }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.base.split_once("://").unwrap().1
    }

    /// A connection to the server.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a signal such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// The number of the process.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.process.wait()
    }
}

/// Sends a request, and receives a reply that says how long it is.
pub(crate) fn ask(stream: &mut (impl std::io::Read + std::io::Write), request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    reply(stream)
}

/// Receives a reply that says how long it is.
pub(crate) fn reply(stream: &mut impl std::io::Read) -> String {
    let mut reply = Vec::new();
    let mut byte = [0];
    while !reply.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        reply.push(byte[0]);
    }
    let head = String::from_utf8(reply).unwrap();
    let length = header(&head, "content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    head + str::from_utf8(&body).unwrap()
}

/// A header of a reply.
pub(crate) fn header<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = reply.split_once("\r\n\r\n").unwrap();
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    headers
        .into_iter()
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// Receives whatever comes until the server closes the connection, which it must.
pub(crate) fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8(rest).unwrap()
}
