//! The operations of an endpoint, one for each method.

use adapter_kit::endpoint::{Endpoint, Method, Tag};
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::{ContentBuilder, Deprecated, Required};

use super::operation_id::operation_id;
use super::replies::JSON;
use super::{Context, descriptions, examples, parameters, replies, schemas};

pub(super) const JSON_LINES: &str = "application/x-ndjson";

/// Returns the operations of an endpoint, with their methods.
pub(super) fn build(context: Context<'_>, endpoint: Endpoint) -> Vec<(HttpMethod, Operation)> {
    let name = operation_id(endpoint);
    match context.version.row(endpoint).method {
        Method::Get => vec![(HttpMethod::Get, operation(context, endpoint, name))],
        Method::Post => vec![(HttpMethod::Post, operation(context, endpoint, name))],
        Method::Delete => vec![(HttpMethod::Delete, operation(context, endpoint, name))],
        Method::PutOrPatch => {
            let put = operation(context, endpoint, format!("{name}_by_put"));
            vec![
                (HttpMethod::Put, put),
                (HttpMethod::Patch, operation(context, endpoint, name)),
            ]
        }
    }
}

/// Returns an operation of an endpoint. `name` becomes the identifier of the operation.
fn operation(context: Context<'_>, endpoint: Endpoint, name: String) -> Operation {
    let deprecation = context.version.endpoints.deprecation(endpoint);
    let tag = Tag::ALL
        .iter()
        .find(|(tag, ..)| *tag == context.version.row(endpoint).tag)
        .map_or("", |(_, name, _)| name);
    OperationBuilder::new()
        .operation_id(Some(name))
        .tag(tag)
        .summary(Some(endpoint.meaning()))
        .description(Some(descriptions::build(context.version, endpoint)))
        .deprecated(deprecation.map(|_| Deprecated::True))
        .parameters(Some(parameters::build(context, endpoint)))
        .request_body(body(context, endpoint))
        .responses(replies::build(context, endpoint))
        .build()
}

/// Returns the body of a request; `None` if the endpoint reads no body. A batch can be sent as a
/// JSON array or as lines of JSON.
fn body(context: Context<'_>, endpoint: Endpoint) -> Option<RequestBody> {
    let request = context.version.row(endpoint).request?;
    let content = ContentBuilder::new().example(examples::request(context.version, endpoint));
    let body = RequestBodyBuilder::new().required(Some(Required::True));
    if request.batch_of.is_some() {
        let lines = ContentBuilder::new().schema(Some(schemas::batch_lines()));
        return Some(
            body.content(JSON, content.schema(Some(schemas::batch())).build())
                .content(JSON_LINES, lines.build())
                .build(),
        );
    }
    let record = schemas::named(&schemas::request(request));
    let schema = schemas::in_key(context.version.wire.envelope.request, record);
    Some(
        body.content(JSON, content.schema(Some(schema)).build())
            .build(),
    )
}
