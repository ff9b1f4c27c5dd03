//! Clients that change only what they have seen, and read only what they have not (contract,
//! section 6.5).

use domain::TraineeField as F;
use serde_json::json;

use crate::api::support::{Api, Body, every_version, run_cases};

/// A tag that no record has.
const OTHER: &str = "\"00000000000000000000000000000000\"";

/// The tag of the same reply when it is sent compressed.
fn compressed(tag: &str) -> String {
    format!("{}-gzip\"", tag.strip_suffix('"').unwrap())
}

fn tag_of(api: &Api<'_>, path: &str) -> String {
    api.get(path).is(200).header("etag").unwrap().to_owned()
}

#[test]
fn tags_decide_what_is_changed_and_sent() {
    run_cases(include_str!("preconditions.txt"));
}

#[test]
fn unchanged_lists_are_not_sent_again() {
    every_version(|api| {
        let first = api.create(api.example());
        api.create(api.example().with(F::last_name, "Second"));
        let list = api.get("/trainees?per_page=1").is(200);
        let links = list.header("link").unwrap().to_owned();
        let cursor = links.split("cursor=").nth(1).unwrap();
        let after_cursor = format!(
            "/trainees?per_page=1&cursor={}",
            cursor.split('>').next().unwrap()
        );
        let paths = [
            "/trainees?per_page=1",
            "/trainees?per_page=1&page=2",
            &after_cursor,
            "/changes",
        ];
        let tags = paths.map(|path| tag_of(api, path));
        for (path, tag) in paths.iter().zip(&tags) {
            assert!(tag.starts_with("W/\""), "{tag}");
            assert_eq!(&tag_of(api, path), tag);
            for sent in [tag.clone(), compressed(tag), format!("{OTHER}, {tag}")] {
                let again = api.request("GET", path).header("If-None-Match", &sent);
                let again = again.send().is(304);
                let shown = again.header("etag").unwrap();
                assert!(shown == tag || shown == compressed(tag), "{shown}");
            }
            let other = api.request("GET", path).header("If-None-Match", OTHER);
            other.send().is(200);
        }
        // Each query and page has another tag.
        let distinct: std::collections::BTreeSet<_> = tags.iter().collect();
        assert_eq!(distinct.len(), tags.len());
        // A refused write changes no tag; a change of any record changes all.
        api.send(
            "PATCH",
            &first.path(),
            json!({ "data": { "sex": "no code" } }),
        )
        .is(422);
        assert_eq!(paths.map(|path| tag_of(api, path)), tags);
        let update = Body::new(api.version).with(F::last_name, "Newname");
        api.send("PATCH", &first.path(), update).is(200);
        for (path, tag) in paths.iter().zip(&tags) {
            let changed = api.request("GET", path).header("If-None-Match", tag);
            assert_ne!(changed.send().is(200).header("etag"), Some(tag.as_str()));
        }
    });
}
