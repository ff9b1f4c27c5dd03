//! The replies of an endpoint to successful and failed requests.

use adapter_kit::body_kind::{Purpose, RecordKind};
use adapter_kit::endpoint::{Endpoint, EndpointRow, Method, ReplyBody, RequestBody};
use adapter_kit::problems::ErrorBody;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireNested;
use adapter_kit::{Envelope, for_nested_kind};
use domain::{RecordField as _, TraineeField};
use serde_json::Value;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::link::{Link, LinkBuilder};
use utoipa::openapi::response::{ResponseBuilder, Responses, ResponsesBuilder};
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{ContentBuilder, RefOr};

use super::operation_id::operation_id;
use super::properties::schema_name;
use super::{Context, errors, examples, parameters, schemas};

pub(super) const JSON: &str = "application/json";
/// The description of a header in the reply to `Prefer: validate-only`.
const VALIDATE_ONLY: &str = "`validate-only`: the request was only tried out.";
/// A part of the description of `Warning` in every reply to a valid token.
const TOKEN_EXPIRES: &str = "The day when the token expires, in the last 30 days before.";

/// The name of the identifier of trainees in paths.
const TRAINEE_ID: &str = "trainee_id";

const TOO_MANY_ITEMS: &str = "There are no items, or too many, or the query has unknown names.";
const INVALID: &str = "The content is wrong, or the state of the record refuses it.";

/// Returns the replies of an endpoint, by status.
pub(super) fn build(context: Context<'_>, endpoint: Endpoint) -> Responses {
    let version = context.version;
    let row = context.version.row(endpoint);
    let mut success = limited(warned(success(context, row)));
    for (name, link) in links(version, row) {
        success = success.link(name, link);
    }
    let replies = [(row.status.to_string(), success)]
        .into_iter()
        .chain(failures(context, row));
    let builder = replies.fold(ResponsesBuilder::new(), |replies, (status, reply)| {
        replies.response(status, deprecation(version, endpoint, reply).build())
    });
    builder.build()
}

/// Returns the reply to a successful request, with the headers of this endpoint.
fn success(context: Context<'_>, row: &EndpointRow) -> ResponseBuilder {
    let schema = schemas::reply_body(context, row.reply);
    let mut reply = json_of(
        row.description,
        schema,
        examples::reply(context.version, context.lists, row.reply),
    );
    if row.shows_one() {
        reply = reply.header(
            "ETag",
            header("Tag of what is shown, for `If-None-Match` and `If-Match`."),
        );
    } else if [ReplyBody::TraineePage, ReplyBody::Changes].contains(&row.reply) {
        let tag = "Weak tag of what is shown, for `If-None-Match`. It changes with every change of a record.";
        reply = reply.header("ETag", header(tag));
    } else if let (true, ReplyBody::NestedList(record)) = (row.writes(), row.reply) {
        let tag = format!("Tag of the {}, as a `GET` of it has it.", record.name());
        reply = reply.header("ETag", header(&tag));
    }
    if row.reply == ReplyBody::TraineePage {
        let links = "Links to other pages: `next`, `first` and `prev`. Following `next` to the end returns every trainee.";
        reply = reply.header("Link", header(links));
    }
    if row.reply == ReplyBody::Changes {
        reply = reply
            .header("Link", header("A link to what changes next (`next`)."))
            .header(
                "Preference-Applied",
                header("`wait=N`: the request could wait up to N seconds."),
            );
    }
    if row.reply == ReplyBody::CodeLists {
        reply = reply.header("Cache-Control", header("How long the lists can be kept."));
    }
    if row.writes() {
        reply = reply.header("Preference-Applied", header(VALIDATE_ONLY));
    }
    if row.method == Method::Post && !row.is_batch() {
        let replayed = header("`true`: the reply to an earlier request with the same key.");
        reply = reply.header("Idempotent-Replayed", replayed);
    }
    reply
}

/// Adds the headers with the remaining quota of the token.
fn limited(reply: ResponseBuilder) -> ResponseBuilder {
    reply
        .header(
            "RateLimit",
            header("What is left: requests `r`, and the seconds `t` until all of them are back."),
        )
        .header(
            "RateLimit-Policy",
            header("What a token can send: requests `q` in a window of `w` seconds."),
        )
}

