//! How long a run is.

use std::time::Duration;

/// Whether all scenarios run, or only those of the short form.
pub(crate) fn in_full() -> bool {
    number("FAILOVER_SECONDS").is_some()
}

/// For how long clients send requests before and after each fault.
pub(crate) fn seconds() -> Duration {
    Duration::from_secs(number("FAILOVER_SECONDS").unwrap_or(2))
}

/// After how many seconds of silence a primary loses its place.
pub(crate) fn leader_ttl() -> u64 {
    number("FAILOVER_TTL").unwrap_or(6)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")),
    )
}
