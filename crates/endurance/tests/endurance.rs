//! The program under load while its processes and its database are killed: nothing that was
//! acknowledged is lost.
//!
//! The small sizes that each run has by itself are part of `make test-long`; the Makefile has the
//! full ones.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod endurance {
    mod balancer;
    mod client;
    mod crash;
    mod crowd;
    mod deployment;
    mod durability;
    mod expected_record;
    mod following;
    mod history;
    mod http;
    mod kit_balancer;
    mod linearizability;
    mod model;
    mod record;
    mod rolling;
    mod size;
    mod soak;
    mod sync;
    mod version_requests;
}
