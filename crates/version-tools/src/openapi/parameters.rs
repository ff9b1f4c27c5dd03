//! Parameters of requests: identifiers in the path, filters in the query, and headers.

use adapter_kit::body_kind::Direction;
use adapter_kit::endpoint::{Endpoint, Method, ReplyBody};
use adapter_kit::form::MemberForm;
use adapter_kit::{ApiVersion, Filter, reference};
use domain::listing::{DEFAULT_PER_PAGE, MAX_PER_PAGE, Status};
use serde_json::{Value, json};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{RefOr, Required};

use super::Context;
use super::fields::{self, Presence};

/// Identifiers are 24 characters of the base-58 alphabet.
const IDENTIFIER: &str = "^[1-9A-HJ-NP-Za-km-z]{24}$";

/// Returns the parameters of an endpoint.
pub(super) fn build(context: Context<'_>, endpoint: Endpoint) -> Vec<Parameter> {
    let row = context.version.row(endpoint);
    let mut parameters: Vec<Parameter> = identifiers(row.path)
        .map(|name| identifier(context, name))
        .collect();
    parameters.extend(
        row.query_parameters
            .iter()
            .map(|name| query_parameter(context, name)),
    );
    if row.has_errors_by_field() {
        parameters.push(header(
            "Enhanced-Errors",
            "`true` requests the problems of a 422 by field.",
        ));
    }
    let is_list = [ReplyBody::TraineePage, ReplyBody::Changes].contains(&row.reply);
    if is_list || row.method == Method::Get && row.shows_one() {
        parameters.push(header(
            "If-None-Match",
            "The entity tag of the client's copy.",
        ));
    }
    if row.takes_if_match() {
        parameters.push(header(
            "If-Match",
            "The entity tag of the client's copy; if the record has another one, the reply is a 412.",
        ));
    }
    if row.method == Method::Post && !row.is_batch() {
        let meaning = "A key of the client's for this request: sent again with it within a day, it gets the same reply.";
        parameters.push(header("Idempotency-Key", meaning));
    }
    parameters.push(if row.reply == ReplyBody::Changes {
        header(
            "Prefer",
            "`wait=20` waits up to 20 seconds for a change (at most 30); `handling=strict` refuses unknown \
             names in the query.",
        )
    } else if !row.writes() {
        header("Prefer", "`handling=strict` refuses unknown names in the query.")
    } else {
        header(
            "Prefer",
            "`validate-only` tries the request out and changes nothing; `handling=strict` refuses unknown names.",
        )
    });
    parameters
}

/// Returns the names of the identifiers in a path.
pub(super) fn identifiers(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

/// Returns the parameter for an identifier in a path.
fn identifier(context: Context<'_>, name: &'static str) -> Parameter {
    let record = name.trim_end_matches("_id");
    let meaning = format!("Identifier of the {record}.");
    let schema = match adapter_kit::identifiers::form(context.version, name) {
        Some((form, field)) => {
            let use_in_path = (Direction::Reply, Presence::Required);
            fields::formed(&meaning, &field, form, use_in_path)
        }
        None => ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(IDENTIFIER))
            .into(),
    };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(meaning))
        .schema(Some(schema))
        .build()
}

