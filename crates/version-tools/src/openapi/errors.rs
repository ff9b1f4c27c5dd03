//! The forms of errors: one schema each.

use adapter_kit::version::NestedErrors;
use domain::Code;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, ArrayBuilder, ObjectBuilder, Schema, Type};

use super::Profile;
use super::properties::{DEGREE, TRAINEE, list_of, named, text, texts};

/// The name of a schema.
pub(super) const ERROR: &str = "Error";
pub(super) const ERRORS: &str = "Errors";
pub(super) const ERRORS_BY_FIELD: &str = "ErrorsByField";
pub(super) const FILTER_ERRORS: &str = "FilterErrors";
pub(super) const UNAUTHORIZED: &str = "Unauthorized";
pub(super) const DUPLICATE_TRAINEE: &str = "DuplicateTrainee";
pub(super) const DUPLICATE_DEGREE: &str = "DuplicateDegree";

/// The name of the schema of errors. Generators name an object after its type, so that one of clients has another name than
/// its only member.
pub(super) const fn errors_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Complete => ERRORS,
        Profile::Client => "ErrorResponse",
    }
}

/// The schemas of errors, by name.
pub(super) fn schemas(nested: NestedErrors, profile: Profile) -> Vec<(&'static str, RefOr<Schema>)> {
    let by_field = match nested {
        NestedErrors::Flat => texts().into(),
        NestedErrors::Nested => {
            AnyOfBuilder::new().item(texts()).item(texts_by_name("In the items of a list, by field.")).into()
        }
    };
    vec![
        (ERROR, error()),
        (errors_name(profile), errors().into()),
        (
            ERRORS_BY_FIELD,
            by_name("What is wrong, by field: the form that `Enhanced-Errors: true` asks for.", by_field),
        ),
        (FILTER_ERRORS, by_name("Which filters or other names of a query are wrong.", texts().into())),
        (UNAUTHORIZED, unauthorized()),
        (DUPLICATE_TRAINEE, duplicate(TRAINEE)),
        (DUPLICATE_DEGREE, duplicate(DEGREE)),
    ]
}

fn error() -> RefOr<Schema> {
    let code = text("The code of a problem in what was sent: the same in every version.");
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("What is wrong."))
        .property("error", text("The name of the error."))
        .property("message", text("What is wrong, in words; in a problem of a field, its name comes first."))
        .property("code", code.enum_values(Some(Code::ALL.iter().map(|code| code.name()))))
        .property("field", text("Where the problem is, as a path in the names of this version."))
        .required("error")
        .required("message")
        .into()
}

fn errors() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("What is wrong, one entry for each problem."))
        .property("errors", ArrayBuilder::new().items(named(ERROR)).min_items(Some(1)))
        .required("errors")
}

/// Errors with the records that are there already.
fn duplicate(record: &str) -> RefOr<Schema> {
    errors().property("data", list_of(record).description(Some("The existing records."))).into()
}

fn texts_by_name(description: &str) -> ObjectBuilder {
    let object = ObjectBuilder::new().schema_type(Type::Object).description(Some(description));
    object.additional_properties(Some(AdditionalProperties::RefOr(texts().into())))
}

fn by_name(description: &str, each: RefOr<Schema>) -> RefOr<Schema> {
    let by_name = ObjectBuilder::new().schema_type(Type::Object).min_properties(Some(1));
    let by_name = by_name.additional_properties(Some(AdditionalProperties::RefOr(each)));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
        .property("message", text("How many problems there are."))
        .property("errors", by_name.description(Some("What is wrong, by name.")))
        .required("message")
        .required("errors")
        .into()
}

fn unauthorized() -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("There is no valid token."))
        .property("error", text("Always the same.").enum_values(Some(["Unauthorized"])))
        .required("error")
        .into()
}
