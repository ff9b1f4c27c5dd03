//! Schemas and examples of the replies of additional endpoints. They are the same in every version,
//! except for names of endpoints and versions in the examples.

use adapter_kit::endpoint::Endpoint;
use adapter_kit::label::Label;
use adapter_kit::version::ApiVersion;
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, ArrayItems, ObjectBuilder, OneOfBuilder, Ref, Schema, SchemaFormat,
    Type,
};

use super::properties::{TRAINEE, boolean, count, named, or_null, text};

/// The name of a schema.
pub(super) const ACCOUNT: &str = "Account";
pub(super) const USAGE: &str = "Usage";
pub(super) const READINESS: &str = "Readiness";
pub(super) const RESET: &str = "SandboxReset";
pub(super) const CHANGE: &str = "Change";
pub(super) const CHANGES_META: &str = "ChangesMeta";
const VERSION_USAGE: &str = "VersionUsage";

/// Returns the schemas of the replies of additional endpoints, by name.
pub(super) fn schemas() -> Vec<(&'static str, RefOr<Schema>)> {
    vec![
        (ACCOUNT, account_schema()),
        (USAGE, usage_schema()),
        (READINESS, readiness_schema()),
        (VERSION_USAGE, version_usage_schema()),
        (RESET, reset_schema()),
        (CHANGE, change_schema()),
        (CHANGES_META, changes_meta_schema()),
    ]
}

/// A required property.
type Property = (&'static str, RefOr<Schema>);

/// Returns an object whose properties are all required.
fn object(description: &str, properties: Vec<Property>) -> ObjectBuilder {
    let object = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description));
    properties
        .into_iter()
        .fold(object, |object, (name, schema)| {
            object.property(name, schema).required(name)
        })
}

fn list(description: &str, items: impl Into<ArrayItems>) -> RefOr<Schema> {
    ArrayBuilder::new()
        .description(Some(description))
        .items(items)
        .into()
}

fn formatted(description: &str, format: &str) -> ObjectBuilder {
    text(description).format(Some(SchemaFormat::Custom(format.to_owned())))
}

fn date(description: &str) -> RefOr<Schema> {
    formatted(description, "date").into()
}

fn timestamp(description: &str) -> RefOr<Schema> {
    formatted(description, "date-time").into()
}

fn number(name: &'static str, description: &str) -> Property {
    (name, count(description).into())
}

fn words(name: &'static str, description: &str) -> Property {
    (name, text(description).into())
}

/// Returns the properties that describe the last one of several counted requests.
fn last() -> Vec<Property> {
    vec![
        (
            "last_seen",
            timestamp("When the last of them was received."),
        ),
        words("last_request_id", "The `X-Request-Id` of the last of them."),
    ]
}

/// Returns the schema of the reply about the owner of a token.
fn account_schema() -> RefOr<Schema> {
    let provider = vec![
        words("ukprn", "UKPRN of the provider."),
        words(
            "name",
            "Name of the provider, as the operator registered it.",
        ),
    ];
    let token = vec![
        number(
            "id",
            "The number of the token. The operator sees the same number.",
        ),
        words("name", "What the token is for, as it was issued."),
        ("created_at", timestamp("When it was issued.")),
        (
            "expires_on",
            date("The first day, in UTC, when the token is refused."),
        ),
    ];
    let environment =
        text("Whether the records are real.").enum_values(Some(["sandbox", "production"]));
    let properties = vec![
        (
            "provider",
            object("The provider that owns the token.", provider).into(),
        ),
        ("environment", environment.into()),
        (
            "token",
            object(
                "The token of the request. Its text is neither stored nor shown.",
                token,
            )
            .into(),
        ),
        words("version", "The version in the path."),
    ];
    object("The owner of the token.", properties).into()
}

