//! Lists of trainees (contract, section 4.2).
//!
//! A client requests a page by its number or by a cursor, which is an addition of this service.
//! Each page links to the next one by a cursor: a client that follows the links misses no trainee,
//! even if trainees change between the pages.

use actix_web::http::StatusCode;
use actix_web::http::header::{ETAG, LINK};
use adapter_kit::view::View;
use adapter_kit::{Filter, FilterForms, NestedVisibility, PageMember};
use chrono::SecondsFormat;
use domain::Value;
use domain::listing::{Listing, Order};
use http_kit::cursor::CursorScope;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use storage::records::positions::Standing;
use storage::records::trainees::{ListCursor, Nested, TraineeDocument};
use storage::session::ProviderSession;

use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::request::query::{self, FilterErrors, ListQuery};
use crate::response::{ApiResponse, PageKeys};

/// The problem of `per_page` if the trainees with nested records exceed the maximum reply size.
const TOO_MANY_NESTED: &str = "is too many for trainees with so many nested records; ask for fewer";

/// The problem of a cursor that cannot be opened.
const NO_CURSOR: &str = "is not a cursor of this list";

/// The object that describes a page of a list. A page by cursor has no counts, because trainees may
/// change while the client reads the pages.
struct Meta<'a> {
    /// The names of the members in the version, in their order.
    members: &'a [(&'static str, PageMember)],
    counts: Option<Counts>,
    per_page: i64,
    /// The address of the next page.
    next: Option<String>,
}

/// The number of a page, and the numbers of pages and trainees in the list.
struct Counts {
    number: i64,
    pages: i64,
    total: i64,
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for (name, member) in self.members {
            let count = match (member, &self.counts) {
                (PageMember::Next, _) => {
                    object.serialize_entry(name, &self.next)?;
                    continue;
                }
                (PageMember::PerPage, _) => self.per_page,
                (PageMember::Number, Some(counts)) => counts.number,
                (PageMember::Pages, Some(counts)) => counts.pages,
                (PageMember::Total, Some(counts)) => counts.total,
                (PageMember::Number | PageMember::Pages | PageMember::Total, None) => continue,
            };
            object.serialize_entry(name, &count)?;
        }
        object.end()
    }
}

/// `GET /trainees`
pub(super) fn list(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let query = query::listing(
        request.query(),
        request.refused_parameters(),
        request.version(),
        session.today(),
    )
    .map_err(ApiError::Filters)?;
    let links = Links::new(session, request, &query);
    let standing = session.standing()?;
    let page = match &query.cursor {
        Some(cursor) => ("cursor", cursor.clone()),
        None => ("page", query.listing.page.to_string()),
    };
    let address = links.page_address(&[(page.0, &page.1)]);
    let tag = request.tag_of_list(&standing, session.today(), &address);
    if let Some(not_modified) = request.not_modified(&tag) {
        return Ok(not_modified);
    }
    let reply = match &query.cursor {
        Some(cursor) => page_after(session, request, &query, &links, &standing, cursor)?,
        None => numbered_page(session, request, &query, &links, &standing)?,
    };
    let max = request.version().wire.envelope.page_size.max();
    Ok(reply.with(ETAG.as_str(), tag).with_warnings(
        query
            .per_page_cut
            .then(|| format!("per_page is {max} at most")),
    ))
}

/// The reply with the page that has the number in the query, and its links.
fn numbered_page(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    query: &ListQuery,
    links: &Links,
    standing: &Standing,
) -> Result<ApiResponse, ApiError> {
    let listing = &query.listing;
    let found = session.list_trainees(listing, standing, &request.state.list_totals)?;
    if found.trainees.is_empty() {
        return Err(ApiError::NotFound(Missing::Trainees));
    }
    let counts = Counts {
        number: listing.page,
        // Rounded up.
        pages: (found.total + listing.per_page - 1) / listing.per_page,
        total: found.total,
    };
    let previous = (listing.page > 1)
        .then(|| links.page_address(&[("page", &(listing.page - 1).to_string())]));
    let next = found
        .next
        .map(|cursor| links.to_cursor(request, &cursor))
        .transpose()?;
    let reply = page(
        request,
        query,
        &found.trainees,
        Some(counts),
        next.as_deref(),
    )?;
    Ok(links.write(reply, previous, next))
}

/// The reply with the page that begins after a cursor, and its links.
fn page_after(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    query: &ListQuery,
    links: &Links,
    standing: &Standing,
    cursor: &str,
) -> Result<ApiResponse, ApiError> {
    let cursor = request
        .state
        .cursors
        .open::<ListCursor>(links.scope(), cursor)
        .map_err(|error| ApiError::from_cursor(error, "cursor", NO_CURSOR))?;
    let found = session
        .continue_list(&query.listing, cursor, standing)?
        .ok_or(ApiError::CursorOutdated)?;
    let next = found
        .next
        .map(|cursor| links.to_cursor(request, &cursor))
        .transpose()?;
    let reply = page(request, query, &found.trainees, None, next.as_deref())?;
    Ok(links.write(reply, None, next))
}

