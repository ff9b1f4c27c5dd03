//! Operations on the whole register: schema, copies, backups, probes. Uses all other modules.

pub mod backup;
pub mod copy;
pub mod environment;
pub mod inspection;
pub mod migrations;
pub mod probe;
pub mod reclaim;
pub mod register_state;
pub mod served_addresses;
pub mod server_lock;
pub(crate) mod set_up;
pub(crate) mod statistics;
pub(crate) mod writable;
