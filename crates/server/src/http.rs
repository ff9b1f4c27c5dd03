//! What every request passes through: routes, requests, responses, errors, limits and middleware.
//!
//! [`routes`] finds the endpoint, [`dispatch`] takes the request there and its response back. No endpoint is known here by
//! name, and no field of a record.

pub mod admission;
pub mod app_state;
pub mod authentication;
mod batch;
pub mod body;
pub mod client_address;
pub mod concurrency_limit;
pub mod cursor;
pub mod dispatch;
pub mod error;
pub mod etag;
pub mod idempotency;
pub mod long_job;
pub mod long_poll;
pub mod memory_budget;
pub mod middleware;
pub mod paths;
pub mod preferences;
pub mod query;
pub mod rate_limit;
pub mod request;
pub mod response;
pub mod routes;
pub mod shared_content;
