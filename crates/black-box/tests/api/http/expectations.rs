//! Decisions that the head of a request allows: they are made before the body is read, and without
//! `100 Continue`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use gateway::admission::Admission;
use http_kit::limits::rate_limit::RateLimit;
use versions::{REMOVED, SERVED};

use crate::api::support::{Api, Register, Setup, every_version};

/// Longer than a decision by the head takes, and much shorter than the server waits for a body.
const SOON: Duration = Duration::from_secs(10);
/// Time limit of a reply that the server sends before the request has arrived.
const PATIENCE: Duration = Duration::from_secs(60);
/// The largest body, in bytes.
const MAX_BODY_BYTES: usize = 1_048_576;
/// A body far above every limit, such as one that holds all trainees of a provider, in bytes.
const HUGE_BODY_BYTES: usize = 18_000_000;
const EXPECT: &str = "Expect: 100-continue\r\n";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// A bare connection for any bytes.
struct Connection(TcpStream);

/// A response: its head, without the line that ends it, and its body.
struct Received {
    head: String,
    body: String,
}

impl Received {
    #[track_caller]
    fn is(self, status: u16) -> Self {
        assert!(
            self.head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{}\n\n{}",
            self.head,
            self.body
        );
        self
    }

    fn closes(&self) -> bool {
        self.head
            .to_ascii_lowercase()
            .contains("\r\nconnection: close")
    }
}

impl Connection {
    fn open(register: &Register) -> Self {
        let stream = TcpStream::connect(register.origin().trim_start_matches("http://")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).unwrap();
    }

    /// Receives a head, of a final or an interim response.
    fn head(&mut self) -> String {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            self.0.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        String::from_utf8(head).unwrap()
    }

    fn response(&mut self) -> Received {
        let head = self.head();
        let lower = head.to_ascii_lowercase();
        let length = lower
            .split_once("content-length: ")
            .and_then(|(_, rest)| rest.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut body).unwrap();
        Received {
            head,
            body: String::from_utf8(body).unwrap(),
        }
    }

    /// Whether the connection can be used for another request.
    fn is_usable(&mut self, path: &str, token: &str) -> bool {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        self.0.write_all(request.as_bytes()).is_ok()
            && self.response().head.starts_with("HTTP/1.1 200 ")
    }
}

/// A request whose head is refused.
struct Refused {
    status: u16,
    method: &'static str,
    path: String,
    token: String,
    headers: &'static str,
    length: usize,
}

impl Refused {
    fn head(&self, expect: &str) -> String {
        let Self {
            method,
            path,
            token,
            headers,
            length,
            ..
        } = self;
        let authorization = if token.is_empty() {
            String::new()
        } else {
            format!("Authorization: Bearer {token}\r\n")
        };
        format!(
            "{method} {path} HTTP/1.1\r\nHost: register\r\n{authorization}{headers}Content-Length: {length}\r\n{expect}\r\n"
        )
    }
}

/// Requests of a version with a refused head, each for the status that it gets.
fn refused(api: &Api<'_>) -> Vec<Refused> {
    let base = format!("/api/{}", api.version.label);
    let trainees = format!("{base}/trainees");
    let one = |status, path: &str| {
        let (path, token) = (path.to_owned(), api.token.clone());
        Refused {
            status,
            method: "POST",
            path,
            token,
            headers: "",
            length: 1_000,
        }
    };
    let removed = format!("/api/{}/trainees", REMOVED[0].label);
    let invented = || format!("sandbox_{:064x}", 7);
    let gzip = "Content-Encoding: gzip\r\n";
    let text = "Content-Type: text/plain\r\n";
    let batch = format!("{base}{}", Endpoint::CreateTrainees.path());
    let change = format!("{trainees}/x");
    vec![
        Refused {
            token: String::new(),
            ..one(401, &trainees)
        },
        Refused {
            token: invented(),
            ..one(401, &trainees)
        },
        Refused {
            token: invented(),
            length: 3 * MAX_BODY_BYTES,
            ..one(401, &trainees)
        },
        one(404, &format!("{base}/nothing")),
        one(404, "/api/v1999.9/trainees"),
        one(404, "/nothing"),
        Refused {
            method: "PUT",
            ..one(405, &trainees)
        },
        Refused {
            length: 3 * MAX_BODY_BYTES,
            ..one(405, &format!("{base}/info"))
        },
        one(410, &removed),
        Refused {
            length: MAX_BODY_BYTES + 1,
            ..one(413, &trainees)
        },
        Refused {
            length: 9 * MAX_BODY_BYTES,
            ..one(413, &trainees)
        },
        Refused {
            length: MAX_BODY_BYTES + 1,
            ..one(413, &batch)
        },
        Refused {
            length: MAX_BODY_BYTES + 1,
            method: "PATCH",
            ..one(413, &change)
        },
        Refused {
            headers: text,
            ..one(415, &trainees)
        },
        Refused {
            headers: text,
            length: MAX_BODY_BYTES,
            ..one(415, &trainees)
        },
        Refused {
            headers: text,
            ..one(415, &batch)
        },
        Refused {
            headers: text,
            method: "PATCH",
            ..one(415, &change)
        },
        Refused {
            headers: gzip,
            length: MAX_BODY_BYTES,
            ..one(415, &trainees)
        },
    ]
}

