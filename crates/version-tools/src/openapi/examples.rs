//! The example of each request and reply, written by the same code that reads and writes real ones.

use adapter_kit::body_kind::{Purpose, RecordKind};
use adapter_kit::compose::{Data, Request};
use adapter_kit::endpoint::{Endpoint, EntryProperty, ReplyBody, RequestBody};
use adapter_kit::read::IDEMPOTENCY_KEY;
use adapter_kit::version::ApiVersion;
use adapter_kit::view::View;
use adapter_kit::wire::WireRecord;
use domain::listing::DEFAULT_PER_PAGE;
use domain::{Degree, FieldSet, Lists, Placement, Trainee, Value as Stored};
use fixtures::example;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::additions;

/// The key of the example.
const EXAMPLE_KEY: &str = "5f0e0c1d-example";

/// The body of a request to an endpoint that reads one.
#[must_use]
pub fn request(version: &ApiVersion, endpoint: Endpoint) -> Option<Value> {
    let RequestBody { record, purpose, batch_of } = endpoint.row().request?;
    match (record, purpose) {
        (RecordKind::Trainee, _) if batch_of.is_some() => {
            let Value::Object(record) = body(version, &example::trainee())? else { return None };
            let key = (IDEMPOTENCY_KEY.to_owned(), EXAMPLE_KEY.into());
            Some(json!([Map::from_iter([key].into_iter().chain(record))]))
        }
        (RecordKind::Trainee, Some(Purpose::Update)) => {
            let (email, course_year) = (Some("t.example@example.com".to_owned()), Some("2".to_owned()));
            body(version, &Trainee { email, course_year, ..Trainee::default() })
        }
        (RecordKind::Placement, Some(Purpose::Update)) => {
            body(version, &Placement { name: Some("Elmfield Academy".to_owned()), ..Placement::default() })
        }
        (RecordKind::Degree, Some(Purpose::Update)) => {
            body(version, &Degree { grade: Some("01".to_owned()), ..Degree::default() })
        }
        (RecordKind::Trainee, _) => body(version, &example::trainee()),
        (RecordKind::Placement, _) => body(version, &example::placement()),
        (RecordKind::Degree, _) => body(version, &example::another_degree()),
        (RecordKind::Withdrawal, _) => body(version, &example::withdrawal()),
        (RecordKind::Deferral, _) => body(version, &example::deferral()),
        (RecordKind::Recommendation, _) => body(version, &example::recommendation()),
    }
}

/// A record as a request, without what only follows from the rest of it.
fn body<R: WireRecord>(version: &ApiVersion, record: &R) -> Option<Value> {
    let request = Request { version, record, lists: Lists::embedded() };
    let mut body = serde_json::to_value(Data { data: request }).ok()?;
    let data = body.get_mut("data")?.as_object_mut()?;
    for input in R::inputs(version).entries {
        let is_empty = match data.get(input.name) {
            Some(Value::Array(records)) => records.is_empty(),
            Some(_) | None => record.stored(input.field) == Stored::Null,
        };
        if is_empty {
            data.shift_remove(input.name);
        }
    }
    Some(body)
}

/// What the reply of an endpoint shows.
pub(super) fn reply(version: &ApiVersion, lists: &Lists, reply: ReplyBody) -> Option<Value> {
    match reply {
        ReplyBody::ServiceStatus => Some(json!({ "status": "ok" })),
        ReplyBody::Trainee => data(View::trainee(version, &example::trainee(), lists)),
        ReplyBody::TraineePage => {
            let page = json!({ "current_page": 1, "total_pages": 1, "total_count": 1, "per_page": DEFAULT_PER_PAGE });
            let trainee =
                serde_json::to_value(View::in_list(version, &example::trainee(), lists, FieldSet::new())).ok()?;
            Some(json!({ "data": [trainee], "meta": page }))
        }
        ReplyBody::Changes => {
            let trainee = serde_json::to_value(View::trainee(version, &example::trainee(), lists)).ok()?;
            let changed = json!({ "trainee_id": trainee.get("trainee_id"), "removed_at": null, "trainee": trainee });
            let removed = json!({
                "trainee_id": "3Rc8XUqXw4hJk2vNm7tYpZbA", "removed_at": "2026-11-20T10:15:00.000Z", "trainee": null
            });
            Some(json!({ "data": [changed, removed], "meta": { "after": "hR4zEw2JYg", "has_more": false } }))
        }
        ReplyBody::Placement => data(View::placement(version, &example::placement(), lists)),
        ReplyBody::Placements => data([View::placement(version, &example::placement(), lists)]),
        ReplyBody::Degree => data(View::degree(version, &example::degree(), lists)),
        ReplyBody::Degrees => data([View::degree(version, &example::degree(), lists)]),
        ReplyBody::CodeLists => None,
        ReplyBody::Account => data(additions::account(version)),
        ReplyBody::Usage => data(additions::usage(version)),
        ReplyBody::Readiness => data(additions::readiness(version)),
        ReplyBody::Reset => data(additions::reset()),
        ReplyBody::BatchResults => {
            let created = data(View::trainee(version, &example::trainee(), lists))?;
            let mut result = json!({ IDEMPOTENCY_KEY: EXAMPLE_KEY, "status": 201 });
            result.as_object_mut()?.extend(created.as_object()?.clone());
            data([result])
        }
        ReplyBody::Entries(properties) => {
            let property = |property: &EntryProperty| {
                Some((property.name.to_owned(), serde_json::from_str(property.example).ok()?))
            };
            data([properties.iter().map(property).collect::<Option<Map<String, Value>>>()?])
        }
    }
}

fn data(view: impl Serialize) -> Option<Value> {
    serde_json::to_value(Data { data: view }).ok()
}
