//! Properties that are no fields of the dictionary.

use utoipa::openapi::schema::{ObjectBuilder, Type};

/// Text, which is never null.
pub(super) fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}

/// A number of things.
pub(super) fn count(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).description(Some(description))
}
