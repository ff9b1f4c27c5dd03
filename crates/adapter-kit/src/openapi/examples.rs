//! The example of each request and reply, written by the same code that reads and writes real ones.

use domain::specimen::example;
use domain::{Degree, Lists, Placement, Trainee};
use serde::Serialize;
use serde_json::{Value, json};

use crate::compose::{Data, Request};
use crate::endpoint::Endpoint;
use crate::version::{ApiVersion, Wire};
use crate::view::View;

/// The body of a request to an endpoint that reads one.
#[must_use]
pub fn request(version: &ApiVersion, lists: &Lists, endpoint: Endpoint) -> Option<Value> {
    let writer = Writer { version, lists };
    match endpoint {
        Endpoint::CreateTrainee => writer.body(&example::trainee()),
        Endpoint::UpdateTrainee => writer.body(&Trainee {
            email: Some("t.example@example.com".to_owned()),
            course_year: Some("2".to_owned()),
            ..Trainee::default()
        }),
        Endpoint::CreatePlacement => writer.body(&example::placement()),
        Endpoint::UpdatePlacement => {
            writer.body(&Placement { name: Some("Elmfield Academy".to_owned()), ..Placement::default() })
        }
        Endpoint::CreateDegree => writer.body(&example::another_degree()),
        Endpoint::UpdateDegree => writer.body(&Degree { grade: Some("01".to_owned()), ..Degree::default() }),
        Endpoint::Defer => writer.body(&example::deferral()),
        Endpoint::Withdraw => writer.body(&example::withdrawal()),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => writer.body(&example::recommendation()),
        Endpoint::Info
        | Endpoint::ListTrainees
        | Endpoint::ShowTrainee
        | Endpoint::ListPlacements
        | Endpoint::ShowPlacement
        | Endpoint::DeletePlacement
        | Endpoint::ListDegrees
        | Endpoint::ShowDegree
        | Endpoint::DeleteDegree
        | Endpoint::ReferenceData => None,
    }
}

struct Writer<'a> {
    version: &'a ApiVersion,
    lists: &'a Lists,
}

impl Writer<'_> {
    /// A record as a request, without what it does not say.
    fn body<R: Wire>(&self, record: &R) -> Option<Value> {
        let request = Request { version: self.version, record, lists: self.lists };
        serde_json::to_value(Data { data: request }).ok()
    }
}

/// A trainee as the version shows it.
pub(super) fn trainee(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    shown(View::trainee(version, &example::trainee(), lists))
}

/// A page of a list of trainees.
pub(super) fn page(version: &ApiVersion, lists: &Lists) -> Option<Value> {
    let trainee = serde_json::to_value(View::in_list(version, &example::trainee(), lists)).ok()?;
    let page = json!({ "current_page": 1, "total_pages": 1, "total_count": 1, "per_page": 50 });
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
