//! Following a list by its links: every trainee is shown, even if trainees change between the
//! pages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::client::Response;
use crate::api::support::{Api, Body, every_version};

/// The target of a link of a page, by its relation.
fn link<'a>(page: &'a Response, relation: &str) -> Option<&'a str> {
    let links = page.header("link").unwrap_or_default();
    let of_relation = |link: &&str| link.ends_with(&format!("; rel=\"{relation}\""));
    links
        .split(", ")
        .find(of_relation)?
        .strip_prefix('<')?
        .split('>')
        .next()
}

/// The page that a link leads to.
fn open(api: &Api<'_>, link: &str) -> Response {
    let path = link
        .strip_prefix(&format!("/api/{}", api.version.label))
        .unwrap();
    api.get(path).is(200)
}

/// Registers `count` trainees.
fn add(api: &Api<'_>, count: usize) {
    for number in 0..count {
        api.create(api.example().with(F::last_name, format!("Number {number}")));
    }
}

fn ids(page: &Response) -> Vec<String> {
    let records = page.data().as_array().unwrap();
    records
        .iter()
        .map(|record| record["trainee_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Follows a list to its end; `between` is called before each page but the first.
fn follow(api: &Api<'_>, query: &str, mut between: impl FnMut(usize)) -> Vec<Response> {
    let mut pages = vec![api.get(&format!("/trainees?{query}")).is(200)];
    while let Some(next) = link(pages.last().unwrap(), "next") {
        between(pages.len());
        let page = open(api, next);
        pages.push(page);
    }
    pages
}

#[test]
fn links_lead_to_every_trainee_once() {
    every_version(|api| {
        api.register.sow(130);
        for filters in [
            "",
            "sort_order=asc",
            "has_trn=false",
            "status=in_training&sort_order=asc",
            "since=2026-01-01",
        ] {
            let all = api.get(&format!("/trainees?per_page=500&{filters}"));
            if all.status == 404 {
                continue;
            }
            assert_eq!(link(&all, "next"), None, "{filters}");
            for per_page in [1, 7, 50] {
                let pages = follow(api, &format!("per_page={per_page}&{filters}"), |_| {});
                let followed: Vec<String> = pages.iter().flat_map(ids).collect();
                assert_eq!(followed, ids(&all), "{filters} per_page={per_page}");
                assert!(
                    pages[1..]
                        .iter()
                        .all(|page| page.body["meta"] == json!({ "per_page": per_page }))
                );
            }
        }
    });
}

#[test]
fn page_links_to_first_and_previous_page() {
    every_version(|api| {
        add(api, 5);
        let second = api
            .get("/trainees?per_page=2&page=2&sort_order=asc")
            .is(200);
        let first = api.get("/trainees?per_page=2&sort_order=asc").is(200);
        for relation in ["first", "prev"] {
            assert_eq!(
                ids(&open(api, link(&second, relation).unwrap())),
                ids(&first),
                "{relation}"
            );
        }
        assert_eq!(link(&first, "prev"), None);
        let third = open(api, link(&second, "next").unwrap());
        assert_eq!(
            ids(&third),
            ids(&api
                .get("/trainees?per_page=2&page=3&sort_order=asc")
                .is(200))
        );
        assert_eq!(ids(&open(api, link(&third, "first").unwrap())), ids(&first));
        assert_eq!((link(&third, "prev"), link(&third, "next")), (None, None));
    });
}

#[test]
fn change_between_pages_hides_no_trainee() {
    every_version(|api| {
        add(api, 40);
        let all: Vec<String> = ids(&api.get("/trainees?per_page=500").is(200));
        for order in ["asc", "desc"] {
            let mut changed = BTreeMap::new();
            let pages = follow(api, &format!("per_page=7&sort_order={order}"), |page| {
                // One that was shown, and one that was not, whichever end the list begins at.
                for at in [page, all.len() - 1 - page] {
                    let name = format!("{order}{page}");
                    api.update(
                        &all[at],
                        Body::new(api.version).with(F::middle_names, name.as_str()),
                    );
                    changed.insert(all[at].clone(), name);
                }
            });
            let mut shown: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for record in pages
                .iter()
                .flat_map(|page| page.data().as_array().unwrap())
            {
                let id = record["trainee_id"].as_str().unwrap().to_owned();
                shown
                    .entry(id)
                    .or_default()
                    .push(record["middle_names"].clone());
            }
            for id in &all {
                let shown = shown
                    .get(id)
                    .unwrap_or_else(|| panic!("{order}: {id} is missed"));
                match changed.get(id) {
                    Some(name) => assert_eq!(shown.last().unwrap(), name, "{order}: {id}"),
                    None => assert_eq!(shown.len(), 1, "{order}: {id} did not change"),
                }
            }
        }
    });
}

/// Follows a list for a time while other trainees change. Returns how often the list was followed
/// to its end.
fn follow_beside_writers(
    api: &Api<'_>,
    trainees: usize,
    writers: usize,
    pause: Duration,
    time: Duration,
) -> usize {
    add(api, trainees);
    let all: Vec<String> = ids_of(api);
    let (done, changes) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for writer in 0..writers {
            let (all, done, changes) = (&all, &done, &changes);
            scope.spawn(move || {
                let mine: Vec<&String> = all.iter().skip(writer).step_by(writers * 20).collect();
                for at in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let body = Body::new(api.version).with(F::middle_names, format!("Change {at}"));
                    api.update(mine[at % mine.len()], body);
                    changes.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(pause);
                }
            });
        }
        let begun = Instant::now();
        let mut followed = 0;
        while begun.elapsed() < time {
            for order in ["asc", "desc"] {
                let pages = follow(api, &format!("sort_order={order}"), |_| {});
                let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
                let mut times: BTreeMap<String, usize> = BTreeMap::new();
                for record in pages
                    .iter()
                    .flat_map(|page| page.data().as_array().unwrap())
                {
                    let id = record["trainee_id"].as_str().unwrap().to_owned();
                    shown
                        .entry(id.clone())
                        .or_default()
                        .insert(record["updated_at"].to_string());
                    *times.entry(id).or_default() += 1;
                }
                let missed: Vec<&String> =
                    all.iter().filter(|id| !shown.contains_key(*id)).collect();
                // Each time that a trainee is shown it has another change: one that did not change
                // is shown once.
                let repeated = times
                    .iter()
                    .filter(|(id, times)| shown[*id].len() != **times)
                    .count();
                if !missed.is_empty() || repeated > 0 {
                    done.store(true, Ordering::Relaxed);
                    panic!("{order}: {} missed, {repeated} repeated", missed.len());
                }
                followed += 1;
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(changes.load(Ordering::Relaxed) > 0);
        followed
    })
}

fn ids_of(api: &Api<'_>) -> Vec<String> {
    follow(api, "per_page=500", |_| {})
        .iter()
        .flat_map(ids)
        .collect()
}

#[test]
fn concurrent_writers_hide_no_trainee_from_list() {
    let register = crate::api::support::Register::start();
    let api = register.api(crate::api::support::newest());
    assert!(
        follow_beside_writers(
            &api,
            300,
            4,
            Duration::from_millis(2),
            Duration::from_secs(4)
        ) > 1
    );
}

#[test]
fn a_cursor_page_without_trainees_is_empty() {
    every_version(|api| {
        let stays = api.create(api.example());
        api.register.clock.tick();
        let leaves = api.create(api.example().with(F::last_name, "Leaving"));
        let page = api
            .get("/trainees?per_page=1&status=in_training&sort_order=asc")
            .is(200);
        assert_eq!(ids(&page), [stays.id()]);
        api.withdraw(leaves.id());
        let next = open(api, link(&page, "next").unwrap());
        assert_eq!(next.body, json!({ "data": [], "meta": { "per_page": 1 } }));
        assert_eq!(link(&next, "next"), None);
    });
}

#[test]
fn foreign_and_damaged_cursors_are_rejected_alike() {
    every_version(|api| {
        add(api, 3);
        let page = api.get("/trainees?per_page=1").is(200);
        let next = link(&page, "next")
            .unwrap()
            .strip_prefix(&format!("/api/{}", api.version.label))
            .unwrap()
            .to_owned();
        let (_, cursor) = next.split_once("cursor=").unwrap();
        let refused = |api: &Api<'_>, path: &str| {
            let reply = api.get(path).is(422);
            assert_eq!(
                reply.body["errors"],
                json!({ "cursor": ["cursor is not a cursor of this list"] }),
                "{path}"
            );
        };
        api.get(&next).is(200);
        refused(&api.register.other_provider(api.version), &next);
        refused(
            api,
            &format!("/trainees?per_page=1&status=deferred&cursor={cursor}"),
        );
        refused(
            api,
            &format!("/trainees?per_page=1&sort_order=asc&cursor={cursor}"),
        );
        refused(
            api,
            &format!("/trainees?academic_cycle=2020&cursor={cursor}"),
        );
        refused(api, &next[..next.len() - 1]);
        let forged = format!(
            "{}{}",
            if cursor.starts_with('A') { "B" } else { "A" },
            &cursor[1..]
        );
        refused(api, &next.replace(cursor, &forged));
        refused(api, "/trainees?cursor=AAAA");
        refused(api, &format!("/trainees?cursor={}", "A".repeat(4_000)));
        for other in crate::api::support::others_than(api.version) {
            refused(&api.in_version(other), &next);
        }
        let changes = api.get("/changes").is(200);
        refused(
            api,
            &format!(
                "/trainees?cursor={}",
                changes.body["meta"]["after"].as_str().unwrap()
            ),
        );
        // What is shown on a page is no filter.
        assert_eq!(
            ids(&api.get(&next.replace("per_page=1", "per_page=2")).is(200)).len(),
            2
        );
    });
}
