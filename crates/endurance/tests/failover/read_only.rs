//! A node that can only be read: first among several, an old primary that came back, and the only
//! one that is left.

use super::machine::{Form, on_own_machine};
use super::patroni::{Cluster, Commits};
use super::scenario::{CLIENTS, Scenario, wait};
use super::site::Site;
use super::size::in_full;
use super::verdict::Reads;

#[test]
fn writes_go_to_the_node_that_takes_them() {
    on_own_machine(
        Form::Short,
        "failover::read_only::writes_go_to_the_node_that_takes_them",
        |machine| {
            let cluster = Cluster::start(machine, Commits::GoOn);
            let primary = cluster.primary();
            let standby = 1 - primary;
            // One server for each order.
            let urls = [[standby, primary], [primary, standby]]
                .map(|nodes| cluster.url(&nodes, "connect_timeout=2"));
            let writable = cluster.url(&[primary], "connect_timeout=2");
            let site = Site::start(machine, &writable, [&urls[0], &urls[1]]);
            let run = |name, records_at: &dyn Fn() -> usize, act: &dyn Fn()| {
                let reads = Reads::GoOn;
                let scenario = Scenario {
                    site: &site,
                    name,
                    clients: CLIENTS,
                    is_balanced: true,
                    nodes: &[0, 1],
                    reads,
                    records_at,
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
            assert!(faults.is_empty(), "{faults:#?}");
        },
    );
}
