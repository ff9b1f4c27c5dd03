//! Requests that are parts of something larger: the items of a [`batch`], and the [`rows`] of an
//! uploaded file. Each part runs like a separate request, in its own transaction.

pub(crate) mod batch;
pub mod rows;

/// Number of parts that count as one request.
pub const PARTS_PER_REQUEST: usize = 10;
