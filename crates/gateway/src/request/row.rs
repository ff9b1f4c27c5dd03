//! A row of an uploaded file as a request.

use adapter_kit::Endpoint;

/// A request for a row.
#[derive(Debug, Clone)]
pub struct Row {
    /// The position of the row in its file, from 0.
    pub position: u32,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The identifier of the trainee in the path; empty for a registration.
    pub trainee_id: String,
    /// The identifier of the placement or degree in the path; empty if there is none.
    pub nested_id: String,
    /// The body; empty for a request that reads.
    pub body: Vec<u8>,
    /// Whether the row is only checked.
    pub validates_only: bool,
    /// The entity tag that the record must have.
    pub if_match: Option<String>,
    /// The idempotency key: the register carries out the row at most once.
    pub idempotency_key: Option<String>,
}
