//! The replies of an endpoint: what it answers when it does what was asked, and every way in which
//! it does not.

use domain::Lists;
use serde_json::{Value, json};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::response::{ResponseBuilder, Responses, ResponsesBuilder};
use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{ContentBuilder, RefOr};

use super::{examples, parameters, schemas};
use crate::endpoint::{Endpoint, Method};
use crate::version::ApiVersion;

const JSON: &str = "application/json";

/// The replies of an endpoint, by status.
pub(super) fn of(version: &ApiVersion, lists: &Lists, endpoint: Endpoint) -> Responses {
    let (status, success) = success(version, lists, endpoint);
    let success = links(version, endpoint).into_iter().fold(success, |success, (name, link)| success.link(name, link));
    let responses = ResponsesBuilder::new().response(status, deprecation(version, endpoint, success).build());
    failures(version, endpoint)
        .into_iter()
        .fold(responses, |responses, (status, failure)| {
            responses.response(status, deprecation(version, endpoint, failure).build())
        })
        .build()
}

fn success(version: &ApiVersion, lists: &Lists, endpoint: Endpoint) -> (&'static str, ResponseBuilder) {
    let one =
        |description: &str, name: &str, example| json_of(description, schemas::in_data(schemas::named(name)), example);
    let list = |description: &str, name: &str, example| {
        json_of(description, schemas::in_data(schemas::list_of(name)), example)
    };
    let trainee = |description: &str| one(description, schemas::TRAINEE, examples::trainee(version, lists));
    let placement = |description: &str| one(description, schemas::PLACEMENT, examples::placement(version, lists));
    let degree = |description: &str| one(description, schemas::DEGREE, examples::degree(version, lists));
    let degrees =
        |description: &str| list(description, schemas::DEGREE, examples::listed(examples::degree(version, lists)));
    match endpoint {
        Endpoint::Info => {
            let status = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["ok"]));
            let object = ObjectBuilder::new().schema_type(Type::Object).property("status", status).required("status");
            ("200", json_of("The service is alive.", object, Some(json!({ "status": "ok" }))))
        }
        Endpoint::ListTrainees => {
            let object = schemas::in_data(schemas::list_of(schemas::TRAINEE_IN_LIST))
                .property("meta", schemas::named(schemas::PAGE))
                .required("meta");
            let warning = header("Told when more records on a page were asked for than there can be.");
            ("200", json_of("A page of trainees.", object, examples::page(version, lists)).header("Warning", warning))
        }
        Endpoint::CreateTrainee => ("201", tried(trainee("The trainee is registered."))),
        Endpoint::ShowTrainee => ("200", trainee("The trainee.")),
        Endpoint::UpdateTrainee => ("200", tried(trainee("The trainee as changed."))),
        Endpoint::ListPlacements => {
            let example = examples::listed(examples::placement(version, lists));
            ("200", list("The placements, oldest first.", schemas::PLACEMENT, example))
        }
        Endpoint::CreatePlacement => ("201", tried(placement("The placement is added."))),
        Endpoint::ShowPlacement => ("200", placement("The placement.")),
        Endpoint::UpdatePlacement => ("200", tried(placement("The placement as changed."))),
        Endpoint::DeletePlacement => ("200", tried(trainee("The trainee without the placement."))),
        Endpoint::ListDegrees => ("200", degrees("The degrees, by year of graduation.")),
        Endpoint::CreateDegree => ("201", tried(degrees("The degree is added; it is the only one in the list."))),
        Endpoint::ShowDegree => ("200", degree("The degree.")),
        Endpoint::UpdateDegree => ("200", tried(degree("The degree as changed."))),
        Endpoint::DeleteDegree => ("200", tried(trainee("The trainee without the degree."))),
        Endpoint::Defer => ("200", tried(trainee("The trainee is deferred."))),
        Endpoint::Withdraw => ("200", tried(trainee("The trainee is withdrawn."))),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            ("202", tried(trainee("The trainee is recommended for the award.")))
        }
        Endpoint::ReferenceData => {
            let list: RefOr<Schema> = schemas::named(schemas::CODE_LIST).into();
            let all = ObjectBuilder::new()
                .schema_type(Type::Object)
                .additional_properties(Some(AdditionalProperties::RefOr(list.clone())));
            let either = AnyOfBuilder::new().item(list).item(all);
            let reply = json_of("All code lists by name, or the one that was asked for.", either, None)
                .header("ETag", header("Tag of what is answered, for `If-None-Match`."))
                .header("Cache-Control", header("How long the lists can be kept."));
            ("200", reply)
        }
    }
}

/// A request can be tried out, and can say more than it needs to.
fn tried(reply: ResponseBuilder) -> ResponseBuilder {
    reply
        .header("Preference-Applied", header("`validate-only`: the request was only tried out."))
        .header("Warning", header("What was accepted but not used, such as unknown names."))
}

