//! What happens on a connection: clients that keep the server waiting, requests behind each other,
//! and what cannot be read.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;
use versions::SERVED;

use super::support::Workplace;
use super::support::running::{Running, SHORT_LIMITS, ask, header, reply};

/// When every connection must have ended, which is more than all limits together.
const END: Duration = Duration::from_secs(15);
/// The largest body, in bytes.
const LARGE: usize = 1_048_576;

/// A case in each line: its name, how the client sends, what it sends, and what it gets.
///
/// Clients send everything at once. Some then send bytes for as long as the connection lasts
/// (`trickle`), and some close their half of it (`half-close`). `{get}`, `{post}` and `{anyone}` are
/// the first lines of a `GET`, and of a `POST` with and without a token. A client gets the status
/// of each reply. `+` marks a reply that says that the connection ends, and `!` the end of a
/// connection without that.
const CASES: &str = r"
nothing | whole | - | 408+
slow head | trickle | GET /api/versions HTTP/1.1\nX: x | 408+
slow later head | trickle | {get}\nGET /api/versions HTTP/1.1\nX: x | 200
slow body | trickle | {post}Content-Length: 100\n\n{ | 408+
no body | whole | {post}Content-Length: 100\n\n | 408+
slow chunked body | whole | {post}Transfer-Encoding: chunked\n\n1\n{ | 408+
refused slow body | trickle | {anyone}Content-Length: 1000000\n\nx | 401+
refused endless body | trickle | {anyone}Transfer-Encoding: chunked\n\nfffff\n | 401
requests behind each other | whole | {get}\n{get}\n{get}\n | 200 200 200
request behind a body | whole | {post}Content-Length: 2\n\n{}{get}\n | 422 200
request with a body behind another | whole | {get}\n{post}Content-Length: 2\n\n{}{get}\n | 200 422 200
refused body | whole | {anyone}Content-Length: 2\n\n{}{get}\n | 401+ 200
refused chunked body | whole | {anyone}Transfer-Encoding: chunked\n\n2\n{}\n0\n\n{get}\n | 401 200
half-closed | half-close | {get}\n | 200!
half-closed in a head | half-close | GET /api/versions HTTP/1.1\n | -
half-closed in a body | half-close | {post}Content-Length: 9\n\n{} | 400+
expectation | whole | {post}Expect: 100-continue\nContent-Length: 2\n\n{}{get}\n | 100 422 200
refused expectation | whole | {anyone}Expect: 100-continue\nContent-Length: 2\n\n{} | 100 401+
other expectation | whole | {post}Expect: something\nContent-Length: 2\n\n{} | 422
malformed head | whole | GET\n\n{get}\n | 400+
malformed later head | whole | {get}\nGET\n\n{get}\n | 200 400!
long head | whole | GET /api/versions HTTP/1.1\nX: {long}\n\n | 431+
bad chunk size | whole | {post}Transfer-Encoding: chunked\n\nz\n{}\n0\n\n{get}\n | -
two lengths | whole | {post}Content-Length: 2\nContent-Length: 3\n\n{}{get}\n | 400+
length and chunks | whole | {post}Content-Length: 2\nTransfer-Encoding: chunked\n\n0\n\n{get}\n | 400+
negative length | whole | {post}Content-Length: -1\n\n{}{get}\n | 400+
http/1.0 | whole | GET /api/versions HTTP/1.0\n\n | 200!
";

/// Plays a case on a connection. Returns its line with the replies that came.
fn play(server: &Running, token: &str, case: &str) -> String {
    let cells: Vec<&str> = case.splitn(4, " | ").collect();
    let [name, way, sent, _] = cells[..] else {
        panic!("{case}");
    };
    let anyone = format!(
        "POST /api/{}/trainees HTTP/1.1\r\nHost: register\r\n",
        SERVED[0].label
    );
    let sent = sent
        .trim_start_matches('-')
        .replace("{get}", "GET /api/versions HTTP/1.1\r\nHost: register\r\n")
        .replace(
            "{post}",
            &format!("{anyone}Authorization: Bearer {token}\r\n"),
        )
        .replace("{anyone}", &anyone)
        .replace("{long}", &"x".repeat(140_000))
        .replace(r"\n", "\r\n");
    let mut stream = server.connect();
    stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let _ = stream.write_all(sent.as_bytes());
    if way == "half-close" {
        stream.shutdown(Shutdown::Write).unwrap();
    }
    let (begun, mut last) = (Instant::now(), Instant::now());
    let (mut received, mut buffer) = (Vec::new(), vec![0; 65_536]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => {
                received.extend_from_slice(&buffer[..bytes]);
                last = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if way == "trickle" {
                    let _ = stream.write_all(b"x");
                }
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{name}");
                break;
            }
        }
        assert!(begun.elapsed() < END, "{name} hangs");
    }
    let is_cut = last.elapsed() < Duration::from_secs(1);
    let text = String::from_utf8(received).unwrap();
    let mut replies: Vec<String> = text.split("HTTP/1.").skip(1).map(outcome).collect();
    if let Some(reply) = replies
        .last_mut()
        .filter(|reply| is_cut && !reply.ends_with('+'))
    {
        reply.push('!');
    }
    if replies.is_empty() {
        replies.push("-".to_owned());
    }
    format!("{name} | {way} | {} | {}", cells[2], replies.join(" "))
}

/// A token of a provider.
fn token(workplace: &Workplace, name: &str) -> String {
    workplace.run("provider add --ukprn 10000001 --name University");
    workplace.done(format!("token issue --provider 10000001 --name {name}"))
}

/// The status of a reply, and whether it ends the connection.
fn outcome(reply: &str) -> String {
    let closes = reply
        .to_ascii_lowercase()
        .contains("\r\nconnection: close\r\n");
    let status = reply.split(' ').nth(1).unwrap_or_default();
    format!("{status}{}", if closes { "+" } else { "" })
}

#[test]
fn every_connection_ends_with_expected_replies() {
    let workplace = Workplace::new();
    let token = token(&workplace, "token");
    let server = Running::start(&workplace, SHORT_LIMITS);
    let found: Vec<String> = thread::scope(|scope| {
        let (server, token) = (&server, &token);
        let play = |case| scope.spawn(move || play(server, token, case));
        let playing: Vec<_> = CASES.trim().lines().map(play).collect();
        playing
            .into_iter()
            .map(|played| played.join().unwrap())
            .collect()
    });
    assert_eq!(found.join("\n"), CASES.trim());
}

/// The head of a `POST` with a body of this length.
fn post(path: &str, token: &str, headers: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n{headers}\
         Content-Length: {length}\r\n\r\n"
    )
}

