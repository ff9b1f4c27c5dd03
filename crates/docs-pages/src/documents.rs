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
use crate::page_location::{DocsLocation, render_content, respond};

mod text;

use text::WRITTEN_ORIGIN;
pub(super) use text::{Document, rendered};

#[derive(Template)]
#[template(path = "pages/document.html")]
struct DocumentPage {
    place: DocsLocation,
    title: String,
    /// Of the version, including this one.
    documents: Vec<Link>,
    /// This document in each version.
    versions: Vec<Link>,
    sections: Vec<Section>,
    /// HTML from the documents of the register and from the code lists, whose entries are escaped.
    body: String,
}

pub(super) struct Link {
    pub(super) words: String,
    pub(super) address: String,
    pub(super) is_here: bool,
}

pub(super) fn resources(state: &GatewayState, label: Label) -> Vec<Resource> {
    let mut resources = Vec::new();
    for document in Document::ALL {
        let address = format!("/{label}/{}", document.name());
        let whole = state.clone();
        resources.push(read_only(&address, move |request: HttpRequest| {
            std::future::ready(respond(page(&whole, &request, label, document, None)))
        }));
        if document.parts().is_empty() {
            continue;
        }
        let state = state.clone();
        resources.push(read_only(
            &format!("{address}/{{part}}"),
            move |request: HttpRequest, part: Path<String>| {
                let page = page(&state, &request, label, document, Some(&part));
                std::future::ready(respond(page))
            },
        ));
    }
    resources
}

fn page(
    state: &GatewayState,
    request: &HttpRequest,
    label: Label,
    document: Document,
    part: Option<&str>,
) -> Result<HttpResponse, ApiError> {
    let served = state.versions.find(label);
    let served = served.ok_or(ApiError::NotFound(Missing::Path))?;
    let address = address(label, document, part);
    // Each page is rendered once for all readers.
    let content = state.contents.get(&address, || {
        let rendered = rendered(document, part, served, state.versions, state.lists);
        let rendered = rendered.ok_or(ApiError::NotFound(Missing::Path))?;
        render_content(&filled_in(state, served, document, part, rendered))
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

fn filled_in(
    state: &GatewayState,
    served: &Served,
    document: Document,
    part: Option<&str>,
    rendered: Rendered,
) -> DocumentPage {
    let label = served.version.label;
    let versions = state.versions.iter().rev().map(|other| other.version.label);
    let versions = versions.map(|other| Link {
        words: other.to_string(),
        address: address(other, document, part),
        is_here: other == label,
    });
    let Rendered {
        title,
        html,
        sections,
        ..
    } = rendered;
    DocumentPage {
        place: DocsLocation::Document(label),
        title,
        documents: navigation(label, Some(document).filter(|_| part.is_none())),
        versions: versions.collect(),
        // A short page needs no table of contents.
        sections: if sections.len() > 2 {
            sections
        } else {
            Vec::new()
        },
        body: html,
    }
}

/// Lists links to the documents of a version. `here` is the page, unless it is a part of a
/// document.
pub(super) fn navigation(label: Label, here: Option<Document>) -> Vec<Link> {
    let links = Document::ALL.map(|document| Link {
        words: document.words().to_owned(),
        address: paths::document(label, document.name()),
        is_here: here == Some(document),
    });
    links.into()
}

pub(super) fn address(label: Label, document: Document, part: Option<&str>) -> String {
    let address = paths::document(label, document.name());
    part.map_or_else(|| address.clone(), |part| format!("{address}/{part}"))
}