/// The reply with a page of trainees. `counts` is `None` for a page by cursor, and `next` is the
/// address of the next page.
fn page(
    request: &HandlerContext<'_>,
    query: &ListQuery,
    trainees: &[TraineeDocument],
    counts: Option<Counts>,
    next: Option<&str>,
) -> Result<ApiResponse, ApiError> {
    let envelope = &request.version().wire.envelope;
    let (meta_key, members) = envelope.page;
    let keys = PageKeys {
        list: envelope.list,
        meta: meta_key,
    };
    let meta = Meta {
        members,
        counts,
        per_page: query.listing.per_page,
        next: next.map(str::to_owned),
    };
    let nested = match request.version().shapes.nested_in_lists {
        NestedVisibility::Hidden if query.included.is_empty() => Nested::Without,
        NestedVisibility::Shown | NestedVisibility::Hidden => Nested::With,
    };
    let trainees: Vec<_> = trainees
        .iter()
        .map(|document| document.read(nested))
        .collect::<Result<_, _>>()?;
    let views = trainees.iter().map(|trainee| {
        View::in_list(
            request.version(),
            trainee,
            request.state.lists,
            query.included,
        )
    });
    if query.included.is_empty() {
        return Ok(ApiResponse::page(StatusCode::OK, views, keys, &meta)?);
    }
    // Nested records can make a page larger than the largest reply: then the request is refused.
    let views: Vec<_> = views.collect();
    let write =
        |view: &View<'_, _>, out: &mut Vec<u8>| view.write(out).map_err(ApiError::unwritable);
    ApiResponse::entries(StatusCode::OK, &views, write, keys, |written| {
        if written < views.len() {
            return Err(ApiError::Filters(FilterErrors::one(
                "per_page",
                TOO_MANY_NESTED,
            )));
        }
        Ok(meta)
    })
}

/// The links of a page to others of the same list (RFC 8288).
struct Links {
    ukprn: String,
    version: String,
    path: String,
    /// The filters and the order of the list as a query, including defaults.
    filters: String,
    /// The filters, the size of a page and the included nested lists, as a query.
    query: String,
}

impl Links {
    /// The links of the list with this query.
    fn new(session: &ProviderSession<'_>, request: &HandlerContext<'_>, query: &ListQuery) -> Self {
        let ListQuery {
            listing, included, ..
        } = query;
        let label = request.version().label;
        let filters = filters(listing, request.version().inputs.filters);
        let mut parameters = form_urlencoded::Serializer::new(filters.clone());
        parameters.append_pair("per_page", &listing.per_page.to_string());
        let lists = request.version().shapes.trainee.nested_lists();
        let names: Vec<_> = lists
            .filter(|(_, list)| included.contains(*list))
            .map(|(name, _)| name)
            .collect();
        if !names.is_empty() {
            parameters.append_pair("include", &names.join(","));
        }
        Self {
            ukprn: session.provider().ukprn.clone(),
            version: label.to_string(),
            path: format!(
                "{}{}",
                label.base_path(),
                request
                    .version()
                    .row(adapter_kit::Endpoint::ListTrainees)
                    .path
            ),
            filters,
            query: parameters.finish(),
        }
    }

    /// The scope of the list's cursors: they are valid only for this provider, version and filters.
    fn scope(&self) -> CursorScope<'_> {
        CursorScope {
            ukprn: &self.ukprn,
            version: &self.version,
            query: &self.filters,
        }
    }

    /// The address of a page of the list, with further parameters that select the page.
    fn page_address(&self, parameters: &[(&str, &str)]) -> String {
        let query = form_urlencoded::Serializer::new(self.query.clone())
            .extend_pairs(parameters)
            .finish();
        format!("{}?{query}", self.path)
    }

    /// The address of the page that begins after a cursor.
    fn to_cursor(
        &self,
        request: &HandlerContext<'_>,
        cursor: &ListCursor,
    ) -> Result<String, ApiError> {
        let cursor = request.state.cursors.seal(self.scope(), cursor)?;
        Ok(self.page_address(&[("cursor", &cursor)]))
    }

    /// Adds the header `Link` with the addresses of the first page and, if given, of the previous
    /// and the next page.
    fn write(
        &self,
        reply: ApiResponse,
        previous: Option<String>,
        next: Option<String>,
    ) -> ApiResponse {
        let pages = [
            (Some(self.page_address(&[])), "first"),
            (previous, "prev"),
            (next, "next"),
        ];
        let link = |(address, relation)| Some(format!("<{}>; rel=\"{relation}\"", address?));
        let links: Vec<_> = pages.into_iter().filter_map(link).collect();
        reply.with(LINK.as_str(), links.join(", "))
    }
}

/// The filters and the order of a list as a query, in the forms of the version.
fn filters(listing: &Listing, forms: FilterForms) -> String {
    let Listing {
        cycle,
        status,
        since,
        has_trn,
        order,
        page: _,
        per_page: _,
    } = listing;
    let mut parameters = form_urlencoded::Serializer::new(String::new());
    let append =
        |parameters: &mut form_urlencoded::Serializer<'_, String>, filter: Filter, value| {
            parameters.append_pair(filter.name(), &filter.write(forms, &value));
        };
    append(
        &mut parameters,
        Filter::AcademicCycle,
        Value::Integer((*cycle).into()),
    );
    if let Some(status) = status {
        append(&mut parameters, Filter::Status, Value::text(status.name()));
    }
    if let Some(since) = since {
        parameters.append_pair("since", &since.to_rfc3339_opts(SecondsFormat::Millis, true));
    }
    if let Some(has_trn) = has_trn {
        append(&mut parameters, Filter::HasTrn, Value::Boolean(*has_trn));
    }
    let order = match order {
        Order::NewestFirst => "desc",
        Order::OldestFirst => "asc",
    };
    append(&mut parameters, Filter::SortOrder, Value::text(order));
    parameters.finish()
}
