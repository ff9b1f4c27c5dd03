//! The result of every function of the benchmark that can fail.

use std::error::Error;

/// A benchmark that cannot go on ends.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;
