//! What is done to every request and every response, whatever the endpoint.

pub mod access_log;
pub mod compression;
pub mod deprecation;
pub mod links;
pub mod request_id;
pub mod response_stream;
mod traceparent;
