//! Statements of PostgreSQL that are cancelled at random: no answer is contradicted by the rows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use adapter_kit::Endpoint;
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, QueryableByName, RunQueryDsl as _, sql_query, sql_types};
use postgres_client::PostgresConnection;
use serde_json::{Value, json};
use test_support::Kind;

use super::deployment::{Server, Site};
use super::http::{Caller, Reply, Request};
use super::size::size;
use super::version_requests::{Manner, Person, id};

/// Clients that write.
const CLIENTS: usize = 4;
/// Seconds of every build.
const SECONDS: usize = 8;
/// What the connections of the test itself are called.
const OBSERVER: &str = "observer";

/// Cancels all running statements every 13 ms, for the given number of seconds.
const CANCEL_SQL: &str = "
    CREATE FUNCTION pg_temp.cancel_statements(seconds double precision) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
        begun timestamptz := clock_timestamp();
        found bigint;
        cancelled bigint := 0;
    BEGIN
        WHILE clock_timestamp() < begun + make_interval(secs => seconds) LOOP
            PERFORM pg_stat_clear_snapshot();
            SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) INTO found FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND application_name <> 'observer';
            cancelled := cancelled + found;
            PERFORM pg_sleep(CASE WHEN found > 0 THEN 0.013 ELSE 0.001 END);
        END LOOP;
        RETURN cancelled;
    END
    $$";

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = sql_types::BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct Stored {
    #[diesel(sql_type = sql_types::Text)]
    record: String,
}

/// Whether a request was done, as its answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Refused,
    Unknown,
}

/// What one client has sent and seen.
#[derive(Default)]
struct Log {
    requests: usize,
    refused: usize,
    unknown: usize,
    /// The persons whose registration was answered, with the answer.
    registered: Vec<(String, Outcome, String)>,
    contradictions: Vec<String>,
}

impl Log {
    fn outcome(&mut self, request: &Request, reply: &Reply) -> Outcome {
        self.requests += 1;
        match reply.status {
            200..300 => Outcome::Done,
            503 if reply.body.contains("it is not known") => {
                self.unknown += 1;
                Outcome::Unknown
            }
            500 | 503 => {
                self.refused += 1;
                Outcome::Refused
            }
            _ => {
                self.contradictions.push(format!("{request:?}: {reply:?}"));
                Outcome::Refused
            }
        }
    }

    /// Compares what an answer says with whether the rows show the change.
    fn compare(&mut self, request: &Request, reply: &Reply, outcome: Outcome, is_done: bool) {
        let is_right = match outcome {
            Outcome::Done => is_done,
            Outcome::Refused => !is_done,
            Outcome::Unknown => true,
        };
        if !is_right {
            self.contradictions
                .push(format!("{request:?}: {reply:?}, done: {is_done}"));
        }
    }
}

fn observe(site: &Site) -> PostgresConnection {
    let mut connection = PostgresConnection::establish(&site.url()).unwrap();
    sql_query(format!("SET application_name = '{OBSERVER}'"))
        .execute(&mut connection)
        .unwrap();
    connection
}

/// Removes the school, so that the insert needs no read before it.
fn without_placements(mut request: Request) -> Request {
    let mut body: Value = serde_json::from_str(&request.body.take().unwrap()).unwrap();
    body["data"]
        .as_object_mut()
        .unwrap()
        .remove("placements_attributes")
        .unwrap();
    Request {
        body: Some(body.to_string()),
        ..request
    }
}

/// One client: it registers persons, then changes each and removes its degree.
struct Client<'a> {
    number: usize,
    caller: Caller,
    address: &'a str,
    manner: &'a Manner,
    rows: PostgresConnection,
    log: Log,
}

