//! Traces of the program: off unless they are asked for, and without any effect on requests when the collector is away.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use test_support::Collector;

use super::server::Watched;
use crate::program::support::{Workplace, wait_until};

const EXPORTED: &str = "register_trace_spans_exported_total";
const DROPPED: &str = "register_trace_spans_dropped_total";

#[test]
fn nothing_is_exported_unless_a_collector_is_named() {
    let place = Workplace::on_sqlite();
    let collector = Collector::start();
    let server = Watched::start(place.command(&["serve", "--trace-sample-ratio", "1"], None));
    let parent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(server.send("GET", "/api/versions", &[parent]).status, 200);
    // The exporter waits for a second at most.
    thread::sleep(Duration::from_millis(1_200));
    assert_eq!((collector.connections(), server.scrape().value(EXPORTED, &[])), (0, Some(0.0)));
}

#[test]
fn an_address_that_is_none_of_a_collector_is_refused_and_not_shown() {
    let place = Workplace::on_sqlite();
    for (address, expected) in
        [("http://me:secret@collector", "http://HOST:PORT"), ("grpc://collector", "http://HOST:PORT")]
    {
        let ended = place.run(&["serve", "--otlp-endpoint", address], None);
        assert_eq!(ended.status(), 1, "{}", ended.stderr());
        assert!(ended.stderr().contains(expected) && !ended.stderr().contains("secret"), "{}", ended.stderr());
    }
    for ratio in ["2", "-1", "some"] {
        let ratio = format!("--trace-sample-ratio={ratio}");
        let ended = place.run(&["serve", &ratio], None);
        assert!(ended.status() == 2 && ended.stderr().contains("from 0 to 1"), "{}", ended.stderr());
    }
}

#[test]
fn an_outage_of_the_collector_is_logged_once_each_way_and_delays_nobody() {
    let place = Workplace::on_sqlite();
    let collector = Collector::start();
    collector.answer_with(503);
    let arguments = ["serve", "--otlp-endpoint", &collector.url(), "--trace-sample-ratio", "1"];
    let server = Watched::start(place.command(&arguments, None));
    assert_eq!(server.send("GET", "/api/versions", &[]).status, 200);
    let message = |text: &'static str| {
        move |line: &serde_json::Value| line["message"].as_str().is_some_and(|message| message.contains(text))
    };
    let failed = server.line(message("spans cannot be exported"));
    assert!(failed["level"] == "WARN" && failed["message"].as_str().unwrap().contains("503"), "{failed}");
    let tried = collector.connections();
    wait_until("it is tried again", || collector.connections() > tried);
    // What was not taken is exported later, and the outage is not reported again.
    collector.answer_with(200);
    let failures = Cell::new(0);
    server.line(|line| {
        failures.set(failures.get() + usize::from(message("spans cannot be exported")(line)));
        message("are exported to")(line) && message("again")(line)
    });
    assert_eq!(failures.get(), 0);
    wait_until("the span is counted", || server.scrape().value(EXPORTED, &[]).is_some_and(|spans| spans > 0.0));
    assert_eq!(server.scrape().value(DROPPED, &[("reason", "export_failed")]), Some(0.0));
    assert!(!collector.received().is_empty());

    // Another failure than one that passes is counted at once.
    collector.answer_with(400);
    assert_eq!(server.send("GET", "/api/versions", &[]).status, 200);
    let lost = |server: &Watched| server.scrape().value(DROPPED, &[("reason", "export_failed")]);
    wait_until("the span is dropped", || lost(&server).is_some_and(|spans| spans > 0.0));
}

#[test]
fn a_collector_that_does_not_answer_fills_a_bounded_queue() {
    let place = Workplace::on_sqlite();
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let arguments = ["serve", "--otlp-endpoint", &url, "--trace-sample-ratio", "1", "--rate-limit", "0"];
    let server = Watched::start(place.command(&arguments, None));
    let path = "/api/versions";
    let requests = |server: &Watched, count: usize| {
        // On one connection, so that it is quick.
        let request = format!("GET {path} HTTP/1.1\r\nHost: register\r\n\r\n").repeat(count - 1);
        let answer =
            super::server::exchange(&server.public, &format!("{request}{}", super::server::head("GET", path, &[])));
        answer.body.matches("HTTP/1.1 ").count() + 1
    };
    let begun = Instant::now();
    while server.scrape().value(DROPPED, &[("reason", "queue_full")]) == Some(0.0) {
        assert_eq!(requests(&server, 500), 500);
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing is dropped");
    }
    // Those who asked were answered all the same, and the next ones are.
    assert_eq!(requests(&server, 100), 100);
    assert_eq!(server.scrape().value(EXPORTED, &[]), Some(0.0));
}

#[test]
fn a_collector_with_a_certificate_that_the_system_trusts_is_reached_by_https() {
    let place = Workplace::on_sqlite();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let trusted = place.write("trusted.pem", certified.cert.pem());
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (told, heads) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            let mut received = vec![0; 16_384];
            // One who does not trust the certificate sends nothing.
            let Ok(length) = stream.read(&mut received) else { continue };
            let head = String::from_utf8_lossy(&received[..length]).into_owned();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
            if told.send(head).is_err() {
                return;
            }
        }
    });
    let start = |host: &str| {
        let url = format!("https://{host}:{port}");
        let mut command = place.command(&["serve", "--otlp-endpoint", &url, "--trace-sample-ratio", "1"], None);
        command.env("SSL_CERT_FILE", &trusted).env_remove("SSL_CERT_DIR");
        let server = Watched::start(command);
        assert_eq!(server.send("GET", "/api/versions", &[]).status, 200);
        server
    };
    let server = start("localhost");
    let head = heads.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n") && head.contains("application/json"), "{head}");
    wait_until("the span is counted", || server.scrape().value(EXPORTED, &[]) == Some(1.0));
    drop(server);
    // The certificate is that of another name.
    let server = start("127.0.0.1");
    let failed = server.line(|line| line["message"].as_str().is_some_and(|text| text.contains("cannot be exported")));
    assert!(failed["message"].as_str().unwrap().contains("certificate"), "{failed}");
}
