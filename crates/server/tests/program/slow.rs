//! Clients that keep the server waiting, on purpose or not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use server::sandbox::demo;
use socket2::SockRef;
use versions::SERVED;

use super::support::Workplace;
use super::support::running::{PATIENCE, Running, ask, header, reply, rest, trickle};

/// The timeouts of a server; the others are too long for a test to reach.
const TIMES: [(&str, &str); 3] = [
    ("--header-timeout", "600"),
    ("--body-timeout", "600"),
    ("--keep-alive", "600"),
];

const GET: &str = "GET /api/versions HTTP/1.1\r\nHost: register\r\n\r\n";

/// A server that waits no longer than two seconds for what is named, and for nothing else.
fn impatient(workplace: &Workplace, of: &[&str]) -> Running {
    let arguments: Vec<&str> = TIMES
        .iter()
        .flat_map(|(name, long)| [*name, if of.contains(name) { "2" } else { *long }])
        .collect();
    Running::start(workplace, &arguments)
}

/// A token of a provider.
fn token(workplace: &Workplace) -> String {
    let added = workplace.run(
        &[
            "provider",
            "add",
            "--ukprn",
            "10000001",
            "--name",
            "A University",
        ],
        None,
    );
    assert_eq!(added.status(), 0, "{}", added.stderr());
    issue_token(workplace, "slow")
}

/// Another token of the provider.
fn issue_token(workplace: &Workplace, name: &str) -> String {
    let issued = workplace.run(
        &["token", "issue", "--provider", "10000001", "--name", name],
        None,
    );
    issued.stdout().trim().to_owned()
}

#[test]
fn a_head_that_does_not_come_is_reported() {
    let workplace = Workplace::new();
    let server = impatient(&workplace, &["--header-timeout"]);
    let mut stream = server.connect();
    stream.write_all(b"GET /api/versions HTT").unwrap();
    assert!(rest(&mut stream).starts_with("HTTP/1.1 408 "));
}

#[test]
fn missing_body_is_reported_in_the_versions_format() {
    let workplace = Workplace::new();
    let token = token(&workplace);
    let server = impatient(&workplace, &["--body-timeout"]);
    for version in SERVED {
        for form in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
            let mut stream = server.connect();
            let told = ask(
                &mut stream,
                &format!(
                    "POST /api/{}/trainees HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n{form}\r\n\r\n",
                    version.label
                ),
            );
            assert!(told.starts_with("HTTP/1.1 408 "), "{told}");
            assert_eq!(header(&told, "connection"), Some("close"));
            let body: Value = serde_json::from_str(told.split_once("\r\n\r\n").unwrap().1).unwrap();
            assert_eq!(body["errors"][0]["error"], "RequestTimeout", "{body}");
            assert_eq!(rest(&mut stream), "");
        }
    }
}

#[test]
fn pages_wait_no_longer_for_a_body() {
    let workplace = Workplace::new();
    let server = impatient(&workplace, &["--body-timeout"]);
    for path in ["/docs/translate", "/docs/migrate"] {
        let mut stream = server.connect();
        let head = format!("POST {path} HTTP/1.1\r\nHost: register\r\nContent-Length: 100\r\n\r\n");
        let told = ask(&mut stream, &head);
        assert!(told.starts_with("HTTP/1.1 408 "), "{told}");
        assert_eq!(rest(&mut stream), "");
    }
}

/// The largest body, in bytes.
const LARGE: usize = 1_048_576;

