//! The feed of changes: a client that follows it has a copy of the register.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use domain::TraineeField as F;
use serde_json::{Value, json};
use storage::accounts::users::Actor;
use storage::base::cause::Cause;

use crate::api::support::client::Response;
use crate::api::support::register::UKPRN;
use crate::api::support::{
    Api, Body, Register, TextChecks as _, every_version, newest, others_than,
};

/// A copy of a provider's trainees, kept by following the changes.
#[derive(Default)]
struct Mirror {
    trainees: BTreeMap<String, Value>,
    after: Option<String>,
}

impl Mirror {
    /// Asks once; returns what was answered.
    fn ask(&mut self, api: &Api<'_>, limit: usize) -> Response {
        let after = self
            .after
            .as_ref()
            .map_or_else(String::new, |after| format!("&after={after}"));
        let reply = api.get(&format!("/changes?limit={limit}{after}")).is(200);
        self.take(&reply);
        reply
    }

    fn take(&mut self, reply: &Response) {
        for change in reply.data().as_array().unwrap() {
            let id = change["trainee_id"].as_str().unwrap();
            if change["removed_at"].is_null() {
                assert_eq!(change["trainee"]["trainee_id"], id);
                self.trainees
                    .insert(id.to_owned(), change["trainee"].clone());
            } else {
                assert!(change["trainee"].is_null(), "{change:#}");
                self.trainees.remove(id);
            }
        }
        self.after = Some(cursor(reply));
    }

    /// Asks until there is no more.
    fn follow(&mut self, api: &Api<'_>, limit: usize) {
        while self.ask(api, limit).body["meta"]["has_more"] == true {}
    }

    /// Asks until there are news: on PostgreSQL a change is shown when no older transaction of the
    /// server is open.
    fn news(&mut self, api: &Api<'_>, count: usize) -> Vec<Value> {
        let mut news = Vec::new();
        let begun = Instant::now();
        while news.len() < count && begun.elapsed() < Duration::from_secs(20) {
            let reply = self.ask(api, 500);
            news.extend(reply.data().as_array().unwrap().iter().cloned());
        }
        news
    }

    /// The trainees whom every version lets change.
    fn changeable(&self) -> Vec<String> {
        let in_training = |trainee: &&Value| {
            ["submitted_for_trn", "trn_received"]
                .map(Value::from)
                .contains(&trainee["state"])
        };
        let ids = self
            .trainees
            .values()
            .filter(in_training)
            .map(|trainee| trainee["trainee_id"].as_str().unwrap());
        ids.map(str::to_owned).collect()
    }

    /// Checks that the copy becomes what the register shows.
    #[track_caller]
    fn equals(&mut self, api: &Api<'_>) {
        let shown = Self::register(api);
        let begun = Instant::now();
        while self.trainees != shown && begun.elapsed() < Duration::from_secs(20) {
            self.follow(api, 500);
        }
        let (copied, there): (Vec<_>, Vec<_>) =
            (self.trainees.keys().collect(), shown.keys().collect());
        assert_eq!(copied, there);
        for (id, record) in &shown {
            assert_eq!(&self.trainees[id], record);
        }
    }

    /// What the lists of the register show.
    fn register(api: &Api<'_>) -> BTreeMap<String, Value> {
        let mut shown = BTreeMap::new();
        for cycle in 2015..=2031 {
            for page in 1.. {
                let reply = api.get(&format!(
                    "/trainees?include=placements,degrees&per_page=30&academic_cycle={cycle}&page={page}"
                ));
                if reply.status == 404 {
                    break;
                }
                for record in reply.data().as_array().unwrap() {
                    shown.insert(
                        record["trainee_id"].as_str().unwrap().to_owned(),
                        record.clone(),
                    );
                }
            }
        }
        shown
    }
}

/// The cursor of a reply.
fn cursor(reply: &Response) -> String {
    reply.body["meta"]["after"].as_str().unwrap().to_owned()
}

/// Discards a trainee, as an operator does.
fn discard(register: &Register, id: &str) {
    let id = id.to_owned();
    register.operate(move |session| {
        let mut provider = session.open_trainee(&id, Cause::new("test"))?.unwrap();
        let stored = provider.find_hidden_trainee(&id)?.unwrap();
        match domain::commands::registry::discard(&stored.record, provider.change_date()) {
            Ok(decision) if decision.changed => provider.update_trainee(&stored, &decision.record),
            // The trainee was withdrawn or discarded in the meantime.
            Ok(_) | Err(_) => Ok(()),
        }
    });
}

