//! The documents that are generated from the versions and committed beside the written ones.

use adapter_kit::Versions;
use adapter_kit::documents::{errors::errors, rules::rules};

/// A generated document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The name of its file.
    pub file: &'static str,
    /// What stands in it.
    pub text: String,
}

/// All generated documents.
#[must_use]
pub fn all(versions: &Versions) -> [Document; 2] {
    [Document { file: "errors.md", text: errors() }, Document { file: "rules.md", text: rules(versions) }]
}
