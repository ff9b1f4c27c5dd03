//! The handlers of the endpoints: functions from a request to a reply, with access to the records
//! of one provider.
//!
//! A handler runs inside one transaction. It reads the body, calls the domain for the decision,
//! saves the record, and writes the reply in the version's shape. A handler does not open
//! transactions, and contains no names of versions or fields.

use adapter_kit::{Endpoint, Served};
use domain::{Degree, Placement};
use storage::base::token::Environment;
use storage::session::ProviderSession;

use crate::error::ApiError;
use crate::request::HandlerContext;
use crate::response::ApiResponse;

mod account;
mod changes;
mod info;
mod listing;
mod nested;
pub mod openapi;
pub mod reference_data;
mod sandbox;
mod trainees;
mod transitions;
pub mod version_list;

/// The access of a handler to records, which decides how its job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads one record by its key.
    LookUp,
    /// Reads records.
    Read,
    /// Like `Read`, and the reply may be large.
    List,
    /// May write.
    Write,
}

impl Access {
    /// Whether the handler may write.
    #[must_use]
    pub fn writes(self) -> bool {
        self == Self::Write
    }
}

/// The function that answers requests for an endpoint.
#[derive(Clone, Copy)]
pub struct Handler {
    /// The access of the function to records.
    pub access: Access,
    /// The function.
    pub run: fn(&mut ProviderSession<'_>, &HandlerContext<'_>) -> Result<ApiResponse, ApiError>,
}

/// The endpoints of a version in an environment: in production without those that only a sandbox
/// has.
pub fn available(served: &Served, environment: Environment) -> impl Iterator<Item = Endpoint> {
    let is_sandbox = environment == Environment::Sandbox;
    served
        .version
        .endpoints
        .all()
        .filter(move |endpoint| is_sandbox || !endpoint.row().sandbox_only)
}

/// The handler of an endpoint.
#[must_use]
pub fn handler(endpoint: Endpoint) -> Handler {
    let looking_up = |run| Handler {
        access: Access::LookUp,
        run,
    };
    let reading = |run| Handler {
        access: Access::Read,
        run,
    };
    let listing = |run| Handler {
        access: Access::List,
        run,
    };
    let writing = |run| Handler {
        access: Access::Write,
        run,
    };
    match endpoint {
        Endpoint::Info => looking_up(info::show),
        Endpoint::ListTrainees => listing(listing::list),
        Endpoint::ListChanges => listing(changes::list),
        // For a batch, the handler of each item.
        Endpoint::CreateTrainee | Endpoint::CreateTrainees => writing(trainees::create),
        Endpoint::ShowTrainee => looking_up(trainees::show),
        Endpoint::UpdateTrainee => writing(trainees::update),
        Endpoint::ListPlacements => reading(nested::list::<Placement>),
        Endpoint::CreatePlacement => writing(nested::create::<Placement>),
        Endpoint::ShowPlacement => looking_up(nested::show::<Placement>),
        Endpoint::UpdatePlacement => writing(nested::update::<Placement>),
        Endpoint::DeletePlacement => writing(nested::delete::<Placement>),
        Endpoint::ListDegrees => reading(nested::list::<Degree>),
        Endpoint::CreateDegree => writing(nested::create::<Degree>),
        Endpoint::ShowDegree => looking_up(nested::show::<Degree>),
        Endpoint::UpdateDegree => writing(nested::update::<Degree>),
        Endpoint::DeleteDegree => writing(nested::delete::<Degree>),
        Endpoint::Defer => writing(transitions::defer),
        Endpoint::Withdraw => writing(transitions::withdraw),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            writing(transitions::recommend)
        }
        Endpoint::ReferenceData => reading(reference_data::show),
        Endpoint::ShowAccount => looking_up(account::show),
        Endpoint::ShowUsage => reading(account::usage),
        Endpoint::ShowReadiness => reading(account::readiness),
        Endpoint::ResetSandbox => writing(sandbox::reset),
        Endpoint::AdvanceTrainee => writing(sandbox::advance_trainee),
    }
}
