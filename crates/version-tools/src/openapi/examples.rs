//! The example of each request and reply, written by the same code that reads and writes real ones.

use adapter_kit::compose::{Data, Request};
use adapter_kit::endpoint::Endpoint;
use adapter_kit::version::{ApiVersion, Wire};
use adapter_kit::view::View;
use domain::listing::DEFAULT_PER_PAGE;
use domain::{Degree, Lists, Placement, Trainee, Value as Held};
use fixtures::example;
use serde::Serialize;
use serde_json::{Value, json};

use super::schemas;

/// The body of a request to an endpoint that reads one.
#[must_use]
pub fn request(version: &ApiVersion, endpoint: Endpoint) -> Option<Value> {
    described(version, endpoint).map(|(_, example)| example)
}

/// The schema of what an endpoint reads, by its name, and an example of the whole body.
pub(super) fn described(version: &ApiVersion, endpoint: Endpoint) -> Option<(&'static str, Value)> {
    let (schema, example) = match endpoint {
        Endpoint::CreateTrainee => (schemas::NEW_TRAINEE, body(version, &example::trainee())),
        Endpoint::UpdateTrainee => {
            let changed = Trainee {
                email: Some("t.example@example.com".to_owned()),
                course_year: Some("2".to_owned()),
                ..Trainee::default()
            };
            (schemas::TRAINEE_CHANGES, body(version, &changed))
        }
        Endpoint::CreatePlacement => (schemas::NEW_PLACEMENT, body(version, &example::placement())),
        Endpoint::UpdatePlacement => {
            let changed = Placement { name: Some("Elmfield Academy".to_owned()), ..Placement::default() };
            (schemas::PLACEMENT_CHANGES, body(version, &changed))
        }
        Endpoint::CreateDegree => (schemas::NEW_DEGREE, body(version, &example::another_degree())),
        Endpoint::UpdateDegree => {
            let changed = Degree { grade: Some("01".to_owned()), ..Degree::default() };
            (schemas::DEGREE_CHANGES, body(version, &changed))
        }
        Endpoint::Defer => (schemas::DEFERRAL, body(version, &example::deferral())),
        Endpoint::Withdraw => (schemas::WITHDRAWAL, body(version, &example::withdrawal())),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            (schemas::RECOMMENDATION, body(version, &example::recommendation()))
        }
        Endpoint::Info
        | Endpoint::ListTrainees
        | Endpoint::ShowTrainee
        | Endpoint::ListPlacements
        | Endpoint::ShowPlacement
        | Endpoint::DeletePlacement
        | Endpoint::ListDegrees
        | Endpoint::ShowDegree
        | Endpoint::DeleteDegree
        | Endpoint::ReferenceData => return None,
    };
    Some((schema, example?))
}

/// A record as a request, without what only follows from the rest of it.
fn body<R: Wire>(version: &ApiVersion, record: &R) -> Option<Value> {
    let request = Request { version, record, lists: Lists::embedded() };
    let mut body = serde_json::to_value(Data { data: request }).ok()?;
    let data = body.get_mut("data")?.as_object_mut()?;
    for input in R::inputs(version).entries {
        let is_empty = match data.get(input.name) {
            Some(Value::Array(records)) => records.is_empty(),
            Some(_) | None => record.stored(input.field) == Held::Null,
        };
        if is_empty {
            data.shift_remove(input.name);
        }
    }
    Some(body)
}

/// A trainee as the version shows it.
pub(super) fn trainee(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    shown(View::trainee(version, &example::trainee(), lists))
}

/// A page of a list of trainees.
pub(super) fn page(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    let trainee = serde_json::to_value(View::in_list(version, &example::trainee(), lists)).ok()?;
    let page = json!({ "current_page": 1, "total_pages": 1, "total_count": 1, "per_page": DEFAULT_PER_PAGE });
    Some(json!({ "data": [trainee], "meta": page }))
}

/// A placement as the version shows it.
pub(super) fn placement(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    shown(View::placement(version, &example::placement(), lists))
}

/// A degree as the version shows it.
pub(super) fn degree(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    shown(View::degree(version, &example::degree(), lists))
}

fn shown(view: impl Serialize) -> Option<Value> {
    serde_json::to_value(Data { data: view }).ok()
}

/// What stands in `data`, as the only one of a list.
pub(super) fn listed(example: Option<Value>) -> Option<Value> {
    let data = example?.get("data")?.clone();
    Some(json!({ "data": [data] }))
}
