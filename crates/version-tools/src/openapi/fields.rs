//! Schemas of single fields in replies and requests, from the dictionary.

use adapter_kit::body_kind::Direction;
use adapter_kit::form::{FormField, MemberForm};
use adapter_kit::read::MAX_RECORDS;
use adapter_kit::shape::{JsonType, Part};
use adapter_kit::version::{ApiVersion, Vocabulary};
use domain::fields::field::{Codes, FieldInfo};
use domain::{Kind, Lists};
use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Ref, Schema, SchemaFormat, SchemaType, Type,
};

use super::Context;

/// A date, optionally with an ignored time.
const DATE: &str = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ].+)?$";
/// Like [`DATE`], but also allows blank text.
const DATE_OR_BLANK: &str = r"^(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ].+)?|\s*)$";
/// A year, or a date in the year.
const YEAR: &str = r"^\d{4}(-\d{2}-\d{2}([T ].+)?)?$";
/// Like [`YEAR`], but also allows blank text.
const YEAR_OR_BLANK: &str = r"^(\d{4}(-\d{2}-\d{2}([T ].+)?)?|\s*)$";
pub(super) const BLANK: &str = r"^\s*$";
const NOT_BLANK: &str = r"\S";
/// A timestamp in UTC with milliseconds.
const TIMESTAMP: &str = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$";

/// Maximum number of codes of a list that is written out.
const CODES_WRITTEN_OUT: usize = 32;

/// Whether a request may leave a field without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// A rule requires a value.
    Required,
    /// Null and blank text clear the field.
    Optional,
}

/// Returns the schema of a field of a reply. `nested` is the schema of the records of a list.
pub(super) fn shown(
    info: &FieldInfo,
    kind: Kind,
    context: Context<'_>,
    nested: Option<Ref>,
) -> RefOr<Schema> {
    let Context {
        version: ApiVersion { vocabulary, .. },
        lists,
    } = context;
    let nullable = |object: ObjectBuilder, one: Type| {
        object.schema_type(if info.never_null {
            SchemaType::Type(one)
        } else {
            SchemaType::Array(vec![one, Type::Null])
        })
    };
    let object = ObjectBuilder::new().description(Some(meaning(info, lists, vocabulary)));
    match kind {
        Kind::Text => {
            let object = nullable(object, Type::String).max_length(info.max);
            let written = codes(info, context, &|_, _| true).map(|mut codes| {
                codes.extend((!info.never_null).then_some(Value::Null));
                codes
            });
            object.enum_values(written).into()
        }
        Kind::Integer | Kind::Year => nullable(object, Type::Integer).into(),
        Kind::Boolean => nullable(object, Type::Boolean).into(),
        Kind::Date => nullable(object, Type::String)
            .format(Some(SchemaFormat::Custom("date".to_owned())))
            .into(),
        Kind::Timestamp => nullable(object, Type::String)
            .format(Some(SchemaFormat::Custom("date-time".to_owned())))
            .pattern(Some(TIMESTAMP))
            .into(),
        Kind::Uuid => nullable(object, Type::String)
            .format(Some(SchemaFormat::Custom("uuid".to_owned())))
            .into(),
        Kind::Document => nullable(object, Type::Object).into(),
        Kind::TextList => ArrayBuilder::new()
            .description(Some(meaning(info, lists, vocabulary)))
            .items(Object::with_type(Type::String))
            .into(),
        Kind::Records => records(info, nested).into(),
    }
}

/// Returns the schema of a text that joins fields. `meanings` are the meanings of the fields, and
/// `part` is one of the parts.
pub(super) fn joined(
    meanings: impl Iterator<Item = &'static str>,
    part: Part,
    presence: Presence,
) -> RefOr<Schema> {
    let meanings: Vec<&str> = meanings
        .map(|meaning| meaning.trim_end_matches('.'))
        .collect();
    let meaning = format!(
        "{}, with `{}` between them.",
        meanings.join("; "),
        part.separator
    );
    let object = ObjectBuilder::new().description(Some(meaning));
    let types = match presence {
        Presence::Required => SchemaType::Type(Type::String),
        Presence::Optional => SchemaType::Array(vec![Type::String, Type::Null]),
    };
    object.schema_type(types).into()
}

