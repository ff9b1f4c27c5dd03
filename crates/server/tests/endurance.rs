//! The program under load while its processes and its database are killed: nothing that was acknowledged is lost.
//!
//! The small sizes that each run has by itself are part of `make test-long`; the Makefile has the full ones.

#[cfg(test)]
mod endurance {
    mod balancer;
    mod client;
    mod crash;
    mod dates;
    mod durability;
    mod fields;
    mod history;
    mod http;
    mod invented;
    mod linear;
    mod manner;
    mod model;
    mod predicted;
    mod race;
    mod record;
    mod rolling;
    mod site;
    mod size;
    mod soak;
    mod unread;
}
