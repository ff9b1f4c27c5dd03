//! Examples of requests and replies, written by the same code as real ones.

use adapter_kit::body_kind::{Purpose, RecordKind};
use adapter_kit::compose::{Data, Keyed, Request};
use adapter_kit::endpoint::{Endpoint, EntryProperty, ReplyBody, RequestBody};
use adapter_kit::read::IDEMPOTENCY_KEY;
use adapter_kit::version::ApiVersion;
use adapter_kit::view::View;
use adapter_kit::wire::{WireNested, WireRecord};
use adapter_kit::{PageMember, for_nested_kind, identifiers};
use domain::{
    FieldSet, Lists, NestedRecord, RecordField as _, Trainee, TraineeField, Value as Stored,
    for_each_nested,
};
use fixtures::example::{self, NestedExample};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::additions;

/// The idempotency key in examples.
const EXAMPLE_KEY: &str = "5f0e0c1d-example";

/// Returns the example of a request body; `None` if the endpoint reads no body.
#[must_use]
pub fn request(version: &ApiVersion, endpoint: Endpoint) -> Option<Value> {
    let RequestBody {
        record,
        purpose,
        batch_of,
    } = version.row(endpoint).request?;
    if let Some(example) = for_nested_kind!(record, nested_request(version, purpose)) {
        return example;
    }
    if batch_of.is_some() {
        let Value::Object(record) = body(version, &example::trainee())? else {
            return None;
        };
        let key = (IDEMPOTENCY_KEY.to_owned(), EXAMPLE_KEY.into());
        return Some(json!([Map::from_iter([key].into_iter().chain(record))]));
    }
    if purpose == Some(Purpose::Update) {
        return body(
            version,
            &Trainee {
                email: Some("t.example@example.com".to_owned()),
                course_year: Some("2".to_owned()),
                ..Trainee::default()
            },
        );
    }
    if record == RecordKind::Withdrawal {
        body(version, &example::withdrawal())
    } else if record == RecordKind::Deferral {
        body(version, &example::deferral())
    } else if record == RecordKind::Recommendation {
        body(version, &example::recommendation())
    } else {
        body(version, &example::trainee())
    }
}

/// Returns the example of a request for a nested record.
fn nested_request<R: WireNested + NestedExample>(
    version: &ApiVersion,
    purpose: Option<Purpose>,
) -> Option<Value> {
    body(
        version,
        &if purpose == Some(Purpose::Update) {
            R::change()
        } else {
            R::another()
        },
    )
}

/// Returns a record as a request, without derived fields.
fn body<R: WireRecord>(version: &ApiVersion, record: &R) -> Option<Value> {
    let request = Request {
        version,
        record,
        lists: Lists::embedded(),
    };
    let key = version.wire.envelope.request;
    let mut body = serde_json::to_value(Keyed(key, request)).ok()?;
    let data = body.get_mut(key)?.as_object_mut()?;
    // Inputs without a value are omitted. A joined text has a value if one of its parts has one.
    for input in R::inputs(version)
        .entries
        .iter()
        .filter(|input| input.is_first_part())
    {
        let mut parts = R::inputs(version).parts(input).iter();
        let is_stored = parts.any(|part| record.stored(part.field) != Stored::Null);
        let has_records = data
            .get(input.name)
            .and_then(Value::as_array)
            .is_some_and(|records| !records.is_empty());
        if !is_stored && !has_records {
            remove(data, input.name);
        }
    }
    Some(body)
}

/// Removes the field at a path such as `withdrawal.date`, and the group if it has no other fields.
fn remove(data: &mut Map<String, Value>, path: &str) {
    let Some((group, name)) = path.split_once('.') else {
        data.shift_remove(path);
        return;
    };
    let Some(members) = data.get_mut(group).and_then(Value::as_object_mut) else {
        return;
    };
    members.shift_remove(name);
    if members.is_empty() {
        data.shift_remove(group);
    }
}

/// Returns the identifiers of the records in examples, by the names of their placeholders in paths.
pub(crate) fn identifiers() -> Vec<(&'static str, String)> {
    fn nested<R: NestedExample + NestedRecord>() -> (&'static str, Option<String>) {
        (R::ID.info().name, R::example().id().map(str::to_owned))
    }
    let trainee = (
        TraineeField::trainee_id.info().name,
        example::trainee().trainee_id,
    );
    [trainee]
        .into_iter()
        .chain(for_each_nested!(nested()))
        .filter_map(|(name, id)| Some((name, id?)))
        .collect()
}

/// Returns the reply with one record, with its address if the version shows it.
fn record(version: &ApiVersion, endpoint: Endpoint, view: Value) -> Value {
    let record = (version.wire.envelope.record.to_owned(), view);
    let address = address(version, endpoint, &identifiers());
    [record].into_iter().chain(address).collect()
}

