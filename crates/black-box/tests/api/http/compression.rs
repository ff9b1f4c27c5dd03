//! Replies that are sent compressed, and requests that are not read compressed (contract, section
//! 6.8).

use adapter_kit::Endpoint;
use domain::{Placement, PlacementField, TraineeField as F};
use http_kit::limits::permits::Client;
use http_kit::responses::compression::{decompress, gzip_thoroughly};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Raw, Register, Request, every_version, record};

/// Less is not compressed, in bytes.
const SMALLEST: usize = 1_024;

/// Sends a request plain and compressed. Both replies must have the same content.
#[track_caller]
fn plain_and_compressed<'a>(request: impl Fn() -> Request<'a>) -> [Raw; 2] {
    let (plain, gzip) = (
        request().raw(),
        request().header("Accept-Encoding", "br, gzip").raw(),
    );
    assert_eq!(
        (plain.status, plain.header("content-encoding")),
        (gzip.status, None)
    );
    assert_eq!(gzip.header("content-encoding"), Some("gzip"), "{gzip:?}");
    assert_eq!(decompress(&gzip.body).unwrap(), plain.body);
    for reply in [&plain, &gzip] {
        assert!(
            reply
                .header("vary")
                .is_some_and(|vary| vary.contains("Accept-Encoding")),
            "{reply:?}"
        );
        assert_eq!(
            reply.header("content-length"),
            Some(reply.body.len().to_string().as_str())
        );
        assert_eq!(reply.header("content-type"), plain.header("content-type"));
    }
    let tag = |reply: &Raw| reply.header("etag").map(str::to_owned);
    assert_eq!(
        tag(&gzip),
        tag(&plain).map(|tag| format!("{}-gzip\"", tag.strip_suffix('"').unwrap()))
    );
    [plain, gzip]
}

/// The client has the reply by its tag.
#[track_caller]
fn is_cached<'a>(request: impl Fn() -> Request<'a>, reply: &Raw) {
    let tag = reply.header("etag").unwrap();
    assert!(tag.starts_with('"'), "{tag} is weak");
    let again = request()
        .header("If-None-Match", tag)
        .header("Accept-Encoding", "gzip")
        .raw();
    assert_eq!((again.status, again.body.len()), (304, 0), "{again:?}");
    assert_eq!(
        (again.header("etag"), again.header("content-encoding")),
        (Some(tag), None)
    );
    assert!(
        again
            .header("vary")
            .is_some_and(|vary| vary.contains("Accept-Encoding")),
        "{again:?}"
    );
}

#[test]
fn replies_are_compressed_for_accepting_clients() {
    every_version(|api| {
        api.register.sow(30);
        let trainee = api.create(api.example()).path();
        let has_lists = api.version.endpoints.has(Endpoint::ReferenceData);
        for path in [&*trainee]
            .into_iter()
            .chain(has_lists.then_some("/reference-data"))
        {
            let replies = plain_and_compressed(|| api.request("GET", path));
            replies
                .iter()
                .for_each(|reply| is_cached(|| api.request("GET", path), reply));
        }
        let [plain, gzip] = plain_and_compressed(|| api.request("GET", "/trainees"));
        assert!(
            gzip.body.len() < plain.body.len() / 3,
            "{} of {}",
            gzip.body.len(),
            plain.body.len()
        );
        let small = api
            .request("GET", "/info")
            .header("Accept-Encoding", "gzip")
            .raw();
        assert!(
            small.body.len() < SMALLEST && small.header("content-encoding").is_none(),
            "{small:?}"
        );
        let refused = json!({ "data": { "first_names": "Trainee" } });
        plain_and_compressed(|| api.request("POST", "/trainees").json(refused.clone()));
    });
}

#[test]
fn public_content_is_compressed_and_revalidated() {
    let register = Register::start();
    let (oldest, newest) = (SERVED[0].label, SERVED.last().unwrap().label);
    let paths = [
        "/api/versions".to_owned(),
        format!("/api/{newest}/openapi.json"),
        format!("/docs/versions/{newest}"),
        format!("/docs/versions/migrating-from-{oldest}"),
        format!("/docs/move/{oldest}/{newest}"),
        format!("/docs/{newest}/swagger-ui-bundle.js"),
        format!("/docs/{newest}/explorer.js"),
        "/docs/style.css".to_owned(),
    ];
    for path in &paths {
        let replies = plain_and_compressed(|| register.request("GET", path));
        replies
            .iter()
            .for_each(|reply| is_cached(|| register.request("GET", path), reply));
    }
    for path in [format!("/docs/{newest}/"), "/docs".to_owned()] {
        is_cached(
            || register.request("GET", &path),
            &register.request("GET", &path).raw(),
        );
    }
}

#[test]
fn pages_with_forms_are_never_compressed() {
    let register = Register::start();
    let (oldest, newest) = (SERVED[0].label, SERVED.last().unwrap().label);
    let move_page = format!("/docs/move/{oldest}/{newest}");
    let pages = [
        register.request("GET", "/docs"),
        register.request("GET", &format!("{move_page}?kind=update")),
        register
            .request("POST", &move_page)
            .bytes("kind=detect&body=%7B%7D"),
    ];
    for page in pages {
        let page = page.header("Accept-Encoding", "gzip").raw();
        assert_eq!(page.header("content-encoding"), None, "{page:?}");
        assert!(page.body.len() > SMALLEST && page.body.starts_with(b"<!DOCTYPE html>"));
        assert!(String::from_utf8(page.body).unwrap().contains("<form"));
    }
}

