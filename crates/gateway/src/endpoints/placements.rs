//! The placements of a trainee (contract, sections 4.4, 4.5, 4.9, 4.15 and 4.17).

use adapter_kit::view::View;
use domain::records::organisations::Organisations;
use domain::{ParsedRecord, Placement, PlacementField};
use storage::session::ProviderSession;

use super::nested::NestedEndpoints;
use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;

impl NestedEndpoints for Placement {
    const MISSING: Missing = Missing::Placement;
    const DUPLICATE: Option<&'static str> = None;
    const EMPTY_LIST_IS_MISSING: bool = false;
    const CREATED_AS_LIST: bool = false;

    fn id_in_path<'a>(request: &'a HandlerContext<'_>) -> &'a str {
        request.placement_id()
    }

    fn view<'a>(&'a self, request: &HandlerContext<'_>) -> View<'a, Self> {
        View::placement(request.version(), self, request.lists)
    }

    /// The school that the request names, or that the placement is in.
    fn organisations(
        session: &mut ProviderSession<'_>,
        sent: &ParsedRecord<Self>,
        stored: Option<&Self>,
    ) -> Result<Organisations, ApiError> {
        let stored = || stored.and_then(|placement| placement.urn.clone());
        let urns: Vec<String> = sent.text(PlacementField::urn).or_else(stored).into_iter().collect();
        Ok(session.organisations(&urns, &[], &[])?)
    }
}
