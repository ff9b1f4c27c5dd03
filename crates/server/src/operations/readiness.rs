//! The readiness of the server for new requests, for load balancers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the server is about to stop. Cheap to clone; all clones share the state.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    is_stopping: Arc<AtomicBool>,
}

impl Readiness {
    /// Marks the server as about to stop. This cannot be undone.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Whether the server is about to stop and should get no new requests.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_stopping_state() {
        let readiness = Readiness::default();
        let other = readiness.clone();
        assert!(!other.is_stopping());
        readiness.stop();
        assert!(other.is_stopping());
    }
}
