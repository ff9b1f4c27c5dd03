//! Two servers over PostgreSQL as people run it, while parts of it fail: a synchronous standby
//! under Patroni and etcd, PgBouncer, and HAProxy before the servers. Every request has its answer
//! in time, and nothing acknowledged is lost.
//!
//! The short form is part of `make test-long`; `make test-load TEST=failover` runs every
//! scenario.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod failover {
    mod balancer;
    mod cases;
    mod daemon;
    mod http;
    mod load;
    mod machine;
    mod patroni;
    mod pooler;
    mod postgres;
    mod probes;
    mod programs;
    mod scenario;
    mod site;
    mod size;
    mod verdict;
    mod watcher;
}
