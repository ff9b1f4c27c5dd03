//! What a version and an endpoint say of their end, and the list of versions.
//!
//! No version ends yet, and which endpoints end is for each version to say, so the tests serve
//! copies that end.

use adapter_kit::{ApiVersion, Deprecation, Endpoint, Publication, Versions, date};
use serde_json::json;
use versions::{REMOVED, SERVED};

use crate::api::support::versions::{in_place, republished, with_one_ending};
use crate::api::support::{Api, Register, Response, TextChecks as _, every_version};
use crate::api::versions::snapshots;

/// The newest version, with an endpoint that ends.
fn with_an_ending_endpoint() -> (&'static ApiVersion, Deprecation) {
    let newest = SERVED.last().unwrap();
    let endpoint = Endpoint::RecommendForQts;
    let removed_in = adapter_kit::Label::release(newest.label.year + 1, 0);
    let ends = Deprecation {
        endpoint,
        since: date(2026, 3, 20),
        removed_in,
    };
    (with_one_ending(newest, ends), ends)
}

/// Replies of all sorts to requests for a path that answers POST only.
fn replies(api: &Api<'_>, path: &str) -> Vec<Response> {
    let unknown = path.replace("{trainee_id}", "x");
    vec![
        api.send("POST", &unknown, json!({ "data": {} })).is(404),
        api.request("POST", &unknown)
            .without("Authorization")
            .send()
            .is(401),
        api.request("DELETE", &unknown).send().is(405),
        api.request("GET", &unknown)
            .without("Authorization")
            .send()
            .is(405),
        api.request("OPTIONS", &unknown).send().is(204),
        api.request("POST", &unknown)
            .bytes("{\"data\":")
            .send()
            .is(400),
        api.request("POST", &unknown)
            .bytes(vec![b' '; 1_048_577])
            .send()
            .is(413),
        api.request("POST", &unknown)
            .bytes("{}")
            .header("Content-Type", "text/plain")
            .send()
            .is(415),
    ]
}

/// The newest version but one, which ends on these days, among the others as they are.
fn ending(
    since: Option<(i32, u32, u32)>,
    until: Option<(i32, u32, u32)>,
) -> (&'static ApiVersion, &'static Versions) {
    let [.., old, _] = SERVED else {
        panic!("there are two versions")
    };
    among_the_others(old, since, until)
}

fn among_the_others(
    version: &'static ApiVersion,
    since: Option<(i32, u32, u32)>,
    until: Option<(i32, u32, u32)>,
) -> (&'static ApiVersion, &'static Versions) {
    let day = |(year, month, day)| date(year, month, day);
    let publication = Publication {
        deprecated_on: since.map(day),
        sunset_on: until.map(day),
        ..version.publication
    };
    let ending = republished(version, publication);
    (ending, in_place(ending))
}

/// The headers, but for the link to help that each error has.
fn reported(reply: &Response) -> [Option<&str>; 3] {
    let [deprecation, sunset, link] =
        ["deprecation", "sunset", "link"].map(|name| reply.header(name));
    let without_help = link.map(|link| {
        match link
            .rfind("</docs/")
            .filter(|at| link[*at..].contains("rel=\"help\""))
        {
            Some(at) => link[..at].trim_end_matches(", "),
            None => link,
        }
    });
    [
        deprecation,
        sunset,
        without_help.filter(|links| !links.is_empty()),
    ]
}

#[test]
fn an_endpoint_that_ends_says_so_on_every_reply() {
    let (newest, ends) = with_an_ending_endpoint();
    let register = Register::with_versions(in_place(newest));
    let api = register.api(newest);
    for reply in replies(&api, ends.endpoint.path()) {
        let label = newest.label;
        let successor = ends
            .endpoint
            .row()
            .replaced_by
            .unwrap()
            .path()
            .replace("{trainee_id}", "x");
        // The contract of the same version has the endpoint to use; a guide from a version to
        // itself has nothing.
        let section = "412-post-traineestrainee_idupdate-qts-or-eyts-status";
        let link = format!(
            "</api/{label}{successor}>; rel=\"successor-version\", \
             </docs/{label}/contract/4-endpoints#{section}>; rel=\"deprecation\"; type=\"text/html\""
        );
        assert_eq!(
            reported(&reply),
            [Some("@1773964800"), None, Some(link.as_str())],
            "{reply:?}"
        );
    }
    let created = api.create(api.example());
    let path = ends.endpoint.path().replace("{trainee_id}", created.id());
    let reply = api.send("POST", &path, json!({ "data": {} })).is(422);
    assert!(reply.header("link").unwrap().starts_with(&format!(
        "</api/{}{}/",
        newest.label,
        created.path()
    )));
}

