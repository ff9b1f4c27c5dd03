//! What an operator sees of a running server: health, metrics and the log.

mod exposition;
mod health;
mod logs;
mod metrics;
mod series;
pub(crate) mod server;
mod stalled_log;
