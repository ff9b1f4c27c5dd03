//! Whether the server still takes requests, for those who decide where to send them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the server is about to stop. Cheap to clone; all clones say the same.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    is_stopping: Arc<AtomicBool>,
}

impl Readiness {
    /// Says from now on that the server is about to stop. There is no way back.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Whether the server is about to stop, and no new requests should be sent to it.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_learn_that_the_server_stops() {
        let readiness = Readiness::default();
        let other = readiness.clone();
        assert!(!other.is_stopping());
        readiness.stop();
        assert!(other.is_stopping());
    }
}