#[test]
fn the_endpoints_that_end_in_a_version_say_so() {
    every_version(|api| {
        for endpoint in api.version.endpoints.all() {
            let reply = api.get(&endpoint.path().replace("{trainee_id}", "x"));
            let ends = api.version.endpoints.deprecation(endpoint).is_some();
            assert_eq!(reply.header("deprecation").is_some(), ends, "{endpoint:?}");
        }
    });
}

#[test]
fn ending_version_announces_its_end_on_every_reply() {
    let (version, versions) = ending(Some((2026, 9, 1)), Some((2027, 9, 1)));
    let newest = versions.newest().unwrap().version.label;
    let link = format!(
        "</api/{newest}>; rel=\"successor-version\", \
         </docs/migrate?from={}&to={newest}>; rel=\"deprecation\"; type=\"text/html\"",
        version.label
    );
    let register = Register::with_versions(versions);
    let api = register.api(version);
    let created = api.create(api.example());
    let mut all = replies(&api, Endpoint::Withdraw.path());
    all.extend([
        api.get("/info").is(200),
        api.request("HEAD", "/info").send().is(200),
        api.get(&created.path()).is(200),
        api.send("POST", "/trainees", api.example()).is(409),
        api.send(
            "PATCH",
            &created.path(),
            json!({ "data": { "email": "none" } }),
        )
        .is(422),
        api.get("/trainees?sort_order=sideways").is(422),
        api.get("/nothing").is(404),
        api.get("").is(404),
        api.request("PUT", "/trainees/x/nothing")
            .without("Authorization")
            .send()
            .is(404),
    ]);
    for reply in all {
        let expected = [
            Some("@1788220800"),
            Some("Wed, 01 Sep 2027 00:00:00 GMT"),
            Some(link.as_str()),
        ];
        assert_eq!(reported(&reply), expected, "{reply:?}");
    }
    // The others do not end.
    for other in SERVED.iter().filter(|other| other.label != version.label) {
        let api = register.api(other);
        for reply in [
            api.get("/info").is(200),
            api.get("/nothing").is(404),
            api.request("DELETE", "/info").send().is(405),
            api.request("OPTIONS", "/trainees").send().is(204),
        ] {
            assert_eq!(reported(&reply), [None; 3]);
        }
    }
}

#[test]
fn future_end_and_end_without_deprecation_are_reported() {
    let day = Some((2030, 1, 1));
    for (since, until, expected) in [
        (day, None, [Some("@1893456000"), None]),
        (None, day, [None, Some("Tue, 01 Jan 2030 00:00:00 GMT")]),
    ] {
        let (version, versions) = ending(since, until);
        let register = Register::with_versions(versions);
        let reply = register.api(version).get("/info").is(200);
        assert_eq!(
            ["deprecation", "sunset"].map(|name| reply.header(name)),
            expected
        );
    }
}

#[test]
fn the_earlier_of_two_deprecations_counts() {
    let (newest, ends) = with_an_ending_endpoint();
    let path = ends.endpoint.path().replace("{trainee_id}", "x");
    for (since, told_since) in [((2026, 1, 1), "@1767225600"), ((2026, 9, 1), "@1773964800")] {
        let (version, versions) = among_the_others(newest, Some(since), Some((2027, 1, 1)));
        let register = Register::with_versions(versions);
        let reply = register.api(version).get(&path).is(405);
        assert_eq!(reply.header("deprecation"), Some(told_since));
        assert_eq!(
            reply.header("sunset"),
            Some("Fri, 01 Jan 2027 00:00:00 GMT")
        );
        // Both ends have a successor where there is a newer version; the newest has none.
        let link = reply.header("link").unwrap();
        assert_eq!(link.matches("successor-version").count(), 1);
        let info = register.api(version).get("/info").is(200);
        let notes = format!(
            "</docs/versions/{}>; rel=\"deprecation\"; type=\"text/html\"",
            version.label
        );
        assert_eq!(info.header("link"), Some(notes.as_str()));
    }
}