/// Adds the header for warnings.
fn warned(reply: ResponseBuilder) -> ResponseBuilder {
    reply.header(
        "Warning",
        header(&format!(
            "What was accepted but not used, such as unknown names. {TOKEN_EXPIRES}"
        )),
    )
}

/// Returns the replies to failed requests, by status.
fn failures(context: Context<'_>, row: &EndpointRow) -> Vec<(String, ResponseBuilder)> {
    let has_body = row.request.is_some();
    let mut failures = Vec::new();
    let is_list = [ReplyBody::TraineePage, ReplyBody::Changes].contains(&row.reply);
    if is_list || row.method == Method::Get && row.shows_one() {
        let unchanged = ResponseBuilder::new().description("The client has it already.");
        failures.push((
            304,
            unchanged.header("ETag", header("Tag of what the client has.")),
        ));
    }
    if has_body {
        failures.push((400, refused(context, "The body is not JSON.")));
    }
    if is_list {
        failures.push((
            410,
            refused(
                context,
                "The register was restored or moved since the cursor was given out: start again without one.",
            ),
        ));
    }
    failures.extend(missing(row).map(|missing| (404, refused(context, &missing))));
    if has_body {
        failures.push((408, refused(context, "The body did not arrive in time.")));
    }
    if row.writes() && !row.is_batch() {
        failures.push((409, conflict(context, row)));
    }
    if row.takes_if_match() {
        failures.push((
            412,
            refused(
                context,
                "`If-Match` does not match the `ETag` of the record.",
            ),
        ));
    }
    if has_body {
        failures.push((413, refused(context, "The body is too large.")));
        failures.push((
            415,
            refused(context, "The `Content-Type` of the body is not JSON."),
        ));
    }
    failures.push((422, invalid(context, row)));
    let retry = |reply: ResponseBuilder| {
        reply.header("Retry-After", header("When to try again, in seconds."))
    };
    let too_many = refused(
        context,
        "Too many requests with this token, or too many without a valid one from this address.",
    );
    failures.push((429, retry(limited(too_many))));
    failures.push((
        500,
        refused(context, "Something went wrong in the service."),
    ));
    failures.push((
        503,
        retry(refused(
            context,
            "The service is busy, or not available; try again later.",
        )),
    ));
    let failures = failures
        .into_iter()
        .map(|(status, reply)| (status.to_string(), warned(reply)));
    // Without a valid token there is no expiry to warn about.
    let wire = &context.version.wire;
    let example = serde_json::from_slice(&wire.write_error(&ErrorBody::Unauthorized, 401)).ok();
    let [_, name] = errors::names(context.version);
    let unauthorized = error_of(
        context,
        "There is no valid token.",
        schemas::named(name),
        example,
    );
    let challenge =
        "`Bearer`, and unless no token was sent `error` and `error_description` (RFC 6750).";
    let unauthorized = unauthorized.header("WWW-Authenticate", header(challenge));
    [("401".to_owned(), unauthorized)]
        .into_iter()
        .chain(failures)
        .collect()
}

/// Describes the status 404 of an endpoint; `None` if the endpoint always exists.
fn missing(row: &EndpointRow) -> Option<String> {
    let found = missing_record(row);
    if !row.sandbox_only {
        return found;
    }
    let record = found.map_or_else(String::new, |missing| missing + " ");
    Some(record + "In production this path does not exist.")
}

/// Describes what is missing if an endpoint replies with the status 404; `None` if the endpoint
/// needs no record.
fn missing_record(row: &EndpointRow) -> Option<String> {
    let record = parameters::identifiers(row.path)
        .last()
        .map(|name| name.trim_end_matches("_id"));
    Some(match (row.reply, record) {
        (ReplyBody::TraineePage, _) => "There are no such trainees.".to_owned(),
        (ReplyBody::CodeLists, _) => "There is no such list.".to_owned(),
        (ReplyBody::NestedList(_), _) if row.is_missing_when_empty => {
            let list = row.path.rsplit('/').next().unwrap_or_default();
            format!("There is no such trainee, or the trainee has no {list}.")
        }
        (_, Some("trainee")) => "There is no such trainee.".to_owned(),
        (_, Some(nested)) => {
            format!("There is no such trainee, or the trainee has no such {nested}.")
        }
        (_, None) => return None,
    })
}

