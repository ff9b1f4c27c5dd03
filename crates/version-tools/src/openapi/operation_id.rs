//! The identifier of an operation.

use adapter_kit::endpoint::Endpoint;

/// The name of the operation in programs that are generated from the document.
pub(super) fn operation_id(endpoint: Endpoint) -> String {
    let mut name = String::new();
    for letter in format!("{endpoint:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