/// Refused bodies: the status, path, token, media type and lengths. The server of `429` accepts one
/// request a day.
const REFUSED_BODIES: &str = "
401 | {base}/trainees | invented | application/json | 1000 3000000 18000000
404 | {base}/nothing | {token} | application/json | 1000 900000 18000000
404 | /settings/nothing | none | application/json | 1000 200000 900000
405 | /docs | none | application/json | 200000 18000000
413 | {base}/trainees | {token} | application/json | 3000000 18000000
413 | /docs/translate | none | application/json | 900000 18000000
415 | {base}/trainees | {token} | text/plain | 1000 200000 900000
429 | {base}/trainees | {token} | application/json | 1000 900000 18000000
";

#[test]
fn client_sending_refused_body_gets_the_reply() {
    let workplace = Workplace::new();
    let token = token(&workplace, "token");
    let limited = "--rate-limit 1 --rate-window 86400";
    let [server, limited] = ["", limited].map(|limits| Running::start(&workplace, limits));
    let base = format!("/api/{}", SERVED[0].label);
    let _ = ask(
        &mut limited.connect(),
        &post(&format!("{base}/trainees"), &token, "", 0),
    );
    for case in REFUSED_BODIES.trim().lines() {
        let case = case.replace("{base}", &base).replace("{token}", &token);
        let cells: Vec<&str> = case.split(" | ").collect();
        let [status, path, token, media_type, lengths] = cells[..] else {
            panic!("{case}");
        };
        let server = if status == "429" { &limited } else { &server };
        for length in lengths.split(' ').map(|length| length.parse().unwrap()) {
            let mut stream = server.connect();
            let head = post(
                path,
                token,
                &format!("Content-Type: {media_type}\r\n"),
                length,
            );
            stream.write_all(head.as_bytes()).unwrap();
            let sent = stream.write_all(&vec![b' '; length]);
            assert!(sent.is_ok(), "{case}: {length}: {sent:?}");
            let outcome = outcome(&reply(&mut stream));
            // A body that has arrived before the reply leaves the connection open.
            assert_eq!(outcome.trim_end_matches('+'), status, "{case}: {length}");
        }
    }
}

