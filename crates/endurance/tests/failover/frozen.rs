//! The primary is gone: frozen with its network cut, or killed. The standby takes its place.

use super::balancer::Balancer;
use super::machine::{Form, Machine, on_own_machine};
use super::patroni::{Cluster, Commits};
use super::postgres;
use super::scenario::{CLIENTS, Scenario, wait};
use super::site::Site;
use super::verdict::Reads;

#[test]
fn a_frozen_primary_is_replaced_by_its_standby() {
    on_own_machine(
        Form::Short,
        "failover::frozen::a_frozen_primary_is_replaced_by_its_standby",
        |machine| {
            replace(
                machine,
                "frozen and cut off",
                |cluster, node| cluster.freeze(node),
                |cluster, node| {
                    // It comes back, still believing that it is the primary.
                    cluster.thaw(node);
                },
            );
        },
    );
}

#[test]
fn a_killed_primary_is_replaced_by_its_standby() {
    on_own_machine(
        Form::FullOnly,
        "failover::frozen::a_killed_primary_is_replaced_by_its_standby",
        |machine| {
            replace(
                machine,
                "killed",
                |cluster, node| cluster.kill(node),
                |_, _| {},
            );
        },
    );
}

fn replace(
    machine: &Machine,
    name: &str,
    take_away: impl FnOnce(&Cluster<'_>, usize),
    bring_back: impl FnOnce(&Cluster<'_>, usize),
) {
    let cluster = Cluster::start(machine, Commits::GoOn);
    let primary = cluster.primary();
    let url = cluster.url(&[primary, 1 - primary], "connect_timeout=2");
    // One server knows both nodes, the other one a balancer before them.
    let before_postgres = Balancer::before_postgres(machine);
    let balanced = postgres::url(
        std::slice::from_ref(&before_postgres.address),
        "connect_timeout=2",
    );
    let site = Site::start(machine, &url, [&url, &balanced]);
    let name = format!("{name} primary");
    let faults = Scenario {
        site: &site,
        name: &name,
        clients: CLIENTS,
        is_balanced: true,
        nodes: &[0, 1],
        reads: Reads::MayStop,
        records_at: &|| 1 - primary,
    }
    .run(|_| {
        take_away(&cluster, primary);
        let promoted = cluster.wait_for_primary(1 - primary);
        eprintln!(
            "the standby is the primary after {:.1} s",
            promoted.as_secs_f64()
        );
        wait(6);
        bring_back(&cluster, primary);
    });
    if faults.iter().any(|fault| fault.starts_with("lost")) {
        eprintln!("{}", cluster.logs());
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
