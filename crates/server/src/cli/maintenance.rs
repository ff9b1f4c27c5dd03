//! Commands about the database: schema, copies, backups and checks.

pub(crate) mod backups;
pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod database;
pub(crate) mod migrate;