/// Sends a head alone. The reply must come soon, be the first response, and end the connection.
#[track_caller]
fn is_refused_from_the_head(register: &Register, status: u16, head: &str) {
    let begun = Instant::now();
    let mut connection = Connection::open(register);
    connection.send(head);
    let reply = connection.response().is(status);
    assert!(reply.closes(), "{head}{}", reply.head);
    assert!(
        begun.elapsed() < SOON,
        "{head} was answered after {:?}",
        begun.elapsed()
    );
}

#[test]
fn head_that_is_refused_is_answered_without_its_body() {
    every_version(|api| {
        for expect in ["", EXPECT] {
            for refused in refused(api) {
                is_refused_from_the_head(api.register, refused.status, &refused.head(expect));
            }
        }
    });
}

#[test]
fn rejected_page_request_is_answered_before_its_body_is_sent() {
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let text = "Content-Type: text/plain\r\n";
    let cases = [
        (413, "/docs/translate", "", 262_145),
        (415, "/docs/translate", text, 1_000),
        (413, "/docs/migrate", form, 9 * MAX_BODY_BYTES),
        (405, "/docs", form, 1_000),
        (413, "/settings/sign-in", form, 9 * MAX_BODY_BYTES),
        (415, "/settings/sign-in", text, 1_000),
        (404, "/settings/nothing", form, 1_000),
    ];
    for expect in ["", EXPECT] {
        let register = Register::start();
        for (status, path, headers, length) in cases {
            let host = register.origin().trim_start_matches("http://").to_owned();
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n{expect}\r\n"
            );
            is_refused_from_the_head(&register, status, &head);
        }
    }
}

#[test]
fn token_beyond_its_limit_is_refused_from_the_head() {
    let limit = RateLimit {
        requests: NonZeroU32::MIN,
        window: Duration::from_secs(86_400),
    };
    for version in SERVED {
        let register = Register::with_setup(Setup {
            admission: Admission::with_limit(Some(limit)),
            ..Setup::default()
        });
        let api = register.api(version);
        api.get("/info").is(200);
        for expect in ["", EXPECT] {
            let request = Refused {
                status: 429,
                method: "POST",
                path: format!("/api/{}/trainees", version.label),
                token: api.token.clone(),
                headers: "",
                length: MAX_BODY_BYTES,
            };
            is_refused_from_the_head(&register, request.status, &request.head(expect));
        }
    }
}

/// The head of a request that registers a trainee.
fn creating(api: &Api<'_>, protocol: &str, headers: &str, length: usize) -> String {
    format!(
        "POST /api/{}/trainees {protocol}\r\nHost: register\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n",
        api.version.label, api.token
    )
}

fn info(api: &Api<'_>) -> String {
    format!("/api/{}/info", api.version.label)
}

#[test]
fn required_body_gets_100_continue_and_the_connection_stays_open() {
    every_version(|api| {
        let body = serde_json::Value::from(api.example()).to_string();
        let mut connection = Connection::open(api.register);
        for (status, body) in [(201, body.as_str()), (409, &body), (422, "{}"), (400, "{")] {
            connection.send(creating(api, "HTTP/1.1", EXPECT, body.len()));
            assert_eq!(connection.head(), CONTINUE);
            connection.send(body);
            assert!(!connection.response().is(status).closes());
        }
        assert!(connection.is_usable(&info(api), &api.token));
    });
}

#[test]
fn requests_behind_an_expected_body_are_answered_in_order() {
    every_version(|api| {
        let body = serde_json::Value::from(api.example()).to_string();
        let next = format!(
            "GET {} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {}\r\n\r\n",
            info(api),
            api.token
        );
        // After the interim response, and without waiting for it.
        let mut connection = Connection::open(api.register);
        connection.send(creating(api, "HTTP/1.1", EXPECT, body.len()));
        assert_eq!(connection.head(), CONTINUE);
        connection.send(format!("{body}{next}{next}"));
        connection.response().is(201);
        connection.response().is(200);
        connection.response().is(200);
        let again = creating(api, "HTTP/1.1", EXPECT, body.len());
        connection.send(format!("{next}{again}{body}{next}"));
        connection.response().is(200);
        let mut reply = connection.response();
        if reply.head == CONTINUE {
            reply = connection.response();
        }
        reply.is(409);
        connection.response().is(200);
    });
}

#[test]
fn request_without_a_body_is_answered_without_an_interim_response() {
    every_version(|api| {
        let mut connection = Connection::open(api.register);
        for length in ["", "Content-Length: 0\r\n"] {
            connection.send(format!(
                "GET {} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {}\r\n{length}{EXPECT}\r\n",
                info(api),
                api.token
            ));
            assert!(!connection.response().is(200).closes());
        }
        // A body that the endpoint does not need is not asked for either.
        connection.send(format!(
            "GET {} HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {}\r\nContent-Length: 9\r\n{EXPECT}\r\n",
            info(api),
            api.token
        ));
        assert!(connection.response().is(200).closes());
    });
}

