//! What each endpoint does with the records of one provider: plain functions from a call to a reply.
//!
//! An operation runs inside one transaction. It reads the body, asks the domain to decide, saves, and writes the reply
//! in the version's shape; it opens no transaction, and knows no version and no field.

use adapter_kit::Endpoint;
use storage::session::ProviderSession;

use crate::call::Call;
use crate::failure::Failure;
use crate::reply::Reply;

mod info;
mod trainees;
mod transitions;

/// What runs at an endpoint.
#[derive(Clone, Copy)]
pub struct Operation {
    /// Whether it may write.
    pub writes: bool,
    /// What it does.
    pub run: fn(&mut ProviderSession<'_>, Call) -> Result<Reply, Failure>,
}

/// The operation of an endpoint.
#[must_use]
pub fn of(endpoint: Endpoint) -> Option<Operation> {
    let reading = |run| Some(Operation { writes: false, run });
    let writing = |run| Some(Operation { writes: true, run });
    match endpoint {
        Endpoint::Info => reading(info::show),
        Endpoint::ShowTrainee => reading(trainees::show),
        Endpoint::CreateTrainee => writing(trainees::create),
        Endpoint::UpdateTrainee => writing(trainees::update),
        Endpoint::Withdraw => writing(transitions::withdraw),
        Endpoint::ListTrainees
        | Endpoint::ListPlacements
        | Endpoint::CreatePlacement
        | Endpoint::ShowPlacement
        | Endpoint::UpdatePlacement
        | Endpoint::DeletePlacement
        | Endpoint::ListDegrees
        | Endpoint::CreateDegree
        | Endpoint::ShowDegree
        | Endpoint::UpdateDegree
        | Endpoint::DeleteDegree
        | Endpoint::Defer
        | Endpoint::RecommendForQts
        | Endpoint::UpdateQtsOrEytsStatus
        | Endpoint::ReferenceData => None,
    }
}
