//! `GET /docs/differences/FROM..TO`: the difference between two served versions.
//!
//! The default format is Markdown. With `?format=` or `Accept` a client can also get JSON or an
//! HTML page.

use actix_web::http::header::{
    Accept, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, Header as _, HeaderValue,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use gateway::error::{ApiError, Missing};
use gateway::response::DATA_POLICY;
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::shared_page;
use http_kit::responses::sending::JSON;
use version_tools::Difference;

use crate::version_notes::page_of;

/// The media type of Markdown.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// Returns the resource.
pub(super) fn resource(state: &GatewayState) -> Resource {
    let state = state.clone();
    read_only(
        "/differences/{pair}",
        move |request: HttpRequest, pair: Path<String>| {
            let response = answer(&state, &request, &pair)
                .unwrap_or_else(|failure| failure.response_without_version().into());
            std::future::ready(response)
        },
    )
}

fn answer(
    state: &GatewayState,
    request: &HttpRequest,
    pair: &str,
) -> Result<HttpResponse, ApiError> {
    let (from, to) = pair
        .split_once("..")
        .ok_or(ApiError::NotFound(Missing::Path))?;
    let named = |text| {
        state
            .versions
            .named(text)
            .map_err(|unknown| ApiError::NotFound(Missing::Version(unknown)))
    };
    let from = named(from)?;
    let to = named(to)?;
    let form = form(request);
    // Each format has its own entry in the shared contents.
    let address = format!(
        "{} {form:?}",
        paths::differences(from.version.label, to.version.label)
    );
    // There is no page about the move from a version to itself.
    let moves: Vec<_> = [(from.version.label, to.version.label)]
        .into_iter()
        .filter(|(from, to)| from != to)
        .collect();
    let content = state.contents.get(&address, || {
        let difference = Difference::between(from, to, state.lists);
        match form {
            Form::Json => serde_json::to_vec(&difference).map_err(ApiError::unwritable),
            Form::Markdown => Ok(difference.markdown().into_bytes()),
            Form::Page => page_of(&difference.markdown(), &moves),
        }
    })?;
    let data_headers = |media_type| {
        [
            (CONTENT_TYPE, media_type),
            (CACHE_CONTROL, "no-cache"),
            (CONTENT_SECURITY_POLICY, DATA_POLICY),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ]
    };
    let mut response = match form {
        Form::Json => content.response(request, &data_headers(JSON)),
        Form::Markdown => content.response(request, &data_headers(MARKDOWN)),
        Form::Page => shared_page(request, &content),
    };
    response
        .headers_mut()
        .insert(VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// The format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Markdown,
    Json,
    Page,
}

/// Returns the format that the client requests: from the query, or else the first known media type
/// in `Accept`.
fn form(request: &HttpRequest) -> Form {
    let named = |name: &str| match name {
        "json" | "application/json" => Some(Form::Json),
        "html" | "text/html" => Some(Form::Page),
        "markdown" | "text/markdown" => Some(Form::Markdown),
        _ => None,
    };
    let mut query = form_urlencoded::parse(request.query_string().as_bytes());
    if let Some((_, format)) = query.find(|(name, _)| name == "format") {
        return named(&format).unwrap_or(Form::Markdown);
    }
    let accepted = Accept::parse(request)
        .map(|accept| accept.ranked())
        .unwrap_or_default();
    accepted
        .iter()
        .find_map(|media| named(media.essence_str()))
        .unwrap_or(Form::Markdown)
}
