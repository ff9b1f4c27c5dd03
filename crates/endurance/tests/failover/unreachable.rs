//! A server of PostgreSQL that refuses connections, and an address that does not answer.

use super::machine::{Form, Host, on_own_machine};
use super::postgres::{Postgres, url};
use super::scenario::{Scenario, wait};
use super::site::Site;

/// Clients at a time when every connection is refused.
const MANY_CLIENTS: usize = 300;

#[test]
fn each_of_many_clients_is_answered_in_time_while_connections_are_refused() {
    let test = "failover::unreachable::each_of_many_clients_is_answered_in_time_while_connections_are_refused";
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
fn a_dead_host_that_is_first_in_the_address_is_passed_over() {
    let test = "failover::unreachable::a_dead_host_that_is_first_in_the_address_is_passed_over";
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