#[test]
fn a_removed_version_shows_the_way_out_whatever_is_requested() {
    let register = Register::start();
    let newest = SERVED.last().unwrap().label;
    for label in REMOVED.iter().map(|removed| removed.label) {
        for (method, path) in [
            ("GET", ""),
            ("HEAD", "/info"),
            ("OPTIONS", "/trainees"),
            ("POST", "/trainees"),
            ("DELETE", "/a/b/c"),
        ] {
            let reply = register
                .request(method, &format!("/api/{label}{path}"))
                .send()
                .is(410);
            let guide = format!(
                "</docs/migrate?from={label}&to={newest}>; rel=\"deprecation\"; type=\"text/html\""
            );
            let link = format!("</api/{newest}>; rel=\"successor-version\", {guide}");
            assert_eq!(reply.header("link"), Some(link.as_str()));
        }
    }
}

#[test]
fn version_not_chosen_is_not_found_and_not_listed() {
    let [left_out, chosen @ ..] = SERVED else {
        panic!("there are versions")
    };
    let labels: Vec<String> = chosen
        .iter()
        .map(|version| version.label.to_string())
        .collect();
    let register = Register::with_versions(versions::select(&labels).unwrap());
    register
        .request("GET", &format!("/api/{}/info", left_out.label))
        .send()
        .error(404, "NotFound");
    let list = register.request("GET", "/api/versions").send().is(200);
    let listed = |label: &str| {
        list.data()
            .as_array()
            .unwrap()
            .iter()
            .any(|version| version["label"] == label)
    };
    assert!(labels.iter().all(|label| listed(label)));
    assert!(!listed(&left_out.label.to_string()));
    let gone = register
        .request("GET", &format!("/api/{}", REMOVED[0].label))
        .send();
    gone.error(410, "Gone")
        .lacks(&[&left_out.label.to_string()]);
}

#[test]
fn the_list_of_versions_is_the_committed_one() {
    let list = Register::start()
        .request("GET", "/api/versions")
        .send()
        .is(200);
    let caching = list.header("cache-control").unwrap();
    snapshots::matches(
        "",
        "versions",
        &format!("cache-control: {caching}\n{}", snapshots::reported(&list)),
    );
}

#[test]
fn version_list_needs_no_token_and_is_read_only() {
    let register = Register::start();
    let get = register.request("GET", "/api/versions").send().is(200);
    let head = register.request("HEAD", "/api/versions").send().is(200);
    assert_eq!(head.header("content-length"), get.header("content-length"));
    let options = register.request("OPTIONS", "/api/versions").send().is(204);
    assert_eq!(options.header("allow"), Some("GET, HEAD, OPTIONS"));
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let refused = register.request(method, "/api/versions").send();
        refused.error(405, "MethodNotAllowed");
        assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
    }
    register
        .request("GET", "/api/versions/")
        .send()
        .error(404, "NotFound");
}

#[test]
fn version_list_has_the_ends_of_versions() {
    let (version, versions) = ending(Some((2026, 9, 1)), Some((2027, 9, 1)));
    let register = Register::with_versions(versions);
    let list = register.request("GET", "/api/versions").send().is(200);
    let mut listed = list.data().as_array().unwrap().iter();
    let ending = listed.find(|listed| listed["label"] == version.label.to_string());
    let ending = ending.unwrap();
    let ends = [
        &ending["deprecated_on"],
        &ending["sunset_on"],
        &ending["removed"],
    ];
    assert_eq!(
        ends,
        [&json!("2026-09-01"), &json!("2027-09-01"), &json!(false)]
    );
}
