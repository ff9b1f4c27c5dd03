//! The register as a whole: schema, copies, backups, probes. Above all others.

pub mod backup;
pub mod copy;
pub mod environment;
pub mod inspection;
pub mod migrations;
pub mod probe;
pub mod reclaim;
pub mod served_addresses;
pub mod server_lock;
pub mod set_up;
pub mod statistics;
pub mod writable;
