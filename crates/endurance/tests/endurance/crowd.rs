//! Many clients that do not send the end of a request, or do not take a reply, cost a server bounded
//! memory, and leave other clients alone.
//!
//! A short run has some such clients. A long one (`CROWD=900`) has as many as a server serves, and
//! compares memory, times and rates with their bounds. Each kind meets a server that was just
//! started.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use domain::listing::MAX_PER_PAGE;
use serde_json::json;
use socket2::{Domain, Socket, Type};

use super::deployment::{Server, Site};
use super::http::{Caller, Request};
use super::size::size;
use super::soak::as_installed;
use super::soak::memory::resident;

/// Connections of a short run.
const FEW: usize = 60;
/// Trainees of the register: enough for the largest page.
const TRAINEES: &str = "1500";
/// How long nothing more may be taken before everything counts as sent.
const SETTLED: Duration = Duration::from_secs(2);
/// How long another client's request may take in a long run.
const LONGEST: Duration = Duration::from_secs(1);
/// The rate after the crowd has gone, in percent of that before.
const LEAST_RATE: usize = 90;
/// The most memory of the process with bodies, and with replies, in bytes.
const BODIES: usize = 160_000_000;
const REPLIES: usize = 120_000_000;
const INVENTED: &str = "sandbox_00000000000000000000000000000000000000000000000000000000000000a7";

/// A kind of crowd.
struct Kind {
    name: &'static str,
    /// The most memory of the process, in bytes.
    most: usize,
    /// What each client sends. The argument is a valid token.
    request: fn(&str) -> String,
}

impl Kind {
    const fn new(name: &'static str, most: usize, request: fn(&str) -> String) -> Self {
        Self {
            name,
            most,
            request,
        }
    }
}

const KINDS: &[Kind] = &[
    Kind::new("bodies of one token", BODIES, |token| {
        post("trainees", token)
    }),
    Kind::new("bodies without a token", BODIES, |_| post("trainees", "")),
    Kind::new("bodies with an invented token", BODIES, |_| {
        post("trainees", INVENTED)
    }),
    Kind::new("unread pages", REPLIES, |token| {
        get(&page(MAX_PER_PAGE), token)
    }),
    Kind::new("unread files", REPLIES, |_| {
        get(&format!("/docs/{}/swagger-ui-bundle.js", newest()), "")
    }),
];

fn newest() -> String {
    let newest = versions::all().newest().unwrap();
    newest.version.label.to_string()
}

fn page(trainees: i64) -> String {
    let path = Endpoint::ListTrainees.path();
    format!("/api/{}{path}?per_page={trainees}", newest())
}

fn get(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// A request with a body of 900 kB, except for its last byte.
fn post(path: &str, token: &str) -> String {
    let head = format!(
        "POST /api/{}/{path} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: 900000\r\n\r\n",
        newest()
    );
    head + &" ".repeat(899_999)
}

/// A client that takes as little as it can, and what it still sends. Small segments keep the send
/// buffer of the server's socket small; on the loopback interface that would otherwise take a whole
/// reply.
fn connect(address: &str) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.set_tcp_mss(536).unwrap();
    let address: SocketAddr = address.parse().unwrap();
    socket.connect(&address.into()).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

/// Sends the request on a number of connections, as far as the server takes it. Returns the
/// connections, and the most memory of the server, in bytes.
fn crowd(server: &Server, request: &str, connections: usize) -> (Vec<TcpStream>, usize) {
    let mut clients: Vec<(TcpStream, &[u8])> = Vec::new();
    let (mut most, mut taken) = (0, Instant::now());
    while taken.elapsed() < SETTLED {
        let missing = (connections - clients.len()).min(50);
        clients.extend((0..missing).map(|_| (connect(&server.address), request.as_bytes())));
        let mut sent = missing;
        for (stream, rest) in &mut clients {
            // There is no room for more, or the connection is closed.
            while let Ok(bytes @ 1..) = stream.write(rest) {
                *rest = &rest[bytes..];
                sent += bytes;
            }
        }
        if sent > 0 {
            taken = Instant::now();
        }
        most = most.max(1_024 * resident(server.id()).unwrap_or_default());
        thread::sleep(Duration::from_millis(10));
    }
    (
        clients.into_iter().map(|(stream, _)| stream).collect(),
        most,
    )
}

/// How many pages a client reads in a second: the median of five.
fn rate(server: &Server, caller: &Caller) -> usize {
    let second = || {
        let begun = Instant::now();
        let read = || {
            caller
                .insist(&server.address, &Request::get(page(50)))
                .status
        };
        let mut pages = 0;
        while begun.elapsed() < Duration::from_secs(1) && read() == 200 {
            pages += 1;
        }
        pages
    };
    let mut rates = [(); 5].map(|()| second());
    rates.sort_unstable();
    rates[2]
}

/// The longest time of another client's pages of 50 and registrations until `is_over`.
fn longest_time(server: &Server, caller: &Caller, is_over: &AtomicBool) -> Duration {
    let path = format!("/api/{}{}", newest(), Endpoint::CreateTrainee.path());
    let requests = [
        (200, Request::get(page(50))),
        (
            422,
            Request::with_body("POST", path, &json!({ "data": {} })),
        ),
    ];
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::SeqCst) {
        for (status, request) in &requests {
            let begun = Instant::now();
            assert_eq!(caller.ask(&server.address, request).status, *status);
            longest = longest.max(begun.elapsed());
        }
        thread::sleep(Duration::from_millis(100));
    }
    longest
}

/// The program as the unit runs it. No address is refused, and no connection is closed while others
/// are opened.
fn without_limits(site: &Site) -> Command {
    let mut command = as_installed(site);
    command
        .env("REGISTER_HEADER_TIMEOUT", "600")
        .env("REGISTER_BODY_TIMEOUT", "600")
        .env("REGISTER_PAGE_RATE_LIMIT", "0");
    command
}

#[test]
fn waiting_crowds_take_memory_within_limit() {
    let connections = size("CROWD", FEW);
    let is_long = connections > FEW;
    let site = Site::new();
    let seed = ["sandbox", "seed", "--provider", "10000001", "--trainees"];
    site.run(&[&seed[..], &[TRAINEES]].concat());
    let caller = Caller::new(&site.another_token());
    let mut faults = Vec::new();
    for Kind {
        name,
        most,
        request,
    } in KINDS
    {
        let mut server = Server::start(without_limits(&site));
        let before = rate(&server, &caller);
        let is_over = AtomicBool::new(false);
        let (resident, longest) = thread::scope(|scope| {
            let others = scope.spawn(|| longest_time(&server, &caller, &is_over));
            let (clients, resident) = crowd(&server, &request(&site.token), connections);
            is_over.store(true, Ordering::SeqCst);
            let longest = others.join().unwrap();
            drop(clients);
            (resident, longest)
        });
        let after = rate(&server, &caller);
        let measured = format!(
            "{name}: {} MB resident, another client waited {longest:?} at most, {before} pages a \
             second before and {after} after",
            resident / 1_000_000
        );
        eprintln!("{measured}");
        let is_slow = longest > LONGEST || 100 * after < LEAST_RATE * before;
        if resident > *most || (is_long && is_slow) {
            faults.push(measured);
        }
        server.stop();
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
