//! What the servers say of themselves: whether reads are answered, and whether a write would be
//! kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ureq::Agent;

use super::site::Server;

/// Whether reads are answered.
pub(crate) const READY: &str = "/health/ready";
/// Whether a write would be kept.
pub(crate) const WRITABLE: &str = "/health/writable";

const PAUSE: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(10);

/// One answer of a probe, or none.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    pub(crate) server: usize,
    pub(crate) path: &'static str,
    pub(crate) begun: Duration,
    pub(crate) ended: Duration,
    pub(crate) status: Option<u16>,
}

/// Asks one probe of a server again and again.
pub(crate) fn ask(
    server: &Server,
    number: usize,
    path: &'static str,
    start: Instant,
    is_over: &AtomicBool,
) -> Vec<Probe> {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .build()
        .into();
    let address = format!("http://{}{path}", server.operators);
    let mut probes = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let begun = start.elapsed();
        let status = agent
            .get(&address)
            .call()
            .ok()
            .map(|answer| answer.status().as_u16());
        probes.push(Probe {
            server: number,
            path,
            begun,
            ended: start.elapsed(),
            status,
        });
        thread::sleep(PAUSE);
    }
    probes
}
