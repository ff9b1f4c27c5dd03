//! Clients that send a request except for its end cost a server bounded memory, with and without a
//! valid token.
//!
//! A short run has some such clients. A long one (`HELD_CONNECTIONS=900`) has as many as a server
//! serves and compares the memory of the process with its bounds. Each kind of request is held at a
//! server that was just started.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;

use super::deployment::{Server, Site};
use super::size::size;
use super::soak::as_installed;
use super::soak::memory::resident;
use super::unread_responses::connect_with_small_buffer;

/// Connections of a short run.
const FEW: usize = 60;
/// Memory that the process may hold while clients of one valid token hold requests, and while
/// clients without one do, in KiB: 160 MB and 120 MB.
const MAX_RESIDENT: [usize; 2] = [160_000_000 / 1_024, 120_000_000 / 1_024];
/// How long the server may take to read what was sent.
const READING_TIME: Duration = Duration::from_secs(60);
/// How long nothing more may be taken before everything counts as sent.
const SETTLED: Duration = Duration::from_secs(1);
/// A large body that another client sends at the same time, in bytes.
const LARGE: usize = 900_000;

/// A kind of request that is held.
struct Kind {
    name: &'static str,
    has_token: bool,
    /// What each client sends.
    request: fn(&Target) -> Vec<u8>,
}

/// The address and the token of requests.
struct Target {
    base: String,
    token: String,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "bodies of 900 kB",
        has_token: true,
        request: |target| target.body(&target.token, 900_000),
    },
    Kind {
        name: "bodies of 300 kB",
        has_token: true,
        request: |target| target.body(&target.token, 300_000),
    },
    Kind {
        name: "bodies of 16 kB",
        has_token: true,
        request: |target| target.body(&target.token, 16_000),
    },
    Kind {
        name: "chunked bodies of 900 kB",
        has_token: true,
        request: |target| target.chunked(900_000),
    },
    Kind {
        name: "requests behind an unread reply",
        has_token: false,
        request: Target::pipelined,
    },
    Kind {
        name: "bodies without a token",
        has_token: false,
        request: |target| target.body("", 900_000),
    },
    Kind {
        name: "bodies with an invented token",
        has_token: false,
        request: |target| target.body(INVENTED, 900_000),
    },
    Kind {
        name: "forms of public pages",
        has_token: false,
        request: |_| form(700_000),
    },
    Kind {
        name: "heads of 120 kB",
        has_token: false,
        request: |_| head(120_000),
    },
    Kind {
        name: "heads of 16 kB",
        has_token: false,
        request: |_| head(16_000),
    },
];

const INVENTED: &str = "sandbox_00000000000000000000000000000000000000000000000000000000000000a7";

impl Target {
    fn post(&self, token: &str, form: &str) -> String {
        let (base, path) = (&self.base, Endpoint::CreateTrainee.path());
        format!(
            "POST {base}{path} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n{form}\r\n\r\n"
        )
    }

    /// A body of this length, except for its last byte.
    fn body(&self, token: &str, length: usize) -> Vec<u8> {
        (self.post(token, &format!("Content-Length: {length}")) + "{}" + &" ".repeat(length - 3))
            .into_bytes()
    }

    /// A chunked body of this length, without its end.
    fn chunked(&self, length: usize) -> Vec<u8> {
        let piece = format!("2000\r\n{}\r\n", " ".repeat(8_192));
        (self.post(&self.token, "Transfer-Encoding: chunked") + &piece.repeat(length / 8_192))
            .into_bytes()
    }

    /// Requests with a large reply, behind each other.
    fn pipelined(&self) -> Vec<u8> {
        format!(
            "GET {}/openapi.json HTTP/1.1\r\nHost: register\r\n\r\n",
            self.base
        )
        .repeat(4_000)
        .into_bytes()
    }
}

fn form(length: usize) -> Vec<u8> {
    let head = format!(
        "POST /docs/migrate HTTP/1.1\r\nHost: register\r\nContent-Length: {length}\r\n\r\n"
    );
    (head + &"x".repeat(length - 1)).into_bytes()
}

