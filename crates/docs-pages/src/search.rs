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
use crate::page_location::{DocsLocation, SettingsLink, respond};

mod index;
mod pages;

use index::Index;

/// Further characters are ignored.
const MAX_QUERY_CHARS: usize = 100;
const MAX_RESULTS: usize = 50;

#[derive(Template)]
#[template(path = "pages/search.html")]
struct Search {
    place: DocsLocation,
    query: String,
    label: Label,
    documents: Vec<Link>,
    /// To choose from, newest first.
    versions: Vec<(Label, bool)>,
    results: Vec<Found>,
    /// Including results that are not shown.
    count: usize,
}

struct Found {
    address: String,
    document: String,
    title: String,
    /// The text before the match, the match, and the text after it.
    excerpt: [String; 3],
}

/// Created on the first search of a version.
type Indexes = Arc<BTreeMap<Label, OnceLock<Index>>>;

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

async fn answer(
    state: GatewayState,
    indexes: Indexes,
    settings: SettingsLink,
    request: HttpRequest,
) -> HttpResponse {
    let named = read_value(&request, "version")
        .parse()
        .ok()
        .and_then(|label| state.versions.find(label));
    let Some(served) = named.or(state.versions.newest()) else {
        return respond(Err(ApiError::NotFound(Missing::Path)));
    };
    let query = read_value(&request, "q").trim().to_owned();
    // Creating and searching an index can occupy a processor, so it must not run on this thread.
    match web::block(move || search(&state, &indexes, settings, served, query).render()).await {
        Ok(html) => page(StatusCode::OK, Keep::Never, html),
        Err(_) => respond(Err(ApiError::Interrupted)),
    }
}

fn read_value(request: &HttpRequest, wanted: &str) -> String {
    let mut values = form_urlencoded::parse(request.query_string().as_bytes());
    let found = values.find(|(name, _)| name == wanted);
    found
        .map(|(_, value)| value.chars().take(MAX_QUERY_CHARS).collect())
        .unwrap_or_default()
}

fn search(
    state: &GatewayState,
    indexes: &Indexes,
    settings: SettingsLink,
    served: &Served,
    query: String,
) -> Search {
    let label = served.version.label;
    let index = indexes.get(&label).map(|index| {
        index.get_or_init(|| {
            let mut entries = pages::renamed_fields(served, state.versions, state.lists);
            entries.extend(pages::all(state.versions, settings));
            Index::new(entries, served, state.versions, state.lists)
        })
    });
    let found = index.map(|index| index.find(&query)).unwrap_or_default();
    let results = found.iter().take(MAX_RESULTS).map(|entry| Found {
        address: entry.address.clone(),
        document: entry.document.clone(),
        title: entry.title.clone(),
        excerpt: entry.excerpt(&query),
    });
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
        results: results.collect(),
        count: found.len(),
        query,
    }
}
