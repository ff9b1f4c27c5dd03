//! The limits of a body.

/// The deepest nesting of a body, in levels.
pub const MAX_DEPTH: usize = 32;
/// The most records in one nested list.
pub const MAX_RECORDS: usize = 100;
/// The most unknown names of one body that are reported.
pub const MAX_UNKNOWN: usize = 100;
/// The most items of a batch.
pub const MAX_BATCH_ITEMS: usize = 200;
/// The longest idempotency key, in characters.
pub const MAX_KEY_CHARS: usize = 255;
