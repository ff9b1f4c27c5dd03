//! `GET /docs`: the versions, with their dates and documents.

use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{ApiVersion, Label, Status, Versions};
use askama::Template;
use askama::filters::{Html, escape};
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths::{self, OpenApiDocument};
use http_kit::requests::client_address::TrustedProxies;
use http_kit::responses::page::{day, tagged_page};
use http_kit::responses::shared_content::SharedContentCache;
use versions::REMOVED;

use crate::documents::{Document, Link, address};
use crate::page_location::{DocsLocation, render_content, respond};

#[derive(Template)]
#[template(path = "pages/index.html")]
struct Index {
    place: DocsLocation,
    /// Newest first.
    versions: Vec<Listed>,
    /// Newest first.
    removed: Vec<Removed>,
    newest: Label,
    /// The newest released version, or else the newest version.
    usual: Label,
    /// Of the newest version, like the explorer.
    guide: String,
    explorer: String,
    origin: &'static str,
}

struct Listed {
    label: Label,
    tags: Vec<Tag>,
    since: Option<String>,
    deprecated_on: Option<String>,
    sunset_on: Option<String>,
    links: Vec<Link>,
    move_page: Option<String>,
}

struct Removed {
    label: Label,
    since: String,
}

/// With its style class.
struct Tag {
    class: &'static str,
    text: &'static str,
}

pub(super) fn resource(state: &GatewayState) -> Resource {
    let versions = state.versions;
    let contents = state.contents.clone();
    let proxies = state.proxies.clone();
    read_only("", move |request: HttpRequest| {
        std::future::ready(respond(answer(&request, versions, &contents, &proxies)))
    })
}

/// Replaced in the page, which is rendered once for all readers.
const ORIGIN: &str = "https://origin.invalid";

fn answer(
    request: &HttpRequest,
    versions: &Versions,
    contents: &SharedContentCache,
    proxies: &TrustedProxies,
) -> Result<HttpResponse, ApiError> {
    let content = contents.get(paths::DOCS, || {
        let newest = versions.newest().ok_or(ApiError::NotFound(Missing::Path))?;
        render_content(&index(versions, newest.version.label))
    })?;
    let Ok(origin) = escape(proxies.origin(request), Html);
    let page = String::from_utf8_lossy(content.plain()).replace(ORIGIN, &origin.to_string());
    Ok(tagged_page(request, page))
}

fn index(versions: &Versions, newest: Label) -> Index {
    let usual = versions
        .iter()
        .rev()
        .find(|served| served.version.publication.status == Status::Released)
        .map_or(newest, |served| served.version.label);
    Index {
        place: DocsLocation::Index,
        versions: versions
            .iter()
            .rev()
            .map(|served| listed(served.version, newest))
            .collect(),
        removed: REMOVED
            .iter()
            .rev()
            .map(|removed| Removed {
                label: removed.label,
                since: day(removed.since),
            })
            .collect(),
        newest,
        usual,
        guide: address(newest, Document::Guide, None),
        explorer: explorer(newest),
        origin: ORIGIN,
    }
}

fn links(label: Label) -> Vec<Link> {
    // Readers need these first; the pages of the version lead to the others.
    let named = [
        ("Guide", address(label, Document::Guide, None)),
        ("Explorer", explorer(label)),
        ("Fields", address(label, Document::Fields, None)),
        ("Release notes", paths::release_notes(label)),
        ("OpenAPI", OpenApiDocument::Version31.versioned_path(label)),
        (
            "OpenAPI for generators",
            OpenApiDocument::Version30.versioned_path(label),
        ),
    ];
    named
        .into_iter()
        .map(|(words, address)| Link {
            words: words.to_owned(),
            address,
            is_here: false,
        })
        .collect()
}

fn explorer(label: Label) -> String {
    format!("{}/", paths::documentation(label))
}

fn listed(version: &ApiVersion, newest: Label) -> Listed {
    let label = version.label;
    let publication = &version.publication;
    let status = match publication.status {
        Status::Released => Tag {
            class: "tag-good",
            text: "released",
        },
        Status::SandboxOnly => Tag {
            class: "tag-plain",
            text: "for use in the sandbox",
        },
    };
    let is_newest = (label == newest).then_some(Tag {
        class: "tag-plain",
        text: "newest",
    });
    let is_deprecated = publication.deprecated_on.map(|_| Tag {
        class: "tag-change",
        text: "deprecated",
    });
    Listed {
        label,
        tags: [status]
            .into_iter()
            .chain(is_newest)
            .chain(is_deprecated)
            .collect(),
        since: publication.since.map(day),
        deprecated_on: publication.deprecated_on.map(day),
        sunset_on: publication.sunset_on.map(day),
        links: links(label),
        move_page: (label != newest).then(|| paths::move_page(label, newest)),
    }
}
