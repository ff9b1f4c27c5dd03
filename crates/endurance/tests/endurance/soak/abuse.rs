//! Clients that abuse a server. Each does it for as long as it is let, and leaves the machine to
//! the server: it holds on to things rather than keep itself busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fixtures::random::Random;

use super::connection::Connection;

/// How long an abuser rests between two rounds.
const REST: Duration = Duration::from_millis(50);
/// Connections of a client that holds many, in one round.
const OPENED_AT_ONCE: usize = 50;
/// What is sent of a body that is too large, in bytes.
const OVERSIZED: usize = 2 * 1_048_576;
/// The pause between two pieces of a body without an end.
const PIECE_PAUSE: Duration = Duration::from_millis(1);
/// For how long a body without an end may be taken: much longer than the server waits for anything
/// but the next request.
const ENDLESS: Duration = Duration::from_mins(1);
/// Requests that are sent one behind the other.
const PIPELINED: usize = 50;
/// Requests whose replies are left unread on a connection, and how often it is looked at for each
/// further one.
const UNREAD: usize = 8;
const LOOKS_FOR_A_REQUEST: usize = 20;

/// The server that is abused.
pub(super) struct Target<'a> {
    pub(super) address: &'a str,
    pub(super) token: &'a str,
    pub(super) connections: usize,
    pub(super) seed: u64,
}

/// A way of abusing a server.
pub(super) struct Abuse {
    pub(super) name: &'static str,
    /// Does it until told to stop, and says how often it was done.
    pub(super) run: fn(&Target<'_>, &AtomicBool) -> usize,
}

impl Abuse {
    const fn new(name: &'static str, run: fn(&Target<'_>, &AtomicBool) -> usize) -> Self {
        Self { name, run }
    }
}

pub(super) const ABUSES: &[Abuse] = &[
    Abuse::new("heads that trickle in", trickle_heads),
    Abuse::new("bodies that trickle in", trickle_bodies),
    Abuse::new("oversized bodies", send_oversized),
    Abuse::new("bodies without an end", send_endless),
    Abuse::new("JSON nested deeply", send_nested),
    Abuse::new("connections held idle", hold_connections),
    Abuse::new("connections opened and closed", open_and_close),
    Abuse::new("random bytes", send_rubbish),
    Abuse::new("invented tokens", invent_tokens),
    Abuse::new("pipelined requests", pipeline),
    Abuse::new("replies that are not read", leave_unread),
];

impl Target<'_> {
    /// The head of a request for the newest version, up to what the body needs.
    fn head(&self, method: &str, path: &str, token: &str) -> String {
        let newest = versions::all().newest().unwrap().version.label;
        format!(
            "{method} /api/{newest}{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {token}\r\n",
            self.address
        )
    }

    pub(super) fn post(&self, length: usize) -> String {
        format!(
            "{}Content-Length: {length}\r\n\r\n",
            self.head("POST", "/trainees", self.token)
        )
    }

    fn get_info(&self) -> String {
        format!("{}\r\n", self.head("GET", "/info", self.token))
    }

    pub(super) fn connect(&self) -> Option<Connection> {
        Connection::open(self.address)
    }
}

/// Does it again and again, with a rest in between.
fn again_and_again(is_over: &AtomicBool, mut act: impl FnMut() -> usize) -> usize {
    let mut done = 0;
    while !is_over.load(Ordering::Relaxed) {
        done += act();
        thread::sleep(REST);
    }
    done
}

/// Holds many connections; `begin` is sent first on each, and `tend` keeps it, or gives it up for a
/// new one.
fn hold(
    target: &Target<'_>,
    is_over: &AtomicBool,
    begin: &[u8],
    mut tend: impl FnMut(&mut Connection) -> bool,
) -> usize {
    let mut held: Vec<Connection> = Vec::new();
    again_and_again(is_over, || {
        held.retain_mut(|connection| {
            let is_kept = tend(connection);
            if !is_kept {
                connection.status_soon();
            }
            is_kept
        });
        let mut opened = 0;
        while held.len() < target.connections && opened < OPENED_AT_ONCE {
            let Some(mut connection) = target.connect() else {
                break;
            };
            if !begin.is_empty() && !connection.send(begin) {
                break;
            }
            held.push(connection);
            opened += 1;
        }
        opened
    })
}

fn trickle_heads(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    hold(
        target,
        is_over,
        b"GET / HTTP/1.1\r\nX-Slow: ",
        |connection| connection.trickle(b"x"),
    )
}

fn trickle_bodies(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let head = target.post(100_000);
    hold(target, is_over, head.as_bytes(), |connection| {
        connection.trickle(b" ")
    })
}