/// Returns a parameter of a query. In the filters of a list (contract, section 4.2), a blank value
/// counts as absent.
fn query_parameter(context: Context<'_>, name: &str) -> Parameter {
    let version = context.version;
    if let Some((filter, form)) = formed_filter(version, name) {
        let field = filter.form_field();
        let use_in_query = (Direction::Request, Presence::Required);
        let schema = fields::formed(filter.meaning(), &field, form, use_in_query);
        let description = format!("{} {}", filter.meaning(), form.describe(&field));
        return parameter(name, ParameterIn::Query, &description, schema);
    }
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let pattern = |pattern: &str| text().pattern(Some(pattern));
    let number = || {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(1))
    };
    let one_of = |values: &[&str]| {
        let values: Vec<Value> = values
            .iter()
            .map(|value| json!(value))
            .chain([json!("")])
            .collect();
        text().enum_values(Some(values))
    };
    let lists: Vec<_> = version
        .shapes
        .trainee
        .nested_lists()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let include = format!(
        "Nested records to show: {}, or both with a comma between them.",
        lists.join(" or ")
    );
    let limit = format!(
        "Maximum number of changes; {DEFAULT_PER_PAGE} by default, at most {MAX_PER_PAGE}."
    );
    let size = version.wire.envelope.page_size;
    let page_size = format!(
        "Records on a page; {} by default, at most {}.",
        size.default(),
        size.max()
    );
    let (description, schema) = match name {
        "academic_cycle" => (
            "The year when the academic cycle begins; the current cycle by default.",
            pattern(r"^(20\d\d|\s*)$"),
        ),
        "status" => ("Only trainees of that status.", one_of(Status::NAMES)),
        "since" => (
            "Only trainees changed at or after that moment: an ISO 8601 date, or date and time.",
            pattern(r"^(\d{4}-\d{2}-\d{2}([T ].+)?|\s*)$"),
        ),
        "has_trn" => (
            "Only trainees with (`true`) or without (`false`) a TRN.",
            pattern(r"^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1|\s*)$"),
        ),
        "page" => ("The page, from 1.", number()),
        "per_page" => (page_size.as_str(), number()),
        "sort_order" => (
            "By the time of the last change: `desc`, the newest first, or `asc`.",
            one_of(&["asc", "desc"]),
        ),
        "include" => (include.as_str(), text()),
        "cursor" => (
            "The position of the page, from a link to it; instead of `page`, and with the filters of that link.",
            text(),
        ),
        "after" => (
            "The position after the changes read so far: `meta.after` of the previous reply. Without it, the reply begins with all trainees.",
            text(),
        ),
        "limit" => (limit.as_str(), number()),
        "field" => (
            "The list to return, by its name or by the name of a field with its codes; all lists by default.",
            one_of(&reference::names_in(version)),
        ),
        "days" => (
            "Number of days to include, up to and including today; 30 by default.",
            ObjectBuilder::new()
                .schema_type(Type::Integer)
                .minimum(Some(1))
                .maximum(Some(400)),
        ),
        other => (other, text()),
    };
    parameter(name, ParameterIn::Query, description, schema)
}

/// Returns the filter with a name and its form, if the version writes the filter in another form.
fn formed_filter(version: &ApiVersion, name: &str) -> Option<(Filter, MemberForm)> {
    let filter = Filter::ALL
        .into_iter()
        .find(|filter| filter.name() == name)?;
    Some((filter, filter.form(version.inputs.filters)?))
}

fn header(name: &str, description: &str) -> Parameter {
    parameter(
        name,
        ParameterIn::Header,
        description,
        ObjectBuilder::new().schema_type(Type::String),
    )
}

fn parameter(
    name: &str,
    location: ParameterIn,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(location)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

#[cfg(test)]
mod tests {
    use conformance::form_version::FORM_VERSION;
    use domain::Lists;

    use super::*;

    #[test]
    fn identifiers_and_filters_have_the_schemas_of_their_forms() {
        let context = Context {
            version: &FORM_VERSION,
            lists: Lists::embedded(),
        };
        let schema = |endpoint, name: &str| {
            let parameters = build(context, endpoint);
            let found = parameters.into_iter().find(|known| known.name == name);
            serde_json::to_value(found.unwrap().schema.unwrap()).unwrap()
        };
        let trainee = schema(Endpoint::ShowTrainee, "trainee_id");
        assert_eq!(trainee["pattern"], "^trainee_");
        let degree = schema(Endpoint::ShowDegree, "degree_id");
        assert_eq!(degree["pattern"], IDENTIFIER);
        let has_trn = schema(Endpoint::ListTrainees, "has_trn");
        assert_eq!(has_trn["enum"], json!(["yes", "no", "unknown"]));
        let cycle = schema(Endpoint::ListTrainees, "academic_cycle");
        assert_eq!(cycle["type"], "integer");
    }
}
