//! `GET /docs/versions/<name>`: what is written about a version, as a page. The text is that of the
//! generated documents.

use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use askama::Template;
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::shared_page;
use version_tools::documents::files;

use crate::markdown::{Rendered, render};
use crate::page_location::{DocsLocation, html};

#[derive(Template)]
#[template(path = "pages/written.html")]
struct Written {
    place: DocsLocation,
    title: String,
    /// Made of a text of ours, which holds nothing that a client sent.
    body: String,
}

/// The resource.
pub(super) fn resource(state: &GatewayState) -> Resource {
    let state = state.clone();
    read_only(
        "/versions/{name}",
        move |request: HttpRequest, name: Path<String>| {
            let response = answer(&state, &request, &name);
            std::future::ready(
                response.unwrap_or_else(|failure| failure.response_without_version().into()),
            )
        },
    )
}

fn answer(
    state: &GatewayState,
    request: &HttpRequest,
    name: &str,
) -> Result<HttpResponse, ApiError> {
    // The texts refer to one another as files.
    let name = name.strip_suffix(".md").unwrap_or(name);
    let content = state.contents.get(&paths::written(name), || {
        let text = files::about_version(name, state.versions, state.lists);
        page_of(&text.ok_or(ApiError::NotFound(Missing::Path))?)
    })?;
    Ok(shared_page(request, &content))
}

/// A text in Markdown as a page. Its line about where it comes from is for those who read the file.
pub(super) fn page_of(markdown: &str) -> Result<Vec<u8>, ApiError> {
    let markdown = markdown.replacen(version_tools::documents::GENERATED, "", 1);
    let Rendered {
        title, html: body, ..
    } = render(&markdown, None, &|address| {
        // The texts refer to one another as files.
        Some(
            address
                .strip_suffix(".md")
                .map_or_else(|| address.to_owned(), paths::written),
        )
    });
    let html = html(&Written {
        place: DocsLocation::Written,
        title,
        body,
    });
    html.map(String::into_bytes)
        .map_err(ApiError::UnwritablePage)
}