#[test]
fn first_request_starts_a_copy_that_later_requests_update() {
    every_version(|api| {
        api.register.sow(30);
        let mut mirror = Mirror::default();
        mirror.follow(api, 7);
        mirror.equals(api);
        assert!(mirror.trainees.values().any(|trainee| {
            trainee["degrees"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        }));
        let ids = mirror.changeable();
        api.update(
            &ids[3],
            Body::new(api.version).with(F::middle_names, "Changed"),
        );
        api.update(
            &ids[4],
            Body::new(api.version).with(F::itt_start_date, "2025-09-01"),
        );
        let created = api.create(api.example());
        discard(api.register, &ids[5]);
        let news = mirror.news(api, 4);
        let told: Vec<_> = news
            .iter()
            .map(|change| change["trainee_id"].as_str().unwrap())
            .collect();
        assert_eq!(told, [&ids[3], &ids[4], created.id(), &ids[5]]);
        mirror.equals(api);
        let before = mirror.after.clone().unwrap();
        let idle = mirror.ask(api, 50);
        assert_eq!(
            (idle.data(), &idle.body["meta"]["has_more"]),
            (&json!([]), &json!(false))
        );
        assert_eq!(
            idle.body["meta"]["after"], before,
            "who is up to date keeps the cursor"
        );
    });
}

#[test]
fn many_changes_of_one_trainee_in_between_come_once() {
    every_version(|api| {
        let created = api.create(api.example());
        let mut mirror = Mirror::default();
        mirror.equals(api);
        for name in ["One", "Two", "Three"] {
            api.update(
                created.id(),
                Body::new(api.version).with(F::middle_names, name),
            );
        }
        // All are final as soon as the last one is.
        let begun = Instant::now();
        while mirror.trainees[created.id()]["middle_names"] != "Three"
            && begun.elapsed() < Duration::from_secs(20)
        {
            assert!(mirror.ask(api, 50).data().as_array().unwrap().len() <= 1);
        }
        mirror.equals(api);
    });
}

#[test]
fn who_begins_a_copy_hears_nothing_of_those_removed_before() {
    every_version(|api| {
        let [gone, stays] =
            ["Gone", "Staying"].map(|name| api.create(api.example().with(F::last_name, name)));
        discard(api.register, gone.id());
        let mut mirror = Mirror::default();
        let news = mirror.news(api, 1);
        let changed: Vec<_> = news.iter().map(|change| &change["trainee_id"]).collect();
        assert_eq!(changed, [stays.id()]);
        discard(api.register, stays.id());
        let news = mirror.news(api, 1);
        assert_eq!(
            (&news[0]["trainee_id"], &news[0]["removed_at"]),
            (&json!(stays.id()), &json!("2026-10-05T09:00:00.001Z"))
        );
        assert_eq!(mirror.trainees.len(), 0);
    });
}

#[test]
fn foreign_and_damaged_cursors_are_rejected_alike() {
    every_version(|api| {
        api.create(api.example());
        let cursor = cursor(&api.get("/changes").is(200));
        let refused = |api: &Api<'_>, cursor: &str| {
            let reply = api.get(&format!("/changes?after={cursor}")).is(422);
            assert_eq!(
                reply.body["errors"],
                json!({ "after": ["after is not a cursor of these changes: it is damaged, or of another version or provider; begin again without it"] }),
                "{cursor}"
            );
        };
        api.get(&format!("/changes?after={cursor}")).is(200);
        refused(&api.register.other_provider(api.version), &cursor);
        for other in others_than(api.version) {
            refused(&api.in_version(other), &cursor);
        }
        refused(api, &cursor[1..]);
        refused(api, &cursor[..cursor.len() - 1]);
        refused(api, &"A".repeat(cursor.len()));
        api.create(api.example().with(F::last_name, "Second"));
        let page = api.get("/trainees?per_page=1").is(200);
        let (_, of_list) = page.header("link").unwrap().split_once("cursor=").unwrap();
        refused(api, of_list.split('>').next().unwrap());
        let other = api.register.other_provider(api.version);
        assert_eq!(other.get("/changes").is(200).data(), &json!([]));
    });
}

