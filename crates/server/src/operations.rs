//! Running the program as a server: startup, listeners, TLS, logging, metrics, health, maintenance
//! and shutdown.

pub mod inspection;
pub mod large_blocks;
pub mod maintenance;
pub mod operator_listener;
pub mod readiness;
pub mod serve;
pub mod shutdown;
pub mod startup;
