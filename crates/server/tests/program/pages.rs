//! How often an address may ask for public pages.

use serde_json::Value;
use versions::SERVED;

use super::support::Workplace;
use super::support::running::{Running, ask, header};

fn get(server: &Running, path: &str) -> String {
    ask(
        &mut server.connect(),
        &format!("GET {path} HTTP/1.1\r\nHost: register\r\n\r\n"),
    )
}

#[test]
fn address_reading_many_pages_is_limited() {
    let workplace = Workplace::on_sqlite();
    let server = Running::start(&workplace, "--page-rate-limit 6");
    let label = SERVED[0].label;
    let pages = [
        "/docs".to_owned(),
        "/docs/style.css".to_owned(),
        format!("/docs/{label}/explorer.js"),
        "/docs/nothing".to_owned(),
        "/api/versions".to_owned(),
        format!("/api/{label}/openapi.json"),
    ];
    for page in &pages {
        let reply = get(&server, page);
        assert!(!reply.starts_with("HTTP/1.1 429 "), "{page}: {reply}");
    }
    // All of them count together, and some come back after ten seconds each.
    let refused: Vec<String> = pages.iter().map(|page| get(&server, page)).collect();
    let refused: Vec<&String> = refused
        .iter()
        .filter(|reply| reply.starts_with("HTTP/1.1 429 "))
        .collect();
    assert!(refused.len() >= pages.len() / 2, "{refused:#?}");
    for reply in refused {
        assert!(
            header(reply, "retry-after")
                .unwrap()
                .parse::<u64>()
                .unwrap()
                > 0,
            "{reply}"
        );
        let body: Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body["errors"][0]["error"], "TooManyRequests");
    }
    // Requests with work or with a token are counted elsewhere.
    let request = "POST /docs/translate HTTP/1.1\r\nHost: register\r\nContent-Length: 2\r\n\r\n{}";
    assert!(ask(&mut server.connect(), request).starts_with("HTTP/1.1 422 "));
    assert!(get(&server, &format!("/api/{label}/info")).starts_with("HTTP/1.1 401 "));
}

#[test]
fn pages_are_unlimited_with_option() {
    let workplace = Workplace::on_sqlite();
    let server = Running::start(&workplace, "--page-rate-limit 0");
    let mut stream = server.connect();
    for _ in 0..700 {
        let reply = ask(
            &mut stream,
            "GET /api/versions HTTP/1.1\r\nHost: register\r\n\r\n",
        );
        assert!(reply.starts_with("HTTP/1.1 200 "), "{reply}");
    }
}