/// Returns the member with the address of a record; `None` if the version does not show it.
pub(crate) fn address(
    version: &ApiVersion,
    endpoint: Endpoint,
    ids: &[(&str, String)],
) -> Option<(String, Value)> {
    version.wire.envelope.record_links.then(|| {
        let path = identifiers::fill(version, version.row(endpoint).path, ids);
        let address = version.label.base_path() + &path;
        ("links".to_owned(), json!({ "self": address }))
    })
}

/// Returns a nested record as a separate response shows it.
fn nested<R: WireNested + NestedExample>(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    serde_json::to_value(View::new(version, &R::example(), lists)).ok()
}

/// Returns the reply with one nested record.
fn nested_reply<R: WireNested + NestedExample>(
    version: &ApiVersion,
    lists: &Lists,
) -> Option<Value> {
    let view = nested::<R>(version, lists)?;
    let Some(endpoint) = version.endpoints.that_shows(R::KIND) else {
        return Some(json!({ version.wire.envelope.record: view }));
    };
    Some(record(version, endpoint, view))
}

/// Returns the example of a reply; `None` if there is no example.
pub(crate) fn reply(version: &ApiVersion, lists: &Lists, reply: ReplyBody) -> Option<Value> {
    match reply {
        ReplyBody::ServiceStatus => Some(json!({ "status": "ok" })),
        ReplyBody::Trainee => {
            let trainee = example::trainee();
            let view = serde_json::to_value(View::trainee(version, &trainee, lists)).ok()?;
            Some(record(version, Endpoint::ShowTrainee, view))
        }
        ReplyBody::TraineePage => {
            let (_, members) = version.wire.envelope.page;
            let member = |(name, member): &(&str, PageMember)| {
                let value = match member {
                    PageMember::Number | PageMember::Pages | PageMember::Total => json!(1),
                    PageMember::PerPage => json!(version.wire.envelope.page_size.default()),
                    PageMember::Next => Value::Null,
                };
                ((*name).to_owned(), value)
            };
            let page: Map<String, Value> = members.iter().map(member).collect();
            let trainee = serde_json::to_value(View::in_list(
                version,
                &example::trainee(),
                lists,
                FieldSet::new(),
            ))
            .ok()?;
            Some(page_reply(version, json!([trainee]), page))
        }
        ReplyBody::Changes => {
            let example = example::trainee();
            let trainee = serde_json::to_value(View::trainee(version, &example, lists)).ok()?;
            let id = |id| identifiers::write(version, "trainee_id", id);
            let changed = json!({
                "trainee_id": id(example.trainee_id.as_deref()?), "removed_at": null, "trainee": trainee
            });
            let removed = json!({
                "trainee_id": id("3Rc8XUqXw4hJk2vNm7tYpZbA"), "removed_at": "2026-11-20T10:15:00.000Z",
                "trainee": null
            });
            Some(
                json!({ "data": [changed, removed], "meta": { "after": "hR4zEw2JYg", "has_more": false } }),
            )
        }
        ReplyBody::Nested(kind) => for_nested_kind!(kind, nested_reply(version, lists))?,
        ReplyBody::NestedList(kind) => {
            let record = for_nested_kind!(kind, nested(version, lists))??;
            Some(json!({ version.wire.envelope.list: [record] }))
        }
        ReplyBody::CodeLists => None,
        ReplyBody::Account => data(additions::account(version)),
        ReplyBody::Usage => data(additions::usage(version)),
        ReplyBody::Readiness => data(additions::readiness(version)),
        ReplyBody::Reset => data(additions::reset()),
        ReplyBody::BatchResults => {
            let trainee = example::trainee();
            let view = View::trainee(version, &trainee, lists);
            let created = serde_json::to_value(Keyed(version.wire.envelope.record, view)).ok()?;
            let mut result = json!({ IDEMPOTENCY_KEY: EXAMPLE_KEY, "status": 201 });
            result.as_object_mut()?.extend(created.as_object()?.clone());
            data([result])
        }
        ReplyBody::Entries(properties) => {
            let property = |property: &EntryProperty| {
                Some((
                    property.name.to_owned(),
                    serde_json::from_str(property.example).ok()?,
                ))
            };
            data([properties
                .iter()
                .map(property)
                .collect::<Option<Map<String, Value>>>()?])
        }
    }
}

/// Returns a reply with a list and the members that describe its page.
pub(crate) fn page_reply(version: &ApiVersion, list: Value, members: Map<String, Value>) -> Value {
    let envelope = &version.wire.envelope;
    let mut reply = Map::from_iter([(envelope.list.to_owned(), list)]);
    match envelope.page.0 {
        "" => reply.extend(members),
        name => drop(reply.insert(name.to_owned(), Value::Object(members))),
    }
    Value::Object(reply)
}

fn data(view: impl Serialize) -> Option<Value> {
    serde_json::to_value(Data { data: view }).ok()
}
