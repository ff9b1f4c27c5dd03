//! A long transaction in the register's PostgreSQL database: changes are shown late, but they are
//! shown.

use std::thread;
use std::time::{Duration, Instant};

use adapter_kit::Endpoint;
use diesel::connection::SimpleConnection as _;
use postgres_client::{Address, Node, PostgresConnection, Session};
use serde_json::{Value, json};
use test_support::{Kind, Tool, has_tools};

use super::super::deployment::{SERVE, Server, Site};
use super::super::http::{Caller, Request};
use super::super::version_requests::{Manner, Person, id};

/// How long the transaction stays open, and when trainees change during it, in seconds.
const OPEN: u64 = 60;
const CHANGES: [u64; 4] = [0, 8, 16, 27];
/// How late a change may be shown. A second is for the client that looks.
const MOST_DELAY: Duration = Duration::from_secs(31);
/// How soon a change is shown when no transaction is open.
const SOON: Duration = Duration::from_secs(5);
/// How long a transaction that changes a trainee can be committed.
const TIME_TO_COMMIT: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(100);

fn connect(site: &Site) -> PostgresConnection {
    let address: Address = site.url().parse().unwrap();
    PostgresConnection::connect(&address, &Session::default(), Node::Writable).unwrap()
}

/// A transaction that changes nothing of the register and stays open.
pub(in super::super) struct OpenTransaction(PostgresConnection);

impl OpenTransaction {
    pub(in super::super) fn begin(site: &Site) -> Self {
        let mut connection = connect(site);
        connection
            .batch_execute("CREATE TABLE elsewhere (word TEXT)")
            .unwrap();
        connection
            .batch_execute("BEGIN; INSERT INTO elsewhere VALUES ('kept')")
            .unwrap();
        Self(connection)
    }

    pub(in super::super) fn commit(mut self) {
        self.0.batch_execute("COMMIT").unwrap();
    }
}

/// A transaction that has changed a trainee and is open.
fn begin_to_change(site: &Site, trainee: &str) -> PostgresConnection {
    let mut connection = connect(site);
    let update = format!(
        "BEGIN; UPDATE trainees SET revision = revision + 1 WHERE trainee_id = '{trainee}'"
    );
    connection.batch_execute(&update).unwrap();
    connection
}

/// A client that looks for changes.
struct Reader<'a> {
    caller: &'a Caller,
    server: &'a Server,
    path: String,
    limit: usize,
    after: Option<String>,
}

impl Reader<'_> {
    fn request(&mut self) -> Vec<Value> {
        let after = self
            .after
            .as_ref()
            .map_or_else(String::new, |after| format!("&after={after}"));
        let path = format!("{}?limit={}{after}", self.path, self.limit);
        let reply = self.caller.ask(&self.server.address, &Request::get(path));
        assert_eq!(reply.status, 200, "{reply:?}");
        let mut body = reply.json();
        self.after = Some(body["meta"]["after"].as_str().unwrap().to_owned());
        let Value::Array(changes) = body["data"].take() else {
            panic!("no changes: {reply:?}")
        };
        changes
    }

    /// Looks for a change with these middle names until it is shown.
    fn wait_for(&mut self, names: &str) {
        while !self
            .request()
            .iter()
            .any(|change| change["trainee"]["middle_names"] == names)
        {
            thread::sleep(PAUSE);
        }
    }
}

/// The metric of the delay, in seconds.
fn delay(server: &Server) -> f64 {
    let metrics = Caller::new("").ask(server.operator.as_ref().unwrap(), &Request::get("/metrics"));
    let lines = metrics
        .body
        .lines()
        .find_map(|line| line.strip_prefix("register_changes_delay_seconds "));
    lines
        .unwrap_or_else(|| panic!("no metric: {metrics:?}"))
        .parse()
        .unwrap()
}