#[test]
fn other_expectations_and_http_1_0_get_no_interim_response() {
    every_version(|api| {
        for (protocol, headers) in [("HTTP/1.1", "Expect: something\r\n"), ("HTTP/1.0", EXPECT)] {
            let mut connection = Connection::open(api.register);
            connection.send(creating(api, protocol, headers, 2));
            connection
                .0
                .set_read_timeout(Some(Duration::from_millis(200)))
                .unwrap();
            assert!(
                connection.0.peek(&mut [0]).is_err(),
                "{protocol} {headers} gets something before its body"
            );
            connection.0.set_read_timeout(Some(PATIENCE)).unwrap();
            connection.send("{}");
            let reply = connection.response();
            assert_eq!(reply.head.split(' ').nth(1), Some("422"), "{}", reply.head);
        }
    });
}

#[test]
fn small_body_of_a_refused_request_leaves_the_connection_usable() {
    every_version(|api| {
        let mut connection = Connection::open(api.register);
        for (token, media_type, status) in [
            (format!("sandbox_{:064x}", 7), "application/json", 401),
            (api.token.clone(), "text/plain", 415),
        ] {
            connection.send(format!(
                "POST /api/{}/trainees HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n\
                 Content-Type: {media_type}\r\nContent-Length: 1000\r\n\r\n{}",
                api.version.label,
                " ".repeat(1_000)
            ));
            assert!(!connection.response().is(status).closes());
        }
        assert!(connection.is_usable(&info(api), &api.token));
    });
}

#[test]
fn oversized_body_is_rejected_while_it_is_sent() {
    every_version(|api| {
        for expect in ["", EXPECT] {
            let length = 5 * MAX_BODY_BYTES;
            let mut connection = Connection::open(api.register);
            connection.send(creating(api, "HTTP/1.1", expect, length));
            // The client sends all of it before it looks for a reply.
            connection.send(" ".repeat(length));
            assert!(connection.response().is(413).closes());
        }
        let mut connection = Connection::open(api.register);
        let head = creating(api, "HTTP/1.1", "", 0)
            .replace("Content-Length: 0", "Transfer-Encoding: chunked");
        connection.send(head);
        let piece = format!("10000\r\n{}\r\n", " ".repeat(65_536));
        (0..20).for_each(|_| connection.send(&piece));
        assert!(connection.response().is(413).closes());
    });
}

/// Sends a head and a huge body, and only then looks for the reply, which must end the connection.
#[track_caller]
fn is_answered_after_a_huge_body(register: &Register, status: u16, head: &str, body: &str) {
    let mut connection = Connection::open(register);
    connection.send(head);
    let sent = connection.0.write_all(body.as_bytes());
    assert!(sent.is_ok(), "{head}{sent:?}");
    assert!(connection.response().is(status).closes(), "{head}");
}

#[test]
fn reply_reaches_a_client_that_sends_a_huge_body_first() {
    let body = " ".repeat(HUGE_BODY_BYTES);
    every_version(|api| {
        // `413` comes before `415`.
        let refused = refused(api)
            .into_iter()
            .filter(|refused| refused.status != 415);
        for refused in refused {
            let refused = Refused {
                length: HUGE_BODY_BYTES,
                ..refused
            };
            for expect in ["", EXPECT] {
                let head = refused.head(expect);
                is_answered_after_a_huge_body(api.register, refused.status, &head, &body);
            }
        }
    });
}

#[test]
fn page_reply_reaches_a_client_that_sends_first() {
    let body = " ".repeat(HUGE_BODY_BYTES);
    let register = Register::start();
    for (status, path) in [
        (413, "/docs/translate"),
        (413, "/docs/migrate"),
        (413, "/settings/sign-in"),
        (405, "/docs"),
        (404, "/settings/nothing"),
    ] {
        let host = register.origin().trim_start_matches("http://").to_owned();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {HUGE_BODY_BYTES}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        );
        is_answered_after_a_huge_body(&register, status, &head, &body);
    }
}

#[test]
fn huge_chunked_body_is_answered_after_its_end() {
    const PIECE: usize = 65_536;
    let piece = format!("{PIECE:x}\r\n{}\r\n", " ".repeat(PIECE));
    let body = format!("{}0\r\n\r\n", piece.repeat(HUGE_BODY_BYTES / PIECE));
    every_version(|api| {
        let head = creating(api, "HTTP/1.1", "", 0)
            .replace("Content-Length: 0", "Transfer-Encoding: chunked");
        for _ in 0..4 {
            is_answered_after_a_huge_body(api.register, 413, &head, &body);
        }
        // A request behind the body is not answered, and does not destroy the reply.
        let mut connection = Connection::open(api.register);
        connection.send(format!("{head}{body}"));
        connection.send(creating(api, "HTTP/1.1", "", 0));
        assert!(connection.response().is(413).closes());
    });
}
