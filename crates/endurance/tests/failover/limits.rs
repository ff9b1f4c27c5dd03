//! Limits that others set: the time of a statement, the size of a disk, the number of connections;
//! and locks that others hold, with messages in another language.

use std::process::Child;
use std::time::Duration;

use test_support::Tool;

use super::machine::{Form, Host, Machine, on_own_machine, run};
use super::postgres::{Postgres, REGISTER, SUPERUSER, WATCH, psql, sql};
use super::scenario::{Breaking, Scenario, wait};
use super::site::Site;
use super::verdict::Reads;

/// SQLSTATEs that must have been met for a scenario to have shown anything.
const LOCK_TIMEOUT: &str = "55P03";
const DEADLOCK: &str = "40P01";
const CANCELLED: &str = "57014";
const DISK_FULL: &str = "53100";
const TOO_MANY_CONNECTIONS: &str = "53300";

const GERMAN: &str = "de_DE";

#[test]
fn german_lock_timeouts_and_deadlocks_are_no_server_errors() {
    let test = "failover::limits::german_lock_timeouts_and_deadlocks_are_no_server_errors";
    on_own_machine(Form::FullOnly, test, |machine| {
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
                end(lock(machine, "LOCK TABLE trainees IN SHARE ROW EXCLUSIVE MODE; SELECT pg_sleep(7)"));
                for _ in 0..3 {
                    // A client that has changed a trainee waits to write its history, until this
                    // connection waits for the trainee.
                    let order = "LOCK TABLE changes IN SHARE ROW EXCLUSIVE MODE; SELECT pg_sleep(0.6); \
                                 SELECT 1 FROM trainees FOR UPDATE; SELECT pg_sleep(0.1)";
                    end(lock(machine, order));
                }
            });
        });
        faults.extend(not_met(&postgres, &[LOCK_TIMEOUT, DEADLOCK]));
        assert!(
            postgres.log().contains("Sperre"),
            "the messages are not German"
        );
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

#[test]
fn statement_timeouts_are_no_server_errors() {
    let test = "failover::limits::statement_timeouts_are_no_server_errors";
    on_own_machine(Form::FullOnly, test, |machine| {
        let postgres = Postgres::start(machine, &[], &[]);
        let order = format!("ALTER ROLE {REGISTER} SET statement_timeout = '2s'");
        sql(machine, Host::Node(0), SUPERUSER, &order).unwrap();
        let mut faults = over_one_server(machine, "statement_timeout 2 s", &postgres, |breaking| {
            breaking.partly(|| {
                end(lock(
                    machine,
                    "LOCK TABLE trainees IN SHARE ROW EXCLUSIVE MODE; SELECT pg_sleep(8)",
                ));
            });
        });
        faults.extend(not_met(&postgres, &[CANCELLED]));
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

#[test]
fn a_full_disk_is_no_error_of_the_server() {
    on_own_machine(
        Form::FullOnly,
        "failover::limits::a_full_disk_is_no_error_of_the_server",
        |machine| {
            let Some(disk) = machine.small_disk(Host::Node(0), 96) else {
                eprintln!("full disk: left out, since no small file system can be made here");
                return;
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
                    // It ends where there is no room left.
                    let _ = fill
                        .args([
                            "if=/dev/zero",
                            "bs=4k",
                            &format!("of={}", ballast.display()),
                        ])
                        .output()
                        .unwrap();
                    wait(10);
                    std::fs::remove_file(ballast).unwrap();
                });
            });
            faults.extend(not_met(&postgres, &[DISK_FULL]));
            assert!(faults.is_empty(), "{faults:#?}");
        },
    );
}

#[test]
fn servers_with_too_few_connections_stay_ready_while_serving() {
    let test = "failover::limits::servers_with_too_few_connections_stay_ready_while_serving";
    on_own_machine(Form::FullOnly, test, |machine| {
        // Three of them are kept for superusers.
        let postgres = Postgres::start(
            machine,
            &["max_connections=10", "superuser_reserved_connections=3"],
            &[],
        );
        let faults = over_one_server(machine, "max_connections 10", &postgres, |_| wait(15));
        let met = postgres.count_of(TOO_MANY_CONNECTIONS);
        eprintln!("connections that found no place: {met}");
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

/// Two servers over one of PostgreSQL, and what was not as promised while something is done to it.
fn over_one_server(
    machine: &Machine,
    name: &str,
    postgres: &Postgres<'_>,
    act: impl FnOnce(&Breaking<'_>),
) -> Vec<String> {
    let url = postgres.url();
    let site = Site::start(machine, &url, [&url, &url]);
    Scenario {
        reads: Reads::GoOn,
        ..Scenario::over_one_node(&site, name)
    }
    .run(act)
}

/// Begins a transaction in the register's database, and ends it when its statements have.
fn lock(machine: &Machine, statements: &str) -> Child {
    let mut command = psql(machine, Host::Node(0), REGISTER, Duration::from_secs(30));
    command
        .args(["--single-transaction", "-c", statements])
        .spawn()
        .unwrap()
}

/// Waits for it. It may be the one that a deadlock ends.
fn end(mut lock: Child) {
    let _ = lock.wait().unwrap();
}

/// The errors that a scenario should cause and did not.
fn not_met(postgres: &Postgres<'_>, states: &[&str]) -> Vec<String> {
    let counts = states
        .iter()
        .map(|state| (*state, postgres.count_of(state)));
    let met: Vec<_> = counts
        .inspect(|(state, count)| eprintln!("SQLSTATE {state}: {count} times"))
        .collect();
    let absent = met.into_iter().filter(|(_, count)| *count == 0);
    absent
        .map(|(state, _)| format!("no statement failed with {state}, so nothing was shown"))
        .collect()
}
