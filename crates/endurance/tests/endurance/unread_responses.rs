//! Clients that ask for the largest replies and do not read them cost a server bounded memory.
//!
//! A small run has some such clients. A long one (`UNREAD_CONNECTIONS=900`) has as many as a server
//! serves, for each of the five largest replies in turn, each time at a server that was just
//! started.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use adapter_kit::Endpoint;
use chrono::Utc;
use domain::listing::{MAX_PER_PAGE, known_cycles};
use socket2::{Domain, Socket, Type};
use versions::SERVED;

use super::deployment::{Server, Site};
use super::http::{Caller, Request};
use super::size::size;
use super::soak::as_installed;
use super::soak::memory::resident;

/// The provider of the trainees.
const UKPRN: &str = "10000001";
/// Connections of a small run: enough for the bound to be passed if each held its whole reply.
const FEW: usize = 100;
/// Trainees of a small run and of a long one, over some academic cycles: enough for a large page,
/// and for the largest.
const TRAINEES: [usize; 2] = [450, 3_000];
/// Clients that read a reply at once before it is measured: as many as there are connections to the
/// database, or more.
const READERS: usize = 12;
/// Connections that ask at once.
const AT_ONCE: usize = 25;
/// The most memory that a server may hold more than before, in KiB.
const MOST_MORE: usize = 64 * 1_024;
/// What a client takes before it stops, in bytes: the beginning of the status line.
const TAKEN: usize = "HTTP/1.1 200".len();
const PATIENCE: Duration = Duration::from_secs(120);

/// Large replies, one of each kind, with their sizes; the largest first.
fn large_replies(server: &Server, caller: &Caller) -> Vec<(usize, String)> {
    let newest = versions::all().newest().unwrap().version.label;
    let (base, oldest) = (format!("/api/{newest}"), SERVED[0].label);
    let size_of = |path: String| {
        let reply = caller.insist(&server.address, &Request::get(path.clone()));
        (reply.status == 200).then_some((reply.body.len(), path))
    };
    let list = |cycle| {
        format!(
            "{base}{}?academic_cycle={cycle}&per_page={MAX_PER_PAGE}",
            Endpoint::ListTrainees.path()
        )
    };
    let lists = known_cycles(Utc::now().date_naive())
        .map(list)
        .filter_map(size_of);
    let others = [
        format!("{base}{}", Endpoint::ReferenceData.path()),
        format!("{base}/openapi.json"),
        format!("/docs/{newest}/swagger-ui-bundle.js"),
        format!("/docs/{newest}/swagger-ui.css"),
        format!("/docs/versions/migrating-from-{oldest}"),
        format!("/docs/differences/{oldest}..{newest}?format=json"),
        "/docs".to_owned(),
    ];
    let others = others.map(|path| size_of(path).unwrap());
    let mut replies: Vec<(usize, String)> = lists.max().into_iter().chain(others).collect();
    replies.sort_by(|one, other| other.cmp(one));
    replies
}

/// A client that takes as little as it can. Small segments keep the send buffer of the server's
/// socket small; on the loopback interface that would otherwise take a whole reply, and hide what
/// the server holds.
pub(crate) fn connect_with_small_buffer(address: &str) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.set_tcp_mss(536).unwrap();
    socket
        .connect(&address.parse::<SocketAddr>().unwrap().into())
        .unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What came of asking for a reply on many connections.
struct Held {
    /// Connections with a reply that is not read, each with its status.
    connections: Vec<(TcpStream, String)>,
    /// The peak memory of the server during the test, in KiB.
    most: usize,
}

/// Requests a reply on a number of connections, and reads only the status.
fn ask_and_leave(site: &Site, server: &Server, path: &str, connections: usize) -> Held {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        server.address, site.token
    );
    let mut held = Held {
        connections: Vec::new(),
        most: 0,
    };
    while held.connections.len() < connections {
        let mut asking: Vec<TcpStream> = (0..AT_ONCE)
            .map(|_| connect_with_small_buffer(&server.address))
            .collect();
        asking
            .iter_mut()
            .for_each(|stream| stream.write_all(request.as_bytes()).unwrap());
        for mut stream in asking {
            let mut status = [0; TAKEN];
            stream.read_exact(&mut status).unwrap();
            held.connections.push((
                stream,
                String::from_utf8_lossy(&status[TAKEN - 3..]).into_owned(),
            ));
        }
        held.most = held.most.max(resident(server.id()).unwrap_or_default());
    }
    held
}

