//! The operations of an endpoint: one for each method that it answers.

use adapter_kit::endpoint::{Endpoint, Method, Tag};
use adapter_kit::version::{ApiVersion, Deprecation};
use domain::Lists;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::{ContentBuilder, Deprecated, Required};

use super::operation_id::operation_id;
use super::{examples, parameters, replies, schemas};

const JSON: &str = "application/json";
const JSON_LINES: &str = "application/x-ndjson";

/// The operations of an endpoint, with their methods.
pub(super) fn of(version: &ApiVersion, lists: &Lists, endpoint: Endpoint) -> Vec<(HttpMethod, Operation)> {
    let name = operation_id(endpoint);
    match endpoint.method() {
        Method::Get => vec![(HttpMethod::Get, operation(version, lists, endpoint, name))],
        Method::Post => vec![(HttpMethod::Post, operation(version, lists, endpoint, name))],
        Method::Delete => vec![(HttpMethod::Delete, operation(version, lists, endpoint, name))],
        Method::PutOrPatch => vec![
            (HttpMethod::Put, operation(version, lists, endpoint, format!("{name}_by_put"))),
            (HttpMethod::Patch, operation(version, lists, endpoint, name)),
        ],
    }
}

fn operation(version: &ApiVersion, lists: &Lists, endpoint: Endpoint, name: String) -> Operation {
    let deprecation = version.endpoints.deprecation(endpoint);
    let description = deprecation.map(|Deprecation { since, removed_in, .. }| {
        let instead = version
            .endpoints
            .replacement(endpoint)
            .map_or_else(String::new, |other| format!("; use `{}` instead", other.path()));
        format!("Deprecated since {since}{instead}. Removed in {removed_in}.")
    });
    let tag = Tag::ALL.iter().find(|(tag, ..)| *tag == endpoint.row().tag).map_or("", |(_, name, _)| name);
    OperationBuilder::new()
        .operation_id(Some(name))
        .tag(tag)
        .summary(Some(endpoint.meaning()))
        .description(description)
        .deprecated(deprecation.map(|_| Deprecated::True))
        .parameters(Some(parameters::of(version, endpoint)))
        .request_body(body(version, endpoint))
        .responses(replies::of(version, lists, endpoint))
        .build()
}

fn body(version: &ApiVersion, endpoint: Endpoint) -> Option<RequestBody> {
    let request = endpoint.row().request?;
    let content = ContentBuilder::new().example(examples::request(version, endpoint));
    let body = RequestBodyBuilder::new().required(Some(Required::True));
    if request.batch_of.is_some() {
        let (array, lines) = (schemas::batch(request), ContentBuilder::new().schema(Some(schemas::batch_lines())));
        let body = body.content(JSON, content.schema(Some(array)).build());
        return Some(body.content(JSON_LINES, lines.build()).build());
    }
    let schema = schemas::in_data(schemas::named(schemas::request(request)));
    Some(body.content(JSON, content.schema(Some(schema)).build()).build())
}
