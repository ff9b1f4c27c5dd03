//! Traces: which spans a request has, what stands in them, and to whose traces they belong.

mod spans;

use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::sql_types::Integer;
use diesel::{Connection as _, QueryableByName, RunQueryDsl as _};
use postgres_client::PostgresConnection;
use serde_json::json;
use server::operations::traces::{SampleRatio, Tracer};
use test_support::{Collector, Kind};

use super::support::{Body, Register, Request, Setup, newest};
use spans::Spans;

/// A trace of a caller, and its span there.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A register whose requests are traced.
struct Traced {
    register: Register,
    tracer: Tracer,
    collector: Collector,
}

impl Traced {
    fn start(ratio: &str) -> Self {
        let collector = Collector::start();
        let ratio: SampleRatio = ratio.parse().unwrap();
        let tracer = Tracer::start(collector.url().parse().unwrap(), ratio, "sandbox".to_owned()).unwrap();
        let register = Register::with(Setup { tracer: Some(tracer.clone()), ..Setup::default() });
        Self { register, tracer, collector }
    }

    /// A request that is known by this name.
    fn request(&self, id: &str, method: &str, path: &str) -> Request<'_> {
        self.register.api(newest()).request(method, path).header("X-Request-Id", id)
    }

    /// All spans until now; there will be no more.
    fn spans(&self) -> Spans {
        let all = async {
            // The writer reports a job behind its answer.
            self.register.store().drain().await.unwrap();
            self.tracer.stop(Duration::from_secs(60)).await;
        };
        actix_web::rt::System::new().block_on(all);
        Spans::received(&self.collector)
    }
}

fn is_sqlite() -> bool {
    Kind::of_this_run() == Kind::Sqlite
}

/// What a write that may share a transaction consists of.
const OF_A_WRITE: [&str; 3] = ["wait for writer", "write 1", "COMMIT"];

/// What a write with a key consists of on the database of this run.
fn of_a_write_with_a_key() -> &'static [&'static str] {
    if is_sqlite() { &OF_A_WRITE } else { &OF_A_WRITE[..2] }
}

#[test]
fn a_request_is_a_tree_of_what_was_done_for_it_and_holds_no_value() {
    let traced = Traced::start("1");
    let api = traced.register.api(newest());
    let trainee = api.create(api.example());
    let of_trainee = format!("/trainees/{}", trainee.id());
    let another = api.example().with_key("last_name", "Zqxcanary");
    traced.request("created", "POST", "/trainees").json(another).send().is(201);
    traced.request("read", "GET", &of_trainee).send().is(200);
    traced.request("listed", "GET", "/trainees?academic_cycle=2026").send().is(200);
    traced.request("refused", "POST", "/trainees").json(json!({ "data": { "sex": "Zqxcanary" } })).send().is(422);
    traced.request("unauthorized", "GET", &of_trainee).header("Authorization", "Bearer Zqxcanary").send().is(401);
    traced.request("nowhere", "GET", "/Zqxcanary").send().is(404);
    let spans = traced.spans();

    let version = newest().label.to_string();
    let created = spans.of_request("created");
    assert_eq!((created.name.as_str(), created.kind), (&*format!("POST /api/{version}/trainees"), 2));
    let expected = [
        "http.request.method",
        "http.response.status_code",
        "http.route",
        "register.api.version",
        "request.id",
        "url.scheme",
    ];
    assert_eq!(created.attributes(), expected);
    let facts = ["http.request.method", "http.response.status_code", "register.api.version", "url.scheme"];
    assert_eq!(facts.map(|name| created.get(name)), ["POST", "201", &version, "http"]);
    assert_eq!(spans.tree(created), OF_A_WRITE);

    let read = spans.of_request("read");
    assert_eq!(read.get("http.route"), format!("/api/{version}/trainees/{{trainee_id}}"));
    assert_eq!(spans.tree(read), if is_sqlite() { vec!["look_up 1"] } else { vec!["wait for pool", "look_up 1"] });
    assert_eq!(spans.tree(spans.of_request("listed")), ["wait for pool", "read 1"]);

    // What is refused has not failed: the status says it, and the span is no error.
    let refused = spans.of_request("refused");
    assert_eq!((refused.get("http.response.status_code"), refused.is_error), ("422", false));
    assert_eq!(spans.tree(refused), OF_A_WRITE);
    assert!(spans.children(spans.of_request("unauthorized")).is_empty());
    assert_eq!(spans.of_request("nowhere").name, "GET");

    // Each request has its own trace, and each span its own identifier.
    assert_ne!(created.trace, read.trace);
    let mut ids: Vec<_> = spans.0.iter().map(|span| &span.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), spans.0.len());

    let statements: Vec<_> = spans.0.iter().filter(|span| !span.get("db.query.text").is_empty()).collect();
    assert!(statements.iter().any(|span| span.name == "INSERT trainees"), "{statements:#?}");
    let database = if is_sqlite() { "sqlite" } else { "postgresql" };
    assert!(statements.iter().all(|span| span.get("db.system.name") == database));
    let commits = spans.0.iter().filter(|span| span.name == "COMMIT");
    assert!(commits.count() >= 2);
    for body in traced.collector.received() {
        let text = String::from_utf8(body).unwrap();
        for value in ["Zqxcanary", trainee.id(), "binds"] {
            assert!(!text.contains(value), "{value}: {text}");
        }
    }
}

