//! Brings a register to its steady state: with records of another provider, all just read, and with
//! a request on each connection.
//!
//! SQLite keeps pages of the database for each connection, up to a bound, and the pages of a small
//! register are fewer than that. What is measured later would otherwise be how these fill.

use std::thread;

use adapter_kit::Endpoint;
use chrono::Utc;
use domain::listing::{MAX_PER_PAGE, known_cycles};

use super::super::deployment::Site;
use super::super::http::{Caller, Request};
use super::super::version_requests::Manner;
use super::abuse::Target;

/// The provider whose trainees are there besides.
const UKPRN: &str = "10000002";
/// Readers at once: as many as there are connections to read on, or more.
const READERS: usize = 12;
/// How much each connection sends at once, in bytes: a body as large as any that is to be expected.
const BODY: usize = 16_384;

/// Adds trainees of another provider, reads them on all connections to the database, and sends
/// bodies from as many clients as the abuse will use.
pub(super) fn warm_up(site: &Site, target: &Target<'_>, manner: &Manner, trainees: usize) {
    site.run(&[
        "provider",
        "add",
        "--ukprn",
        UKPRN,
        "--name",
        "Another University",
    ]);
    let token = site.run(&["token", "issue", "--provider", UKPRN, "--name", "warm-up"]);
    site.run(&[
        "sandbox",
        "seed",
        "--provider",
        UKPRN,
        "--trainees",
        &trainees.to_string(),
    ]);
    let caller = Caller::new(token.trim());
    let lists = manner.path(Endpoint::ListTrainees, "", "");
    let read_all = || {
        for cycle in known_cycles(Utc::now().date_naive()) {
            for page in 1.. {
                let path =
                    format!("{lists}?academic_cycle={cycle}&per_page={MAX_PER_PAGE}&page={page}");
                let reply = caller.insist(target.address, &Request::get(path));
                if reply.status == 404 {
                    break;
                }
                assert_eq!(reply.status, 200, "{reply:?}");
            }
        }
    };
    thread::scope(|scope| (0..READERS).for_each(|_| drop(scope.spawn(read_all))));

    let mut crowd: Vec<_> = (0..target.connections)
        .map(|_| target.connect().unwrap())
        .collect();
    let request = target.post(BODY) + "{}" + &" ".repeat(BODY - 3);
    crowd
        .iter_mut()
        .for_each(|connection| assert!(connection.send(request.as_bytes())));
    crowd
        .iter_mut()
        .for_each(|connection| assert!(connection.send(b" ")));
    // Some may get a 503: there are more clients than places in the queue.
    crowd
        .iter_mut()
        .for_each(|connection| assert!(matches!(connection.status(), Some(422 | 503))));
}