/// Returns the reply with the status 409. If the request can create a duplicate, the reply shows
/// the existing records. Other requests get this status after a concurrent change.
fn conflict(context: Context<'_>, row: &EndpointRow) -> ResponseBuilder {
    let existing = |record: RecordKind| {
        let existing =
            schemas::list_of(&schema_name(record)).description(Some("The existing records."));
        error_of(
            context,
            &format!("The {} is there already.", record.name()),
            errors::with_existing(context, existing),
            None,
        )
    };
    match row.request {
        Some(RequestBody {
            record, purpose, ..
        }) if errors::refuses_duplicates(record)
            && (record != RecordKind::Trainee || purpose == Some(Purpose::Create)) =>
        {
            existing(record).header(
                "Duplicate-Fields",
                header("The fields that match an existing record."),
            )
        }
        Some(_) | None => refused(
            context,
            "The record was changed by another request at the same time.",
        ),
    }
}

/// Returns the reply to a request with invalid content, a request that the state of the record does
/// not allow, and a strict request with unknown names in the query.
fn invalid(context: Context<'_>, row: &EndpointRow) -> ResponseBuilder {
    if !context.version.wire.problems.is_common() {
        let is_list = [ReplyBody::TraineePage, ReplyBody::Changes].contains(&row.reply);
        let reply = refused(
            context,
            if is_list {
                "Filters are wrong."
            } else {
                INVALID
            },
        );
        return if row.writes() {
            reply.header("Preference-Applied", header(VALIDATE_ONLY))
        } else {
            reply
        };
    }
    let filters = || schemas::named(errors::FILTER_ERRORS);
    if [ReplyBody::TraineePage, ReplyBody::Changes].contains(&row.reply) {
        return json_of("Filters are wrong.", filters(), None);
    }
    if row.query_parameters == ["days"] {
        return json_of(
            "`days` is wrong, or the query has names that the endpoint does not have.",
            filters(),
            None,
        );
    }
    let refuses_content =
        row.method == Method::Post || row.writes() && !context.version.rules.gates.is_empty();
    if row.request.is_none() && !refuses_content {
        return json_of(
            "The query has names that the endpoint does not have.",
            filters(),
            None,
        );
    }
    if row.is_batch() {
        let either = AnyOfBuilder::new()
            .item(schemas::named(errors::ERRORS))
            .item(filters());
        return json_of(TOO_MANY_ITEMS, either, None)
            .header("Preference-Applied", header(VALIDATE_ONLY));
    }
    // If problems can be requested by field, problems of the query have this form too.
    let by_field = if row.has_errors_by_field() {
        schemas::named(errors::ERRORS_BY_FIELD)
    } else {
        filters()
    };
    let description = if row.reply == ReplyBody::Reset {
        "The idempotency key is malformed or was used before, or the query has names that the endpoint does not have."
    } else {
        INVALID
    };
    let either = AnyOfBuilder::new()
        .item(schemas::named(errors::ERRORS))
        .item(by_field);
    json_of(description, either, None).header("Preference-Applied", header(VALIDATE_ONLY))
}

/// Returns a reply with errors, or with problem details if the version uses them.
fn refused(context: Context<'_>, description: &str) -> ResponseBuilder {
    let [name, _] = errors::names(context.version);
    error_of(context, description, schemas::named(name), None)
}

/// Returns a reply with an error, in the media type of the version.
fn error_of(
    context: Context<'_>,
    description: &str,
    schema: impl Into<RefOr<Schema>>,
    example: Option<Value>,
) -> ResponseBuilder {
    let content = ContentBuilder::new()
        .schema(Some(schema))
        .example(example)
        .build();
    ResponseBuilder::new()
        .description(description)
        .content(context.version.wire.problems.media_type, content)
}

