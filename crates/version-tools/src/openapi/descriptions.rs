//! Descriptions of operations, with sentences shared by all endpoints of a kind.

use adapter_kit::body_kind::{Purpose, RecordKind};
use adapter_kit::endpoint::{Endpoint, EndpointRow, Method, ReplyBody};
use adapter_kit::read::MAX_BATCH_ITEMS;
use adapter_kit::version::{ApiVersion, Deprecation};
use domain::lifecycle::{Action, states_before};

use super::errors::refuses_duplicates;

/// Returns the description of the operations of an endpoint.
pub(super) fn build(version: &ApiVersion, endpoint: Endpoint) -> String {
    let row = version.row(endpoint);
    let mut sentences: Vec<String> = Vec::new();
    if let Some(Deprecation {
        since, removed_in, ..
    }) = version.endpoints.deprecation(endpoint)
    {
        let instead = version
            .endpoints
            .replacement(endpoint)
            .map_or_else(String::new, |other| {
                format!("; use `{}` instead", version.row(other).path)
            });
        sentences.push(format!(
            "Deprecated since {since}{instead}. Removed in {removed_in}."
        ));
    }
    sentences.push(describe_effect(row).to_owned());
    sentences.extend(row.note.map(str::to_owned));
    if let Some(record) = duplicate_record(row) {
        sentences.push(format!(
            "A {} that the trainee has already is a 409 that shows it.",
            record.name()
        ));
    }
    sentences.extend(states(row));
    if row.takes_if_match() {
        sentences.push(
            "With the `ETag` of the record in `If-Match`, a record that has changed since then is not changed."
                .to_owned(),
        );
    }
    if row.method == Method::Post && !row.is_batch() {
        sentences.push(
            "With an `Idempotency-Key`, a request that is sent again has no second effect."
                .to_owned(),
        );
    }
    if row.sandbox_only {
        sentences.push("In production there is no such endpoint.".to_owned());
    }
    sentences.join(" ")
}

/// Returns the kind of nested record that an endpoint adds. Returns `None` if the endpoint adds no
/// nested record, or if a trainee can have duplicates of this kind.
fn duplicate_record(row: &EndpointRow) -> Option<RecordKind> {
    let request = row
        .request
        .filter(|request| request.purpose == Some(Purpose::Create))?;
    let is_nested = request.record != RecordKind::Trainee;
    (is_nested && refuses_duplicates(request.record)).then_some(request.record)
}

fn describe_effect(row: &EndpointRow) -> &'static str {
    match (row.reply, row.method) {
        (ReplyBody::ServiceStatus, _) => "Says whether the service is there. It shows no record.",
        (ReplyBody::TraineePage, _) => {
            "The provider's trainees by the time of their last change. Follow the link `next` to the end to get every \
             trainee, even if records change in between."
        }
        (ReplyBody::Changes, _) => {
            "Trainees who were registered, changed or removed since `after`, in the order of the changes; without `after`, all \
             of them. Keep `meta.after` together with what was read. After a 410, begin again without it."
        }
        (ReplyBody::CodeLists, _) => {
            "The codes that fields can have, with their names and years of use."
        }
        (ReplyBody::Account, _) => "The owner, the environment and the expiry of the token.",
        (ReplyBody::Usage, _) => {
            "The numbers of requests by token, endpoint and name of other versions, for a number of days."
        }
        (ReplyBody::Readiness, _) => {
            "Which of the accepted requests of the last days the newest version would refuse, and why. Each accepted request \
             to an older version may be tried in the newest one after it was answered."
        }
        (ReplyBody::Reset, _) => {
            "Discards the oldest 1,000 trainees of the provider; send it again until none remains."
        }
        (ReplyBody::BatchResults, _) => {
            const { assert!(MAX_BATCH_ITEMS == 200) };
            "Each of up to 200 items is a separate registration with its own key. A refused item does not affect the \
             others, and items that are sent again with their keys have no second effect."
        }
        (ReplyBody::Entries(_), _) => "The earlier transitions of that kind, the newest first.",
        (_, Method::Delete) => "Removes the record permanently. Its identifier is not used again.",
        (_, Method::PutOrPatch) => {
            "Changes the fields that are sent and leaves the others as they are; null clears a field. `PUT` and `PATCH` mean \
             the same."
        }
        (_, Method::Get) => {
            "With the `ETag` of an earlier reply in `If-None-Match`, what has not changed is answered with 304 and no body."
        }
        (ReplyBody::Trainee, Method::Post) if row.sandbox_only => {
            "Does what the national registry does in production."
        }
        (ReplyBody::Trainee, Method::Post) => match row.request {
            Some(request) if request.purpose == Some(Purpose::Create) => {
                "Registers a trainee, with placements and degrees if they are sent. A person who is registered already is a \
                 409 that shows the existing record. All problems of a request are reported together."
            }
            Some(_) | None => {
                "Changes the state of the trainee. All problems of a request are reported together."
            }
        },
        (ReplyBody::Nested(_) | ReplyBody::NestedList(_), Method::Post) => "Adds the record.",
    }
}

/// Returns a sentence about the required states of the trainee; `None` if the request is not a
/// transition.
fn states(row: &EndpointRow) -> Option<String> {
    const ACTIONS: [(RecordKind, Action); 3] = [
        (RecordKind::Withdrawal, Action::Withdraw),
        (RecordKind::Deferral, Action::Defer),
        (RecordKind::Recommendation, Action::Recommend),
    ];
    let record = row.request?.record;
    let (_, action) = ACTIONS.into_iter().find(|(known, _)| *known == record)?;
    let names: Vec<String> = states_before(action)
        .map(|state| format!("`{state}`"))
        .collect();
    Some(format!("The trainee must be {}.", names.join(", or ")))
}
