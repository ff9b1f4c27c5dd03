//! The example in the form, written by the same code as real requests and responses.

use adapter_kit::body_kind::{Direction, RecordKind};
use adapter_kit::compose::Keyed;
use adapter_kit::view::View;
use adapter_kit::{ApiVersion, Endpoint};
use domain::Lists;
use serde_json::Value;
use version_tools::openapi::examples;
use version_tools::translate::BodyKind;

/// Writes an example; for an unknown kind, a request for a new trainee. Returns `None` if the
/// version has no such body.
pub(super) fn body(version: &ApiVersion, kind: BodyKind, lists: &Lists) -> Option<Value> {
    if kind.direction == Some(Direction::Reply) {
        let trainee = fixtures::example::trainee();
        let view = View::trainee(version, &trainee, lists);
        return serde_json::to_value(Keyed(version.wire.envelope.record, view)).ok();
    }
    examples::request(version, endpoint(version, kind)?)
}

/// Finds the endpoint that accepts this kind of body as a single request.
pub(super) fn endpoint(version: &ApiVersion, kind: BodyKind) -> Option<Endpoint> {
    let record = kind.record.unwrap_or(RecordKind::Trainee);
    version.endpoints.all().find(|endpoint| {
        version.row(*endpoint).request.is_some_and(|request| {
            request.record == record
                && request.batch_of.is_none()
                && (kind.purpose.is_none() || request.purpose == kind.purpose)
        })
    })
}
