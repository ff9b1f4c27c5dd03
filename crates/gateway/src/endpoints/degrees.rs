//! The degrees of a trainee (contract, sections 4.6, 4.7, 4.10, 4.16 and 4.18).

use adapter_kit::view::View;
use domain::records::organisations::Organisations;
use domain::{Degree, ParsedRecord};
use storage::session::ProviderSession;

use super::nested::NestedEndpoints;
use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;

impl NestedEndpoints for Degree {
    const MISSING: Missing = Missing::Degree;
    const DUPLICATE: Option<&'static str> = Some("this degree is a duplicate");
    const EMPTY_LIST_IS_MISSING: bool = true;
    const CREATED_AS_LIST: bool = true;

    fn id_in_path<'a>(request: &'a HandlerContext<'_>) -> &'a str {
        request.degree_id()
    }

    fn view<'a>(&'a self, request: &HandlerContext<'_>) -> View<'a, Self> {
        View::degree(request.version(), self, request.lists)
    }

    /// A degree mentions none.
    fn organisations(
        _: &mut ProviderSession<'_>,
        _: &ParsedRecord<Self>,
        _: Option<&Self>,
    ) -> Result<Organisations, ApiError> {
        Ok(Organisations::default())
    }
}
