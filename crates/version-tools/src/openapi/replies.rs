//! The replies of an endpoint: what it answers when it does what was asked, and every way in which
//! it does not.

use adapter_kit::endpoint::{Endpoint, Method};
use adapter_kit::version::ApiVersion;
use domain::Lists;
use serde_json::{Value, json};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::response::{ResponseBuilder, Responses, ResponsesBuilder};
use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{ContentBuilder, RefOr};

use super::{examples, parameters, schemas};

const JSON: &str = "application/json";
/// What every reply to a valid token may say.
const TOKEN_EXPIRES: &str = "On which day the token expires, when it has less than 30 days left.";

/// The replies of an endpoint, by status.
pub(super) fn of(version: &ApiVersion, lists: &Lists, endpoint: Endpoint) -> Responses {
    let (status, success) = success(version, lists, endpoint);
    let success = if endpoint.method() == Method::Post {
        success.header("Idempotent-Replayed", header("`true`: the reply to an earlier request with the same key."))
    } else {
        success
    };
    let success = limited(warned(success));
    let success = links(version, endpoint).into_iter().fold(success, |success, (name, link)| success.link(name, link));
    let responses = ResponsesBuilder::new().response(status, deprecation(version, endpoint, success).build());
    failures(version, endpoint)
        .into_iter()
        .fold(responses, |responses, (status, failure)| {
            // Whoever has no valid token has none that expires.
            let failure = if status == "401" { failure } else { warned(failure) };
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
            ("200", json_of("A page of trainees.", object, examples::page(version, lists)))
        }
        Endpoint::CreateTrainee => ("201", tagged(tried(trainee("The trainee is registered.")))),
        Endpoint::ShowTrainee => ("200", tagged(trainee("The trainee."))),
        Endpoint::UpdateTrainee => ("200", tagged(tried(trainee("The trainee as changed.")))),
        Endpoint::ListPlacements => {
            let example = examples::listed(examples::placement(version, lists));
            ("200", list("The placements, oldest first.", schemas::PLACEMENT, example))
        }
        Endpoint::CreatePlacement => ("201", tagged(tried(placement("The placement is added.")))),
        Endpoint::ShowPlacement => ("200", tagged(placement("The placement."))),
        Endpoint::UpdatePlacement => ("200", tagged(tried(placement("The placement as changed.")))),
        Endpoint::DeletePlacement => ("200", tagged(tried(trainee("The trainee without the placement.")))),
        Endpoint::ListDegrees => ("200", degrees("The degrees, by year of graduation.")),
        Endpoint::CreateDegree => {
            let tag = header("Tag of the degree, as a `GET` of it has it.");
            ("201", tried(degrees("The degree is added; it is the only one in the list.")).header("ETag", tag))
        }
        Endpoint::ShowDegree => ("200", tagged(degree("The degree."))),
        Endpoint::UpdateDegree => ("200", tagged(tried(degree("The degree as changed.")))),
        Endpoint::DeleteDegree => ("200", tagged(tried(trainee("The trainee without the degree.")))),
        Endpoint::Defer => ("200", tagged(tried(trainee("The trainee is deferred.")))),
        Endpoint::Withdraw => ("200", tagged(tried(trainee("The trainee is withdrawn.")))),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            ("202", tagged(tried(trainee("The trainee is recommended for the award."))))
        }
        Endpoint::ReferenceData => {
            let list: RefOr<Schema> = schemas::named(schemas::CODE_LIST).into();
            let all = ObjectBuilder::new()
                .schema_type(Type::Object)
                .additional_properties(Some(AdditionalProperties::RefOr(list.clone())));
            let either = AnyOfBuilder::new().item(list).item(all);
            let reply = tagged(json_of("All code lists by name, or the one that was asked for.", either, None))
                .header("Cache-Control", header("How long the lists can be kept."));
            ("200", reply)
        }
    }
}

/// The reply shows something that can be asked for again.
fn tagged(reply: ResponseBuilder) -> ResponseBuilder {
    reply.header("ETag", header("Tag of what is shown, for `If-None-Match` and `If-Match`."))
}

/// The reply tells what is left of the allowance of the token, where there is one.
fn limited(reply: ResponseBuilder) -> ResponseBuilder {
    reply
        .header("RateLimit", header("What is left: requests `r`, and the seconds `t` until all of them are back."))
        .header("RateLimit-Policy", header("What a token can send: requests `q` in a window of `w` seconds."))
}

/// A request can be tried out.
fn tried(reply: ResponseBuilder) -> ResponseBuilder {
    reply.header("Preference-Applied", header("`validate-only`: the request was only tried out."))
}

/// The reply can say more than the client asked for.
fn warned(reply: ResponseBuilder) -> ResponseBuilder {
    reply.header("Warning", header(&format!("What was accepted but not used, such as unknown names. {TOKEN_EXPIRES}")))
}