fn usage_schema() -> RefOr<Schema> {
    let kind = text(
        "What is counted: all requests for the endpoint (`request`; `deprecated_endpoint` where it ends), or those with a \
         name that only other versions know.",
    );
    let mut line = vec![
        words("provider", "UKPRN of the provider."),
        number("token", "The number of the token."),
        words("token_name", "What the token is for."),
        words("version", "The version that was requested."),
        words("endpoint", "The endpoint."),
        (
            "kind",
            kind.enum_values(Some(["request", "deprecated_endpoint", "foreign_name"]))
                .into(),
        ),
        (
            "name",
            or_null(
                text("The name of other versions that was sent."),
                Type::String,
            ),
        ),
        number("requests", "How many requests there were."),
        (
            "first_seen",
            timestamp("When the first of them was received."),
        ),
        words(
            "first_request_id",
            "The `X-Request-Id` of the first of them.",
        ),
    ];
    line.extend(last());
    let total = vec![
        number("requests", "All requests."),
        number("to_deprecated_endpoints", "Those for endpoints that end."),
        number("providers", "Providers with any request: 1, or 0."),
        number("tokens", "Tokens with any request."),
    ];
    let properties = vec![
        ("since", date("The first day that is looked at.")),
        (
            "lines",
            list(
                "By token, version and endpoint.",
                object("Requests of one kind.", line),
            ),
        ),
        ("total", object("The sums.", total).into()),
    ];
    object(
        "What the provider's tokens requested. A request is counted within some seconds.",
        properties,
    )
    .into()
}

/// Returns the schema of the reply that tells whether a provider is ready for the newest version.
fn readiness_schema() -> RefOr<Schema> {
    let none = ObjectBuilder::new().schema_type(Type::Null);
    let usage = AnyOfBuilder::new()
        .item(Ref::from_schema_name(VERSION_USAGE))
        .item(none);
    let counted = formatted(
        "The first day with counted requests of the provider.",
        "date",
    );
    let properties = vec![
        words("version", "The version in the path."),
        words(
            "newest",
            "The newest version. Accepted writes are checked against it.",
        ),
        ("since", date("The first day that is looked at.")),
        ("until", date("The last one.")),
        ("counted_since", or_null(counted, Type::String)),
        (
            "usage",
            usage
                .description(Some(
                    "How the provider uses the version; null when it did not in those days.",
                ))
                .into(),
        ),
    ];
    object(
        "What of the provider's requests the newest version would refuse or lose.",
        properties,
    )
    .into()
}

fn version_usage_schema() -> RefOr<Schema> {
    let mut token = vec![
        number("token", "The number of the token."),
        words("name", "What it is for."),
        number("requests", "Its requests."),
    ];
    token.extend(last());
    let endpoint = vec![
        words("endpoint", "The endpoint."),
        (
            "replaced_by",
            or_null(text("What to use instead."), Type::String),
        ),
        (
            "removed_in",
            or_null(
                text("The version that removes the endpoint, if known."),
                Type::String,
            ),
        ),
        number("requests", "Requests for it."),
    ];
    let name = vec![
        words("name", "The name."),
        number("requests", "Requests with it."),
    ];
    let percent =
        ObjectBuilder::new().description(Some("The same in percent; null when none was tried."));
    let writes = vec![
        number(
            "checked",
            "Accepted writes that were tried in the newest version.",
        ),
        number("valid", "Those that it would accept without a loss."),
        ("percent", or_null(percent, Type::Number)),
        (
            "few",
            boolean("Whether there are too few for the share to say much."),
        ),
    ];
    let problem = vec![
        words("field", "The field, as the newest version calls it."),
        words(
            "code",
            "The code of the problem; `not_set` for a value that the newest version cannot hold.",
        ),
        words("meaning", "What the code means."),
        (
            "rules",
            list(
                "What rules of the newest version, new to this one, demand of the field.",
                text("A rule in words."),
            ),
        ),
        number("writes", "Writes that have the problem."),
    ];
    let newer = vec![
        words("version", "The version."),
        number("requests", "Requests."),
    ];
    let mut properties = vec![
        words("provider", "UKPRN of the provider."),
        words("name", "Its name."),
        number("requests", "Requests to the version."),
    ];
    properties.extend(last());
    properties.extend([
        (
            "tokens",
            list(
                "The tokens that sent these requests.",
                object("A token.", token),
            ),
        ),
        (
            "endpoints",
            list(
                "Endpoints that end, or that the newest version does not have.",
                object("An endpoint.", endpoint),
            ),
        ),
        (
            "names",
            list(
                "Names of other versions that are sent.",
                object("A name.", name),
            ),
        ),
        (
            "writes",
            object(
                "Whether the newest version would accept these writes.",
                writes,
            )
            .into(),
        ),
        (
            "problems",
            list(
                "The problems of these writes, most frequent first.",
                object("A problem.", problem),
            ),
        ),
        (
            "newer",
            list(
                "What is sent to newer versions already.",
                object("A newer version.", newer),
            ),
        ),
    ]);
    object("How the provider uses a version.", properties).into()
}

