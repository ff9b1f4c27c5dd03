//! The limits of a body.

/// The deepest nesting of a body, in levels.
pub const MAX_DEPTH: usize = 32;
/// The most records in one nested list.
pub const MAX_RECORDS: usize = 100;
/// The most unknown names of one body that are reported.
pub const MAX_UNKNOWN: usize = 100;
