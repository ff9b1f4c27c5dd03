//! Running the program as a server: startup, listeners, TLS, logging, metrics, health, maintenance and shutdown.

pub mod client_tls;
pub mod connections;
pub mod error_chain;
pub mod inspection;
pub mod logging;
pub mod maintenance;
pub mod metrics;
pub mod operator_listener;
pub mod readiness;
pub mod serve;
pub mod settled_changes;
pub mod shutdown;
pub mod startup;
pub mod tls;