fn hold_connections(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    hold(target, is_over, b"", |connection| !connection.is_closed())
}

fn send_oversized(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let request = [target.post(OVERSIZED).into_bytes(), vec![b' '; OVERSIZED]].concat();
    again_and_again(is_over, || answered(target, &request, &[413]))
}

/// Sends pieces of a body until the server has had enough.
fn send_endless(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let head = format!(
        "{}Transfer-Encoding: chunked\r\n\r\n",
        target.head("POST", "/trainees", target.token)
    );
    let piece = [
        format!("{:x}\r\n", 65_536).into_bytes(),
        vec![b' '; 65_536],
        b"\r\n".to_vec(),
    ]
    .concat();
    again_and_again(is_over, || {
        let Some(mut connection) = target.connect() else {
            return 0;
        };
        let begun = Instant::now();
        let mut goes_on = connection.send(head.as_bytes());
        while goes_on && !connection.is_closed() {
            assert!(begun.elapsed() < ENDLESS, "the server takes whatever comes");
            goes_on = connection.send(&piece);
            thread::sleep(PIECE_PAUSE);
        }
        if let Some(status) = connection.status() {
            assert_eq!(status, 413);
        }
        1
    })
}

fn send_nested(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let body = [br#"{"data":{"x":"#.to_vec(), vec![b'['; 500_000]].concat();
    let request = [target.post(body.len()).into_bytes(), body].concat();
    again_and_again(is_over, || answered(target, &request, &[400]))
}

fn open_and_close(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    again_and_again(is_over, || {
        (0..OPENED_AT_ONCE).filter_map(|_| target.connect()).count()
    })
}

fn send_rubbish(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let random = Random::new(target.seed);
    again_and_again(is_over, || {
        let bytes: Vec<u8> = (0..256)
            .flat_map(|_| random.number().to_le_bytes())
            .collect();
        // Some of it begins as a request does.
        let begin = random.one_of([
            "",
            "GET ",
            "POST /api/",
            "GET / HTTP/1.1\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
        ]);
        let Some(mut connection) = target.connect() else {
            return 0;
        };
        if connection.send(&[begin.as_bytes(), &bytes, b"\r\n\r\n"].concat()) {
            // What begins as a request may be the beginning of a longer one.
            let status = connection.status_soon();
            assert!(
                status.is_none_or(|status| (400..500).contains(&status)),
                "{status:?}"
            );
        }
        1
    })
}

fn invent_tokens(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let random = Random::new(target.seed);
    let (place, _) = target
        .token
        .rsplit_once('_')
        .expect("a token says its environment");
    again_and_again(is_over, || {
        let Some(mut connection) = target.connect() else {
            return 0;
        };
        let secret: String = (0..4)
            .map(|_| format!("{:016x}", random.number()))
            .collect();
        let token = format!("{place}_{secret}");
        let request = format!("{}\r\n", target.head("GET", "/trainees", &token));
        if connection.send(request.as_bytes())
            && let Some(status) = connection.status()
        {
            assert!([401, 429, 503].contains(&status), "{status}");
        }
        1
    })
}

fn pipeline(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let last = target
        .get_info()
        .replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let requests = target.get_info().repeat(PIPELINED - 1) + &last;
    again_and_again(is_over, || {
        let Some(mut connection) = target.connect() else {
            return 0;
        };
        if !connection.send(requests.as_bytes()) {
            return 0;
        }
        let answers = String::from_utf8_lossy(&connection.rest())
            .matches("HTTP/1.1 200")
            .count();
        assert_eq!(answers, PIPELINED);
        PIPELINED
    })
}

/// Asks for more than a connection holds, and reads none of it; sometimes for one more. What a
/// valid client asks is answered, so it is little: the replies are to be what holds the server up,
/// and not the work for them.
fn leave_unread(target: &Target<'_>, is_over: &AtomicBool) -> usize {
    let request = target.head("GET", "/reference-data", target.token) + "\r\n";
    let connections = Target {
        connections: target.connections.div_ceil(10),
        ..*target
    };
    let mut looked = 0;
    hold(
        &connections,
        is_over,
        request.repeat(UNREAD).as_bytes(),
        |connection| {
            looked += 1;
            looked % LOOKS_FOR_A_REQUEST != 0 || connection.send_if_room(request.as_bytes())
        },
    )
}

/// Sends a request on its own connection, and requires one of these statuses where there is an
/// answer.
fn answered(target: &Target<'_>, request: &[u8], statuses: &[u16]) -> usize {
    let Some(mut connection) = target.connect() else {
        return 0;
    };
    connection.send(request);
    if let Some(status) = connection.status() {
        assert!(statuses.contains(&status), "{status}");
    }
    1
}
