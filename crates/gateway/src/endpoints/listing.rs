//! Lists of trainees (contract, section 4.2).
//!
//! A page is found by its number, or by a cursor, which is an addition of this service. Each page links to the next one by a
//! cursor: who follows the links misses no trainee, whatever changes meanwhile.

use actix_web::http::StatusCode;
use actix_web::http::header::LINK;
use adapter_kit::NestedVisibility;
use adapter_kit::view::View;
use chrono::SecondsFormat;
use domain::listing::{Listing, MAX_PER_PAGE, Order};
use http_kit::cursor::CursorScope;
use serde::Serialize;
use storage::records::trainees::{ListCursor, Nested, TraineeDocument};
use storage::session::ProviderSession;

use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::request::query::{self, FilterErrors, ListQuery};
use crate::response::ApiResponse;

/// What is wrong with the size of a page whose nested records fill the largest reply.
const TOO_MANY_NESTED: &str = "is too many for trainees with so many nested records; ask for fewer";

/// Where the page stands among the others.
#[derive(Serialize)]
struct Meta {
    current_page: i64,
    total_pages: i64,
    total_count: i64,
    per_page: i64,
}

/// What is said of a page that was reached by a cursor: what changes meanwhile is not counted.
#[derive(Serialize)]
struct CursorMeta {
    per_page: i64,
}

/// `GET /trainees`
pub(super) fn list(session: &mut ProviderSession<'_>, request: &HandlerContext<'_>) -> Result<ApiResponse, ApiError> {
    let query = query::listing(request.query(), request.refused_parameters(), request.version(), session.today())
        .map_err(ApiError::Filters)?;
    let reply = match &query.cursor {
        Some(cursor) => page_behind(session, request, &query, cursor)?,
        None => numbered_page(session, request, &query)?,
    };
    Ok(reply.with_warnings(query.per_page_cut.then(|| format!("per_page is {MAX_PER_PAGE} at most"))))
}

fn numbered_page(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    query: &ListQuery,
) -> Result<ApiResponse, ApiError> {
    let listing = &query.listing;
    let found = session.list_trainees(listing)?;
    if found.trainees.is_empty() {
        return Err(ApiError::NotFound(Missing::Trainees));
    }
    let meta = Meta {
        current_page: listing.page,
        total_pages: (found.total + listing.per_page - 1) / listing.per_page,
        total_count: found.total,
        per_page: listing.per_page,
    };
    let reply = page(request, query, &found.trainees, &meta)?;
    let links = Links::of(session, request, query);
    let previous = (listing.page > 1).then(|| links.to(&[("page", &(listing.page - 1).to_string())], "prev"));
    let next = found.next.map(|cursor| links.to_cursor(request, &cursor)).transpose()?;
    Ok(links.write(reply, previous, next))
}

fn page_behind(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    query: &ListQuery,
    cursor: &str,
) -> Result<ApiResponse, ApiError> {
    let links = Links::of(session, request, query);
    let cursor = request
        .cursors
        .open::<ListCursor>(links.scope(), cursor)
        .ok_or_else(|| ApiError::Filters(FilterErrors::one("cursor", "is not a cursor of this list")))?;
    let found = session.continue_list(&query.listing, cursor)?.ok_or(ApiError::CursorOutdated)?;
    let reply = page(request, query, &found.trainees, &CursorMeta { per_page: query.listing.per_page })?;
    let next = found.next.map(|cursor| links.to_cursor(request, &cursor)).transpose()?;
    Ok(links.write(reply, None, next))
}

fn page(
    request: &HandlerContext<'_>,
    query: &ListQuery,
    trainees: &[TraineeDocument],
    meta: &impl Serialize,
) -> Result<ApiResponse, ApiError> {
    let nested = match request.version().shapes.nested_in_lists {
        NestedVisibility::Hidden if query.included.is_empty() => Nested::Without,
        NestedVisibility::Shown | NestedVisibility::Hidden => Nested::With,
    };
    let trainees: Vec<_> = trainees.iter().map(|one| one.read(nested)).collect::<Result<_, _>>()?;
    let views = trainees.iter().map(|one| View::in_list(request.version(), one, request.lists, query.included));
    if query.included.is_empty() {
        return Ok(ApiResponse::page(StatusCode::OK, views, meta)?);
    }
    let views: Vec<_> = views.collect();
    let write = |view: &View<'_, _>, out: &mut Vec<u8>| view.write(out).map_err(ApiError::unwritable);
    ApiResponse::entries(StatusCode::OK, &views, write, |written| {
        if written < views.len() {
            return Err(ApiError::Filters(FilterErrors::one("per_page", TOO_MANY_NESTED)));
        }
        Ok(meta)
    })
}

/// The links of a page to others of the same list (RFC 8288).
struct Links {
    ukprn: String,
    version: String,
    path: String,
    /// The filters and the order of the list, each of them also where it was left out.
    filters: String,
    /// The same with what is shown on a page.
    query: String,
}

impl Links {
    fn of(session: &ProviderSession<'_>, request: &HandlerContext<'_>, query: &ListQuery) -> Self {
        let ListQuery { listing, included, .. } = query;
        let label = request.version().label;
        let filters = filters(listing);
        let mut parameters = form_urlencoded::Serializer::new(filters.clone());
        parameters.append_pair("per_page", &listing.per_page.to_string());
        let lists = request.version().shapes.trainee.nested_lists();
        let names: Vec<_> = lists.filter(|(_, list)| included.contains(*list)).map(|(name, _)| name).collect();
        if !names.is_empty() {
            parameters.append_pair("include", &names.join(","));
        }
        Self {
            ukprn: session.provider().ukprn.clone(),
            version: label.to_string(),
            path: format!("{}{}", label.base_path(), adapter_kit::Endpoint::ListTrainees.path()),
            filters,
            query: parameters.finish(),
        }
    }

    fn scope(&self) -> CursorScope<'_> {
        CursorScope { ukprn: &self.ukprn, version: &self.version, query: &self.filters }
    }

    fn to(&self, parameters: &[(&str, &str)], relation: &str) -> String {
        let query = form_urlencoded::Serializer::new(self.query.clone()).extend_pairs(parameters).finish();
        format!("<{}?{query}>; rel=\"{relation}\"", self.path)
    }

    fn to_cursor(&self, request: &HandlerContext<'_>, cursor: &ListCursor) -> Result<String, ApiError> {
        let cursor = request.cursors.seal(self.scope(), cursor)?;
        Ok(self.to(&[("cursor", &cursor)], "next"))
    }

    fn write(&self, reply: ApiResponse, previous: Option<String>, next: Option<String>) -> ApiResponse {
        let links: Vec<_> = [Some(self.to(&[], "first")), previous, next].into_iter().flatten().collect();
        reply.with(LINK.as_str(), links.join(", "))
    }
}

/// The filters and the order of a list as a query.
fn filters(listing: &Listing) -> String {
    let Listing { cycle, status, since, has_trn, order, page: _, per_page: _ } = listing;
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    parameters.append_pair("academic_cycle", &cycle.to_string());
    if let Some(status) = status {
        parameters.append_pair("status", status.name());
    }
    if let Some(since) = since {
        parameters.append_pair("since", &since.to_rfc3339_opts(SecondsFormat::Millis, true));
    }
    if let Some(has_trn) = has_trn {
        parameters.append_pair("has_trn", if *has_trn { "true" } else { "false" });
    }
    let order = match order {
        Order::NewestFirst => "desc",
        Order::OldestFirst => "asc",
    };
    parameters.append_pair("sort_order", order);
    parameters.finish()
}
