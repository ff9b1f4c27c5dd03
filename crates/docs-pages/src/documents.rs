//! `GET /docs/<version>/<document>`: the contract, the guide, the fields, the problems, the rules,
//! the code lists and the funding, with the names of a version. The texts are files from `docs/` or
//! are generated.

use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{Label, Served};
use askama::Template;
use askama::filters::{Html, escape};
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::{shared_page, tagged_page};

use crate::markdown::{Rendered, Section};
use crate::page_location::{DocsLocation, html};

mod text;

use text::WRITTEN_ORIGIN;
pub(super) use text::{Document, rendered};

#[derive(Template)]
#[template(path = "pages/document.html")]
struct DocumentPage {
    place: DocsLocation,
    title: String,
    /// The documents of the version, including this one.
    documents: Vec<Link>,
    /// This document in each version.
    versions: Vec<Link>,
    sections: Vec<Section>,
    /// HTML from the documents of the register and from the code lists, whose entries are escaped.
    body: String,
}

/// A link in a navigation.
pub(super) struct Link {
    pub(super) words: String,
    pub(super) address: String,
    pub(super) is_here: bool,
}

/// Returns the resources for the documents of a version.
pub(super) fn resources(state: &GatewayState, label: Label) -> Vec<Resource> {
    let document = |document: Document| {
        let state = state.clone();
        read_only(
            &format!("/{label}/{}", document.name()),
            move |request: HttpRequest| {
                std::future::ready(answer(&state, &request, label, document, None))
            },
        )
    };
    let part = |document: Document| {
        let state = state.clone();
        read_only(
            &format!("/{label}/{}/{{part}}", document.name()),
            move |request: HttpRequest, part: Path<String>| {
                std::future::ready(answer(&state, &request, label, document, Some(&part)))
            },
        )
    };
    let with_parts = Document::ALL
        .into_iter()
        .filter(|document| !document.parts().is_empty());
    Document::ALL
        .into_iter()
        .map(document)
        .chain(with_parts.map(part))
        .collect()
}

fn answer(
    state: &GatewayState,
    request: &HttpRequest,
    label: Label,
    document: Document,
    part: Option<&str>,
) -> HttpResponse {
    let response = page(state, request, label, document, part);
    response.unwrap_or_else(|failure| failure.response_without_version().into())
}

/// Returns the page of a document or of a part of it. Each page is rendered once for all readers.
fn page(
    state: &GatewayState,
    request: &HttpRequest,
    label: Label,
    document: Document,
    part: Option<&str>,
) -> Result<HttpResponse, ApiError> {
    let missing = || ApiError::NotFound(Missing::Path);
    let served = state.versions.find(label).ok_or_else(missing)?;
    let address = address(label, document, part);
    let content = state.contents.get(&address, || {
        let rendered =
            rendered(document, part, served, state.versions, state.lists).ok_or_else(missing)?;
        let page = html(&filled_in(state, served, document, part, rendered));
        page.map(String::into_bytes)
            .map_err(ApiError::UnwritablePage)
    })?;
    // In commands, the address of the reader's request replaces the one in the text.
    if !document.has_commands() {
        return Ok(shared_page(request, &content));
    }
    let Ok(origin) = escape(state.proxies.origin(request), Html);
    let page =
        String::from_utf8_lossy(content.plain()).replace(WRITTEN_ORIGIN, &origin.to_string());
    Ok(tagged_page(request, page))
}

/// Returns the values of the page template for a rendered document.
fn filled_in(
    state: &GatewayState,
    served: &Served,
    document: Document,
    part: Option<&str>,
    rendered: Rendered,
) -> DocumentPage {
    let label = served.version.label;
    let versions = state.versions.iter().rev().map(|other| other.version.label);
    let in_version = |other: Label| Link {
        words: other.to_string(),
        address: address(other, document, part),
        is_here: other == label,
    };
    let Rendered {
        title,
        html,
        sections,
        ..
    } = rendered;
    DocumentPage {
        place: DocsLocation::Document(label),
        title,
        documents: navigation(label, Some((document, part.is_none()))),
        versions: versions.map(in_version).collect(),
        // A short page needs no table of contents.
        sections: if sections.len() > 2 {
            sections
        } else {
            Vec::new()
        },
        body: html,
    }
}

/// Returns links to the documents of a version. `here` is the shown document, and whether the page
/// is the document itself and not a part of it.
pub(super) fn navigation(label: Label, here: Option<(Document, bool)>) -> Vec<Link> {
    let link = |document: Document| Link {
        words: document.words().to_owned(),
        address: paths::document(label, document.name()),
        is_here: here == Some((document, true)),
    };
    Document::ALL.into_iter().map(link).collect()
}

/// Returns the address of a document or of a part of it.
pub(super) fn address(label: Label, document: Document, part: Option<&str>) -> String {
    let address = paths::document(label, document.name());
    part.map_or_else(|| address.clone(), |part| format!("{address}/{part}"))
}
