//! Cases as text: one request a line, with the reply that it must get in every version.
//!
//! ```text
//! define NAME text             replaces the name in the lines below
//! == title                     a new provider, without trainees; `[condition]` behind the title
//! METHOD PATH changes -> status expected | [condition] status expected
//! ```
//!
//! - Path: `/trainees` or `$`, the last trainee that was created; `$/degrees/1` is its first degree.
//! - Before the method: `[condition]` for some versions, `@v2026.1` for another version, `try` for a
//!   dry run, `strict` for strict handling, `anonymous` without a token.
//! - Headers: `^Name:value`. `{tag}` is the entity tag of the path, or of the trainee, and `{gzip}`
//!   that of the compressed reply.
//! - Changes to an accepted body: `field=text`, `field:=JSON`, `-field` without the field. `whole`
//!   starts from the record as it is shown. Fields have canonical names; `.key` is a key as it is.
//!   `raw:"text"` is a whole body.
//! - Expected of a success: `field=text` or `field:=JSON` as shown, `same` as before, `changed=a,b`
//!   for the fields that differ, `names=A,B` of a list, `replayed` like the reply before, and each
//!   warning: `"text"`, or `~"part of it"`.
//! - Expected of a refusal: each place, such as `degrees.1.grade#code` or `state!` for a transition,
//!   or the name of the error, with `"message"` behind it; `^Name:value` of any reply.
//! - Every reply: a refused request and a dry run change nothing, and what is written is what can be
//!   read, with the same entity tag.
//! - The last expectation whose condition holds applies.
//! - A line that begins with two spaces continues the one before.
//! - `clock 2026-10-06T10:00:00.123Z` sets the clock.
//! - `x{3}` is `xxx`. A line with `(a|b)` stands for two lines; `<>` is the choice.

use std::collections::BTreeSet;

use adapter_kit::WireRecord;
use domain::{Deferral, Degree, Placement, Recommendation, Trainee, TraineeField as F, Withdrawal};
use serde_json::{Map, Value, json};

use super::versions::recommendation;
use super::{Api, Body, Request, Response, Shown, every_version, version};

mod body;
mod expected;
mod line;

use body::change;
use expected::{Places, Text, check_by_name, check_error, shown_in_record, shown_in_trainee};
use line::{assignment, expand, find_field, holds, is_condition, repeat, unquote, words};

/// The first of the providers of the scenarios.
const FIRST_UKPRN: usize = 10_100_000;