/// Begins to send large bodies, each without its last byte. Returns the connections, and how many
/// of them were answered already.
fn hold(server: &Running, head: &str, count: usize) -> (Vec<TcpStream>, usize) {
    let body = vec![b' '; LARGE - 1];
    let begin = |_| {
        let mut stream = server.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let _ = stream.write_all(&body);
        stream
    };
    let held: Vec<TcpStream> = (0..count).map(begin).collect();
    thread::sleep(Duration::from_secs(1));
    let is_answered = |stream: &&TcpStream| {
        let short = Some(Duration::from_millis(10));
        stream.set_read_timeout(short).unwrap();
        stream.peek(&mut [0]).is_ok()
    };
    let answered = held.iter().filter(is_answered).count();
    (held, answered)
}

#[test]
fn unfinished_large_bodies_do_not_affect_others() {
    let workplace = Workplace::new();
    let tokens = ["one", "other"].map(|name| token(&workplace, name));
    let server = Running::start(&workplace, "--body-timeout 600");
    let trainees = format!("/api/{}/trainees", SERVED[0].label);
    let whole = |token: &str| {
        let body = " ".repeat(LARGE);
        let head = post(&trainees, token, "Idempotency-Key: a\r\n", LARGE);
        ask(&mut server.connect(), &(head + &body))
    };
    let (held, refused) = hold(&server, &post(&trainees, &tokens[0], "", LARGE), 12);
    assert_eq!(refused, 4);
    let busy = whole(&tokens[0]);
    assert_eq!(outcome(&busy), "503+");
    assert_eq!(header(&busy, "retry-after"), Some("1"));
    assert_eq!(outcome(&whole(&tokens[1])), "400");
    // Public pages have room for four forms.
    let (oldest, newest) = (SERVED[0].label, SERVED[SERVED.len() - 1].label);
    let form = format!("/docs/move/{oldest}/{newest}");
    let form = post(&form, "", "", LARGE).replace("1048576", "1048570");
    let (forms, refused) = hold(&server, &form, 8);
    assert!(refused >= 4, "{refused}");
    assert_eq!(outcome(&whole(&tokens[1])), "400");
    drop((held, forms));
    let begun = Instant::now();
    while outcome(&whole(&tokens[0])) != "400" {
        assert!(begun.elapsed() < END, "the room is not given back");
    }
}

#[test]
fn client_not_reading_replies_is_disconnected() {
    let workplace = Workplace::new();
    let server = Running::start(&workplace, SHORT_LIMITS);
    let mut stream = server.connect();
    SockRef::from(&stream).set_recv_buffer_size(4_096).unwrap();
    let label = SERVED[0].label;
    let request = format!("GET /api/{label}/openapi.json HTTP/1.1\r\nHost: register\r\n\r\n");
    // Sending stands still when the replies do, and fails when the connection is closed.
    let closed = loop {
        if let Err(error) = stream.write_all(request.as_bytes()) {
            break error.kind();
        }
    };
    assert!([ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&closed));
}

#[test]
fn connections_beyond_limit_wait_for_a_permit() {
    const GET: &str = "GET /api/versions HTTP/1.1\r\nHost: register\r\n\r\n";
    let workplace = Workplace::new();
    let server = Running::start(&workplace, "--max-connections 1");
    let mut first = server.connect();
    assert_eq!(outcome(&ask(&mut first, GET)), "200");
    let mut second = server.connect();
    let patience = second.read_timeout().unwrap();
    second.write_all(GET.as_bytes()).unwrap();
    second
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    assert!(TcpStream::peek(&second, &mut [0]).is_err());
    second.set_read_timeout(patience).unwrap();
    assert_eq!(outcome(&ask(&mut first, GET)), "200");
    drop(first);
    assert_eq!(outcome(&reply(&mut second)), "200");
}
