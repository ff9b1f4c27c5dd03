//! PgBouncer between the servers and PostgreSQL.

use super::machine::{Form, Machine, on_own_machine};
use super::pooler::{Mode, Pooler};
use super::postgres::Postgres;
use super::scenario::{Scenario, wait};
use super::site::Site;
use super::verdict::Reads;

#[test]
fn a_pooler_in_session_mode_is_no_different() {
    on_own_machine(
        Form::FullOnly,
        "failover::pooling::a_pooler_in_session_mode_is_no_different",
        |machine| {
            let faults =
                through(machine, Mode::Session).unwrap_or_else(|reason| panic!("{reason}"));
            assert!(faults.is_empty(), "{faults:#?}");
        },
    );
}

#[test]
fn a_pooler_in_transaction_mode_works_or_is_refused() {
    on_own_machine(
        Form::FullOnly,
        "failover::pooling::a_pooler_in_transaction_mode_works_or_is_refused",
        |machine| {
            match through(machine, Mode::Transaction) {
                Ok(faults) => assert!(faults.is_empty(), "{faults:#?}"),
                Err(log) => {
                    // What was in order until then is logged before.
                    let refusal: Vec<_> = log
                        .lines()
                        .filter(|line| !line.contains(" INFO "))
                        .collect();
                    let words = refusal.join("\n").to_lowercase();
                    let names_it =
                        words.contains("pgbouncer") || words.contains("transaction pool");
                    assert!(
                        names_it && refusal.len() == 1,
                        "the refusal does not say why in one line: {refusal:#?}"
                    );
                    eprintln!("refused at start: {}", refusal[0]);
                }
            }
        },
    );
}

/// Serves through a pooler; gives what was not as promised, or what the server said that did not
/// start.
fn through(machine: &Machine, mode: Mode) -> Result<Vec<String>, String> {
    let postgres = Postgres::start(machine, &[], &[]);
    let pooler = Pooler::start(machine, mode);
    let url = pooler.url();
    let site = Site::try_start(machine, &postgres.url(), [&url, &url])?;
    let name = format!("pooler in {} mode", mode.name());
    Ok(Scenario {
        reads: Reads::GoOn,
        ..Scenario::over_one_node(&site, &name)
    }
    .run(|_| wait(10)))
}
