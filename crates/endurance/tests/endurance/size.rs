//! The size and the seed of a run.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A size from the environment; without it the one of every build.
pub(crate) fn size(variable: &str, short: usize) -> usize {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")),
        Err(_) => short,
    }
}

/// The seed of a run: that of the environment, otherwise a new one. It is printed, so that a run
/// can be repeated as far as the machine's own timing allows.
pub(crate) fn seed() -> u64 {
    let seed = match std::env::var("ENDURANCE_SEED") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("ENDURANCE_SEED must be a number, not {text:?}")),
        Err(_) => RandomState::new().build_hasher().finish(),
    };
    eprintln!("ENDURANCE_SEED={seed}");
    seed
}