#[test]
fn reply_is_cut_at_trainees_with_many_nested_records() {
    let register = Register::start();
    let api = register.api(newest());
    for number in 0..60 {
        api.create(api.example().with(F::last_name, format!("Many {number}")));
    }
    // 100,000 characters each, 6 MB in all.
    register.operate(|session| {
        let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        for trainee in provider.visible_trainees(100)?.trainees {
            provider.come_after_change(&trainee);
            let mut changed = trainee.record.clone();
            changed.additional_ethnic_background = Some("x".repeat(100_000));
            changed.updated_at = Some(provider.change_date());
            provider.update_trainee(&trainee, &changed)?;
        }
        Ok(())
    });
    let mut mirror = Mirror::default();
    mirror.equals(&api);
    assert_eq!(mirror.trainees.len(), 60);
    let first = api.get("/changes?limit=500").is(200);
    let shown = first.data().as_array().unwrap().len();
    assert!(
        (30..60).contains(&shown) && first.body["meta"]["has_more"] == true,
        "{shown}"
    );
    let refused = api.get("/trainees?include=degrees&per_page=500").is(422);
    refused.body["errors"]["per_page"][0]
        .as_str()
        .unwrap()
        .shows(&["ask for fewer"]);
    api.get("/trainees?include=degrees&per_page=20").is(200);
}

#[test]
fn a_limit_is_500_at_most() {
    every_version(|api| {
        api.register.sow(3);
        Mirror::default().equals(api);
        let cut = api.get("/changes?limit=501").is(200);
        assert_eq!(cut.warnings(), ["299 - \"limit is 500 at most\""]);
        for fallen_back in ["limit=0", "limit=x", "limit="] {
            let reply = api.get(&format!("/changes?{fallen_back}")).is(200);
            assert_eq!(reply.data().as_array().unwrap().len(), 3);
        }
        let reply = api
            .request("GET", "/changes?aftr=x")
            .header("Prefer", "handling=strict")
            .send()
            .is(422);
        let message = reply.body["errors"]["aftr"][0].as_str();
        message.unwrap().shows(&["did you mean after?"]);
    });
}

#[test]
fn request_waits_for_a_change_if_the_client_prefers() {
    let register = Register::start();
    let api = register.api(newest());
    let created = api.create(api.example());
    let mut mirror = Mirror::default();
    mirror.equals(&api);
    let wait = |seconds: u32| {
        let path = format!("/changes?after={}", mirror.after.as_ref().unwrap());
        let begun = Instant::now();
        let reply = api
            .request("GET", &path)
            .header("Prefer", &format!("wait={seconds}"))
            .send()
            .is(200);
        (reply, begun.elapsed())
    };
    let (reply, waited) = wait(2);
    assert_eq!(
        (reply.data(), reply.header("preference-applied")),
        (&json!([]), Some("wait=2"))
    );
    assert!(waited >= Duration::from_millis(1_900), "{waited:?}");
    let (reply, waited) = thread::scope(|scope| {
        let waiting = scope.spawn(|| wait(20));
        thread::sleep(Duration::from_millis(300));
        // Written by another server.
        let store = register.another_store();
        let id = created.id().to_owned();
        store
            .write_blocking::<_, storage::error::StorageError>(move |session| {
                let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                let stored = provider.find_trainee(&id)?.unwrap();
                let mut changed = stored.record.clone();
                changed.middle_names = Some("Waited".to_owned());
                changed.updated_at = Some(provider.change_date());
                provider.update_trainee(&stored, &changed)
            })
            .unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(reply.data()[0]["trainee"]["middle_names"], "Waited");
    assert!(waited < Duration::from_secs(10), "{waited:?}");
    // The sixth that waits is answered at once.
    let path = format!("/changes?after={}", cursor(&reply));
    let has_waited = |wait| {
        let reply = api
            .request("GET", &path)
            .header("Prefer", wait)
            .send()
            .is(200);
        let applied = reply.header("preference-applied");
        assert!(applied.is_none_or(|applied| applied == wait), "{applied:?}");
        applied.is_some()
    };
    // One of five may find its place taken by the sixth.
    let wait = || while !has_waited("wait=30") {};
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..5).map(|_| scope.spawn(wait)).collect();
        assert!((0..20).any(|_| !has_waited("wait=1")));
        assert!(waiting.iter().all(|one| !one.is_finished()));
        api.create(api.example().with(F::last_name, "Another"));
    });
}

#[test]
fn a_token_that_is_revoked_ends_the_wait() {
    let register = Register::start();
    let api = register.api(newest());
    let cursor = cursor(&api.get("/changes").is(200));
    thread::scope(|scope| {
        let wait = || {
            api.request("GET", &format!("/changes?after={cursor}"))
                .header("Prefer", "wait=30")
                .send()
        };
        let waiting = scope.spawn(wait);
        thread::sleep(Duration::from_millis(300));
        register.operate(|session| {
            for token in session.list_tokens(Some(UKPRN))? {
                session.revoke_token(token.id, Actor::operator("operator"))?;
            }
            Ok(())
        });
        let begun = Instant::now();
        waiting.join().unwrap().is(401);
        assert!(begun.elapsed() < Duration::from_secs(30));
    });
}
