//! Schemas of errors.

use adapter_kit::body_kind::RecordKind;
use adapter_kit::for_nested_kind;
use adapter_kit::version::NestedErrors;
use domain::Code;
use domain::records::record::NestedKind;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema, Type,
};

use super::properties::{count, list_of, named, schema_name, text, texts};

/// The name of a schema.
pub(super) const ERROR: &str = "Error";
pub(super) const ERRORS: &str = "Errors";
pub(super) const ERRORS_BY_FIELD: &str = "ErrorsByField";
pub(super) const FILTER_ERRORS: &str = "FilterErrors";
pub(super) const UNAUTHORIZED: &str = "Unauthorized";

/// Returns the name of the schema of a conflict with existing records.
pub(super) fn duplicate_name(record: RecordKind) -> String {
    format!("Duplicate{}", schema_name(record))
}

/// Whether duplicates of a record are refused.
pub(super) fn refuses_duplicates(record: RecordKind) -> bool {
    fn refuses<R: NestedKind>() -> bool {
        !R::DUPLICATE_FIELDS.is_empty()
    }
    record == RecordKind::Trainee || for_nested_kind!(record, refuses()).unwrap_or(false)
}

/// The name of the schema of problem details.
pub(super) const PROBLEM_DETAILS: &str = "ProblemDetails";
/// The name of the schema of one problem in problem details.
const PROBLEM: &str = "Problem";

/// Returns the schemas of problem details, by name.
pub(super) fn details_schemas() -> Vec<(String, RefOr<Schema>)> {
    let code = text("The code of a problem in what was sent: the same in every version.");
    let problem = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("One problem of a request."))
        .property(
            "pointer",
            text("Where in the body the problem is, as a JSON pointer."),
        )
        .property(
            "parameter",
            text("The parameter of the query that is wrong."),
        )
        .property(
            "code",
            code.enum_values(Some(Code::ALL.iter().map(|code| code.name()))),
        )
        .property("detail", text("What is wrong, in words."))
        .required("detail");
    let mut all = vec![
        (PROBLEM.to_owned(), problem.into()),
        (PROBLEM_DETAILS.to_owned(), details().into()),
    ];
    let refused = RecordKind::ALL
        .iter()
        .copied()
        .filter(|record| refuses_duplicates(*record));
    let duplicate = |record| {
        details()
            .property("data", existing(&schema_name(record)))
            .required("data")
    };
    all.extend(refused.map(|record| (duplicate_name(record), duplicate(record).into())));
    all
}

/// Returns the schema of problem details without members for existing records.
fn details() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("What is wrong (RFC 9457)."))
        .property(
            "type",
            text("Always `about:blank`: the status says what kind of error it is."),
        )
        .property("title", text("The name of the error."))
        .property("status", count("The status of the response."))
        .property("detail", text("What is wrong, in words."))
        .property(
            "errors",
            ArrayBuilder::new()
                .items(named(PROBLEM))
                .description(Some("One entry for each problem.")),
        )
        .required("type")
        .required("title")
        .required("status")
        .required("detail")
}

fn existing(record: &str) -> ArrayBuilder {
    list_of(record).description(Some("The existing records."))
}

/// Returns the schemas of errors, by name.
pub(super) fn schemas(nested: NestedErrors) -> Vec<(String, RefOr<Schema>)> {
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
