//! Commands about trainees: registry actions, erasure, and history.

pub(crate) mod audit;
pub(crate) mod history;
pub(crate) mod registry;
pub(crate) mod trainees;
