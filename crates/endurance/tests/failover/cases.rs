//! The faults, each on a machine of its own.

use std::time::Duration;

use test_support::{Process, Tool};

use super::balancer::Balancer;
use super::machine::{Case, Form, Host, Machine, on_own_machines, run};
use super::patroni::{Cluster, Commits};
use super::pooler::{Mode, Pooler};
use super::postgres::{self, Postgres, REGISTER, SUPERUSER, WATCH, psql, sql, url};
use super::scenario::{Breaking, Scenario, wait};
use super::site::Site;
use super::size::in_full;
use super::verdict::Reads;

const CASES: [Case; 12] = [
    Case::new("frozen primary", Form::Short, frozen_primary),
    Case::new("killed primary", Form::FullOnly, killed_primary),
    Case::new("read-only node", Form::Short, read_only_node),
    Case::new("standby away", Form::FullOnly, standby_away),
    Case::new("refused connections", Form::FullOnly, refused_connections),
    Case::new("dead first host", Form::FullOnly, dead_first_host),
    Case::new("pooler by session", Form::FullOnly, pooler_by_session),
    Case::new(
        "pooler by transaction",
        Form::FullOnly,
        pooler_by_transaction,
    ),
    Case::new("German messages", Form::FullOnly, german_messages),
    Case::new("statement timeout", Form::FullOnly, statement_timeout),
    Case::new("full disk", Form::FullOnly, full_disk),
    Case::new("too few connections", Form::FullOnly, too_few_connections),
];

#[test]
fn each_fault_loses_nothing_acknowledged() {
    on_own_machines(
        "failover::cases::each_fault_loses_nothing_acknowledged",
        &CASES,
    );
}

/// Seconds of the standby's absence.
const AWAY: u64 = 30;
/// Half of them write: more than both servers have connections.
const MANY_CLIENTS: usize = 80;
/// Clients at a time when every connection is refused.
const CLIENTS_WITHOUT_DATABASE: usize = 300;

/// SQLSTATEs that must occur; otherwise a case shows nothing.
const LOCK_TIMEOUT: &str = "55P03";
const DEADLOCK: &str = "40P01";
const CANCELLED: &str = "57014";
const DISK_FULL: &str = "53100";
const TOO_MANY_CONNECTIONS: &str = "53300";

const GERMAN: &str = "de_DE";
const LOCKED_TRAINEES: &str = "LOCK TABLE trainees IN SHARE ROW EXCLUSIVE MODE; SELECT pg_sleep";

fn frozen_primary(machine: &Machine) -> Vec<String> {
    // Once thawed, the old primary still believes that it is the primary.
    replace_primary(
        machine,
        "frozen primary",
        |cluster, node| cluster.freeze(node),
        |cluster, node| cluster.thaw(node),
    )
}

fn killed_primary(machine: &Machine) -> Vec<String> {
    replace_primary(
        machine,
        "killed primary",
        |cluster, node| cluster.kill(node),
        |_, _| {},
    )
}

