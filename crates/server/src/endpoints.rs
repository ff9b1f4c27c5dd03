//! What each endpoint does with the records of one provider: plain functions from a request to a reply.
//!
//! A handler runs inside one transaction. It reads the body, asks the domain to decide, saves, and writes the reply
//! in the version's shape; it opens no transaction, and knows no version and no field.

use adapter_kit::Endpoint;
use storage::session::ProviderSession;

use crate::http::error::ApiError;
use crate::http::request::ApiRequest;
use crate::http::response::ApiResponse;

mod degrees;
mod info;
mod listing;
pub mod openapi;
mod placements;
pub mod reference_data;
mod trainees;
mod transitions;
pub mod version_list;

/// What a handler does with records, which decides where it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads one record by its key.
    LookUp,
    /// It reads.
    Read,
    /// It may write.
    Write,
}

/// What runs at an endpoint.
#[derive(Clone, Copy)]
pub struct Handler {
    /// What it does with records.
    pub access: Access,
    /// What it does.
    pub run: fn(&mut ProviderSession<'_>, &ApiRequest) -> Result<ApiResponse, ApiError>,
}

/// The handler of an endpoint.
#[must_use]
pub fn of(endpoint: Endpoint) -> Handler {
    let looking_up = |run| Handler { access: Access::LookUp, run };
    let reading = |run| Handler { access: Access::Read, run };
    let writing = |run| Handler { access: Access::Write, run };
    match endpoint {
        Endpoint::Info => looking_up(info::show),
        Endpoint::ListTrainees => reading(listing::list),
        Endpoint::CreateTrainee => writing(trainees::create),
        Endpoint::ShowTrainee => looking_up(trainees::show),
        Endpoint::UpdateTrainee => writing(trainees::update),
        Endpoint::ListPlacements => reading(placements::list),
        Endpoint::CreatePlacement => writing(placements::create),
        Endpoint::ShowPlacement => looking_up(placements::show),
        Endpoint::UpdatePlacement => writing(placements::update),
        Endpoint::DeletePlacement => writing(placements::delete),
        Endpoint::ListDegrees => reading(degrees::list),
        Endpoint::CreateDegree => writing(degrees::create),
        Endpoint::ShowDegree => looking_up(degrees::show),
        Endpoint::UpdateDegree => writing(degrees::update),
        Endpoint::DeleteDegree => writing(degrees::delete),
        Endpoint::Defer => writing(transitions::defer),
        Endpoint::Withdraw => writing(transitions::withdraw),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => writing(transitions::recommend),
        Endpoint::ReferenceData => reading(reference_data::show),
    }
}
