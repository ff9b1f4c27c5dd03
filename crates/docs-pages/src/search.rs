//! `GET /docs/search?q=&version=`: searches the documents of a version and the names of the pages.
//! Uses an index in memory. A query is neither stored nor logged.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use adapter_kit::{Label, Served};
use askama::Template;
use gateway::error::page;
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::responses::page::Keep;

use crate::documents::{Link, navigation};
use crate::page_location::{DocsLocation, SettingsLink, html};

mod index;
mod pages;

use index::Index;

/// Maximum number of characters of a query; further characters are ignored.
const MAX_QUERY_CHARS: usize = 100;
/// Maximum number of results of a query.
const MAX_RESULTS: usize = 50;

#[derive(Template)]
#[template(path = "pages/search.html")]
struct Search {
    place: DocsLocation,
    query: String,
    label: Label,
    documents: Vec<Link>,
    /// The versions to choose from, newest first.
    versions: Vec<(Label, bool)>,
    results: Vec<Found>,
    /// The total number of results, including those that are not shown.
    count: usize,
}

/// A search result.
struct Found {
    address: String,
    document: String,
    title: String,
    /// The text before the match, the match, and the text after it.
    excerpt: [String; 3],
}

/// The index of each version, created on the first search.
type Indexes = Arc<BTreeMap<Label, OnceLock<Index>>>;

/// Returns the resource.
pub(super) fn resource(state: &GatewayState, settings: SettingsLink) -> Resource {
    let state = state.clone();
    let indexes: Indexes = Arc::new(
        state
            .versions
            .iter()
            .map(|served| (served.version.label, OnceLock::new()))
            .collect(),
    );
    read_only("/search", move |request: HttpRequest| {
        answer(state.clone(), Arc::clone(&indexes), settings, request)
    })
}

/// Returns the page with the results of the query, in the version of the query or else the newest.
async fn answer(
    state: GatewayState,
    indexes: Indexes,
    settings: SettingsLink,
    request: HttpRequest,
) -> HttpResponse {
    let value = |wanted: &str| {
        let found = form_urlencoded::parse(request.query_string().as_bytes())
            .find(|(name, _)| name == wanted);
        found
            .map(|(_, value)| value.chars().take(MAX_QUERY_CHARS).collect::<String>())
            .unwrap_or_default()
    };
    let named = value("version")
        .parse()
        .ok()
        .and_then(|label| state.versions.find(label));
    let Some(served) = named.or(state.versions.newest()) else {
        return ApiError::NotFound(Missing::Path)
            .response_without_version()
            .into();
    };
    let query = value("q").trim().to_owned();
    // Creating and searching an index can occupy a processor, so it must not run on this thread.
    match web::block(move || html(&search(&state, &indexes, settings, served, query))).await {
        Ok(html) => page(StatusCode::OK, Keep::Never, html),
        Err(_) => ApiError::Interrupted.response_without_version().into(),
    }
}

/// Searches the documents of a version, and returns the values of the page template.
fn search(
    state: &GatewayState,
    indexes: &Indexes,
    settings: SettingsLink,
    served: &Served,
    query: String,
) -> Search {
    let label = served.version.label;
    let new_index = || {
        let mut entries = pages::renamed_fields(served, state.versions, state.lists);
        entries.extend(pages::all(state.versions, settings));
        Index::new(entries, served, state.versions, state.lists)
    };
    let index = indexes
        .get(&label)
        .map(|index| index.get_or_init(new_index));
    let found = index.map(|index| index.find(&query)).unwrap_or_default();
    let result = |entry: &index::Entry| Found {
        address: entry.address.clone(),
        document: entry.document.clone(),
        title: entry.title.clone(),
        excerpt: entry.excerpt(&query),
    };
    Search {
        place: DocsLocation::Search(label),
        label,
        documents: navigation(label, None),
        versions: state
            .versions
            .iter()
            .rev()
            .map(|other| (other.version.label, other.version.label == label))
            .collect(),
        count: found.len(),
        results: found.into_iter().take(MAX_RESULTS).map(result).collect(),
        query,
    }
}
