//! Two servers over one PostgreSQL are restarted in turn, under load, behind a balancer. No request
//! fails that its client may not safely send again, and none is lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fixtures::random::Random;
use test_support::{Kind, Tool, has_tools};

use super::balancer::Balancer;
use super::client::{Client, Tally};
use super::crash::{check, report, require_count};
use super::deployment::{Server, Site};
use super::http::Caller;
use super::kit_balancer::KitBalancer;
use super::size::{seed, size};
use super::version_requests::Manner;

/// Clients that write at once.
const CLIENTS: usize = 8;
/// The most writes that are acknowledged between two restarts.
const MOST_WRITES: usize = 200;
/// Seconds: longer than HAProxy takes to see that a server is not ready, and shorter than the kit's
/// own.
const KIT_STOP_DELAY: &str = "4";

#[test]
fn servers_restarted_in_turn_lose_no_request() {
    if Kind::from_environment() != Kind::Postgres {
        return;
    }
    let (restarts, seed, begun) = (size("RESTARTS", 3), seed(), Instant::now());
    let random = Random::new(seed);
    let site = Site::new();
    let mut servers: Vec<Server> = (0..2).map(|_| site.serve()).collect();
    let balancer = Balancer::new(
        servers
            .iter()
            .map(|server| server.address.clone())
            .collect(),
    );
    let address = balancer.address.as_str();
    let (manners, learned) = Manner::learn_all(&Caller::new(&site.token), address);
    let mut clients = Client::several(CLIENTS, &site.token, &manners, seed);

    // In good order first; then one without any warning.
    for (in_good_order, restarts) in [(true, restarts), (false, 1)] {
        under_load(&mut clients, address, |wait_for_writes| {
            for restart in 0..restarts {
                wait_for_writes(random.below(MOST_WRITES));
                let at = restart % servers.len();
                if in_good_order {
                    servers[at].stop();
                } else {
                    servers[at].kill();
                }
                servers[at] = site.serve();
                balancer.replace(at, &servers[at].address);
            }
            wait_for_writes(MOST_WRITES);
        });
        if in_good_order {
            let tally = Tally::from_clients(&clients);
            let cut: usize = clients.iter().map(Client::cut).sum();
            assert_eq!(cut, 0, "replies were cut off in their middle");
            assert_eq!(
                tally.found_whole, 0,
                "writes were carried out and not answered"
            );
        }
    }
    end(&site, &mut servers, &mut clients, address, learned);
    report(
        &format!("{restarts} restarts of a server, and one more by a kill"),
        &clients,
        begun,
    );
}

#[test]
fn restarts_behind_kit_balancer_fail_no_request() {
    if Kind::from_environment() != Kind::Postgres || !has_tools(&[Tool::Haproxy]) {
        return;
    }
    let (restarts, seed, begun) = (size("RESTARTS", 2), seed(), Instant::now());
    let random = Random::new(seed);
    let site = Site::new();
    let serve = |at| site.serve_at(&KitBalancer::host(at), KIT_STOP_DELAY);
    let mut servers = [0, 1].map(serve);
    let balancer = KitBalancer::start();
    balancer.wait_for_servers(2);
    let address = balancer.address.as_str();
    let (manners, learned) = Manner::learn_all(&Caller::new(&site.token), address);
    let mut clients = Client::several(CLIENTS, &site.token, &manners, seed);

    under_load(&mut clients, address, |wait_for_writes| {
        for restart in 0..restarts {
            wait_for_writes(random.below(MOST_WRITES));
            let at = restart % servers.len();
            servers[at].stop();
            servers[at] = serve(at);
            balancer.wait_for_servers(2);
        }
        wait_for_writes(MOST_WRITES);
    });
    let tally = Tally::from_clients(&clients);
    let failed = (tally.found_whole, tally.found_absent);
    assert_eq!(failed, (0, 0), "requests failed");
    end(&site, &mut servers, &mut clients, address, learned);
    report(
        &format!("{restarts} restarts of a server behind HAProxy"),
        &clients,
        begun,
    );
}

/// Stops the servers, and requires that nothing acknowledged was lost.
fn end(
    site: &Site,
    servers: &mut [Server],
    clients: &mut [Client<'_>],
    address: &str,
    learned: usize,
) {
    for client in &mut *clients {
        client.compare(address, true);
    }
    require_count(site, address, learned, clients);
    servers.iter_mut().for_each(Server::stop);
    check(site);
}

/// Runs `act` while the clients write. `act` gets a function that waits for a number of
/// acknowledged writes.
fn under_load(clients: &mut [Client<'_>], address: &str, act: impl FnOnce(&dyn Fn(usize))) {
    let (acknowledged, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let write = |client: &mut Client<'_>| {
        while !is_over.load(Ordering::Relaxed) {
            if !client.write(address) {
                // Every request may be sent again; a POST has its key.
                client.resolve(address);
            }
            acknowledged.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let writing: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || write(client)))
            .collect();
        act(&|count| {
            let target = acknowledged.load(Ordering::Relaxed) + count;
            while acknowledged.load(Ordering::Relaxed) < target
                && !writing.iter().any(|writer| writer.is_finished())
            {
                thread::sleep(Duration::from_micros(200));
            }
        });
        is_over.store(true, Ordering::Relaxed);
    });
}
