//! Properties that are no fields of the dictionary, and references to schemas.

use adapter_kit::body_kind::RecordKind;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Ref, Schema, SchemaType, Type};

/// The name of the schema of a trainee.
pub(super) const TRAINEE: &str = "Trainee";

/// The name of the schema of a record, such as `Placement`.
pub(super) fn schema_name(record: RecordKind) -> String {
    in_pascal_case(record.name())
}

/// A list of something.
pub(super) fn list_of(name: &str) -> ArrayBuilder {
    ArrayBuilder::new().items(named(name))
}

/// A reference to a schema.
pub(super) fn named(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

/// Text, which is never null.
pub(super) fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
}

/// A number of things.
pub(super) fn count(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0))
        .description(Some(description))
}

/// The same, which may be null.
pub(super) fn or_null(object: ObjectBuilder, one: Type) -> RefOr<Schema> {
    object
        .schema_type(SchemaType::Array(vec![one, Type::Null]))
        .into()
}

/// True or false, and never null.
pub(super) fn boolean(description: &str) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .description(Some(description))
        .into()
}

/// Several texts, none of which is null.
pub(super) fn texts() -> ArrayBuilder {
    ArrayBuilder::new().items(ObjectBuilder::new().schema_type(Type::String))
}

/// A name with a capital letter for each word and without underscores.
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

/// A noun with its article.
pub(super) fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
