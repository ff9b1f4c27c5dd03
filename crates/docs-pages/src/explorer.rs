//! `GET /docs/<version>/`: an interactive page with the OpenAPI document of a version (Swagger UI).
//! All files are served by this program; the page sends no request to another host. The reader's
//! token stays in the browser.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::Label;
use askama::Template;
use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths::{self, OpenApiDocument};
use http_kit::responses::page::HTML;

use super::assets;
use crate::documents::{Link, navigation};
use crate::page_location::{DocsLocation, respond};

/// The style of Swagger UI contains `data:` images.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const PAGE: &str = "index.html";

/// The template names its files without their digests.
#[derive(Template)]
#[template(path = "pages/explorer.html")]
struct Explorer {
    place: DocsLocation,
    label: Label,
    /// The path below `/api`.
    base: String,
    /// Links for readers without scripts.
    documents: Vec<Link>,
    openapi: String,
}

/// A redirect to the page, and the files of the page.
pub(super) fn resources(state: &GatewayState, label: Label) -> [Resource; 2] {
    let to = format!("{}/", paths::documentation(label));
    let state = state.clone();
    [
        read_only(&format!("/{label}"), move || {
            let reply = HttpResponse::PermanentRedirect()
                .insert_header((LOCATION, to.clone()))
                .finish();
            std::future::ready(reply)
        }),
        read_only(
            &format!("/{label}/{{file:.*}}"),
            move |request: HttpRequest| {
                std::future::ready(respond(answer(&state, label, &request)))
            },
        ),
    ]
}

fn answer(
    state: &GatewayState,
    label: Label,
    request: &HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let name = request.match_info().get("file").unwrap_or_default();
    if !["", PAGE].contains(&name) {
        // Pages from a browser's cache load the other files by name.
        return assets::by_name(name, request).ok_or(ApiError::NotFound(Missing::Path));
    }
    let address = format!("{}/{PAGE}", paths::documentation(label));
    let content = state.contents.get(&address, || {
        let page = Explorer {
            place: DocsLocation::Explorer(label),
            label,
            base: label.base_path(),
            documents: navigation(label, None),
            openapi: OpenApiDocument::Version31.versioned_path(label),
        };
        let page = page.render();
        page.map(|page| with_addresses(page).into_bytes())
            .map_err(ApiError::UnwritablePage)
    })?;
    let headers = [
        (CONTENT_TYPE, HTML),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok(content.response(request, &headers))
}

fn with_addresses(mut page: String) -> String {
    for (name, address) in assets::addresses() {
        page = page.replace(&format!("\"./{name}\""), &format!("\"{address}\""));
    }
    page
}
