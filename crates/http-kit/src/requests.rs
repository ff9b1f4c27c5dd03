//! What a request brings: its body, its address, its preferences and its identifier.

pub mod body;
pub mod client_address;
pub mod media_types;
pub mod methods;
pub mod preferences;
pub mod request_id;
pub mod timestamps;
pub mod traceparent;
