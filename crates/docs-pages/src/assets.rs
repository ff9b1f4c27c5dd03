//! `GET /docs/assets/<digest>/<name>`: the files that the pages load. They are embedded in the
//! program.
//!
//! The style sheet is [`http_kit::responses::style`]. The files of the explorer are compressed at
//! build time.

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

/// The files of the explorer that are the same for every version, with their media types.
const EXPLORER: [(&str, &str); 6] = [
    ("favicon-16x16.png", "image/png"),
    ("favicon-32x32.png", "image/png"),
    ("index.css", CSS),
    ("swagger-ui-bundle.js", JAVASCRIPT),
    ("swagger-ui-standalone-preset.js", JAVASCRIPT),
    ("swagger-ui.css", CSS),
];
const CSS: &str = "text/css; charset=utf-8";
/// The media type of scripts.
pub(super) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

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
    let style = Asset {
        media_type: CSS,
        content: style::CONTENT.clone(),
    };
    let explorer = EXPLORER.into_iter().filter_map(|(name, media_type)| {
        let content = part_of_explorer(name, &Arc::new(Config::new([""])))?;
        Some((
            name,
            Asset {
                media_type,
                content,
            },
        ))
    });
    explorer.chain([(style::NAME, style)]).collect()
});

/// Returns the file of the explorer with this name; `None` if there is no such file. `config` is
/// inserted into the files that contain a configuration.
pub(super) fn part_of_explorer(name: &str, config: &Arc<Config<'static>>) -> Option<SharedContent> {
    let file = serve(name, Arc::clone(config)).ok()??;
    Some(match file.bytes {
        Cow::Borrowed(gzip) if file.gzpipped => SharedContent::compressed(gzip),
        Cow::Borrowed(plain) => SharedContent::new(Bytes::from_static(plain)),
        Cow::Owned(plain) => SharedContent::new(plain),
    })
}

/// Returns the resource.
pub(super) fn resource() -> Resource {
    read_only("/assets/{digest}/{name}", |request: HttpRequest| {
        std::future::ready(answer(&request))
    })
}

fn answer(request: &HttpRequest) -> HttpResponse {
    let segment = |name| request.match_info().get(name).unwrap_or_default();
    match ASSETS.get(segment("name")) {
        Some(asset) if style::digest(&asset.content) == segment("digest") => {
            asset.response(request, IMMUTABLE)
        }
        Some(asset) => asset.response(request, REVALIDATE),
        None => ApiError::NotFound(Missing::Path)
            .response_without_version()
            .into(),
    }
}

/// Serves a file by name alone; `None` if there is no such file.
pub(super) fn by_name(name: &str, request: &HttpRequest) -> Option<HttpResponse> {
    ASSETS
        .get(name)
        .map(|asset| asset.response(request, ONE_HOUR))
}

impl Asset {
    fn response(&self, request: &HttpRequest, caching: &str) -> HttpResponse {
        let headers = [
            (CONTENT_TYPE, self.media_type),
            (CACHE_CONTROL, caching),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        self.content.response(request, &headers)
    }
}

/// Returns the names and addresses of all files.
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
    fn explorer_files_are_complete_and_compressed() {
        for (name, _) in EXPLORER {
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
