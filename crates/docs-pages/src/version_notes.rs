//! `GET /docs/versions/<name>`: release notes and migration guides of versions, from the generated
//! documents.

use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::Versions;
use askama::Template;
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::shared_page;
use version_tools::documents::files;

use crate::documents::Link;
use crate::markdown::{Links, Rendered, render};
use crate::move_page::{LabelPair, pairs_about};
use crate::page_location::{DocsLocation, render_content, respond};

#[derive(Template)]
#[template(path = "pages/written.html")]
struct Written {
    place: DocsLocation,
    title: String,
    moves: Vec<Link>,
    /// HTML without any input from clients.
    body: String,
}

pub(super) fn resource(state: &GatewayState) -> Resource {
    let state = state.clone();
    read_only(
        "/versions/{name}",
        move |request: HttpRequest, name: Path<String>| {
            std::future::ready(respond(answer(&state, &request, &name)))
        },
    )
}

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

/// Lists the moves that a document is about.
fn moves_about(name: &str, versions: &Versions) -> Vec<LabelPair> {
    let found = versions
        .iter()
        .map(|served| served.version.label)
        .find(|label| files::is_about(name, *label));
    let newest = versions.newest().map(|served| served.version.label);
    match (found, newest) {
        // Release notes have the name of their version.
        (Some(label), _) if name == label.to_string() => pairs_about(label, versions),
        // A migration guide is about the move to the newest version.
        (Some(from), Some(to)) => vec![LabelPair { from, to }],
        (Some(_) | None, _) => Vec::new(),
    }
}

/// Renders a Markdown text, below links to the pages about `moves`.
pub(super) fn written_page(
    markdown: &str,
    moves: &[LabelPair],
    links: Links<'_>,
) -> Result<Vec<u8>, ApiError> {
    let Rendered {
        title, html: body, ..
    } = render(markdown, None, links);
    render_content(&Written {
        place: DocsLocation::Written,
        title,
        moves: moves
            .iter()
            .map(|LabelPair { from, to }| Link {
                words: format!("Move from {from} to {to}"),
                address: paths::move_page(*from, *to),
                is_here: false,
            })
            .collect(),
        body,
    })
}
