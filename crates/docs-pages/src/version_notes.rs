//! `GET /docs/versions/<name>`: release notes and migration guides of versions, from the generated
//! documents.

use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{Label, Versions};
use askama::Template;
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::shared_page;
use version_tools::documents::files;

use crate::documents::Link;
use crate::markdown::{Links, Rendered, render};
use crate::move_page::pairs_about;
use crate::page_location::{DocsLocation, html};

#[derive(Template)]
#[template(path = "pages/written.html")]
struct Written {
    place: DocsLocation,
    title: String,
    /// Links to the pages about moves that the text is about.
    moves: Vec<Link>,
    /// HTML from a text of the program, without any input from clients.
    body: String,
}

/// Returns the resource.
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

/// Returns the page of a document about a version, rendered once for all readers.
fn answer(
    state: &GatewayState,
    request: &HttpRequest,
    name: &str,
) -> Result<HttpResponse, ApiError> {
    // The texts link to each other as files.
    let name = name.strip_suffix(".md").unwrap_or(name);
    let content = state.contents.get(&paths::written(name), || {
        let text = files::about_version(name, state.versions, state.lists);
        let text = text.ok_or(ApiError::NotFound(Missing::Path))?;
        // Without the line that names its generator.
        let text = text.replacen(version_tools::documents::GENERATED, "", 1);
        written_page(&text, &moves_about(name, state.versions), &|address| {
            // The texts link to each other as files.
            Some(
                address
                    .strip_suffix(".md")
                    .map_or_else(|| address.to_owned(), paths::written),
            )
        })
    })?;
    Ok(shared_page(request, &content))
}

/// Returns the moves that a document is about. For release notes, these are the moves from each
/// older version and to each newer version. For a migration guide, it is the move to the newest
/// version.
fn moves_about(name: &str, versions: &Versions) -> Vec<(Label, Label)> {
    let found = versions
        .iter()
        .map(|served| served.version.label)
        .find(|label| files::is_about(name, *label));
    let newest = versions.newest().map(|served| served.version.label);
    match (found, newest) {
        (Some(label), _) if name == label.to_string() => pairs_about(label, versions),
        (Some(label), Some(newest)) => vec![(label, newest)],
        (Some(_) | None, _) => Vec::new(),
    }
}

/// Renders a Markdown text as a page. The page begins with links to the pages about `moves`.
pub(super) fn written_page(
    markdown: &str,
    moves: &[(Label, Label)],
    links: Links<'_>,
) -> Result<Vec<u8>, ApiError> {
    let Rendered {
        title, html: body, ..
    } = render(markdown, None, links);
    let html = html(&Written {
        place: DocsLocation::Written,
        title,
        moves: moves
            .iter()
            .map(|(from, to)| Link {
                words: format!("Move from {from} to {to}"),
                address: paths::move_page(*from, *to),
                is_here: false,
            })
            .collect(),
        body,
    });
    html.map(String::into_bytes)
        .map_err(ApiError::UnwritablePage)
}