/// Returns a reply with a JSON body.
fn json_of(
    description: &str,
    schema: impl Into<RefOr<Schema>>,
    example: Option<Value>,
) -> ResponseBuilder {
    let content = ContentBuilder::new()
        .schema(Some(schema))
        .example(example)
        .build();
    ResponseBuilder::new()
        .description(description)
        .content(JSON, content)
}

fn header(description: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .description(Some(description))
        .build()
}

/// Adds the headers of deprecated versions and endpoints to a reply. Other replies are unchanged.
fn deprecation(
    version: &ApiVersion,
    endpoint: Endpoint,
    reply: ResponseBuilder,
) -> ResponseBuilder {
    let deprecated = version.publication.deprecated_on.is_some()
        || version.endpoints.deprecation(endpoint).is_some();
    if !deprecated {
        return reply;
    }
    reply
        .header(
            "Deprecation",
            header("Since when this should no longer be used (RFC 9745)."),
        )
        .header(
            "Sunset",
            header("When this is removed, where the day is known (RFC 8594)."),
        )
        .header(
            "Link",
            header("What to use instead, and how to move there."),
        )
}

/// Returns the name of the identifier of a nested record in paths, and its place in replies.
fn locate_id<R: WireNested>(version: &ApiVersion) -> (&'static str, String) {
    let name = R::ID.info().name;
    let shown = R::shapes(version).alone.name_of(R::ID);
    (name, shown.unwrap_or(name).replace('.', "/"))
}

/// Returns links from a reply to the endpoints that a client can use next, by operation. A link
/// takes the identifier of the record from the reply.
fn links(version: &ApiVersion, row: &EndpointRow) -> Vec<(String, Link)> {
    let Envelope {
        list, record: key, ..
    } = version.wire.envelope;
    let nested = match row.reply {
        ReplyBody::Nested(record) => for_nested_kind!(record, locate_id(version))
            .map(|(id, at)| (id, format!("/{key}/{at}"))),
        ReplyBody::NestedList(record) => for_nested_kind!(record, locate_id(version))
            .map(|(id, at)| (id, format!("/{list}/0/{at}"))),
        ReplyBody::Trainee
        | ReplyBody::TraineePage
        | ReplyBody::Changes
        | ReplyBody::ServiceStatus
        | ReplyBody::CodeLists
        | ReplyBody::Account
        | ReplyBody::Usage
        | ReplyBody::Readiness
        | ReplyBody::Reset
        | ReplyBody::BatchResults
        | ReplyBody::Entries(_) => None,
    };
    let (id, pointer) = nested.unwrap_or_else(|| {
        let shown = version.shapes.trainee.name_of(TraineeField::trainee_id);
        let at = shown.unwrap_or(TRAINEE_ID).replace('.', "/");
        (TRAINEE_ID, format!("/{key}/{at}"))
    });
    let next = row.next.iter().filter(|next| version.endpoints.has(**next));
    next.map(|next| {
        let operation = operation_id(*next);
        let link = LinkBuilder::new()
            .operation_id(&operation)
            .parameter(id, format!("$response.body#{pointer}"));
        // For a nested record, the identifier of the trainee is in the path of the request.
        let is_trainee = id == TRAINEE_ID;
        let link = if is_trainee {
            link
        } else {
            link.parameter(TRAINEE_ID, "$request.path.trainee_id")
        };
        (operation, link.build())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use adapter_kit::shape;
    use adapter_kit::version::{Endpoints, Shapes};
    use conformance::sample_version::SAMPLE_VERSION;
    use domain::Trainee;

    use super::*;

    #[test]
    fn link_takes_the_identifier_by_its_name_in_the_version() {
        let version = ApiVersion {
            shapes: Shapes {
                trainee: shape! { Trainee, TraineeField: person { number = trainee_id }, email },
                ..SAMPLE_VERSION.shapes
            },
            endpoints: Endpoints {
                available: &[Endpoint::ShowTrainee],
                deprecated: &[],
            },
            ..SAMPLE_VERSION
        };
        let links = links(&version, Endpoint::CreateTrainee.row());
        let (_, link) = links.first().unwrap();
        assert_eq!(
            serde_json::to_value(link).unwrap()["parameters"],
            serde_json::json!({ "trainee_id": "$response.body#/data/person/number" })
        );
    }
}
