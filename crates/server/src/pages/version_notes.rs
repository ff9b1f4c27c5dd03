//! `GET /docs/versions/<name>`: what is written about a version, as a page. The text is that of the generated documents.

use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use askama::Template;

use crate::http::app_state::AppState;
use crate::http::error::{ApiError, Missing};
use crate::http::paths;
use crate::http::routes::read_only;
use crate::pages::layout::{Place, html, shared_page};
use crate::pages::markdown::{Rendered, render};
use crate::versions::documents;

#[derive(Template)]
#[template(path = "pages/written.html")]
struct Written {
    place: Place,
    title: String,
    /// Made of a text of ours, which holds nothing that a client sent.
    body: String,
}

/// The resource.
pub(super) fn resource(state: &AppState) -> Resource {
    let state = state.clone();
    read_only("/versions/{name}", move |request: HttpRequest, name: Path<String>| {
        let response = answer(&state, &request, &name);
        std::future::ready(response.unwrap_or_else(|failure| failure.response_without_version().into()))
    })
}

fn answer(state: &AppState, request: &HttpRequest, name: &str) -> Result<HttpResponse, ApiError> {
    // The texts refer to one another as files.
    let name = name.strip_suffix(".md").unwrap_or(name);
    let content = state.contents.get(&paths::written(name), || {
        let text = documents::about_version(name, state.versions, state.lists);
        page_of(&text.ok_or(ApiError::NotFound(Missing::Path))?)
    })?;
    Ok(shared_page(request, &content))
}

/// A text in Markdown as a page. Its line about where it comes from is for those who read the file.
pub(super) fn page_of(markdown: &str) -> Result<Vec<u8>, ApiError> {
    let markdown = markdown.replacen(version_tools::documents::GENERATED, "", 1);
    let Rendered { title, html: body, .. } = render(&markdown, None, &|address| {
        // The texts refer to one another as files.
        Some(address.strip_suffix(".md").map_or_else(|| address.to_owned(), paths::written))
    });
    let html = html(&Written { place: Place::Written, title, body });
    html.map(String::into_bytes).map_err(ApiError::UnwritablePage)
}
