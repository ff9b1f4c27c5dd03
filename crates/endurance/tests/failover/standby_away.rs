//! The synchronous standby is away while the primary is well: nothing can be kept, and everything
//! can be read.

use super::machine::{Form, on_own_machine};
use super::patroni::{Cluster, Commits};
use super::scenario::{Scenario, wait};
use super::site::Site;
use super::verdict::Reads;

/// How long it is away, in seconds.
const AWAY: u64 = 30;
/// Half of them write: more than both servers have connections.
const MANY_CLIENTS: usize = 80;

#[test]
fn reads_go_on_while_commits_wait_for_the_standby() {
    on_own_machine(
        Form::FullOnly,
        "failover::standby_away::reads_go_on_while_commits_wait_for_the_standby",
        |machine| {
            let cluster = Cluster::start(machine, Commits::Wait);
            let primary = cluster.primary();
            let url = cluster.url(&[primary, 1 - primary], "connect_timeout=2");
            let site = Site::start(machine, &url, [&url, &url]);
            let scenario = Scenario {
                site: &site,
                name: "standby away",
                clients: MANY_CLIENTS,
                is_balanced: true,
                nodes: &[0, 1],
                reads: Reads::GoOn,
                records_at: &|| cluster.primary(),
            };
            let faults = scenario.run(|_| {
                cluster.freeze(1 - primary);
                wait(AWAY);
                cluster.thaw(1 - primary);
                cluster.wait_for_standby();
            });
            assert!(faults.is_empty(), "{faults:#?}");
        },
    );
}