impl Client<'_> {
    fn record(&mut self, trainee: &str) -> Value {
        let stored = sql_query("SELECT record::text AS record FROM trainees WHERE trainee_id = $1")
            .bind::<sql_types::Text, _>(trainee)
            .get_result::<Stored>(&mut self.rows)
            .unwrap();
        serde_json::from_str(&stored.record).unwrap()
    }

    /// Sends a request that changes a trainee, and compares the answer with whether its record
    /// changed.
    fn change(&mut self, trainee: &str, request: &Request) {
        let before = self.record(trainee);
        let reply = self.caller.ask(self.address, request);
        let outcome = self.log.outcome(request, &reply);
        let is_done = self.record(trainee) != before;
        self.log.compare(request, &reply, outcome, is_done);
    }

    fn run(mut self, is_over: &AtomicBool) -> Log {
        for number in 0.. {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            let person = Person::new(&format!("client{}", self.number), number);
            let mut request = self.manner.create(&person);
            if number % 2 == 0 {
                request = without_placements(request);
            }
            if number % 3 == 0 {
                request = request.with("Idempotency-Key", person.email.clone());
            }
            let reply = self.caller.ask(self.address, &request);
            let outcome = self.log.outcome(&request, &reply);
            self.log
                .registered
                .push((person.last_name.clone(), outcome, format!("{reply:?}")));
            if outcome != Outcome::Done {
                continue;
            }
            let shown = reply.json()["data"].take();
            let trainee = id(&shown).to_owned();
            let body = json!({ "data": { "first_names": format!("Changed {number}") } });
            let path = self.manner.path(Endpoint::UpdateTrainee, &trainee, "");
            let request = Request::with_body("PATCH", path, &body);
            self.change(&trainee, &request);
            if let Some(degree) = shown["degrees"][0]["degree_id"].as_str() {
                let path = self.manner.path(Endpoint::DeleteDegree, &trainee, degree);
                self.change(&trainee, &Request::delete(path));
            }
        }
        self.log
    }
}

/// Cancels statements for some seconds; returns how many.
fn cancel_statements(site: &Site, seconds: usize) -> i64 {
    let mut connection = observe(site);
    connection.batch_execute(CANCEL_SQL).unwrap();
    let sql = format!("SELECT pg_temp.cancel_statements({seconds}) AS number");
    sql_query(sql)
        .get_result::<Count>(&mut connection)
        .unwrap()
        .number
}

#[test]
fn answers_agree_with_rows_while_statements_are_cancelled() {
    if Kind::from_environment() != Kind::Postgres {
        return;
    }
    let seconds = size("CANCEL_SECONDS", SECONDS);
    let site = Site::new();
    let mut server: Server = site.serve();
    let caller = Caller::new(&site.token);
    let (manners, learned) = Manner::learn_all(&caller, &server.address);
    let is_over = AtomicBool::new(false);
    let (cancelled, logs) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = Client {
                    number,
                    caller: Caller::new(&site.token),
                    address: &server.address,
                    manner: &manners[number % manners.len()],
                    rows: observe(&site),
                    log: Log::default(),
                };
                let is_over = &is_over;
                scope.spawn(move || client.run(is_over))
            })
            .collect();
        let cancelled = cancel_statements(&site, seconds);
        is_over.store(true, Ordering::Relaxed);
        (
            cancelled,
            clients
                .into_iter()
                .map(|client| client.join().unwrap())
                .collect::<Vec<_>>(),
        )
    });
    let records = sql_query("SELECT record::text AS record FROM trainees")
        .load::<Stored>(&mut observe(&site))
        .unwrap();
    let mut stored: HashMap<String, usize> = HashMap::new();
    for row in &records {
        let record: Value = serde_json::from_str(&row.record).unwrap();
        *stored
            .entry(record["last_name"].as_str().unwrap_or_default().to_owned())
            .or_default() += 1;
    }
    let mut contradictions: Vec<String> = logs
        .iter()
        .flat_map(|log| log.contradictions.clone())
        .collect();
    for (name, outcome, reply) in logs.iter().flat_map(|log| &log.registered) {
        let count = stored.get(name).copied().unwrap_or_default();
        let is_right = match outcome {
            Outcome::Done => count == 1,
            Outcome::Refused => count == 0,
            Outcome::Unknown => count <= 1,
        };
        if !is_right {
            contradictions.push(format!("{name} is stored {count} times: {reply}"));
        }
    }
    let sum = |of: fn(&Log) -> usize| logs.iter().map(of).sum::<usize>();
    eprintln!(
        "{seconds} s: {cancelled} cancellations, {} requests, {} refused, {} of unknown outcome, {} trainees, \
         {} contradictions",
        sum(|log| log.requests),
        sum(|log| log.refused),
        sum(|log| log.unknown),
        records.len() - learned,
        contradictions.len()
    );
    server.kill();
    assert!(contradictions.is_empty(), "{contradictions:#?}");
    assert!(cancelled > 0, "nothing was cancelled");
}
