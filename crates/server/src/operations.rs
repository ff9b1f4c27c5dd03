//! What each endpoint does with the records of one provider: plain functions from a call to a reply.
//!
//! An operation runs inside one transaction. It reads the body, asks the domain to decide, saves, and writes the reply
//! in the version's shape; it opens no transaction, and knows no version and no field.

use adapter_kit::Endpoint;
use storage::session::ProviderSession;

use crate::call::Call;
use crate::failure::Failure;
use crate::reply::Reply;

mod degrees;
mod info;
mod listing;
mod placements;
mod reference_data;
mod trainees;
mod transitions;

/// What runs at an endpoint.
#[derive(Clone, Copy)]
pub struct Operation {
    /// Whether it may write.
    pub writes: bool,
    /// What it does.
    pub run: fn(&mut ProviderSession<'_>, &Call) -> Result<Reply, Failure>,
}

/// The operation of an endpoint.
#[must_use]
pub fn of(endpoint: Endpoint) -> Operation {
    let reading = |run| Operation { writes: false, run };
    let writing = |run| Operation { writes: true, run };
    match endpoint {
        Endpoint::Info => reading(info::show),
        Endpoint::ListTrainees => reading(listing::list),
        Endpoint::CreateTrainee => writing(trainees::create),
        Endpoint::ShowTrainee => reading(trainees::show),
        Endpoint::UpdateTrainee => writing(trainees::update),
        Endpoint::ListPlacements => reading(placements::list),
        Endpoint::CreatePlacement => writing(placements::create),
        Endpoint::ShowPlacement => reading(placements::show),
        Endpoint::UpdatePlacement => writing(placements::update),
        Endpoint::DeletePlacement => writing(placements::delete),
        Endpoint::ListDegrees => reading(degrees::list),
        Endpoint::CreateDegree => writing(degrees::create),
        Endpoint::ShowDegree => reading(degrees::show),
        Endpoint::UpdateDegree => writing(degrees::update),
        Endpoint::DeleteDegree => writing(degrees::delete),
        Endpoint::Defer => writing(transitions::defer),
        Endpoint::Withdraw => writing(transitions::withdraw),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => writing(transitions::recommend),
        Endpoint::ReferenceData => reading(reference_data::show),
    }
}
