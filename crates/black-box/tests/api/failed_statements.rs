//! Statements of PostgreSQL that fail, at every position of a request: the answer agrees with the
//! rows.
//!
//! A request that is answered with success is done exactly once. A request that is answered with an
//! error is not done, unless the answer says that the outcome is unknown. The next request works.

use std::thread;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use domain::TraineeField as F;
use postgres_client::PostgresConnection;
use serde_json::{Value, json};
use test_support::{Database, Fault, StatementProxy};

use crate::api::support::client::Raw;
use crate::api::support::register::BEGINNING;
use crate::api::support::versions::recommendation;
use crate::api::support::{Api, Body, Register, Setup, newest};

/// One SQLSTATE of each class, and a cut connection.
const FAULTS: [Fault; 11] = [
    Fault::Raise("57014"),
    Fault::CutBefore,
    Fault::Raise("08006"),
    Fault::Raise("23505"),
    Fault::Raise("25006"),
    Fault::Raise("40001"),
    Fault::CutAfter,
    Fault::Raise("53200"),
    Fault::Raise("55P03"),
    Fault::Raise("58030"),
    Fault::Raise("XX000"),
];
/// More statements than any request has.
const MOST_STATEMENTS: usize = 200;

/// What the tables hold.
#[derive(QueryableByName, Debug, Clone, Copy, PartialEq, Eq)]
struct Rows {
    #[diesel(sql_type = BigInt)]
    trainees: i64,
    #[diesel(sql_type = BigInt)]
    revisions: i64,
    #[diesel(sql_type = BigInt)]
    changes: i64,
}

impl Rows {
    fn plus(self, other: Self, times: i64) -> Self {
        Self {
            trainees: self.trainees + times * other.trainees,
            revisions: self.revisions + times * other.revisions,
            changes: self.changes + times * other.changes,
        }
    }
}

/// A request that writes.
#[derive(Clone)]
struct Write {
    method: &'static str,
    path: String,
    body: Value,
    key: Option<String>,
}

impl Write {
    fn new(method: &'static str, path: String, body: impl Into<Value>) -> Self {
        Self {
            method,
            path,
            body: body.into(),
            key: None,
        }
    }

    fn send(&self, api: &Api<'_>) -> Raw {
        let request = api.request(self.method, &self.path);
        let request = if self.body.is_null() {
            request
        } else {
            request.json(self.body.clone())
        };
        match &self.key {
            Some(key) => request.header("Idempotency-Key", key).raw(),
            None => request.raw(),
        }
    }
}

/// Makes a request of a kind, and what it changes; the number is another one each time.
type Kind = fn(&Api<'_>, usize) -> Write;

/// How often a request was done, as its answer says: at least and at most. `None` for an answer
/// that no fault explains.
fn times_done(raw: &Raw) -> Option<(i64, i64)> {
    let body: Value = serde_json::from_slice(&raw.body).unwrap();
    let results = body["data"]
        .as_array()
        .filter(|results| results.iter().all(|result| result["status"].is_u64()));
    let Some(results) = results.filter(|results| !results.is_empty()) else {
        return times(raw.status, &body);
    };
    results.iter().try_fold((0, 0), |sum, result| {
        let one = times(result["status"].as_u64().unwrap() as u16, result)?;
        Some((sum.0 + one.0, sum.1 + one.1))
    })
}

fn times(status: u16, body: &Value) -> Option<(i64, i64)> {
    match status {
        200..300 => Some((1, 1)),
        503 if body.to_string().contains("it is not known") => Some((0, 1)),
        500 | 503 => Some((0, 0)),
        _ => None,
    }
}

/// A register behind a proxy that fails statements.
struct Faulty<'a> {
    api: Api<'a>,
    proxy: &'a StatementProxy,
    direct: PostgresConnection,
    attempts: usize,
    /// Requests without a fault before each one that has one.
    warm_up: usize,
}