/// Reads the rest of a reply of known size.
fn read_rest(mut stream: TcpStream, size: usize) {
    let mut reply = Vec::new();
    let mut buffer = [0; 65_536];
    let head_end = |reply: &[u8]| reply.windows(4).position(|four| four == b"\r\n\r\n");
    while head_end(&reply).is_none_or(|end| reply.len() < end + 4 + size) {
        let read = stream.read(&mut buffer).unwrap();
        assert!(
            read > 0,
            "the reply was cut off after {} bytes",
            reply.len()
        );
        reply.extend_from_slice(&buffer[..read]);
    }
    assert_eq!(reply.len(), head_end(&reply).unwrap() + 4 + size);
}

/// Measures one reply at a separate server. Returns the additional memory in KiB.
fn measured_memory(site: &Site, path: &str, connections: usize) -> usize {
    let mut server = Server::start(without_limits(site));
    let caller = Caller::new(&site.token);
    let size = large_replies(&server, &caller)
        .into_iter()
        .find(|(_, other)| other == path)
        .unwrap()
        .0;
    // What the connections to the database keep, and what a reply needs while it is made, is not
    // what is measured.
    let read = || (0..2).for_each(|_| drop(caller.insist(&server.address, &Request::get(path))));
    thread::scope(|scope| (0..READERS).for_each(|_| drop(scope.spawn(read))));
    let before = resident(server.id()).unwrap_or_default();
    let mut held = ask_and_leave(site, &server, path, connections);
    let more = held.most.saturating_sub(before);
    let refused = held
        .connections
        .iter()
        .filter(|(_, status)| status == "503")
        .count();
    let answered = held
        .connections
        .iter()
        .filter(|(_, status)| status == "200")
        .count();
    assert_eq!(answered + refused, held.connections.len());
    eprintln!(
        "{path}: {} KiB on {connections} connections, {answered} answered and {refused} put off: {:.1} MiB before, {:.1} MiB \
         more",
        size / 1_024,
        before as f64 / 1_024.0,
        more as f64 / 1_024.0
    );
    // Beside them, ordinary requests are answered; what is held is whole; and what was left is
    // given back.
    let info = format!("/api/{}{}", SERVED[0].label, Endpoint::Info.path());
    assert_eq!(
        caller.insist(&server.address, &Request::get(info)).status,
        200
    );
    let whole = held
        .connections
        .iter()
        .position(|(_, status)| status == "200")
        .unwrap();
    read_rest(held.connections.swap_remove(whole).0, size);
    drop(held);
    assert_eq!(
        caller.insist(&server.address, &Request::get(path)).status,
        200
    );
    server.stop();
    more
}

/// The program as the unit runs it; each client asks as often as it likes, and takes as long.
fn without_limits(site: &Site) -> Command {
    let mut command = as_installed(site);
    command.env("REGISTER_PAGE_RATE_LIMIT", "0");
    // No connection is closed while others are opened.
    command.env("REGISTER_BODY_TIMEOUT", "600");
    command
}

#[test]
fn replies_that_nobody_reads_take_bounded_memory() {
    let connections = size("UNREAD_CONNECTIONS", 0);
    let is_long = connections > 0;
    let connections = if is_long { connections } else { FEW };
    let trainees = TRAINEES[usize::from(is_long)].to_string();
    let site = Site::new();
    site.run(&[
        "sandbox",
        "seed",
        "--provider",
        UKPRN,
        "--trainees",
        &trainees,
    ]);
    let mut server = Server::start(without_limits(&site));
    let replies = large_replies(&server, &Caller::new(&site.token));
    server.stop();
    for (size, path) in &replies {
        eprintln!("{:6} KiB {path}", size / 1_024);
    }
    for (_, path) in replies.iter().take(if is_long { 5 } else { 2 }) {
        let more = measured_memory(&site, path, connections);
        assert!(more <= MOST_MORE, "{path}: {more} KiB more");
    }
}
