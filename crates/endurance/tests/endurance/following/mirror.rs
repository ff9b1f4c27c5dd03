//! A copy of the register, kept by following the changes, and the register to compare it with.

use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::Endpoint;
use chrono::Utc;
use domain::listing::{MAX_PER_PAGE, known_cycles};
use serde_json::Value;

use super::super::deployment::Servers;
use super::super::http::{Caller, Request};
use super::super::version_requests::{Manner, id};

/// Trainees by their identifiers, each as it is shown.
pub(super) type Trainees = BTreeMap<String, String>;

/// A client that follows the changes, each request through the next server. What it has received
/// and not stored is lost when it is killed.
pub(super) struct Mirror<'a> {
    servers: &'a Servers,
    manner: &'a Manner,
    caller: Caller,
    pub(super) limit: usize,
    /// How long a request may wait, in seconds; 0 for not at all.
    pub(super) wait: usize,
    /// What was stored.
    pub(super) trainees: Trainees,
    stored_after: Option<String>,
    /// Changes that were received since then.
    unstored: Vec<Value>,
    after: Option<String>,
    pub(super) requests: usize,
    /// Changes that were received, and those of them that removed a trainee.
    pub(super) changes: usize,
    pub(super) removed: usize,
    /// How many changes were forgotten when the client was killed.
    pub(super) forgotten: Option<usize>,
}

impl<'a> Mirror<'a> {
    pub(super) fn new(servers: &'a Servers, manner: &'a Manner, limit: usize, wait: usize) -> Self {
        Self {
            servers,
            manner,
            caller: Caller::new(&servers.site.token),
            limit,
            wait,
            trainees: Trainees::new(),
            stored_after: None,
            unstored: Vec::new(),
            after: None,
            requests: 0,
            changes: 0,
            removed: 0,
            forgotten: None,
        }
    }

    /// Sends one request. Returns whether there is more already.
    pub(super) fn request(&mut self) -> bool {
        let mut path = format!(
            "{}?limit={}",
            self.manner.path(Endpoint::ListChanges, "", ""),
            self.limit
        );
        if let Some(after) = &self.after {
            path += &format!("&after={after}");
        }
        let mut request = Request::get(path);
        if self.wait > 0 {
            request = request.with("Prefer", format!("wait={}", self.wait));
        }
        let reply = self
            .caller
            .insist(self.servers.address(self.requests), &request);
        assert_eq!(reply.status, 200, "{reply:?}");
        let mut body = reply.json();
        let Value::Array(changes) = body["data"].take() else {
            panic!("no changes: {reply:?}")
        };
        assert!(changes.len() <= self.limit);
        self.requests += 1;
        self.changes += changes.len();
        self.removed += changes
            .iter()
            .filter(|change| !change["removed_at"].is_null())
            .count();
        self.unstored.extend(changes);
        self.after = Some(body["meta"]["after"].as_str().unwrap().to_owned());
        body["meta"]["has_more"].as_bool().unwrap()
    }

    /// Stores what was received, together with the cursor.
    pub(super) fn store(&mut self) {
        for change in self.unstored.drain(..) {
            let trainee = id(&change).to_owned();
            if change["removed_at"].is_null() {
                assert_eq!(id(&change["trainee"]), trainee);
                self.trainees.insert(trainee, change["trainee"].to_string());
            } else {
                assert!(change["trainee"].is_null(), "{change}");
                self.trainees.remove(&trainee);
            }
        }
        self.stored_after.clone_from(&self.after);
    }

    /// Requests changes until there are no more, and stores them.
    pub(super) fn follow(&mut self) {
        while self.request() {}
        self.store();
    }

    /// Forgets what was not stored, if anything was not.
    pub(super) fn kill(&mut self) {
        if !self.unstored.is_empty() {
            self.forgotten = Some(self.unstored.len());
            self.unstored.clear();
            self.after.clone_from(&self.stored_after);
        }
    }

    /// What the register shows in the version of this client, with the number of trainees in each
    /// academic cycle.
    pub(super) fn register(&self) -> (Trainees, BTreeMap<i32, usize>) {
        let (mut shown, mut counts) = (Trainees::new(), BTreeMap::new());
        let list = self.manner.path(Endpoint::ListTrainees, "", "");
        for cycle in known_cycles(Utc::now().date_naive()) {
            let include = "include=placements,degrees";
            let mut next = Some(format!(
                "{list}?academic_cycle={cycle}&per_page={MAX_PER_PAGE}&{include}"
            ));
            while let Some(path) = next {
                let reply = self
                    .caller
                    .insist(self.servers.address(shown.len()), &Request::get(path));
                if reply.status == 404 {
                    break;
                }
                assert_eq!(reply.status, 200, "{reply:?}");
                for record in reply.json()["data"].as_array().unwrap() {
                    let other = shown.insert(id(record).to_owned(), record.to_string());
                    assert_eq!(other, None, "shown twice");
                    *counts.entry(cycle).or_default() += 1;
                }
                next = reply.linked("next").map(str::to_owned);
            }
        }
        (shown, counts)
    }

    /// What differs between the copy and the register, in words; some of it.
    pub(super) fn differences(&self, register: &Trainees) -> Vec<String> {
        let all: BTreeSet<&String> = self.trainees.keys().chain(register.keys()).collect();
        let differing = all
            .into_iter()
            .filter(|trainee| self.trainees.get(*trainee) != register.get(*trainee));
        let in_words = |trainee: &String| {
            let [copied, there] = [&self.trainees, register]
                .map(|all| all.get(trainee).map_or("absent", String::as_str));
            format!("{trainee}\n  copied: {copied}\n  there:  {there}")
        };
        differing.take(5).map(in_words).collect()
    }
}