impl<'a> Faulty<'a> {
    fn try_new(register: &'a Register) -> Option<Self> {
        let direct = PostgresConnection::establish(register.database().url()).ok()?;
        Some(Self {
            api: register.api(newest()),
            proxy: register.proxy()?,
            direct,
            attempts: 0,
            warm_up: 2,
        })
    }

    /// Another request of a kind. The clock moves on, so that no change waits for its date.
    fn prepare(&mut self, kind: Kind, has_key: bool) -> Write {
        self.attempts += 1;
        let moment: DateTime<Utc> = BEGINNING.parse().unwrap();
        let moment = moment + TimeDelta::milliseconds(100 * self.attempts as i64);
        self.api
            .register
            .clock
            .set(&moment.to_rfc3339_opts(SecondsFormat::Millis, true));
        let write = kind(&self.api, self.attempts);
        Write {
            key: has_key.then(|| format!("key-{}", self.attempts)),
            ..write
        }
    }

    fn rows(&mut self) -> Rows {
        let sql = "SELECT count(*) AS trainees, coalesce(sum(revision), 0)::bigint AS revisions, \
                   (SELECT count(*) FROM changes) AS changes FROM trainees";
        diesel::sql_query(sql).get_result(&mut self.direct).unwrap()
    }

    /// What a request of a kind changes.
    fn effect(&mut self, kind: Kind) -> Rows {
        let write = self.prepare(kind, false);
        let before = self.rows();
        let raw = write.send(&self.api);
        assert!(
            (200..300).contains(&raw.status),
            "{}: {}",
            raw.status,
            String::from_utf8_lossy(&raw.body)
        );
        let (_, count) = times_done(&raw).unwrap();
        let after = self.rows();
        assert_ne!(after, before);
        let effect = after.plus(before, -1);
        Rows {
            trainees: effect.trainees / count,
            revisions: effect.revisions / count,
            changes: effect.changes / count,
        }
    }

    /// Sends requests of a kind, each with a fault at another position.
    fn fail_each_statement(
        &mut self,
        kind: Kind,
        has_key: bool,
        faults: impl Fn(usize) -> Vec<Fault>,
    ) {
        let effect = self.effect(kind);
        for position in 0..MOST_STATEMENTS {
            let mut has_failed = false;
            for fault in faults(position) {
                has_failed |= self.fail_one(kind, has_key, effect, position, fault);
            }
            if !has_failed {
                assert!(position > 2, "{position} statements");
                return;
            }
        }
        panic!("a request has more than {MOST_STATEMENTS} statements");
    }

    /// Whether there was a statement at the position.
    fn fail_one(
        &mut self,
        kind: Kind,
        has_key: bool,
        effect: Rows,
        position: usize,
        fault: Fault,
    ) -> bool {
        // The fault before may have ended a connection. Once a request is known, its statements are
        // prepared and sent together.
        for _ in 0..self.warm_up {
            assert!((200..300).contains(&self.prepare(kind, has_key).send(&self.api).status));
        }
        let write = self.prepare(kind, has_key);
        let before = self.rows();
        self.proxy.fail(position, fault);
        let raw = write.send(&self.api);
        let failed = self.proxy.recover();
        let what = format!(
            "{} {} {}, {fault:?} at {position} ({failed:?}): {} {}",
            write.method,
            write.path,
            write.key.as_deref().unwrap_or_default(),
            raw.status,
            String::from_utf8_lossy(&raw.body)
        );
        let (least, most) = times_done(&raw).unwrap_or_else(|| panic!("{what}"));
        let after = self.rows();
        let is_as_answered = (least..=most).any(|times| after == before.plus(effect, times));
        assert!(is_as_answered, "{what}\n{before:?} became {after:?}");
        assert_eq!(self.api.get("/account").status, 200, "{what}");
        if least == 0 && (write.key.is_some() || after == before) {
            let again = write.send(&self.api);
            assert!(
                (200..300).contains(&again.status),
                "{what}\nagain: {} {:?}",
                again.status,
                times_done(&again)
            );
            let (_, all) = times_done(&again).unwrap();
            assert_eq!(self.rows(), before.plus(effect, all), "{what}\nagain");
        }
        failed.is_some()
    }