#[test]
fn open_transaction_delays_changes_by_at_most_30_seconds() {
    if Kind::from_environment() != Kind::Postgres || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    // A transaction in any database of the server would hold up the tests beside this one.
    let site = Site::on_own_cluster();
    let mut command = site.command(&[], &SERVE);
    command.env("REGISTER_OPERATOR_LISTEN", "127.0.0.1:0");
    let mut server = Server::start(command);
    let caller = Caller::new(&site.token);
    let (manners, _) = Manner::learn_all(&caller, &server.address);
    let manner = manners.last().unwrap();
    let trainees: Vec<String> = (0..=CHANGES.len())
        .map(|number| {
            let reply = caller.ask(
                &server.address,
                &manner.create(&Person::new("Open", number)),
            );
            id(&reply.json()["data"]).to_owned()
        })
        .collect();
    let change = |at: usize, names: &str| {
        let path = manner.path(Endpoint::UpdateTrainee, &trainees[at], "");
        let body = json!({ "data": { "middle_names": names } });
        let reply = caller.ask(&server.address, &Request::with_body("PATCH", path, &body));
        assert_eq!(reply.status, 200, "{reply:?}");
        Instant::now()
    };
    let path = manner.path(Endpoint::ListChanges, "", "");
    let mut reader = Reader {
        caller: &caller,
        server: &server,
        path,
        limit: 500,
        after: None,
    };
    let changed = change(0, "Before");
    reader.wait_for("Before");
    assert!(changed.elapsed() < SOON, "{:?}", changed.elapsed());
    assert!(delay(&server) == 0.0, "{}", delay(&server));

    let idle = OpenTransaction::begin(&site);
    let mut late = Some(begin_to_change(&site, trainees.last().unwrap()));
    let begun = Instant::now();

    let (mut pending, mut shown, mut longest) = (Vec::new(), Vec::new(), 0.0_f64);
    let mut coming = CHANGES.iter().enumerate().peekable();
    while begun.elapsed() < Duration::from_secs(OPEN) {
        if let Some((at, _)) =
            coming.next_if(|(_, second)| begun.elapsed() >= Duration::from_secs(**second))
        {
            let names = Person::new("Names", at).last_name;
            pending.push((change(at, &names), names));
        }
        if begun.elapsed() > TIME_TO_COMMIT + PAUSE
            && let Some(mut late) = late.take()
        {
            let refused = late.batch_execute("COMMIT").unwrap_err().to_string();
            assert!(
                refused.contains("must be committed within 15 seconds"),
                "{refused}"
            );
        }
        for change in reader.request() {
            let is_shown =
                |(_, names): &(Instant, String)| change["trainee"]["middle_names"] == **names;
            shown.extend(
                pending
                    .extract_if(.., |one| is_shown(one))
                    .map(|(changed, _)| changed.elapsed()),
            );
        }
        longest = longest.max(delay(&server));
        let overdue: Vec<_> = pending
            .iter()
            .filter(|(changed, _)| changed.elapsed() > MOST_DELAY)
            .collect();
        assert!(overdue.is_empty(), "not shown: {overdue:?}");
        thread::sleep(PAUSE);
    }
    eprintln!(
        "a transaction open for {OPEN} s: changes were shown after {shown:.1?}, and the metric rose to {longest} s"
    );
    assert_eq!(shown.len(), CHANGES.len());
    assert!(shown.iter().all(|delay| *delay <= MOST_DELAY));
    assert!(longest > 0.0);

    // It changed no trainee, so it can be committed.
    idle.commit();
    let changed = change(0, "Afterwards");
    reader.wait_for("Afterwards");
    assert!(changed.elapsed() < SOON, "{:?}", changed.elapsed());
    server.stop();
}

#[test]
fn a_change_that_is_committed_late_is_not_missed() {
    if Kind::from_environment() != Kind::Postgres {
        return;
    }
    let site = Site::new();
    let mut server = site.serve();
    let caller = Caller::new(&site.token);
    let (manners, _) = Manner::learn_all(&caller, &server.address);
    let manner = manners.last().unwrap();
    let created = caller
        .ask(&server.address, &manner.create_many("late", 10))
        .json()["data"]
        .take();
    let trainees: Vec<&str> = created
        .as_array()
        .unwrap()
        .iter()
        .map(|result| id(&result["data"]))
        .collect();
    let path = manner.path(Endpoint::ListChanges, "", "");
    let reader = |limit| Reader {
        caller: &caller,
        server: &server,
        path: path.clone(),
        limit,
        after: None,
    };
    let is_about = |change: &Value, trainee: &str| id(change) == trainee;
    for round in 0..3 {
        let names = |number: usize| Person::new("Late", 10 * round + number).last_name;
        let change = |trainee: &str, names: &str| {
            let path = manner.path(Endpoint::UpdateTrainee, trainee, "");
            let body = json!({ "data": { "middle_names": names } });
            assert_eq!(
                caller
                    .ask(&server.address, &Request::with_body("PATCH", path, &body))
                    .status,
                200
            );
        };
        // One has a copy, one has begun a copy, and two begin one while the transaction is open.
        let (mut up_to_date, mut begun) = (reader(500), reader(3));
        change(trainees[0], &names(0));
        up_to_date.wait_for(&names(0));
        begun.request();
        let mut late = begin_to_change(&site, trainees[round + 1]);
        change(trainees[0], &names(1));
        change(trainees[9], &names(1));
        let (mut waiting, mut begun_during) = (reader(500), reader(4));
        waiting.request();
        begun_during.request();
        assert_eq!(
            up_to_date.request(),
            [Value::Null; 0],
            "a change was shown before an older one"
        );
        change(trainees[8], &names(2));
        late.batch_execute("COMMIT").unwrap();
        for reader in [&mut up_to_date, &mut begun, &mut waiting, &mut begun_during] {
            let begun = Instant::now();
            let mut seen = Vec::new();
            while !seen
                .iter()
                .any(|one: &Value| is_about(one, trainees[round + 1]))
                || !seen
                    .iter()
                    .any(|one| one["trainee"]["middle_names"] == names(2))
            {
                assert!(
                    begun.elapsed() < MOST_DELAY,
                    "limit={}: a change is missed: {seen:?}",
                    reader.limit
                );
                seen.extend(reader.request());
            }
        }
    }
    server.stop();
}