#[test]
fn page_files_with_digests_are_cached_forever() {
    let register = Register::start();
    let mut addresses = Vec::new();
    for path in SERVED
        .iter()
        .map(|version| format!("/docs/{}/", version.label))
        .chain(["/docs".to_owned()])
    {
        let page = register.request("GET", &path).page().is(200);
        let found = page
            .text
            .split('"')
            .filter(|text| text.starts_with("/docs/assets/"))
            .map(str::to_owned);
        let found: Vec<String> = found.collect();
        assert!(!found.is_empty(), "{path}");
        addresses.extend(found);
    }
    addresses.sort();
    addresses.dedup();
    assert_eq!(
        addresses.len(),
        7,
        "the versions share their files: {addresses:#?}"
    );
    for address in addresses {
        let file = register.request("GET", &address).raw();
        assert_eq!(file.status, 200);
        assert_eq!(
            file.header("cache-control"),
            Some("public, max-age=31536000, immutable"),
            "{address}"
        );
        is_cached(|| register.request("GET", &address), &file);
        // Beside a server of another release, a page may load the file of the other one.
        let (folder, name) = address.rsplit_once('/').unwrap();
        let other = register
            .request("GET", &format!("{}/{name}", &folder[..folder.len() - 1]))
            .raw();
        assert_eq!(other.header("cache-control"), Some("no-cache"), "{address}");
        assert_eq!(other.body, file.body, "{address}");
    }
    register
        .request("GET", "/docs/assets/0/nothing.js")
        .send()
        .error(404, "NotFound");
}

#[test]
fn repeated_request_is_answered_in_accepted_encoding() {
    every_version(|api| {
        let body = Value::from(api.example());
        let send = |accepted: &str| {
            let request = api
                .request("POST", "/trainees")
                .header("Idempotency-Key", "once");
            request
                .header("Accept-Encoding", accepted)
                .json(body.clone())
                .raw()
        };
        let first = send("gzip");
        assert_eq!(
            (first.status, first.header("content-encoding")),
            (201, Some("gzip"))
        );
        let (plain, again) = (send("identity"), send("gzip"));
        assert_eq!(plain.body, decompress(&first.body).unwrap());
        assert_eq!(
            (&again.body, again.header("etag")),
            (&first.body, first.header("etag"))
        );
        for reply in [plain, again] {
            assert_eq!(
                (reply.status, reply.header("idempotent-replayed")),
                (201, Some("true"))
            );
        }
    });
}

#[test]
fn body_with_a_content_encoding_is_refused() {
    every_version(|api| {
        let plain = Value::from(api.example()).to_string();
        let gzip = gzip_thoroughly(plain.repeat(2).as_bytes()).unwrap();
        for coding in ["gzip", "br", "identity, gzip", ""] {
            let request = api
                .request("POST", "/trainees")
                .header("Content-Encoding", coding);
            let refused = request
                .header("Content-Type", "application/json")
                .bytes(gzip.clone())
                .send();
            refused.error(415, "UnsupportedMediaType");
            assert_eq!(
                refused.header("accept-encoding"),
                Some("identity"),
                "{coding}"
            );
        }
        api.get("/trainees").error(404, "NotFound");
        let request = api
            .request("POST", "/trainees")
            .header("Content-Encoding", "Identity");
        request.json(Value::from(api.example())).send().is(201);
    });
    let register = Register::start();
    let request = register
        .request("POST", "/docs/translate")
        .header("Content-Encoding", "gzip");
    assert_eq!(
        request
            .json(json!({}))
            .send()
            .is(415)
            .header("accept-encoding"),
        Some("identity")
    );
    let (oldest, newest) = (SERVED[0].label, SERVED.last().unwrap().label);
    let form = register
        .request("POST", &format!("/docs/move/{oldest}/{newest}"))
        .header("Content-Encoding", "gzip")
        .bytes("kind=x")
        .page();
    assert!(form.is(415).text.contains("Content-Encoding"));
}

#[test]
fn write_without_reply_permit_is_rolled_back() {
    every_version(|api| {
        let permits = api.register.reply_sender().permits;
        let clients = (100..104).map(|id| Client::Known { kind: "token", id });
        let held: Vec<_> = clients
            .flat_map(|client| std::iter::from_fn(move || Some(client)).take(4))
            .map(|client| permits.try_acquire(client).unwrap())
            .collect();
        let placement =
            record::<Placement>(api.version, &[(PlacementField::name, &"\"".repeat(250))]);
        let example = api.example().with(F::placements, vec![placement; 100]);
        let refused = api.send("POST", "/trainees", example.clone());
        refused.error(503, "ServiceUnavailable");
        assert_eq!(refused.header("retry-after"), Some("1"));
        // A list waits for a permit, and a small reply needs none.
        api.get("/trainees").error(503, "ServiceUnavailable");
        let small = api.create(api.example().with(F::last_name, "Small")).path();
        api.get(&small).is(200);
        drop(held);
        assert_eq!(
            api.get("/trainees").is(200).data().as_array().map(Vec::len),
            Some(1)
        );
        api.send("POST", "/trainees", example).is(201);
    });
}