    /// Sends requests at the same time, with a fault at each position of all their statements.
    fn fail_each_statement_of_neighbours(
        &mut self,
        kinds: &[Kind],
        faults: impl Fn(usize) -> Vec<Fault>,
    ) {
        let effects: Vec<_> = kinds.iter().map(|kind| self.effect(*kind)).collect();
        for position in 0..MOST_STATEMENTS {
            let mut has_failed = false;
            for fault in faults(position) {
                let writes: Vec<_> = kinds
                    .iter()
                    .map(|kind| self.prepare(*kind, false))
                    .collect();
                let before = self.rows();
                self.proxy.hold();
                self.proxy.fail(position, fault);
                let (api, proxy) = (&self.api, self.proxy);
                let raws: Vec<_> = thread::scope(|scope| {
                    let sent: Vec<_> = writes
                        .iter()
                        .map(|write| scope.spawn(|| write.send(api)))
                        .collect();
                    // The first of them leads a group, and the others wait for the next one.
                    thread::sleep(Duration::from_millis(15));
                    proxy.release();
                    sent.into_iter().map(|sent| sent.join().unwrap()).collect()
                });
                let failed = self.proxy.recover();
                let what: Vec<_> = writes
                    .iter()
                    .zip(&raws)
                    .map(|(write, raw)| {
                        format!(
                            "{} {}: {} {}",
                            write.method,
                            write.path,
                            raw.status,
                            String::from_utf8_lossy(&raw.body)
                        )
                    })
                    .collect();
                let after = self.rows();
                let context = format!("{fault:?} at {position} ({failed:?}): {what:#?}");
                let mut possible = vec![before];
                for (effect, raw) in effects.iter().zip(&raws) {
                    let (least, most) = times_done(raw).unwrap_or_else(|| panic!("{context}"));
                    let with = |rows: &Rows| {
                        (least..=most)
                            .map(|times| rows.plus(*effect, times))
                            .collect::<Vec<_>>()
                    };
                    possible = possible.iter().flat_map(with).collect();
                }
                assert!(
                    possible.contains(&after),
                    "{context}\n{before:?} became {after:?}"
                );
                assert_eq!(self.api.get("/account").status, 200, "{context}");
                has_failed |= failed.is_some();
            }
            if !has_failed {
                return;
            }
        }
        panic!("the requests have more than {MOST_STATEMENTS} statements");
    }
}

/// A trainee of the number, as a body.
fn person(api: &Api<'_>, number: usize) -> Body {
    let letters: String = number
        .to_string()
        .bytes()
        .map(|digit| char::from(digit - b'0' + b'a'))
        .collect();
    api.example()
        .with(F::last_name, format!("Ash{letters}"))
        .with(F::email, format!("a{number}@example.com"))
}

fn register_trainee(api: &Api<'_>, number: usize) -> Write {
    Write::new("POST", "/trainees".into(), person(api, number))
}

/// A registration that names no school, so that nothing has to be read before the trainee is
/// inserted.
fn register_without_schools(api: &Api<'_>, number: usize) -> Write {
    let mut body = Value::from(person(api, number));
    body["data"]
        .as_object_mut()
        .unwrap()
        .remove("placements_attributes")
        .unwrap();
    Write::new("POST", "/trainees".into(), body)
}

fn change_trainee(api: &Api<'_>, number: usize) -> Write {
    let created = api.create(person(api, number));
    Write::new(
        "PATCH",
        created.path(),
        Body::new(api.version).with(F::first_names, "Changed"),
    )
}

/// A path below that of a new trainee, and the identifier of the first record in its list.
fn part(api: &Api<'_>, number: usize, list: &str, id: &str) -> String {
    let path = format!("{}/{list}", api.create(person(api, number)).path());
    let listed = api.get(&path).is(200);
    format!("{path}/{}", listed.data()[0][id].as_str().unwrap())
}

