//! What is sent on one connection: requests behind each other, and large heads.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::support::{Api, Register, every_version};

/// How long a reply may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Large heads that a server holds at once.
const LARGE_HEADS: usize = 32;

fn connect(register: &Register) -> TcpStream {
    let stream = TcpStream::connect(register.origin().trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Receives a head of a response and skips its body. Empty where the connection has ended.
fn response(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1..) => head.push(byte[0]),
            Ok(0) => return String::new(),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
                return String::new();
            }
        }
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let length = head
        .split_once("content-length: ")
        .and_then(|(_, rest)| rest.split("\r\n").next()?.parse().ok());
    stream
        .read_exact(&mut vec![0; length.unwrap_or(0)])
        .unwrap();
    head
}

fn status(stream: &mut TcpStream) -> String {
    response(stream)
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .to_owned()
}

/// A request for an endpoint that reads; the value of a header makes its head this much longer.
fn info(api: &Api<'_>, more: usize) -> String {
    let (label, token) = (api.version.label, &api.token);
    let more = "x".repeat(more);
    format!(
        "GET /api/{label}/info HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\nX-More: {more}\r\n\r\n"
    )
}

#[test]
fn requests_behind_each_other_are_all_answered_in_order() {
    every_version(|api| {
        let (label, token) = (api.version.label, &api.token);
        let post = |body: &str| {
            format!(
                "POST /api/{label}/trainees HTTP/1.1\r\nHost: register\r\nAuthorization: Bearer {token}\r\n\
                 Content-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        let example = Value::from(api.example()).to_string();
        let large = format!("{example}{}", " ".repeat(300_000));
        let mut sent = String::new();
        let mut expected = Vec::new();
        for round in 0..10 {
            // More than actix-http decodes ahead, and more than a piece.
            sent += &info(api, 1).repeat(25);
            expected.extend([200; 25]);
            sent += &post(&large);
            expected.push(if round == 0 { 201 } else { 409 });
            sent += &post(&example);
            expected.push(409);
            sent += &info(api, 10_000);
            expected.push(200);
        }
        let mut stream = connect(api.register);
        let mut writer = stream.try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(sent.as_bytes()).unwrap());
            for (position, expected) in expected.into_iter().enumerate() {
                let head = response(&mut stream);
                assert_eq!(
                    head.split(' ').nth(1),
                    Some(&*expected.to_string()),
                    "{position}: {head}"
                );
                assert!(!head.contains("connection: close"), "{position}: {head}");
            }
        });
    });
}

#[test]
fn connection_with_an_unread_body_ends_after_the_reply() {
    let register = Register::start();
    let small = "x".repeat(30);
    let large = "x".repeat(40_000);
    for body in [small, large] {
        let mut stream = connect(&register);
        // Far less than the time that a client has to send a body.
        stream
            .set_read_timeout(Some(Duration::from_secs(15)))
            .unwrap();
        let sent = format!(
            "POST /nowhere HTTP/1.1\r\nHost: register\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(sent.as_bytes()).unwrap();
        let mut reply = String::new();
        stream
            .read_to_string(&mut reply)
            .unwrap_or_else(|error| panic!("{error} after {reply}"));
        assert!(reply.starts_with("HTTP/1.1 404 "), "{reply}");
    }
}

#[test]
fn large_head_is_answered_and_ends_its_connection() {
    every_version(|api| {
        let mut stream = connect(api.register);
        stream
            .write_all(info(api, 15_000).repeat(3).as_bytes())
            .unwrap();
        for _ in 0..3 {
            let head = response(&mut stream);
            assert!(
                head.starts_with("http/1.1 200 ") && !head.contains("connection: close"),
                "{head}"
            );
        }
        stream.write_all(info(api, 100_000).as_bytes()).unwrap();
        let head = response(&mut stream);
        assert!(
            head.starts_with("http/1.1 200 ") && head.contains("connection: close"),
            "{head}"
        );
        assert_eq!(status(&mut stream), "");
        let mut stream = connect(api.register);
        stream.write_all(info(api, 140_000).as_bytes()).unwrap();
        assert_eq!(status(&mut stream), "431");
    });
}

#[test]
fn unfinished_large_heads_are_held_up_to_a_limit() {
    let register = Register::start();
    let api = register.api(versions::SERVED[0]);
    let large = info(&api, 60_000);
    let unfinished = &large.as_bytes()[..large.len() - 2];
    let mut held: Vec<TcpStream> = (0..LARGE_HEADS + 8).map(|_| connect(&register)).collect();
    for stream in &mut held {
        // Fails where the connection is already closed.
        let _ = stream.write_all(unfinished);
    }
    let is_open = |stream: &TcpStream| {
        stream
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        stream
            .peek(&mut [0])
            .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    let begun = Instant::now();
    let open = loop {
        let open = held.iter().filter(|stream| is_open(stream)).count();
        if open <= LARGE_HEADS || begun.elapsed() > PATIENCE {
            break open;
        }
    };
    assert_eq!(open, LARGE_HEADS);
    api.get("/info").is(200);
    drop(held);
    let begun = Instant::now();
    loop {
        let mut stream = connect(&register);
        let _ = stream.write_all(large.as_bytes());
        match &*status(&mut stream) {
            "200" => break,
            told => assert!(told.is_empty() && begun.elapsed() < PATIENCE, "{told}"),
        }
    }
}