fn replace_primary(
    machine: &Machine,
    name: &str,
    take_away: impl FnOnce(&Cluster<'_>, usize),
    bring_back: impl FnOnce(&Cluster<'_>, usize),
) -> Vec<String> {
    let cluster = Cluster::start(machine, Commits::GoOn);
    let primary = cluster.primary();
    let url = cluster.url(&[primary, 1 - primary], "connect_timeout=2");
    // One server knows both nodes, the other one a balancer before them.
    let before_postgres = Balancer::before_postgres(machine);
    let address = std::slice::from_ref(&before_postgres.address);
    let balanced = postgres::url(address, "connect_timeout=2");
    let site = Site::start(machine, &url, [&url, &balanced]);
    let scenario = Scenario {
        nodes: &[0, 1],
        records_at: &|| 1 - primary,
        ..Scenario::over_one_node(&site, name)
    };
    let faults = scenario.run(|_| {
        take_away(&cluster, primary);
        let promoted = cluster.wait_for_primary(1 - primary);
        eprintln!("the standby is the primary after {promoted:.1?}");
        wait(6);
        bring_back(&cluster, primary);
    });
    if faults.iter().any(|fault| fault.starts_with("lost")) {
        eprintln!("{}", cluster.logs());
    }
    faults
}

/// A node that can only be read: first among several, an old primary that came back, and the only
/// one left.
fn read_only_node(machine: &Machine) -> Vec<String> {
    let cluster = Cluster::start(machine, Commits::GoOn);
    let primary = cluster.primary();
    let standby = 1 - primary;
    // One server for each order.
    let urls = [[standby, primary], [primary, standby]]
        .map(|nodes| cluster.url(&nodes, "connect_timeout=2"));
    let writable = cluster.url(&[primary], "connect_timeout=2");
    let site = Site::start(machine, &writable, [&urls[0], &urls[1]]);
    let run = |name, records_at: &dyn Fn() -> usize, act: &dyn Fn()| {
        let scenario = Scenario {
            nodes: &[0, 1],
            reads: Reads::GoOn,
            records_at,
            ..Scenario::over_one_node(&site, name)
        };
        scenario.run(|_| act())
    };
    let mut faults = Vec::new();
    if in_full() {
        // The old primary is the standby of the new one at once.
        faults.extend(run("switchover", &|| cluster.primary(), &|| {
            cluster.switch_over();
            cluster.wait_for_standby();
        }));
    }
    let primary = cluster.primary();
    faults.extend(run("only-a-standby left", &|| 1 - primary, &|| {
        cluster.keep_from_promotion(1 - primary, true);
        cluster.kill(primary);
        wait(if in_full() { 12 } else { 6 });
        cluster.keep_from_promotion(1 - primary, false);
        cluster.wait_for_primary(1 - primary);
    }));
    faults
}

/// The primary is well without its synchronous standby: it keeps no write, and reads continue.
fn standby_away(machine: &Machine) -> Vec<String> {
    let cluster = Cluster::start(machine, Commits::Wait);
    let primary = cluster.primary();
    let url = cluster.url(&[primary, 1 - primary], "connect_timeout=2");
    let site = Site::start(machine, &url, [&url, &url]);
    let scenario = Scenario {
        clients: MANY_CLIENTS,
        nodes: &[0, 1],
        reads: Reads::GoOn,
        records_at: &|| cluster.primary(),
        ..Scenario::over_one_node(&site, "standby away")
    };
    scenario.run(|_| {
        cluster.freeze(1 - primary);
        wait(AWAY);
        cluster.thaw(1 - primary);
        cluster.wait_for_standby();
    })
}

fn refused_connections(machine: &Machine) -> Vec<String> {
    let mut postgres = Postgres::start(machine, &[], &[]);
    let url = postgres.url();
    let site = Site::start(machine, &url, [&url, &url]);
    let scenario = Scenario {
        clients: CLIENTS_WITHOUT_DATABASE,
        is_balanced: false,
        ..Scenario::over_one_node(&site, "connections refused")
    };
    scenario.run(|_| {
        postgres.stop();
        wait(15);
        postgres.start_again();
    })
}

fn dead_first_host(machine: &Machine) -> Vec<String> {
    let mut postgres = Postgres::start(machine, &[], &[]);
    let hosts = [Host::Dead, Host::Node(0)].map(|host| machine.address(host));
    let dead_first = url(&hosts, "connect_timeout=10");
    let site = Site::start(machine, &postgres.url(), [&dead_first, &dead_first]);
    // All connections are made again.
    Scenario::over_one_node(&site, "dead host first").run(|_| {
        postgres.stop();
        // Long enough to be seen by those who watch the node.
        wait(3);
        postgres.start_again();
    })
}

fn pooler_by_session(machine: &Machine) -> Vec<String> {
    serve_through_pooler(machine, Mode::Session).unwrap_or_else(|log| vec![log])
}

/// The servers work, or refuse to start in one line that names the reason.
fn pooler_by_transaction(machine: &Machine) -> Vec<String> {
    serve_through_pooler(machine, Mode::Transaction).unwrap_or_else(|log| {
        // What was in order until then is logged before.
        let lines = log.lines().filter(|line| !line.contains(" INFO "));
        let refusal: Vec<_> = lines.collect();
        let words = refusal.join("\n").to_lowercase();
        let names_it = words.contains("pgbouncer") || words.contains("transaction pool");
        assert!(names_it && refusal.len() == 1, "{refusal:#?}");
        eprintln!("refused at start: {}", refusal[0]);
        Vec::new()
    })
}

/// Returns the faults, or the log of a server that did not start.
fn serve_through_pooler(machine: &Machine, mode: Mode) -> Result<Vec<String>, String> {
    let postgres = Postgres::start(machine, &[], &[]);
    let pooler = Pooler::start(machine, mode);
    let url = pooler.url();
    let site = Site::try_start(machine, &postgres.url(), [&url, &url])?;
    let name = format!("pooler in {} mode", mode.name());
    Ok(reading_on(&site, &name, |_| wait(10)))
}

/// Lock timeouts and deadlocks, with messages in another language.
fn german_messages(machine: &Machine) -> Vec<String> {
    let locales = machine.home(Host::Node(0)).join("locales");
    let name = format!("{GERMAN}.UTF-8");
    std::fs::create_dir(&locales).unwrap();
    run(Tool::Localedef
        .command()
        .args(["-i", GERMAN, "-f", "UTF-8"])
        .arg(locales.join(&name)));
    let environment = [("LOCPATH", locales.display().to_string())];
    let postgres = Postgres::start(machine, &[&format!("lc_messages={name}")], &environment);
    let mut faults = over_one_server(machine, "german messages", &postgres, |breaking| {
        breaking.partly(|| {
            lock(machine, &format!("{LOCKED_TRAINEES}(7)"));
            for _ in 0..3 {
                // A client that has changed a trainee waits to write its history, until this
                // connection waits for the trainee.
                let order = "LOCK TABLE changes IN SHARE ROW EXCLUSIVE MODE; SELECT pg_sleep(0.6); \
                             SELECT 1 FROM trainees FOR UPDATE; SELECT pg_sleep(0.1)";
                lock(machine, order);
            }
        });
    });
    faults.extend(not_met(&postgres, &[LOCK_TIMEOUT, DEADLOCK]));
    if !postgres.log().contains("Sperre") {
        faults.push("the messages are not German".to_owned());
    }
    faults
}

fn statement_timeout(machine: &Machine) -> Vec<String> {
    let postgres = Postgres::start(machine, &[], &[]);
    let order = format!("ALTER ROLE {REGISTER} SET statement_timeout = '2s'");
    sql(machine, Host::Node(0), SUPERUSER, &order).unwrap();
    let mut faults = over_one_server(machine, "statement_timeout 2 s", &postgres, |breaking| {
        breaking.partly(|| lock(machine, &format!("{LOCKED_TRAINEES}(8)")));
    });
    faults.extend(not_met(&postgres, &[CANCELLED]));
    faults
}

fn full_disk(machine: &Machine) -> Vec<String> {
    let Some(disk) = machine.small_disk(Host::Node(0), 96) else {
        eprintln!("full disk: left out, since no small file system can be made here");
        return Vec::new();
    };
    let postgres = Postgres::start(machine, &[], &[]);
    let move_there = format!("CREATE TABLESPACE small LOCATION '{}'", disk.display());
    sql(machine, Host::Node(0), SUPERUSER, &move_there).unwrap();
    for database in [REGISTER, WATCH] {
        let order = format!("ALTER DATABASE {database} SET TABLESPACE small");
        sql(machine, Host::Node(0), SUPERUSER, &order).unwrap();
    }
    let mut faults = over_one_server(machine, "full disk", &postgres, |breaking| {
        breaking.partly(|| {
            let ballast = disk.join("ballast");
            let mut fill = machine.command(Host::Node(0), "dd");
            fill.args(["if=/dev/zero", "bs=4k"]);
            fill.arg(format!("of={}", ballast.display()));
            // It ends where there is no room left.
            let _ = fill.output().unwrap();
            wait(10);
            std::fs::remove_file(ballast).unwrap();
        });
    });
    faults.extend(not_met(&postgres, &[DISK_FULL]));
    faults
}

fn too_few_connections(machine: &Machine) -> Vec<String> {
    let settings = ["max_connections=10", "superuser_reserved_connections=3"];
    let postgres = Postgres::start(machine, &settings, &[]);
    let faults = over_one_server(machine, "max_connections 10", &postgres, |_| wait(15));
    let met = postgres.count_of(TOO_MANY_CONNECTIONS);
    eprintln!("connections that found no place: {met}");
    faults
}

/// Runs `act` while two servers over one of PostgreSQL are under load.
fn over_one_server(
    machine: &Machine,
    name: &str,
    postgres: &Postgres<'_>,
    act: impl FnOnce(&Breaking<'_>),
) -> Vec<String> {
    let url = postgres.url();
    reading_on(&Site::start(machine, &url, [&url, &url]), name, act)
}

/// Runs `act` at a site that must answer reads all the time.
fn reading_on(site: &Site<'_>, name: &str, act: impl FnOnce(&Breaking<'_>)) -> Vec<String> {
    let scenario = Scenario {
        reads: Reads::GoOn,
        ..Scenario::over_one_node(site, name)
    };
    scenario.run(act)
}

/// Runs statements in one transaction of the register's database.
fn lock(machine: &Machine, statements: &str) {
    let mut command = psql(machine, Host::Node(0), REGISTER, Duration::from_secs(30));
    command.args(["--single-transaction", "-c", statements]);
    // It may be the one that a deadlock ends.
    let _ = Process::start(&mut command).wait();
}

/// The SQLSTATEs that a case should cause and did not.
fn not_met(postgres: &Postgres<'_>, states: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for state in states {
        let count = postgres.count_of(state);
        eprintln!("SQLSTATE {state}: {count} times");
        if count == 0 {
            faults.push(format!(
                "no statement failed with {state}, so nothing was shown"
            ));
        }
    }
    faults
}