fn add_placement(api: &Api<'_>, number: usize) -> Write {
    let path = format!("{}/placements", api.create(person(api, number)).path());
    Write::new(
        "POST",
        path,
        json!({ "data": { "urn": "990002", "name": "Second school" } }),
    )
}

fn change_placement(api: &Api<'_>, number: usize) -> Write {
    let path = part(api, number, "placements", "placement_id");
    Write::new(
        "PATCH",
        path,
        json!({ "data": { "name": "Another school" } }),
    )
}

fn remove_placement(api: &Api<'_>, number: usize) -> Write {
    Write::new(
        "DELETE",
        part(api, number, "placements", "placement_id"),
        Value::Null,
    )
}

fn add_degree(api: &Api<'_>, number: usize) -> Write {
    let degree = Value::from(api.example())["data"]["degrees_attributes"][0].clone();
    let path = format!(
        "{}/degrees",
        api.create_without_degrees(person(api, number)).path()
    );
    Write::new("POST", path, json!({ "data": degree }))
}

fn change_degree(api: &Api<'_>, number: usize) -> Write {
    let path = part(api, number, "degrees", "degree_id");
    Write::new(
        "PATCH",
        path,
        json!({ "data": { "graduation_year": "2020" } }),
    )
}

fn remove_degree(api: &Api<'_>, number: usize) -> Write {
    Write::new(
        "DELETE",
        part(api, number, "degrees", "degree_id"),
        Value::Null,
    )
}

fn defer(api: &Api<'_>, number: usize) -> Write {
    let path = format!("{}/defer", api.create(person(api, number)).path());
    Write::new(
        "POST",
        path,
        json!({ "data": { "defer_date": "2026-10-02" } }),
    )
}

fn withdraw(api: &Api<'_>, number: usize) -> Write {
    let path = format!("{}/withdraw", api.create(person(api, number)).path());
    Write::new("POST", path, Body::withdrawal(api.version))
}

fn recommend(api: &Api<'_>, number: usize) -> Write {
    let Write {
        path: placements,
        body,
        method,
        ..
    } = add_placement(api, number);
    api.send(method, &placements, body).is(201);
    let path = placements.replace("placements", recommendation(api.version));
    Write::new(
        "POST",
        path,
        json!({ "data": { "qts_standards_met_date": "2026-10-01" } }),
    )
}

fn issue_trn(api: &Api<'_>, number: usize) -> Write {
    let created = api.create(person(api, number));
    Write::new(
        "POST",
        format!("/sandbox/trainees/{}/advance", created.id()),
        Value::Null,
    )
}

fn reinstate(api: &Api<'_>, number: usize) -> Write {
    let deferral = defer(api, number);
    assert_eq!(deferral.send(api).status, 200);
    let id = deferral.path.split('/').nth(2).unwrap();
    Write::new(
        "POST",
        format!("/sandbox/trainees/{id}/advance"),
        Value::Null,
    )
}

fn award(api: &Api<'_>, number: usize) -> Write {
    let recommendation = recommend(api, number);
    let id = recommendation.path.split('/').nth(2).unwrap().to_owned();
    assert_eq!(recommendation.send(api).status, 202);
    Write::new(
        "POST",
        format!("/sandbox/trainees/{id}/advance"),
        Value::Null,
    )
}

fn reset(api: &Api<'_>, number: usize) -> Write {
    let write = Write::new("POST", "/sandbox/reset".into(), Value::Null);
    assert_eq!(write.send(api).status, 200);
    api.create(person(api, number));
    write
}

fn register_several(api: &Api<'_>, number: usize) -> Write {
    let item = |at: usize| {
        let mut item = Value::from(person(api, 3 * number + at));
        item["idempotency_key"] = format!("item-{number}-{at}").into();
        item
    };
    Write::new(
        "POST",
        "/trainees/batch".into(),
        (1_000_000..1_000_003).map(item).collect::<Value>(),
    )
}

