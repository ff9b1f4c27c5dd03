//! Lists of trainees (contract, section 4.2).

use actix_web::http::StatusCode;
use actix_web::http::header::WARNING;
use adapter_kit::NestedVisibility;
use adapter_kit::view::View;
use domain::listing::MAX_PER_PAGE;
use serde::Serialize;
use storage::session::ProviderSession;
use storage::trainees::Nested;

use crate::http::error::{ApiError, Missing};
use crate::http::query;
use crate::http::request::HandlerContext;
use crate::http::response::ApiResponse;

/// Where the page stands among the others.
#[derive(Serialize)]
struct Meta {
    current_page: i64,
    total_pages: i64,
    total_count: i64,
    per_page: i64,
}

/// `GET /trainees`
pub(super) fn list(session: &mut ProviderSession<'_>, request: &HandlerContext<'_>) -> Result<ApiResponse, ApiError> {
    let asked =
        query::listing(request.query(), request.refused_parameters(), session.today()).map_err(ApiError::Filters)?;
    let listing = asked.listing;
    let found = session.list_trainees(&listing)?;
    if found.trainees.is_empty() {
        return Err(ApiError::NotFound(Missing::Trainees));
    }
    let nested = match request.version().shapes.nested_in_lists {
        NestedVisibility::Shown => Nested::With,
        NestedVisibility::Hidden => Nested::Without,
    };
    let trainees: Vec<_> = found.trainees.iter().map(|one| one.read(nested)).collect::<Result<_, _>>()?;
    let views = trainees.iter().map(|one| View::in_list(request.version(), one, request.lists));
    let meta = Meta {
        current_page: listing.page,
        total_pages: (found.total + listing.per_page - 1) / listing.per_page,
        total_count: found.total,
        per_page: listing.per_page,
    };
    let reply = ApiResponse::page(StatusCode::OK, views, &meta)?;
    Ok(if asked.per_page_cut {
        reply.with(WARNING.as_str(), format!("299 - \"per_page is {MAX_PER_PAGE} at most\""))
    } else {
        reply
    })
}
