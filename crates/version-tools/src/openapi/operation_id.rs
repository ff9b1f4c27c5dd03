//! Identifiers of operations.

use adapter_kit::endpoint::Endpoint;

/// Returns the identifier of the operation, which generated clients use as a name.
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
