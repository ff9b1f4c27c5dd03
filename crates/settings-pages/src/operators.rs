//! The pages of the operators of the service.

pub(crate) mod history;
pub(crate) mod imports;
pub(crate) mod organisations;
pub(crate) mod registry_actions;
pub(crate) mod registry_confirm;
pub(crate) mod registry_file;
pub(crate) mod registry_queue;
pub(crate) mod versions;
