//! Commands about trainees: the registry, the history and its audit.

pub(crate) mod audit;
pub(crate) mod history;
pub(crate) mod registry;
pub(crate) mod trainees;