/// Returns the schema of a field in another form. Null stands for no value.
pub(super) fn formed(
    meaning: &str,
    field: &FormField,
    form: MemberForm,
    (direction, presence): (Direction, Presence),
) -> RefOr<Schema> {
    let mut schema = match direction {
        Direction::Reply => form.form.schema(field),
        Direction::Request => form.form.request_schema(field),
    };
    if let Some(members) = schema.as_object_mut() {
        let description = format!("{meaning} {}", form.describe(field));
        members.insert("description".to_owned(), json!(description));
        if presence == Presence::Optional {
            allow_null(members);
        }
    }
    serde_json::from_value(schema)
        .unwrap_or_else(|_| ObjectBuilder::new().description(Some(meaning)).into())
}

/// Allows null in a JSON Schema with a type, with listed values or with alternatives.
fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(types) = schema.get_mut("type") {
        if let Value::Array(types) = types {
            types.push(json!("null"));
        } else {
            *types = json!([types.take(), "null"]);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.push(Value::Null);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = schema.get_mut(key) {
            schemas.push(json!({ "type": "null" }));
        }
    }
}

/// Marks a field as read-only.
pub(super) fn read_only(mut schema: RefOr<Schema>) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.read_only = Some(true);
    }
    schema
}

/// Adds the default of an absent key in a request for a new record.
pub(super) fn with_default(mut schema: RefOr<Schema>, default: Value) -> RefOr<Schema> {
    let default = Some(default);
    match &mut schema {
        RefOr::T(Schema::Object(object)) => object.default = default,
        RefOr::T(Schema::AnyOf(any)) => any.default = default,
        RefOr::T(_) | RefOr::Ref(_) => {}
    }
    schema
}

/// Returns the schema of a field of a request, with all forms that requests can send. `nested` is
/// the schema of the records of a list.
pub(super) fn sent(
    info: &FieldInfo,
    presence: Presence,
    accepts: Option<JsonType>,
    context: Context<'_>,
    nested: Option<Ref>,
) -> RefOr<Schema> {
    let Context {
        version:
            ApiVersion {
                accepted_codes,
                vocabulary,
                wire,
                ..
            },
        lists,
    } = context;
    let object = ObjectBuilder::new().description(Some(meaning(info, lists, vocabulary)));
    let types = |mut types: Vec<Type>| {
        types.extend((presence == Presence::Optional).then_some(Type::Null));
        SchemaType::Array(types)
    };
    let either = |must: &'static str, may: &'static str| {
        Some(if presence == Presence::Required {
            must
        } else {
            may
        })
    };
    // Words are never numbers.
    let has_words = wire.words_of(info.codes).is_some();
    let scalars = match accepts {
        Some(JsonType::Integer) => return object.schema_type(types(vec![Type::Integer])).into(),
        Some(JsonType::Text) => vec![Type::String],
        None if has_words => vec![Type::String],
        None => vec![Type::String, Type::Integer],
    };
    match info.kind {
        Kind::Text => {
            let takes_numbers = scalars.contains(&Type::Integer);
            let object = object.schema_type(types(scalars)).max_length(info.max);
            match codes(info, context, &|list, code| {
                accepted_codes.accepts(list, code)
            }) {
                Some(codes) => object
                    .enum_values(Some(as_sent(codes, presence, takes_numbers)))
                    .into(),
                None if presence == Presence::Required => {
                    object.min_length(Some(1)).pattern(Some(NOT_BLANK)).into()
                }
                None => object.into(),
            }
        }
        Kind::Date => object
            .schema_type(types(vec![Type::String]))
            .pattern(either(DATE, DATE_OR_BLANK))
            .into(),
        Kind::Year => object
            .schema_type(types(scalars))
            .pattern(either(YEAR, YEAR_OR_BLANK))
            .into(),
        Kind::TextList => {
            let array = ArrayBuilder::new()
                .description(Some(meaning(info, lists, vocabulary)))
                .schema_type(if presence == Presence::Required {
                    SchemaType::Type(Type::Array)
                } else {
                    types(vec![Type::Array])
                })
                .items(Object::with_type(Type::String));
            array
                .min_items((presence == Presence::Required).then_some(1))
                .into()
        }
        // Null and blank text stand for an empty list.
        Kind::Records => AnyOfBuilder::new()
            .description(Some(info.meaning))
            .item(records(info, nested).max_items(Some(MAX_RECORDS)))
            .item(
                ObjectBuilder::new()
                    .schema_type(types(vec![Type::String]))
                    .pattern(Some(BLANK)),
            )
            .into(),
        Kind::Integer => object
            .schema_type(types(vec![Type::Integer, Type::String]))
            .into(),
        Kind::Boolean => object
            .schema_type(types(vec![Type::Boolean, Type::String]))
            .into(),
        // Requests do not have fields of these kinds.
        Kind::Timestamp | Kind::Document | Kind::Uuid => object.into(),
    }
}

