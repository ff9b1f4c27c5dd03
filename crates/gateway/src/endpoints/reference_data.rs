//! The code lists (contract, section 4.19).

use actix_web::http::StatusCode;
use actix_web::http::header::CACHE_CONTROL;
use adapter_kit::read::client_text::truncated;
use adapter_kit::reference;
use domain::values::text::is_absent;
use storage::session::ProviderSession;

use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// `GET /reference-data`
pub(super) fn show(
    _: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let mut parameters = form_urlencoded::parse(request.query().as_bytes());
    let field = parameters
        .find(|(name, value)| name == "field" && !is_absent(value))
        .map(|(_, value)| value);
    let version = request.version();
    let written = match &field {
        None => Some(request.state.rendered_lists.all(version)?),
        Some(name) => {
            let list = reference::list_named(version, name);
            list.map(|list| request.state.rendered_lists.named(version, list))
                .transpose()?
                .flatten()
        }
    };
    let written = written
        .ok_or_else(|| ApiError::NotFound(Missing::List(truncated(&field.unwrap_or_default()))))?;
    let tag = written.entity_tag().to_owned();
    let reply =
        request.not_modified_if_cached_as(ApiResponse::shared(StatusCode::OK, written), tag);
    Ok(reply.with(CACHE_CONTROL.as_str(), "private, max-age=3600"))
}
