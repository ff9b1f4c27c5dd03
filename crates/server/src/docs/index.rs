//! `GET /docs`: the versions, how long they last, and where to read about them.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{ApiVersion, Label, Status, Versions};
use askama::Template;

use super::page::{Keep, Place, day, html, page};
use crate::addresses;
use crate::mount::read_only;
use crate::proxies::TrustedProxies;
use crate::register::Register;
use crate::versions::REMOVED;

#[derive(Template)]
#[template(path = "docs/index.html")]
struct Index {
    place: Place,
    /// Newest first.
    versions: Vec<Listed>,
    /// Newest first.
    removed: Vec<Removed>,
    newest: Label,
    /// Scheme and host by which the reader came here.
    origin: String,
}

struct Listed {
    label: Label,
    tags: Vec<Tag>,
    base: String,
    since: String,
    deprecated_on: Option<String>,
    sunset_on: Option<String>,
    documentation: String,
    release_notes: String,
    openapi: String,
    migration_guide: Option<String>,
}

struct Removed {
    label: Label,
    since: String,
}

struct Tag {
    class: &'static str,
    text: &'static str,
}

/// The resource.
pub(super) fn resource(register: &Register) -> Resource {
    let (versions, proxies) = (register.versions, register.proxies.clone());
    read_only("", move |request: HttpRequest| std::future::ready(answer(&request, versions, &proxies)))
}

fn answer(request: &HttpRequest, versions: &Versions, proxies: &TrustedProxies) -> HttpResponse {
    let Some(newest) = versions.newest().map(|newest| newest.version.label) else {
        return HttpResponse::NotFound().finish();
    };
    let index = Index {
        place: Place::Index,
        versions: versions.iter().rev().map(|served| listed(served.version, newest)).collect(),
        removed: REMOVED.iter().rev().map(|gone| Removed { label: gone.label, since: day(gone.since) }).collect(),
        newest,
        origin: proxies.origin(request),
    };
    page(StatusCode::OK, Keep::Fresh, html(&index))
}

fn listed(version: &ApiVersion, newest: Label) -> Listed {
    let label = version.label;
    let publication = &version.publication;
    let state = match publication.status {
        Status::Released => Tag { class: "tag-good", text: "released" },
        Status::SandboxOnly => Tag { class: "tag-plain", text: "for use in the sandbox" },
    };
    let is_newest = (label == newest).then_some(Tag { class: "tag-plain", text: "newest" });
    let ends = publication.deprecated_on.map(|_| Tag { class: "tag-change", text: "deprecated" });
    Listed {
        label,
        tags: [state].into_iter().chain(is_newest).chain(ends).collect(),
        base: addresses::base(label),
        since: day(publication.since),
        deprecated_on: publication.deprecated_on.map(day),
        sunset_on: publication.sunset_on.map(day),
        documentation: addresses::documentation(label),
        release_notes: addresses::release_notes(label),
        openapi: addresses::openapi(label),
        migration_guide: (label != newest).then(|| addresses::migration_guide(label, newest)),
    }
}