#[test]
fn each_item_of_a_batch_is_a_span_with_its_own_job() {
    let traced = Traced::start("1");
    let api = traced.register.api(newest());
    let item = |key: &str, body: Body| json!({ "idempotency_key": key, "data": serde_json::Value::from(body)["data"] });
    let bad = api.example().with_key("sex", "Zqxcanary");
    let items = json!([item("one", api.example()), item("two", bad), { "data": {} }]);
    traced.request("batch", "POST", "/trainees/batch").json(items).send().is(200);
    let spans = traced.spans();
    let batch = spans.of_request("batch");
    let items: Vec<_> = spans.children(batch).into_iter().filter(|span| span.name == "item").collect();
    let mut statuses: Vec<_> = items.iter().map(|item| item.get("http.response.status_code")).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["201", "422", "422"]);
    let mut trees: Vec<_> = items.iter().map(|item| spans.tree(item)).collect();
    trees.sort();
    assert_eq!(trees[0], Vec::<String>::new(), "an item without a key has no job");
    for tree in &trees[1..] {
        assert_eq!(*tree, of_a_write_with_a_key());
    }
    assert!(items.iter().all(|item| item.trace == batch.trace));
}

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

/// The process of the PostgreSQL server that waits for a lock in this database.
fn waiting(connection: &mut PostgresConnection) -> i32 {
    let query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let found: Vec<Waiting> = diesel::sql_query(query).load(connection).unwrap();
        match &found[..] {
            [Waiting { pid }] => return *pid,
            _ => assert!(Instant::now() < deadline, "nobody waits"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_that_is_run_again_shows_both_attempts() {
    // On SQLite the storage has the test: there a job is run again when the clock is behind.
    if is_sqlite() {
        return;
    }
    let traced = Traced::start("1");
    let api = traced.register.api(newest());
    let trainee = api.create(api.example());
    let mut holder = PostgresConnection::establish(traced.register.database().url()).unwrap();
    holder.batch_execute("BEGIN; SELECT id FROM trainees FOR UPDATE").unwrap();
    thread::scope(|scope| {
        let change = scope.spawn(|| {
            let body = json!({ "data": { "first_names": "Other" } });
            traced.request("changed", "PATCH", &format!("/trainees/{}", trainee.id())).json(body).send()
        });
        let mut other = PostgresConnection::establish(traced.register.database().url()).unwrap();
        let process = waiting(&mut other);
        other.batch_execute(&format!("SELECT pg_terminate_backend({process})")).unwrap();
        holder.batch_execute("ROLLBACK").unwrap();
        change.join().unwrap().is(200);
    });
    let spans = traced.spans();
    let changed = spans.of_request("changed");
    let expected = ["wait for writer", "write 1 connection_lost", "wait for writer", "write 2"];
    assert_eq!(spans.tree(changed), expected);
    assert!(!changed.is_error);
}

#[test]
fn a_caller_names_its_trace_and_can_have_only_few_requests_sampled() {
    let none = Traced::start("0");
    let send = |traced: &Traced, id: &str, parent: &str| {
        traced.request(id, "GET", "/info").header("traceparent", parent).send().is(200);
    };
    none.request("own", "GET", "/info").send().is(200);
    send(&none, "left-out", &format!("00-{TRACE}-{CALLER}-00"));
    send(&none, "malformed", &format!("00-{TRACE}-{CALLER}-0g"));
    for number in 0..100 {
        // The identifier decides nothing, whatever it is.
        send(&none, &format!("sampled-{number}"), &format!("00-{:032x}-{CALLER}-01", number + 1));
    }
    send(&none, "last", &format!("00-{TRACE}-{CALLER}-00"));
    let spans = none.spans();
    let requests: Vec<_> = spans.0.iter().filter(|span| !span.get("request.id").is_empty()).collect();
    assert!((1..60).contains(&requests.len()), "{} were sampled", requests.len());
    let first = spans.of_request("sampled-0");
    assert_eq!((&*first.trace, first.parent.as_deref()), (&*format!("{:032x}", 1), Some(CALLER)));
    assert!(requests.iter().all(|span| span.get("request.id").starts_with("sampled-")), "{requests:#?}");

    // Where all are sampled, a caller can still leave its own out.
    let all = Traced::start("1");
    send(&all, "left-out", &format!("00-{TRACE}-{CALLER}-00"));
    send(&all, "malformed", &format!("00-{TRACE}-{CALLER}-0g"));
    let spans = all.spans();
    let malformed = spans.of_request("malformed");
    assert!(malformed.trace != TRACE && malformed.parent.is_none());
    assert!(spans.0.iter().all(|span| span.get("request.id") != "left-out"));
}
