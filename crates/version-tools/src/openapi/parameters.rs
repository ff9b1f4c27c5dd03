//! What a request can carry beside its body: identifiers in the path, filters in the query, and
//! headers.

use adapter_kit::endpoint::{Endpoint, Method};
use adapter_kit::reference;
use adapter_kit::version::ApiVersion;
use domain::listing::{DEFAULT_PER_PAGE, MAX_PER_PAGE, Status};
use serde_json::{Value, json};
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

/// Identifiers are 24 characters of the base-58 alphabet.
const IDENTIFIER: &str = "^[1-9A-HJ-NP-Za-km-z]{24}$";

/// The parameters of an endpoint.
pub(super) fn of(version: &ApiVersion, endpoint: Endpoint) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = identifiers(endpoint.path()).map(identifier).collect();
    match endpoint {
        Endpoint::ListTrainees => parameters.extend(filters()),
        Endpoint::ReferenceData => {
            parameters.push(query(
                "field",
                "The one list to give, by its name or by that of a field that holds its codes; all of them without.",
                names_of_lists(version),
            ));
        }
        Endpoint::CreateTrainee | Endpoint::UpdateTrainee => {
            parameters.push(header("Enhanced-Errors", "`true` asks for the problems of a 422 by field."))
        }
        Endpoint::Info
        | Endpoint::ShowTrainee
        | Endpoint::ListPlacements
        | Endpoint::CreatePlacement
        | Endpoint::ShowPlacement
        | Endpoint::UpdatePlacement
        | Endpoint::DeletePlacement
        | Endpoint::ListDegrees
        | Endpoint::CreateDegree
        | Endpoint::ShowDegree
        | Endpoint::UpdateDegree
        | Endpoint::DeleteDegree
        | Endpoint::Defer
        | Endpoint::Withdraw
        | Endpoint::RecommendForQts
        | Endpoint::UpdateQtsOrEytsStatus => {}
    }
    if endpoint.has_entity_tag() {
        parameters.push(header("If-None-Match", "The entity tag of what the client has already."));
    }
    if endpoint.takes_if_match() {
        parameters
            .push(header("If-Match", "The entity tag of the record as the client knows it; another one is a 412."));
    }
    if endpoint.method() == Method::Post {
        let meaning =
            "A key of the client's for this request: sent again with it within a day, it gets the same reply.";
        parameters.push(header("Idempotency-Key", meaning));
    }
    parameters.push(if endpoint.method() == Method::Get {
        header("Prefer", "`handling=strict` refuses unknown names in the query.")
    } else {
        header(
            "Prefer",
            "`validate-only` tries the request out and changes nothing; `handling=strict` refuses unknown names.",
        )
    });
    parameters
}

/// The identifiers that a path names.
pub(super) fn identifiers(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

fn identifier(name: &'static str) -> Parameter {
    let record = name.trim_end_matches("_id");
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(format!("Identifier of the {record}.")))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).pattern(Some(IDENTIFIER))))
        .build()
}

/// The filters of a list (contract, section 4.2). Blank counts as absent in each.
fn filters() -> [Parameter; 7] {
    let text = || ObjectBuilder::new().schema_type(Type::String);
    let number = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    let words = |words: &[&str]| {
        let words: Vec<Value> = words.iter().map(|word| json!(word)).chain([json!("")]).collect();
        text().enum_values(Some(words))
    };
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    [
        query(
            "academic_cycle",
            "The year in which the academic cycle begins; the current cycle without.",
            text().pattern(Some(r"^(20\d\d|\s*)$")),
        ),
        query("status", "Only trainees of that status.", words(&statuses)),
        query(
            "since",
            "Only trainees changed at or after that moment: an ISO 8601 date, or date and time.",
            text().pattern(Some(r"^(\d{4}-\d{2}-\d{2}([T ].+)?|\s*)$")),
        ),
        query(
            "has_trn",
            "Only trainees with (`true`) or without (`false`) a TRN.",
            text().pattern(Some(r"^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|0|1|\s*)$")),
        ),
        query("page", "The page, from 1.", number()),
        query("per_page", &format!("Records on a page; {DEFAULT_PER_PAGE} without, {MAX_PER_PAGE} at most."), number()),
        query(
            "sort_order",
            "By the time of the last change: `desc`, the newest first, or `asc`.",
            words(&["asc", "desc"]),
        ),
    ]
}

fn names_of_lists(version: &ApiVersion) -> ObjectBuilder {
    let names: Vec<Value> =
        reference::names_in(version).into_iter().map(|name| json!(name)).chain([json!("")]).collect();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names))
}

fn query(name: &str, description: &str, schema: ObjectBuilder) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

fn header(name: &str, description: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(description))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

#[cfg(test)]
mod tests {
    use conformance::sample_version::SAMPLE_VERSION;

    use super::*;

    #[test]
    fn the_document_has_the_parameters_that_the_endpoint_reads() {
        for endpoint in Endpoint::ALL {
            let documented: Vec<String> = of(&SAMPLE_VERSION, *endpoint)
                .into_iter()
                .filter(|parameter| parameter.parameter_in == ParameterIn::Query)
                .map(|parameter| parameter.name)
                .collect();
            assert_eq!(documented, endpoint.query_parameters(), "{endpoint}");
        }
    }
}