/// Begins a registration in the newest version: announces a body of `length` bytes, and sends a
/// part of it.
fn begin_post(server: &Running, token: &str, header: &str, length: usize, body: &str) -> TcpStream {
    let newest = SERVED.last().unwrap().label;
    let mut stream = server.connect();
    let head = format!(
        "POST /api/{newest}/trainees HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n{header}\
         Content-Length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

/// Whether the request was told that there is no room for its body now.
fn finds_no_room(told: &str) -> bool {
    told.starts_with("HTTP/1.1 503 ") && header(told, "retry-after").is_some()
}

/// The most large bodies that one token may hold before a further one finds no memory.
const MAX_HELD: usize = 30;

/// Holds large bodies, each without its last byte, until requests find no memory for their own. One
/// that is refused may have met the memory of the one before, which is given back after its reply;
/// three in a row have not.
fn hold_until_refused(server: &Running, token: &str, send: impl Fn() -> String) -> Vec<TcpStream> {
    let body = format!("{{}}{}", " ".repeat(LARGE - 3));
    let mut held = Vec::new();
    let is_refused = || {
        thread::sleep(Duration::from_millis(100));
        finds_no_room(&send())
    };
    while !(is_refused() && is_refused() && is_refused()) {
        assert!(held.len() < MAX_HELD, "there is memory for all of them");
        held.push(begin_post(server, token, "", LARGE, &body));
    }
    held
}

#[test]
fn unfinished_large_bodies_use_only_their_tokens_share() {
    let workplace = Workplace::new();
    let token = token(&workplace);
    let other = issue_token(&workplace, "other");
    let server = impatient(&workplace, &[]);
    let body = format!("{{}}{}", " ".repeat(LARGE - 2));
    let send_with = |token: &str| reply(&mut begin_post(&server, token, "", LARGE, &body));
    let send = || send_with(&token);
    let mut held = hold_until_refused(&server, &token, send);

    assert!(reply(&mut begin_post(&server, &token, "", 2, "{}")).starts_with("HTTP/1.1 422 "));
    let told = send_with(&other);
    assert!(
        told.starts_with("HTTP/1.1 422 "),
        "another token finds no memory: {told}"
    );
    // A client that waits to be asked for its body is refused without sending any of it.
    let told = reply(&mut begin_post(
        &server,
        &token,
        "Expect: 100-continue\r\n",
        LARGE,
        "",
    ));
    assert!(finds_no_room(&told), "{told}");

    let told = held.iter_mut().map(|stream| ask(stream, " "));
    let (taken, refused): (Vec<_>, Vec<_>) =
        told.partition(|told| told.starts_with("HTTP/1.1 422 "));
    assert!(taken.len() >= 7, "{refused:?}");
    for told in refused {
        assert!(finds_no_room(&told), "{told}");
    }
    assert!(
        send().starts_with("HTTP/1.1 422 "),
        "the memory is not given back"
    );
}

#[test]
fn unfinished_chunked_bodies_use_only_their_tokens_share() {
    let workplace = Workplace::new();
    let token = token(&workplace);
    let server = impatient(&workplace, &[]);
    let newest = SERVED.last().unwrap().label;
    let begin = || {
        let mut stream = server.connect();
        let head = format!(
            "POST /api/{newest}/trainees HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        let piece = format!("10000\r\n{}\r\n", " ".repeat(65_536));
        stream
            .write_all((head + &piece.repeat(15)).as_bytes())
            .unwrap();
        stream
    };
    let mut held: Vec<TcpStream> = (0..12).map(|_| begin()).collect();
    let replies: Vec<String> = held.iter_mut().filter_map(early_reply).collect();
    assert!(
        (3..=5).contains(&replies.len()) && replies.iter().all(|reply| finds_no_room(reply)),
        "{replies:?}"
    );
    drop(held);
    let begun = Instant::now();
    while let Some(told) = early_reply(&mut begin()) {
        assert!(finds_no_room(&told) && begun.elapsed() < PATIENCE, "{told}");
    }
}

/// What the server answers to a request that has not ended, if anything.
fn early_reply(stream: &mut TcpStream) -> Option<String> {
    stream
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    stream.peek(&mut [0]).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    Some(reply(stream))
}

#[test]
fn resent_request_with_key_is_recognised_once_there_is_memory() {
    let workplace = Workplace::new();
    let token = token(&workplace);
    let server = impatient(&workplace, &[]);
    let body = demo::example(SERVED.last().unwrap());
    let body = format!("{body}{}", " ".repeat(LARGE - body.len()));
    let send = || {
        reply(&mut begin_post(
            &server,
            &token,
            "Idempotency-Key: again\r\n",
            LARGE,
            &body,
        ))
    };
    let first = send();
    assert!(first.starts_with("HTTP/1.1 201 "), "{first}");

    drop(hold_until_refused(&server, &token, send));
    let begun = Instant::now();
    let again = loop {
        let told = send();
        if !finds_no_room(&told) {
            break told;
        }
        assert!(begun.elapsed() < PATIENCE, "the room is not given back");
    };
    assert!(
        again.starts_with("HTTP/1.1 201 ") && header(&again, "idempotent-replayed") == Some("true"),
        "{again}"
    );
}

/// Whether the request is answered that there were too many, although its body does not come.
fn is_refused_unread(mut stream: &TcpStream) -> bool {
    let mut status = [0; 12];
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    stream.read_exact(&mut status).is_ok() && &status == b"HTTP/1.1 429"
}

#[test]
fn bodies_without_a_valid_token_take_no_memory_from_others() {
    let workplace = Workplace::new();
    let token = token(&workplace);
    let server = impatient(&workplace, &[]);
    let invented = format!("sandbox_{:064x}", 7);
    let body = " ".repeat(LARGE - 1);
    let mut unfinished: Vec<TcpStream> = (0..45)
        .map(|_| begin_post(&server, &invented, "", LARGE, &body))
        .collect();
    assert!(
        reply(&mut unfinished[0]).starts_with("HTTP/1.1 401 "),
        "the body was waited for"
    );
    // The server sees the token for the first time, and has room for the body.
    let whole = format!("{{}}{}", " ".repeat(LARGE - 2));
    let told = reply(&mut begin_post(&server, &token, "", LARGE, &whole));
    assert!(told.starts_with("HTTP/1.1 422 "), "{told}");
    // Beyond the limit of the address, nothing is read.
    let beyond: Vec<TcpStream> = (0..40)
        .map(|_| begin_post(&server, &invented, "", LARGE, ""))
        .collect();
    assert!(beyond.iter().any(is_refused_unread));
    drop(unfinished);
}

#[test]
fn forms_of_public_pages_take_no_room_from_others() {
    const FORM_BYTES: usize = 786_432;
    let workplace = Workplace::new();
    let token = token(&workplace);
    let server = impatient(&workplace, &[]);
    let body = "x".repeat(FORM_BYTES - 1);
    let begin_form = |body: &str| {
        let mut stream = server.connect();
        let head = format!(
            "POST /docs/migrate HTTP/1.1\r\nHost: register\r\nContent-Length: {FORM_BYTES}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        stream
    };
    let unfinished: Vec<TcpStream> = (0..55).map(|_| begin_form(&body)).collect();
    let whole = format!("{{}}{}", " ".repeat(LARGE - 2));
    let told = reply(&mut begin_post(&server, &token, "", LARGE, &whole));
    assert!(told.starts_with("HTTP/1.1 422 "), "{told}");
    let beyond: Vec<TcpStream> = (0..40).map(|_| begin_form("")).collect();
    assert!(beyond.iter().any(is_refused_unread));
    drop(unfinished);
}

#[test]
fn a_connection_without_a_request_is_closed() {
    let workplace = Workplace::new();
    let server = impatient(&workplace, &["--keep-alive"]);
    let mut stream = server.connect();
    assert!(ask(&mut stream, GET).starts_with("HTTP/1.1 200 "));
    assert_eq!(rest(&mut stream), "");
}

/// A server that waits no longer than two seconds for anything.
fn hasty(workplace: &Workplace) -> Running {
    impatient(workplace, &TIMES.map(|(name, _)| name))
}

#[test]
fn a_later_head_that_trickles_is_not_waited_for() {
    let workplace = Workplace::new();
    let server = hasty(&workplace);
    let mut stream = server.connect();
    assert!(ask(&mut stream, GET).starts_with("HTTP/1.1 200 "));
    stream
        .write_all(b"GET /api/versions HTTP/1.1\r\nX: ")
        .unwrap();
    trickle(&stream, "x");
}

#[test]
fn trickling_body_that_is_not_read_is_not_waited_for() {
    let workplace = Workplace::new();
    let server = impatient(&workplace, &["--body-timeout"]);
    for form in ["Content-Length: 1000000", "Transfer-Encoding: chunked"] {
        let mut stream = server.connect();
        let request = format!("GET /api/versions HTTP/1.1\r\nHost: register\r\n{form}\r\n\r\n");
        assert!(ask(&mut stream, &request).starts_with("HTTP/1.1 200 "));
        trickle(&stream, "1\r\nx\r\n");
    }
}

/// More than the server reads of a body after the reply, and the buffers of both sockets, in bytes.
const MOST_SENT: usize = 96 * 1_048_576;

#[test]
fn endless_body_is_cut_off_soon_at_every_path() {
    let workplace = Workplace::new();
    let token = token(&workplace);
    let server = impatient(&workplace, &[]);
    let piece = format!("10000\r\n{}\r\n", " ".repeat(65_536));
    let trainees = format!("/api/{}/trainees", SERVED[0].label);
    for (path, token) in [
        ("/nowhere", ""),
        (&*trainees, ""),
        (&*trainees, &*token),
        ("/docs/translate", ""),
    ] {
        let mut stream = server.connect();
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n");
        stream
            .write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
            .unwrap();
        let mut sent = 0;
        while stream.write_all(piece.as_bytes()).is_ok() {
            sent += piece.len();
            assert!(sent < MOST_SENT, "{path} takes whatever comes");
        }
    }
}

#[test]
fn client_that_reads_no_replies_is_not_waited_for() {
    let workplace = Workplace::new();
    let server = hasty(&workplace);
    let mut stream = server.connect();
    SockRef::from(&stream).set_recv_buffer_size(4_096).unwrap();
    let label = SERVED[0].label;
    let request = format!("GET /api/{label}/openapi.json HTTP/1.1\r\nHost: register\r\n\r\n");
    // Sending stands still when the replies do, and fails when the connection is closed.
    let closed = loop {
        if let Err(error) = stream.write_all(request.as_bytes()) {
            break error;
        }
    };
    let kinds = [
        std::io::ErrorKind::ConnectionReset,
        std::io::ErrorKind::BrokenPipe,
    ];
    assert!(kinds.contains(&closed.kind()), "{closed}");
}

#[test]
fn connections_beyond_the_most_wait_until_there_is_room() {
    let workplace = Workplace::new();
    let server = Running::start(&workplace, &["--max-connections", "1"]);
    let mut first = server.connect();
    assert!(ask(&mut first, GET).starts_with("HTTP/1.1 200 "));
    let mut second = server.connect();
    second.write_all(GET.as_bytes()).unwrap();
    let patience = second.read_timeout().unwrap();
    second
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    assert!(
        TcpStream::peek(&second, &mut [0]).is_err(),
        "the second connection was taken beside the first"
    );
    second.set_read_timeout(patience).unwrap();
    // The first is as good as it was.
    assert!(ask(&mut first, GET).starts_with("HTTP/1.1 200 "));
    drop(first);
    assert!(reply(&mut second).starts_with("HTTP/1.1 200 "));
}
