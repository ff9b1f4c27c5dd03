//! The difference between two versions that are served: `GET /docs/differences/FROM..TO`.
//!
//! It is Markdown, unless the client asks for JSON with `?format=json` or prefers that in `Accept`.

use actix_web::http::StatusCode;
use actix_web::http::header::{Accept, CONTENT_TYPE, Header as _, VARY};
use actix_web::web::Path;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::Difference;

use crate::failure::{Failure, Missing};
use crate::mount::read_only;
use crate::register::Register;
use crate::reply::Reply;

/// The media type of a difference that people read.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The resource.
pub(super) fn resource(register: &Register) -> Resource {
    let register = register.clone();
    read_only("/differences/{pair}", move |request: HttpRequest, pair: Path<String>| {
        let response = answer(&register, &request, &pair).unwrap_or_else(|failure| failure.reply_to_anyone().into());
        std::future::ready(response)
    })
}

fn answer(register: &Register, request: &HttpRequest, pair: &str) -> Result<HttpResponse, Failure> {
    let (from, to) = pair.split_once("..").ok_or(Failure::NotFound(Missing::Path))?;
    let named = |text| register.versions.named(text).map_err(|unknown| Failure::NotFound(Missing::Version(unknown)));
    let difference = Difference::between(named(from)?, named(to)?, register.lists);
    if asks_for_json(request) {
        return Ok(Reply::json(StatusCode::OK, &difference)?.with(VARY.as_str(), "Accept").into());
    }
    let mut response = HttpResponse::Ok();
    response.insert_header((CONTENT_TYPE, MARKDOWN)).insert_header((VARY, "Accept"));
    Ok(response.body(difference.markdown()))
}

/// Whether the client asks for JSON: by the query, else by the first of the two types that it accepts.
fn asks_for_json(request: &HttpRequest) -> bool {
    let format = form_urlencoded::parse(request.query_string().as_bytes()).find(|(name, _)| name == "format");
    if let Some((_, format)) = format {
        return format == "json";
    }
    let accepted = Accept::parse(request).map(|accept| accept.ranked()).unwrap_or_default();
    let offered = |media: &&actix_web::http::header::Mime| {
        ["application/json", "text/markdown", "text/*", "*/*"].contains(&media.essence_str())
    };
    accepted.iter().find(offered).is_some_and(|media| media.essence_str() == "application/json")
}
