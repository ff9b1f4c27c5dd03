//! `GET /docs/assets/<digest>/<name>`: the files that the pages load. They are embedded in the
//! program.
//!
//! The style sheet, the icon and the script of all pages are in [`http_kit::responses::style`]. The
//! files of Swagger UI are compressed at build time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Resource};
use utoipa_swagger_ui::{Config, serve};

use gateway::error::{ApiError, Missing};
use gateway::routes::read_only;
use http_kit::paths;
use http_kit::responses::shared_content::SharedContent;
use http_kit::responses::style;

use crate::page_location::respond;

/// Names with media types.
const SWAGGER_UI: [(&str, &str); 2] = [
    ("swagger-ui-bundle.js", JAVASCRIPT),
    ("swagger-ui.css", CSS),
];
/// Further files of the explorer: name, media type and text.
const EXPLORER: [(&str, &str, &str); 2] = [
    ("explorer.css", CSS, include_str!("explorer/explorer.css")),
    (
        "explorer.js",
        JAVASCRIPT,
        include_str!("explorer/explorer.js"),
    ),
];
const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// For addresses with a digest: one year, the customary maximum (RFC 9111, section 5.2.2.1; RFC
/// 8246).
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// For fixed addresses.
const ONE_HOUR: &str = "public, max-age=3600";
/// For an address with the digest of other content, for example from a server of another release.
const REVALIDATE: &str = "no-cache";

struct Asset {
    media_type: &'static str,
    content: SharedContent,
}

static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let mut assets = BTreeMap::from([
        (style::NAME, Asset::new(CSS, style::CONTENT.clone())),
        (style::ICON_NAME, Asset::new(SVG, style::ICON.clone())),
        (
            style::SCRIPT_NAME,
            Asset::new(JAVASCRIPT, style::SCRIPT.clone()),
        ),
    ]);
    for (name, media_type, text) in EXPLORER {
        let content = SharedContent::new(Bytes::from_static(text.as_bytes()));
        assets.insert(name, Asset::new(media_type, content));
    }
    for (name, media_type) in SWAGGER_UI {
        if let Some(content) = swagger_ui_file(name) {
            assets.insert(name, Asset::new(media_type, content));
        }
    }
    assets
});

fn swagger_ui_file(name: &str) -> Option<SharedContent> {
    let file = serve(name, Arc::new(Config::new([""]))).ok()??;
    Some(match file.bytes {
        Cow::Borrowed(gzip) if file.gzpipped => SharedContent::compressed(gzip),
        Cow::Borrowed(plain) => SharedContent::new(Bytes::from_static(plain)),
        Cow::Owned(plain) => SharedContent::new(plain),
    })
}

pub(super) fn resource() -> Resource {
    read_only("/assets/{digest}/{name}", |request: HttpRequest| {
        std::future::ready(answer(&request))
    })
}

fn answer(request: &HttpRequest) -> HttpResponse {
    let path = request.match_info();
    let asset = path.get("name").and_then(|name| ASSETS.get(name));
    match asset {
        Some(asset) if path.get("digest") == Some(&style::digest(&asset.content)) => {
            asset.response(request, IMMUTABLE)
        }
        Some(asset) => asset.response(request, REVALIDATE),
        None => respond(Err(ApiError::NotFound(Missing::Path))),
    }
}

/// Serves a file by name alone.
pub(super) fn by_name(name: &str, request: &HttpRequest) -> Option<HttpResponse> {
    ASSETS
        .get(name)
        .map(|asset| asset.response(request, ONE_HOUR))
}

impl Asset {
    fn new(media_type: &'static str, content: SharedContent) -> Self {
        Self {
            media_type,
            content,
        }
    }

    fn response(&self, request: &HttpRequest, caching: &str) -> HttpResponse {
        let headers = [
            (CONTENT_TYPE, self.media_type),
            (CACHE_CONTROL, caching),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        self.content.response(request, &headers)
    }
}

pub(super) fn addresses() -> impl Iterator<Item = (&'static str, String)> {
    ASSETS
        .iter()
        .map(|(name, asset)| (*name, paths::asset(&style::digest(&asset.content), name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_not_the_address_of_formerly_empty_files() {
        for (name, address) in addresses() {
            let digest = ASSETS[name].content.entity_tag().trim_matches('"');
            assert!(
                address.contains(digest) && !address.contains(&format!("/{digest}/")),
                "{address}"
            );
        }
    }

    #[test]
    fn files_of_swagger_ui_are_complete_and_compressed() {
        for (name, _) in SWAGGER_UI {
            let content = &ASSETS
                .get(name)
                .unwrap_or_else(|| panic!("{name} is not part of the explorer"))
                .content;
            let plain = content.plain();
            let gzip = content.gzip().unwrap();
            assert!(
                !plain.is_empty() && gzip.starts_with(&[0x1f, 0x8b]),
                "{name}"
            );
            assert!(gzip.len() < plain.len() || plain.len() < 1_024, "{name}");
        }
        let bundle = &ASSETS["swagger-ui-bundle.js"].content;
        assert!(
            bundle.plain().len() > 1_000_000
                && bundle.gzip().unwrap().len() < bundle.plain().len() / 3
        );
    }
}
