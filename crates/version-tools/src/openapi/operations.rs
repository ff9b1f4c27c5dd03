//! The operations of an endpoint: one for each method that it answers.

use adapter_kit::endpoint::{Endpoint, Method};
use adapter_kit::version::ApiVersion;
use domain::Lists;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::{ContentBuilder, Deprecated, Required};

use super::{Tag, examples, parameters, replies, schemas};

/// The operations of an endpoint, with their methods.
pub(super) fn of(version: &ApiVersion, lists: &Lists, endpoint: Endpoint) -> Vec<(HttpMethod, Operation)> {
    let name = name(endpoint);
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

/// The name of the operation of an endpoint, as programs that are generated from the document call it.
pub(super) fn name(endpoint: Endpoint) -> String {
    let mut name = String::new();
    for letter in format!("{endpoint:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

fn operation(version: &ApiVersion, lists: &Lists, endpoint: Endpoint, name: String) -> Operation {
    let deprecation = version.endpoints.deprecation(endpoint);
    let description = deprecation.map(|deprecation| {
        let instead = deprecation.replaced_by.path();
        format!(
            "Deprecated since {}; use `{instead}` instead. Removed in {}.",
            deprecation.since, deprecation.removed_in
        )
    });
    OperationBuilder::new()
        .operation_id(Some(name))
        .tag(Tag::of(endpoint).name())
        .summary(Some(endpoint.meaning()))
        .description(description)
        .deprecated(deprecation.map(|_| Deprecated::True))
        .parameters(Some(parameters::of(version, endpoint)))
        .request_body(body(version, endpoint))
        .responses(replies::of(version, lists, endpoint))
        .build()
}

fn body(version: &ApiVersion, endpoint: Endpoint) -> Option<RequestBody> {
    let (schema, example) = examples::described(version, endpoint)?;
    let content =
        ContentBuilder::new().schema(Some(schemas::in_data(schemas::named(schema)))).example(Some(example)).build();
    Some(RequestBodyBuilder::new().required(Some(Required::True)).content("application/json", content).build())
}
