//! A server of PostgreSQL that refuses connections, and an address that does not answer.

use super::machine::{Form, Host, on_own_machine};
use super::postgres::{Postgres, url};
use super::scenario::{Scenario, wait};
use super::site::Site;

/// Clients at a time when every connection is refused.
const MANY_CLIENTS: usize = 300;

#[test]
fn every_client_is_answered_in_time_during_refused_connections() {
    let test = "failover::unreachable::every_client_is_answered_in_time_during_refused_connections";
    on_own_machine(Form::FullOnly, test, |machine| {
        let mut postgres = Postgres::start(machine, &[], &[]);
        let url = postgres.url();
        let site = Site::start(machine, &url, [&url, &url]);
        let scenario = Scenario {
            clients: MANY_CLIENTS,
            is_balanced: false,
            ..Scenario::over_one_node(&site, "connections refused")
        };
        let faults = scenario.run(|_| {
            postgres.stop();
            wait(15);
            postgres.start_again();
        });
        assert!(faults.is_empty(), "{faults:#?}");
    });
}

#[test]
fn dead_first_host_in_the_address_is_skipped() {
    let test = "failover::unreachable::dead_first_host_in_the_address_is_skipped";
    on_own_machine(Form::FullOnly, test, |machine| {
        let mut postgres = Postgres::start(machine, &[], &[]);
        let hosts = [Host::Dead, Host::Node(0)].map(|host| machine.address(host));
        let dead_first = url(&hosts, "connect_timeout=10");
        let site = Site::start(machine, &postgres.url(), [&dead_first, &dead_first]);
        // All connections are made again.
        let faults = Scenario::over_one_node(&site, "dead host first").run(|_| {
            postgres.stop();
            // Long enough to be seen by those who watch the node.
            wait(3);
            postgres.start_again();
        });
        assert!(faults.is_empty(), "{faults:#?}");
    });
}