/// A register on PostgreSQL behind a proxy.
fn register(proxy: fn(&Database) -> Option<StatementProxy>) -> Register {
    Register::with_setup(Setup {
        proxy,
        ..Setup::default()
    })
}

/// One of the faults, another one at each position; all of them at the first two. BEGIN is one of
/// these, behind the COMMIT of a request before.
fn some(position: usize) -> Vec<Fault> {
    if position < 2 {
        FAULTS.to_vec()
    } else {
        vec![FAULTS[position % FAULTS.len()]]
    }
}

fn all(_: usize) -> Vec<Fault> {
    FAULTS.to_vec()
}

/// Registering and changing trainees, and removing a part of one, with and without keys.
fn fail_main_writes(
    proxy: fn(&Database) -> Option<StatementProxy>,
    faults: fn(usize) -> Vec<Fault>,
) {
    let register = register(proxy);
    let Some(mut faulty) = Faulty::try_new(&register) else {
        return;
    };
    for kind in [
        register_without_schools,
        register_trainee,
        change_trainee,
        remove_degree,
    ] {
        faulty.fail_each_statement(kind, false, faults);
    }
    // A key means something for POST alone.
    for kind in [register_without_schools, register_trainee] {
        faulty.fail_each_statement(kind, true, faults);
    }
}

fn fail_grouped_writes(
    proxy: fn(&Database) -> Option<StatementProxy>,
    faults: fn(usize) -> Vec<Fault>,
) {
    let register = register(proxy);
    let Some(mut faulty) = Faulty::try_new(&register) else {
        return;
    };
    let kinds = [
        register_without_schools,
        register_without_schools,
        register_trainee,
        change_trainee,
        remove_degree,
    ];
    faulty.fail_each_statement_of_neighbours(&kinds, faults);
}

fn fail_other_writes(faults: fn(usize) -> Vec<Fault>) {
    let register = register(StatementProxy::before);
    let Some(mut faulty) = Faulty::try_new(&register) else {
        return;
    };
    faulty.warm_up = 1;
    let kinds: [Kind; 12] = [
        add_placement,
        change_placement,
        remove_placement,
        add_degree,
        change_degree,
        defer,
        withdraw,
        recommend,
        issue_trn,
        reinstate,
        award,
        register_several,
    ];
    for kind in kinds {
        faulty.fail_each_statement(kind, false, faults);
    }
    // It changes all trainees.
    let register = self::register(StatementProxy::before);
    if let Some(mut faulty) = Faulty::try_new(&register) {
        faulty.fail_each_statement(reset, false, faults);
    }
}

#[test]
fn answers_agree_with_rows_whichever_statement_fails() {
    fail_main_writes(StatementProxy::before, some);
}

#[test]
fn answers_agree_with_rows_whichever_statement_of_a_group_fails() {
    fail_grouped_writes(StatementProxy::before, some);
}

#[test]
fn answers_agree_with_rows_whichever_statement_fails_behind_a_pooler() {
    fail_main_writes(StatementProxy::as_pooler, some);
    fail_grouped_writes(StatementProxy::as_pooler, some);
}

#[test]
fn answers_of_other_writes_agree_with_rows_whichever_statement_fails() {
    fail_other_writes(|position| vec![FAULTS[position % FAULTS.len()]]);
}

/// Every fault at every position.
mod every_fault {
    use super::*;

    #[test]
    fn answers_agree_with_rows() {
        fail_main_writes(StatementProxy::before, all);
        fail_grouped_writes(StatementProxy::before, all);
    }

    #[test]
    fn answers_agree_with_rows_behind_a_pooler() {
        fail_main_writes(StatementProxy::as_pooler, all);
        fail_grouped_writes(StatementProxy::as_pooler, all);
    }

    #[test]
    fn answers_of_other_writes_agree_with_rows() {
        fail_other_writes(all);
    }
}
