//! Schemas of errors.

use adapter_kit::body_kind::RecordKind;
use adapter_kit::for_nested_kind;
use adapter_kit::version::{ApiVersion, NestedErrors};
use domain::Code;
use domain::records::record::NestedKind;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, AllOfBuilder, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema, Type,
};

use super::Context;
use super::properties::{named, text, texts};

/// The name of a schema.
pub(super) const ERROR: &str = "Error";
pub(super) const ERRORS: &str = "Errors";
pub(super) const ERRORS_BY_FIELD: &str = "ErrorsByField";
pub(super) const FILTER_ERRORS: &str = "FilterErrors";
pub(super) const UNAUTHORIZED: &str = "Unauthorized";

/// Returns the name of the schema of an error without existing records, and of an error without a
/// valid token.
pub(super) fn names(version: &ApiVersion) -> [&'static str; 2] {
    let problems = &version.wire.problems;
    if problems.is_common() {
        [ERRORS, UNAUTHORIZED]
    } else {
        [problems.name; 2]
    }
}

/// Returns the schema of an error with existing records in `data`.
pub(super) fn with_existing(context: Context<'_>, existing: ArrayBuilder) -> AllOfBuilder {
    let [name, _] = names(context.version);
    let existing = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("data", existing);
    AllOfBuilder::new().item(named(name)).item(existing)
}

/// Whether duplicates of a record are refused.
pub(super) fn refuses_duplicates(record: RecordKind) -> bool {
    fn refuses<R: NestedKind>() -> bool {
        !R::DUPLICATE_FIELDS.is_empty()
    }
    record == RecordKind::Trainee || for_nested_kind!(record, refuses()).unwrap_or(false)
}

/// Returns the schemas of errors, by name.
pub(super) fn schemas(version: &ApiVersion) -> Vec<(String, RefOr<Schema>)> {
    let problems = &version.wire.problems;
    let Some(schema) = problems.schema else {
        return common_schemas(version.nested_errors);
    };
    let schema = serde_json::from_value(schema())
        .unwrap_or_else(|_| ObjectBuilder::new().schema_type(Type::Object).into());
    vec![(problems.name.to_owned(), schema)]
}

/// Returns the schemas of errors in the common form, by name.
fn common_schemas(nested: NestedErrors) -> Vec<(String, RefOr<Schema>)> {
    let by_field = match nested {
        NestedErrors::Flat => texts().into(),
        NestedErrors::Nested => AnyOfBuilder::new()
            .item(texts())
            .item(texts_by_name("In the items of a list, by field."))
            .into(),
    };
    let by_field = by_name(
        "What is wrong, by field: the form that `Enhanced-Errors: true` asks for.",
        by_field,
    );
    vec![
        (ERROR.to_owned(), error()),
        (ERRORS.to_owned(), errors().into()),
        (ERRORS_BY_FIELD.to_owned(), by_field),
        (
            FILTER_ERRORS.to_owned(),
            by_name(
                "Which filters or other names of a query are wrong.",
                texts().into(),
            ),
        ),
        (UNAUTHORIZED.to_owned(), unauthorized()),
    ]
}

/// Returns the schema of one entry in a list of errors.
fn error() -> RefOr<Schema> {
    let code = text("The code of a problem in what was sent: the same in every version.");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("What is wrong."))
        .property("error", text("The name of the error."))
        .property(
            "message",
            text("What is wrong, in words; in a problem of a field, its name comes first."),
        )
        .property(
            "code",
            code.enum_values(Some(Code::ALL.iter().map(|code| code.name()))),
        )
        .property(
            "field",
            text("Where the problem is, as a path in the names of this version."),
        )
        .required("error")
        .required("message")
        .into()
}

/// Returns the schema of a reply with a list of errors.
fn errors() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("What is wrong, one entry for each problem."))
        .property(
            "errors",
            ArrayBuilder::new().items(named(ERROR)).min_items(Some(1)),
        )
        .required("errors")
}

fn texts_by_name(description: &str) -> ObjectBuilder {
    let object = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description));
    object.additional_properties(Some(AdditionalProperties::RefOr(texts().into())))
}

/// Returns the schema of a reply with errors by name. `each` is the schema of the errors of one
/// name.
fn by_name(description: &str, each: RefOr<Schema>) -> RefOr<Schema> {
    let by_name = ObjectBuilder::new()
        .schema_type(Type::Object)
        .min_properties(Some(1));
    let by_name = by_name.additional_properties(Some(AdditionalProperties::RefOr(each)));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .property("message", text("How many problems there are."))
        .property(
            "errors",
            by_name.description(Some("What is wrong, by name.")),
        )
        .required("message")
        .required("errors")
        .into()
}

fn unauthorized() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("There is no valid token."))
        .property(
            "error",
            text("Always the same.").enum_values(Some(["Unauthorized"])),
        )
        .required("error")
        .into()
}
