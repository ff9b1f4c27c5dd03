//! Properties outside the dictionary, and references to schemas.

use adapter_kit::body_kind::RecordKind;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Ref, Schema, SchemaType, Type};

/// The name of the schema of a trainee.
pub(super) const TRAINEE: &str = "Trainee";

/// Returns the name of the schema of a record, such as `Placement`.
pub(super) fn schema_name(record: RecordKind) -> String {
    in_pascal_case(record.name())
}

/// Returns an array of references to a schema.
pub(super) fn list_of(name: &str) -> ArrayBuilder {
    ArrayBuilder::new().items(named(name))
}

/// Returns a reference to a schema.
pub(super) fn named(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

/// Returns a non-null text.
pub(super) fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
}

/// Returns a non-negative whole number.
pub(super) fn count(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .description(Some(description))
}

/// Makes a property of type `one` nullable.
pub(super) fn or_null(object: ObjectBuilder, one: Type) -> RefOr<Schema> {
    object
        .schema_type(SchemaType::Array(vec![one, Type::Null]))
        .into()
}

/// Returns a non-null boolean.
pub(super) fn boolean(description: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some(description))
        .into()
}

/// Returns an array of non-null texts.
pub(super) fn texts() -> ArrayBuilder {
    ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String))
}

/// Converts a name in snake case to Pascal case.
pub(super) fn in_pascal_case(name: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .chain(letters)
            .collect::<String>()
    };
    name.split('_').map(capitalised).collect()
}

/// Returns a noun with its indefinite article.
pub(super) fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