fn failures(version: &ApiVersion, endpoint: Endpoint) -> Vec<(&'static str, ResponseBuilder)> {
    let mut failures = Vec::new();
    let writes = endpoint.method() != Method::Get;
    let has_body = writes && endpoint.method() != Method::Delete;
    if endpoint == Endpoint::ReferenceData {
        failures.push(("304", ResponseBuilder::new().description("The client has the lists already.")));
    }
    if has_body {
        failures.push(("400", errors("The body is not JSON.")));
    }
    let unauthorized = json_of(
        "There is no valid token.",
        schemas::named(schemas::UNAUTHORIZED),
        Some(json!({ "error": "Unauthorized" })),
    );
    failures.push(("401", unauthorized.header("WWW-Authenticate", header("`Bearer`"))));
    let found_by = parameters::identifiers(endpoint.path()).last();
    let missing = match endpoint {
        Endpoint::ListTrainees => Some("There are no such trainees.".to_owned()),
        Endpoint::ReferenceData => Some("There is no such list.".to_owned()),
        Endpoint::ListDegrees => Some("There is no such trainee, or the trainee has no degrees.".to_owned()),
        _ => found_by.map(|name| match name.trim_end_matches("_id") {
            "trainee" => "There is no such trainee.".to_owned(),
            record => format!("There is no such trainee, or the trainee has no such {record}."),
        }),
    };
    failures.extend(missing.map(|missing| ("404", errors(&missing))));
    match endpoint {
        Endpoint::CreateTrainee => {
            failures.push(("409", conflict("The trainee is there already.", schemas::TRAINEE)));
        }
        Endpoint::CreateDegree | Endpoint::UpdateDegree => {
            failures.push(("409", conflict("The degree is there already.", schemas::DEGREE)));
        }
        _ if writes => failures.push(("409", errors("The record was changed by another request at the same time."))),
        _ => {}
    }
    if has_body {
        failures.push(("413", errors("The body is too large.")));
        failures.push(("415", errors("The body is said to be something else than JSON.")));
    }
    failures.extend(invalid(version, endpoint).map(|invalid| ("422", invalid)));
    failures.push(("500", errors("Something went wrong in the service.")));
    let later = errors("The service is busy, or not available; try again later.");
    failures.push(("503", later.header("Retry-After", header("When to try again, in seconds."))));
    failures
}

/// What is answered to a request whose content is wrong, or which the state of the record refuses.
fn invalid(version: &ApiVersion, endpoint: Endpoint) -> Option<ResponseBuilder> {
    let reply = match endpoint {
        Endpoint::ListTrainees => json_of("Filters are wrong.", schemas::named(schemas::FILTER_ERRORS), None),
        Endpoint::CreateTrainee | Endpoint::UpdateTrainee => {
            let either = AnyOfBuilder::new()
                .item(schemas::named(schemas::ERRORS))
                .item(schemas::named(schemas::ERRORS_BY_FIELD));
            json_of("The content is wrong, or the state of the record refuses it.", either, None)
        }
        _ if endpoint.method() == Method::Get => return None,
        _ if endpoint.method() == Method::Delete && version.rules.gates.is_empty() => return None,
        _ => errors("The content is wrong, or the state of the record refuses it."),
    };
    Some(if endpoint.method() == Method::Get {
        reply
    } else {
        reply.header("Preference-Applied", header("`validate-only`: the request was only tried out."))
    })
}

fn errors(description: &str) -> ResponseBuilder {
    json_of(description, schemas::named(schemas::ERRORS), None)
}

/// Errors with the existing records beside them.
fn conflict(description: &str, record: &str) -> ResponseBuilder {
    let existing = schemas::list_of(record).description(Some("The existing records."));
    let both = utoipa::openapi::schema::AllOfBuilder::new()
        .item(schemas::named(schemas::ERRORS))
        .item(ObjectBuilder::new().schema_type(Type::Object).property("data", existing));
    json_of(description, both, None)
}

fn json_of(description: &str, schema: impl Into<RefOr<Schema>>, example: Option<Value>) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(schema)).example(example).build();
    ResponseBuilder::new().description(description).content(JSON, content)
}

fn header(description: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .description(Some(description))
        .build()
}

/// The headers of what should no longer be used.
fn deprecation(version: &ApiVersion, endpoint: Endpoint, reply: ResponseBuilder) -> ResponseBuilder {
    let deprecated = version.publication.deprecated_on.is_some() || version.endpoints.deprecation(endpoint).is_some();
    if !deprecated {
        return reply;
    }
    reply
        .header("Deprecation", header("Since when this should no longer be used (RFC 9745)."))
        .header("Sunset", header("When this is removed, where the day is known (RFC 8594)."))
        .header("Link", header("What to use instead, and how to move there."))
}

/// What can be done next with the record of a reply.
fn links(version: &ApiVersion, endpoint: Endpoint) -> Vec<(String, Link)> {
    let (id, pointer, followers): (_, _, &[Endpoint]) = match endpoint {
        Endpoint::CreateTrainee => (
            "trainee_id",
            "/data/trainee_id",
            &[
                Endpoint::ShowTrainee,
                Endpoint::UpdateTrainee,
                Endpoint::ListPlacements,
                Endpoint::CreatePlacement,
                Endpoint::CreateDegree,
                Endpoint::Defer,
            ],
        ),
        Endpoint::CreatePlacement => (
            "placement_id",
            "/data/placement_id",
            &[Endpoint::ShowPlacement, Endpoint::UpdatePlacement, Endpoint::DeletePlacement],
        ),
        Endpoint::CreateDegree => {
            ("degree_id", "/data/0/degree_id", &[Endpoint::ShowDegree, Endpoint::UpdateDegree, Endpoint::DeleteDegree])
        }
        Endpoint::DeletePlacement | Endpoint::DeleteDegree => {
            ("trainee_id", "/data/trainee_id", &[Endpoint::ShowTrainee])
        }
        _ => return Vec::new(),
    };
    let known = followers.iter().filter(|follower| version.endpoints.all().any(|known| known == **follower));
    known
        .map(|follower| {
            let operation = super::operations::name(*follower);
            let link = LinkBuilder::new().operation_id(&operation).parameter(id, format!("$response.body#{pointer}"));
            let link = if id == "trainee_id" { link } else { link.parameter("trainee_id", "$request.path.trainee_id") };
            (operation, link.build())
        })
        .collect()
}