/// Returns the schema of the reply to a reset of a sandbox.
fn reset_schema() -> RefOr<Schema> {
    let properties = vec![
        number("discarded", "Trainees that this request discarded."),
        number(
            "remaining",
            "Trainees that are still there: send the request again until there is none.",
        ),
    ];
    object("The result of a reset.", properties).into()
}

/// Returns the example of the reply about the owner of a token.
pub(super) fn account(version: &ApiVersion) -> Value {
    json!({
        "provider": { "ukprn": "10012345", "name": "Ashdown University" },
        "environment": "sandbox",
        "token": {
            "id": 3,
            "name": "Student records system",
            "created_at": "2026-10-05T09:00:00.000Z",
            "expires_on": "2027-04-05",
        },
        "version": version.label.to_string(),
    })
}

/// Returns the example of the reply about requests of tokens.
pub(super) fn usage(version: &ApiVersion) -> Value {
    let line = json!({
        "provider": "10012345",
        "token": 3,
        "token_name": "Student records system",
        "version": version.label.to_string(),
        "endpoint": Endpoint::CreateTrainee.to_string(),
        "kind": "request",
        "name": null,
        "requests": 120,
        "first_seen": "2026-10-05T09:00:00.000Z",
        "first_request_id": "order-66",
        "last_seen": "2026-11-03T16:20:00.250Z",
        "last_request_id": "order-4711",
    });
    let total =
        json!({ "requests": 120, "to_deprecated_endpoints": 0, "providers": 1, "tokens": 1 });
    json!({ "since": "2026-10-05", "lines": [line], "total": total })
}

/// Returns the example of the reply about the readiness of a provider.
pub(super) fn readiness(version: &ApiVersion) -> Value {
    let last_seen = "2026-11-03T16:20:00.250Z";
    let last_request_id = "order-4711";
    let token = json!({
        "token": 3,
        "name": "Student records system",
        "requests": 120,
        "last_seen": last_seen,
        "last_request_id": last_request_id,
    });
    let problem = json!({
        "field": "itt_end_date",
        "code": "year_too_late",
        "meaning": "The year of the date is too late.",
        "rules": [],
        "writes": 2,
    });
    json!({
        "version": version.label.to_string(),
        "newest": Label::release(version.label.year + 1, 0).to_string(),
        "since": "2026-10-05",
        "until": "2026-11-03",
        "counted_since": "2026-10-05",
        "usage": {
            "provider": "10012345",
            "name": "Ashdown University",
            "requests": 120,
            "last_seen": last_seen,
            "last_request_id": last_request_id,
            "tokens": [token],
            "endpoints": [],
            "names": [],
            "writes": { "checked": 60, "valid": 58, "percent": 96.7, "few": false },
            "problems": [problem],
            "newer": [],
        },
    })
}

/// Returns the example of the reply to a reset.
pub(super) fn reset() -> Value {
    json!({ "discarded": 1_000, "remaining": 123 })
}

/// Returns the schema of an entry in the list of changed trainees.
fn change_schema() -> RefOr<Schema> {
    let meaning = "The trainee as it is now; null for one who was removed.";
    let null = ObjectBuilder::new().schema_type(Type::Null);
    let trainee = OneOfBuilder::new()
        .description(Some(meaning))
        .item(named(TRAINEE))
        .item(null);
    let removed_at = formatted(
        "When the trainee was removed; null for one who is there.",
        "date-time",
    );
    let properties = vec![
        ("trainee_id", text("The identifier of the trainee.").into()),
        ("removed_at", or_null(removed_at, Type::String)),
        ("trainee", trainee.into()),
    ];
    object(
        "A trainee who was registered, changed or removed.",
        properties,
    )
    .into()
}

/// Returns the schema of `meta` in the list of changed trainees.
fn changes_meta_schema() -> RefOr<Schema> {
    let has_more = ObjectBuilder::new().schema_type(Type::Boolean);
    let properties = vec![
        (
            "after",
            text("What to send as `after` next; opaque.").into(),
        ),
        (
            "has_more",
            has_more
                .description(Some("Whether there are more changes already."))
                .into(),
        ),
    ];
    object("The position for the next request.", properties).into()
}