/// A head of this length, without its end.
fn head(length: usize) -> Vec<u8> {
    format!(
        "GET /api/versions HTTP/1.1\r\nHost: register\r\nX-Long: {}",
        "x".repeat(length)
    )
    .into_bytes()
}

/// A client that sends as much as the server takes.
struct Holder {
    stream: TcpStream,
    sent: usize,
}

impl Holder {
    fn connect(address: &str) -> Self {
        // Replies stay with the server, not in the buffers of sockets.
        let stream = connect_with_small_buffer(address);
        stream.set_nonblocking(true).unwrap();
        Self { stream, sent: 0 }
    }

    /// Sends what there is room for, and returns whether anything was taken. A closed connection
    /// takes nothing.
    fn send(&mut self, request: &[u8]) -> bool {
        let before = self.sent;
        while self.sent < request.len() {
            match self.stream.write(&request[self.sent..]) {
                Ok(taken) => self.sent += taken,
                // There is no room for more, or the connection is closed.
                Err(_) => break,
            }
        }
        self.sent > before
    }
}

/// Holds a kind of request on a number of connections and returns the most memory that the server
/// held, in KiB.
fn hold(server: &Server, target: &Target, kind: &Kind, connections: usize) -> (Vec<Holder>, usize) {
    let request = (kind.request)(target);
    let mut holders: Vec<Holder> = Vec::new();
    let mut most = 0;
    let begun = Instant::now();
    let mut taken = begun;
    while taken.elapsed() < SETTLED && begun.elapsed() < READING_TIME {
        let missing = connections - holders.len();
        holders.extend((0..missing.min(50)).map(|_| Holder::connect(&server.address)));
        let sent = holders
            .iter_mut()
            .map(|holder| holder.send(&request))
            .filter(|has_sent| *has_sent)
            .count();
        if sent > 0 || missing > 0 {
            taken = Instant::now();
        }
        most = most.max(resident(server.id()).unwrap_or_default());
        thread::sleep(Duration::from_millis(10));
    }
    (holders, most)
}

/// The status of a request that another client sends whole.
fn status(server: &Server, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(READING_TIME)).unwrap();
    stream.write_all(request).unwrap();
    let mut status = [0; 12];
    if let Err(error) = stream.read_exact(&mut status) {
        return error.to_string();
    }
    String::from_utf8_lossy(&status[9..]).into_owned()
}

/// The program as the unit runs it. No address is refused, and no connection is closed while others
/// are opened.
fn without_limits(site: &Site) -> Command {
    let mut command = as_installed(site);
    command
        .env("REGISTER_HEADER_TIMEOUT", "600")
        .env("REGISTER_BODY_TIMEOUT", "600");
    command.env("REGISTER_PAGE_RATE_LIMIT", "0");
    command
}

#[test]
fn requests_without_an_end_take_bounded_memory() {
    let connections = size("HELD_CONNECTIONS", 0);
    let is_long = connections > 0;
    let connections = if is_long { connections } else { FEW };
    let site = Site::new();
    let others = site.another_token();
    let newest = versions::all().newest().unwrap().version.label;
    let target = Target {
        base: format!("/api/{newest}"),
        token: site.token.clone(),
    };
    let mut faults = Vec::new();
    for kind in KINDS {
        let mut server = Server::start(without_limits(&site));
        let mut whole = target.body(&others, LARGE);
        whole.push(b' ');
        assert_eq!(status(&server, &whole), "422");
        let before = resident(server.id()).unwrap_or_default();
        let (holders, most) = hold(&server, &target, kind, connections);
        let sent = holders.iter().map(|holder| holder.sent).sum::<usize>();
        let [before, resident] = [before, most].map(|kib| kib as f64 * 1_024.0 / 1e6);
        let name = kind.name;
        eprintln!(
            "{name}: {:.0} MB sent on {connections} connections; {before:.0} MB before, {resident:.0} MB resident",
            sent as f64 / 1e6
        );
        let other = status(&server, &whole);
        if other != "422" {
            faults.push(format!(
                "{name}: a large body of another token is answered {other}"
            ));
        }
        let max = MAX_RESIDENT[usize::from(!kind.has_token)];
        if is_long && most > max {
            faults.push(format!("{name}: {most} KiB resident, more than {max}"));
        }
        drop(holders);
        server.stop();
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