/// Runs the cases of a text in each version. Fails with all wrong replies.
pub(crate) fn run_cases(text: &str) {
    let text = text.replace("\n  ", " ");
    let mut wrong = Vec::new();
    every_version(|api| {
        let mut scenario = Scenario::start(api, 0, "");
        let mut defined = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(definition) = line.strip_prefix("define ") {
                defined.push(definition.split_once(' ').unwrap());
                continue;
            }
            let replace = |line: String, (name, text): &(&str, &str)| line.replace(name, text);
            let line = &*defined.iter().fold(line.to_owned(), replace);
            if let Some(title) = line.strip_prefix("== ") {
                scenario = Scenario::start(api, number, title);
            } else if !line.is_empty() && !line.starts_with('#') {
                wrong.extend(expand(line).iter().filter_map(|line| {
                    let problem = scenario.run(line).err()?;
                    Some(format!("in {}: {line}\n    {problem}", api.version.label))
                }));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A request, with the words of what is expected.
struct Step<'a> {
    api: Api<'a>,
    prefer: Vec<&'a str>,
    is_anonymous: bool,
    method: &'a str,
    path: &'a str,
    headers: Vec<&'a str>,
    changes: Vec<&'a str>,
    expected: Vec<&'a str>,
}

impl Step<'_> {
    fn is_dry(&self) -> bool {
        self.prefer.contains(&"validate-only")
    }

    /// Whether the reply shows a nested record.
    fn shows_nested(&self) -> bool {
        let is_nested = |list: &&str| self.path.contains(*list);
        ["placements", "degrees"].iter().any(is_nested) && self.method != "DELETE"
    }

    /// Whether the reply shows a trainee.
    fn shows_trainee(&self) -> bool {
        let is_trainee = self.path.contains('$') || self.path.starts_with("/trainees");
        is_trainee && !self.shows_nested() && !self.shows_list()
    }

    fn shows_list(&self) -> bool {
        self.method == "GET" && self.path.split('?').next() == Some("/trainees")
    }
}

/// What one provider does.
struct Scenario<'a> {
    api: Api<'a>,
    applies: bool,
    /// The last trainee that was created.
    id: Option<String>,
    last: Option<Response>,
}

impl<'a> Scenario<'a> {
    fn start(api: &Api<'a>, number: usize, title: &str) -> Self {
        let token = api
            .register
            .add_provider((FIRST_UKPRN + number).to_string());
        let mut conditions = words(title).into_iter().filter(|word| is_condition(word));
        Self {
            api: api.register.api_with_token(api.version, token),
            applies: conditions.all(|condition| holds(api.version, condition)),
            id: None,
            last: None,
        }
    }

    /// Sends the request of a line. Fails if the reply is another one.
    fn run(&mut self, line: &str) -> Result<(), String> {
        let words = words(line);
        if let ["clock", timestamp] = words[..] {
            self.api.register.clock.set(timestamp);
            return Ok(());
        }
        let arrow = words.iter().position(|word| *word == "->");
        let (request, expected) = words.split_at(arrow.ok_or("no ->")?);
        let mut request = request.iter().copied().peekable();
        let mut applies = self.applies;
        while let Some(condition) = request.next_if(|word| is_condition(word)) {
            applies &= holds(self.api.version, condition);
        }
        if !applies {
            return Ok(());
        }
        let other = request.next_if(|word| word.starts_with('@'));
        let other = other.map(|label| version(&label[1..]));
        let is_option = |word: &&str| ["try", "strict", "anonymous"].contains(word);
        let options: Vec<&str> = std::iter::from_fn(|| request.next_if(is_option)).collect();
        let prefer = options.iter().filter_map(|option| match *option {
            "try" => Some("validate-only"),
            "strict" => Some("handling=strict"),
            _ => None,
        });
        let (method, path) = (request.next().ok_or("no method")?, request.next());
        let (headers, changes) = request.partition(|word| word.starts_with('^'));
        let step = Step {
            api: self.api.in_version(other.unwrap_or(self.api.version)),
            prefer: prefer.collect(),
            is_anonymous: options.contains(&"anonymous"),
            method,
            path: path.ok_or("no path")?,
            headers,
            changes,
            expected: self.expected(&expected[1..]),
        };
        if step.path.starts_with('$') && self.id.is_none() {
            return Err("no trainee was created".to_owned());
        }
        let is_part = |name: &str| step.path.contains(name);
        if is_part("/placements") {
            self.send::<Placement>(&step)
        } else if is_part("/degrees") {
            self.send::<Degree>(&step)
        } else if is_part("/withdraw") {
            self.send::<Withdrawal>(&step)
        } else if is_part("/defer") {
            self.send::<Deferral>(&step)
        } else if is_part("/recommend") {
            self.send::<Recommendation>(&step)
        } else {
            self.send::<Trainee>(&step)
        }
    }

    /// The words of the last expectation whose condition holds.
    fn expected<'w>(&self, words: &[&'w str]) -> Vec<&'w str> {
        let mut applying = words.split(|word| *word == "|").filter_map(|alternative| {
            let conditions = alternative.iter().take_while(|word| is_condition(word));
            let count = conditions.clone().count();
            let mut conditions = conditions;
            conditions
                .all(|condition| holds(self.api.version, condition))
                .then_some(&alternative[count..])
        });
        applying.next_back().unwrap_or_default().to_vec()
    }

    /// The path of a request, with identifiers.
    fn path(&self, api: &Api<'_>, path: &str) -> String {
        let Some(id) = &self.id else {
            return path.to_owned();
        };
        let mut list = "";
        let segments = path.split('/').map(|segment| {
            let found = match (list, segment) {
                (_, "$") => format!("trainees/{id}"),
                (_, "recommend") => recommendation(api.version).to_owned(),
                ("placements" | "degrees", number) if number.parse::<usize>().is_ok() => {
                    let (parts, key) = if list == "degrees" {
                        (F::degrees, "degree_id")
                    } else {
                        (F::placements, "placement_id")
                    };
                    let at = number.parse::<usize>().unwrap() - 1;
                    let shown = api.read(id);
                    shown.value(parts)[at][key].as_str().unwrap().to_owned()
                }
                (_, other) => other.to_owned(),
            };
            list = segment;
            found
        });
        let path = segments.collect::<Vec<_>>().join("/");
        format!("/{}", path.trim_start_matches('/'))
    }

    /// The request of a step.
    fn request<R: WireRecord>(&self, step: &Step<'_>) -> Request<'a> {
        let api = &step.api;
        let path = self.path(api, step.path);
        let own = self.api.in_version(api.version);
        let mut request = own.request(step.method, &path);
        if !step.prefer.is_empty() {
            request = request.header("Prefer", &step.prefer.join(", "));
        }
        if step.is_anonymous {
            request = request.without("Authorization");
        }
        if let Some(text) = step
            .changes
            .first()
            .and_then(|word| word.strip_prefix("raw:"))
        {
            request = request.bytes(repeat(&unquote(text)));
        } else if !["GET", "HEAD", "DELETE"].contains(&step.method) {
            request = request.json(self.body::<R>(step, &path));
        }
        for header in &step.headers {
            let (name, value) = header[1..].split_once(':').unwrap();
            let mut value = unquote(&repeat(value));
            if let Some(tag) = self.tag(api, &path).filter(|_| value.contains('{')) {
                let compressed = format!("{}-gzip\"", &tag[..tag.len() - 1]);
                value = value.replace("{tag}", &tag).replace("{gzip}", &compressed);
            }
            request = request.header(name, &value);
        }
        request
    }

    /// The body of the request of a step.
    fn body<R: WireRecord>(&self, step: &Step<'_>, path: &str) -> Value {
        let api = &step.api;
        let mut data = match (step.method, step.path) {
            ("POST", "/trainees") => data(api.example()),
            ("POST", "$/withdraw") => data(Body::withdrawal(api.version)),
            _ => Map::new(),
        };
        for word in &step.changes {
            if *word == "whole" {
                data = api.get(path).is(200).data().as_object().unwrap().clone();
            } else {
                change::<R>(api.version, &mut data, word);
            }
        }
        json!({ "data": data })
    }

    /// The entity tag of a path that can be read, or of the trainee.
    fn tag(&self, api: &Api<'_>, path: &str) -> Option<String> {
        let trainee = self.id.as_ref().map(|id| format!("/trainees/{id}"));
        let paths = [Some(path), trainee.as_deref()].into_iter().flatten();
        let mut replies = paths.map(|path| api.get(path));
        replies.find_map(|reply| reply.header("etag").map(str::to_owned))
    }

    fn send<R: WireRecord>(&mut self, step: &Step<'_>) -> Result<(), String> {
        let api = &step.api;
        if step.path == "/trainees" {
            // Each trainee is later than the one before.
            api.register.clock.tick();
        }
        let path = self.id.as_ref().map(|id| format!("/trainees/{id}"));
        let before = path.map(|path| api.get(&path).is(200));
        let reply = self.request::<R>(step).send();
        let places = Places::expected::<R>(step);
        let (status, words) = step.expected.split_first().ok_or("nothing is expected")?;
        let status = status.parse::<u16>().map_err(|error| error.to_string())?;
        if places.are_ignored && places.list.is_empty() {
            // The problems are about fields that the version does not have, or sets by itself.
            ensure(reply.status < 300, || reply.body.to_string())?;
            self.check_success::<R>(step, &[], &reply, before.as_ref())?;
            self.last = Some(reply);
            return Ok(());
        }
        ensure(reply.status == status, || {
            format!("status {}: {}", reply.status, reply.body)
        })?;
        let mut words = words.to_vec();
        words.retain(|word| !word.starts_with('^'));
        match status {
            200..300 => self.check_success::<R>(step, &words, &reply, before.as_ref())?,
            304 => {}
            401 => {
                let body = json!({ "error": "Unauthorized" });
                ensure(reply.body == body, || reply.body.to_string())?;
            }
            422 if words.first() == Some(&"UnprocessableEntity") => check_error(&words, &reply)?,
            422 if reply.body["errors"].is_object() => {
                check_by_name::<R>(api.version, &words, &reply)?;
            }
            422 => places.check(&reply)?,
            _ => check_error(&words, &reply)?,
        }
        for header in step.expected.iter().filter(|word| word.starts_with('^')) {
            let (name, value) = header[1..].split_once(':').unwrap();
            let found = reply.header(name).unwrap_or_default();
            ensure(found == unquote(&repeat(value)), || {
                format!("{name}: {found}")
            })?;
        }
        if status == 409 && step.path == "/trainees" {
            let existing = before.as_ref().map(|before| before.data().clone());
            let is_shown = *reply.data() == Value::from_iter(existing);
            ensure(is_shown, || format!("shows {}", reply.data()))?;
        }
        if step.is_dry() || reply.status >= 300 {
            let after = self.id.as_ref().map(|id| api.read(id).data);
            let is_unchanged = after.as_ref() == before.as_ref().map(Response::data);
            ensure(is_unchanged, || "the trainee has changed".to_owned())?;
        }
        self.last = Some(reply);
        Ok(())
    }

    fn check_success<R: WireRecord>(
        &mut self,
        step: &Step<'_>,
        words: &[&str],
        reply: &Response,
        before: Option<&Response>,
    ) -> Result<(), String> {
        // The heartbeat has no data, and HEAD no body.
        if reply.body.get("data").is_none() {
            return Ok(());
        }
        let trainee = step.shows_trainee().then(|| step.api.shown(reply));
        let mut warnings = reply.warnings();
        for word in words {
            if let Some(text) = Text::parse::<R>(step.api.version, word) {
                let found = warnings.iter().position(|warning| {
                    let warning = warning.trim_start_matches("299 - ").trim_matches('"');
                    text.matches(&warning.replace("\\\"", "\""))
                });
                let found = found.ok_or_else(|| format!("no {word} in {warnings:?}"))?;
                warnings.remove(found);
            } else {
                self.check_word::<R>(step, word, reply, before, trainee.as_ref())?;
            }
        }
        ensure(warnings.is_empty(), || format!("warnings {warnings:?}"))?;
        let is_replayed = reply.header("idempotent-replayed").is_some();
        ensure(is_replayed == words.contains(&"replayed"), || {
            "the reply is not from this request".to_owned()
        })?;
        if step.is_dry() {
            let applied = reply.header("preference-applied").unwrap_or_default();
            let is_applied = applied.contains("validate-only") && reply.header("etag").is_none();
            return ensure(is_applied, || "no dry run".to_owned());
        }
        if is_replayed || step.shows_list() {
            return Ok(());
        }
        if let Some(trainee) = trainee.as_ref().filter(|_| step.path == "/trainees") {
            self.id = Some(trainee.id().to_owned());
        }
        let shown = reply.data().get(0).unwrap_or(reply.data());
        let path = match &trainee {
            Some(trainee) => trainee.path(),
            None => self.nested_path(step, shown),
        };
        let read = step.api.get(&path).is(200);
        let is_stored = read.data() == shown && read.header("etag") == reply.header("etag");
        ensure(is_stored, || format!("{path} shows {}", read.data()))?;
        let is_known = before.is_some_and(|before| before.header("etag") == read.header("etag"));
        let is_same = before.is_some_and(|before| before.data() == read.data());
        ensure(is_known == is_same, || format!("the tag of {path}"))
    }

    /// Checks what a word says of a success, except warnings.
    fn check_word<R: WireRecord>(
        &self,
        step: &Step<'_>,
        word: &str,
        reply: &Response,
        before: Option<&Response>,
        trainee: Option<&Shown>,
    ) -> Result<(), String> {
        let data = reply.data();
        if word == "same" {
            let id = self.id.as_ref().ok_or("no trainee")?;
            let is_same = before.map(Response::data) == Some(&step.api.read(id).data);
            return ensure(is_same, || format!("changed to {data}"));
        }
        if word == "replayed" {
            let last = self.last.as_ref().ok_or("no reply before")?;
            let is_same = ["etag", "warning", "content-type", "link"]
                .iter()
                .all(|name| reply.headers.get(*name) == last.headers.get(*name));
            return ensure(is_same && reply.body == last.body, || data.to_string());
        }
        let (name, expected) = assignment(word).ok_or_else(|| format!("no word {word}"))?;
        if name == "changed" {
            let names = expected.as_str().unwrap().split(',');
            let expected: BTreeSet<F> = names
                .map(|name| find_field::<Trainee>(name).unwrap())
                .collect();
            let before = step.api.shown(before.ok_or("no trainee before")?);
            let changed = before.differences(trainee.unwrap());
            return ensure(changed == expected, || format!("changed: {changed:?}"));
        }
        let shown = match trainee {
            _ if name == "names" => {
                let records = data.as_array().unwrap().iter();
                let names = records.map(|record| record["last_name"].as_str().unwrap());
                Some(Value::from(names.collect::<Vec<_>>().join(",")))
            }
            _ if name == "meta" => Some(reply.body["meta"].clone()),
            Some(trainee) => shown_in_trainee(step.api.version, trainee, name),
            None => Some(shown_in_record::<R>(step.api.version, data, name)),
        };
        ensure(
            shown.as_ref().is_none_or(|shown| *shown == expected),
            || format!("{name} is {shown:?}"),
        )
    }

    /// The path of a nested record that a reply shows.
    fn nested_path(&self, step: &Step<'_>, record: &Value) -> String {
        let (list, key) = if step.path.contains("/degrees") {
            ("degrees", "degree_id")
        } else {
            ("placements", "placement_id")
        };
        let id = record[key].as_str().unwrap();
        format!("/trainees/{}/{list}/{id}", self.id.as_ref().unwrap())
    }
}

fn data(body: Body) -> Map<String, Value> {
    Value::from(body)["data"].as_object().unwrap().clone()
}

/// Fails with a message unless a condition holds.
fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
