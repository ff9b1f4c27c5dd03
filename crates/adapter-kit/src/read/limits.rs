//! Limits of request bodies.

/// The maximum nesting depth, in levels of arrays and objects.
pub const MAX_DEPTH: usize = 32;
/// The maximum number of records in one nested list.
pub const MAX_RECORDS: usize = 100;
/// The maximum number of reported unknown names in one body.
pub const MAX_UNKNOWN: usize = 100;
/// The maximum number of items in a batch.
pub const MAX_BATCH_ITEMS: usize = 200;
/// The maximum length of an idempotency key, in characters.
pub const MAX_KEY_CHARS: usize = 255;