/// Returns the schema of a list of nested records. `nested` is the schema of one record.
fn records(info: &FieldInfo, nested: Option<Ref>) -> ArrayBuilder {
    let array = ArrayBuilder::new().description(Some(info.meaning));
    match nested {
        Some(nested) => array.items(nested),
        None => array,
    }
}

/// Returns the meaning of the field in the version's terms, with the list of its codes.
fn meaning(info: &FieldInfo, lists: &Lists, vocabulary: &Vocabulary) -> String {
    let mut meaning = vocabulary.apply(info.meaning).into_owned();
    if let Some(Codes::Listed(list)) = info.codes {
        let count = lists.entries(list).len();
        meaning.push_str(&format!(
            " A code of the list `{}`, which has {count}.",
            list.name()
        ));
    }
    if info.kind == Kind::Date && info.input {
        meaning.push_str(" `YYYY-MM-DD`; the time of a full date-time is cut off.");
    }
    if info.imported {
        meaning.push_str(" Only records that came from an older system have it.");
    }
    meaning
}

/// Returns the codes of a field, as the version writes them. Returns `None` if the field has no
/// codes or too many to be written out. `accepts` selects codes of a list.
fn codes(
    info: &FieldInfo,
    context: Context<'_>,
    accepts: &dyn Fn(domain::List, &str) -> bool,
) -> Option<Vec<Value>> {
    let Context { version, lists } = context;
    match info.codes? {
        Codes::OneOf(words) => Some(words.iter().map(|word| json!(word)).collect()),
        Codes::Listed(list) if lists.entries(list).len() <= CODES_WRITTEN_OUT => {
            let codes = lists.codes(list).filter(|code| accepts(list, code));
            Some(
                codes
                    .map(|code| json!(version.wire.written(list, code)))
                    .collect(),
            )
        }
        Codes::Listed(_) => None,
    }
}

/// Returns the values that requests can send in a field with these codes. If the field also takes
/// numbers, a code such as `12` can be sent as a number. An optional field takes blank text and
/// null.
fn as_sent(codes: Vec<Value>, presence: Presence, takes_numbers: bool) -> Vec<Value> {
    let number = |code: &Value| {
        let text = code.as_str()?;
        text.parse::<u32>()
            .ok()
            .filter(|number| number.to_string() == text)
            .map(|number| json!(number))
    };
    let numbers: Vec<Value> = codes
        .iter()
        .filter(|_| takes_numbers)
        .filter_map(number)
        .collect();
    let mut values = codes;
    values.extend(numbers);
    if presence == Presence::Optional {
        values.extend([json!(""), Value::Null]);
    }
    values
}