fn failures(version: &ApiVersion, endpoint: Endpoint) -> Vec<(&'static str, ResponseBuilder)> {
    let mut failures = Vec::new();
    let writes = endpoint.method() != Method::Get;
    let has_body = writes && endpoint.method() != Method::Delete;
    if endpoint.has_entity_tag() {
        let unchanged = ResponseBuilder::new().description("The client has it already.");
        failures.push(("304", unchanged.header("ETag", header("Tag of what the client has."))));
    }
    if has_body {
        failures.push(("400", errors("The body is not JSON.")));
    }
    let unauthorized = json_of(
        "There is no valid token.",
        schemas::named(schemas::UNAUTHORIZED),
        Some(json!({ "error": "Unauthorized" })),
    );
    let challenge = "`Bearer`, and unless no token was sent `error` and `error_description` (RFC 6750).";
    failures.push(("401", unauthorized.header("WWW-Authenticate", header(challenge))));
    failures.extend(missing(endpoint).map(|missing| ("404", errors(&missing))));
    if has_body {
        failures.push(("408", errors("The body did not arrive in time.")));
    }
    if endpoint == Endpoint::CreateTrainee {
        failures.push(("409", conflict("The trainee is there already.", schemas::TRAINEE)));
    } else if [Endpoint::CreateDegree, Endpoint::UpdateDegree].contains(&endpoint) {
        failures.push(("409", conflict("The degree is there already.", schemas::DEGREE)));
    } else if writes {
        failures.push(("409", errors("The record was changed by another request at the same time.")));
    }
    if endpoint.takes_if_match() {
        failures.push(("412", errors("The record is not what the client takes it for.")));
    }
    if has_body {
        failures.push(("413", errors("The body is too large.")));
        failures.push(("415", errors("The body is said to be something else than JSON.")));
    }
    failures.push(("422", invalid(version, endpoint)));
    let too_many = errors("Too many requests with this token, or too many without a valid one from this address.");
    failures.push(("429", limited(too_many).header("Retry-After", header("When to try again, in seconds."))));
    failures.push(("500", errors("Something went wrong in the service.")));
    let later = errors("The service is busy, or not available; try again later.");
    failures.push(("503", later.header("Retry-After", header("When to try again, in seconds."))));
    failures
}

/// What an endpoint may not find.
fn missing(endpoint: Endpoint) -> Option<String> {
    if endpoint == Endpoint::ListTrainees {
        return Some("There are no such trainees.".to_owned());
    }
    if endpoint == Endpoint::ReferenceData {
        return Some("There is no such list.".to_owned());
    }
    if endpoint == Endpoint::ListDegrees {
        return Some("There is no such trainee, or the trainee has no degrees.".to_owned());
    }
    let record = parameters::identifiers(endpoint.path()).last()?.trim_end_matches("_id");
    Some(match record {
        "trainee" => "There is no such trainee.".to_owned(),
        nested => format!("There is no such trainee, or the trainee has no such {nested}."),
    })
}

/// What is answered to a request whose content is wrong, or which the state of the record refuses; and to unknown names
/// in the query, when the client wants them refused.
fn invalid(version: &ApiVersion, endpoint: Endpoint) -> ResponseBuilder {
    let filters = || schemas::named(schemas::FILTER_ERRORS);
    if endpoint == Endpoint::ListTrainees {
        return json_of("Filters are wrong.", filters(), None);
    }
    let refuses = match endpoint.method() {
        Method::Get => false,
        Method::Delete => !version.rules.gates.is_empty(),
        Method::Post | Method::PutOrPatch => true,
    };
    if !refuses {
        return json_of("The query has names that the endpoint does not have.", filters(), None);
    }
    // Where problems can be asked for by field, that form holds for the query too.
    let by_field = if [Endpoint::CreateTrainee, Endpoint::UpdateTrainee].contains(&endpoint) {
        schemas::named(schemas::ERRORS_BY_FIELD)
    } else {
        filters()
    };
    let either = AnyOfBuilder::new().item(schemas::named(schemas::ERRORS)).item(by_field);
    let description = "The content is wrong, or the state of the record refuses it.";
    let tried_out = header("`validate-only`: the request was only tried out.");
    json_of(description, either, None).header("Preference-Applied", tried_out)
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

/// What can be done next with a record that an endpoint has made, or with the trainee that it has changed.
struct Next {
    /// The identifier that the reply tells, and where.
    id: &'static str,
    pointer: &'static str,
    endpoints: &'static [Endpoint],
}

const AFTER: [(Endpoint, Next); 5] = [
    (
        Endpoint::CreateTrainee,
        Next {
            id: "trainee_id",
            pointer: "/data/trainee_id",
            endpoints: &[
                Endpoint::ShowTrainee,
                Endpoint::UpdateTrainee,
                Endpoint::ListPlacements,
                Endpoint::CreatePlacement,
                Endpoint::CreateDegree,
                Endpoint::Defer,
            ],
        },
    ),
    (
        Endpoint::CreatePlacement,
        Next {
            id: "placement_id",
            pointer: "/data/placement_id",
            endpoints: &[Endpoint::ShowPlacement, Endpoint::UpdatePlacement, Endpoint::DeletePlacement],
        },
    ),
    (
        Endpoint::CreateDegree,
        Next {
            id: "degree_id",
            pointer: "/data/0/degree_id",
            endpoints: &[Endpoint::ShowDegree, Endpoint::UpdateDegree, Endpoint::DeleteDegree],
        },
    ),
    (Endpoint::DeletePlacement, AFTER_A_REMOVAL),
    (Endpoint::DeleteDegree, AFTER_A_REMOVAL),
];

const AFTER_A_REMOVAL: Next =
    Next { id: "trainee_id", pointer: "/data/trainee_id", endpoints: &[Endpoint::ShowTrainee] };

/// Links from a reply to what can be done next.
fn links(version: &ApiVersion, endpoint: Endpoint) -> Vec<(String, Link)> {
    let next = AFTER.iter().filter(|(before, _)| *before == endpoint).flat_map(|(_, next)| {
        next.endpoints
            .iter()
            .filter(|after| version.endpoints.all().any(|known| known == **after))
            .map(move |after| (next, *after))
    });
    next.map(|(next, after)| {
        let operation = super::operations::name(after);
        let value = format!("$response.body#{}", next.pointer);
        let link = LinkBuilder::new().operation_id(&operation).parameter(next.id, value);
        let of_trainee = next.id == "trainee_id";
        let link = if of_trainee { link } else { link.parameter("trainee_id", "$request.path.trainee_id") };
        (operation, link.build())
    })
    .collect()
}
