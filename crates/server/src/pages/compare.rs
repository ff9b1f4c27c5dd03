//! `GET /docs/differences?from=&to=`: where the form that asks for two versions leads to. It leads on to the difference
//! itself, and knows nothing of it.

use actix_web::http::header::LOCATION;
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::{Label, Versions};

use crate::http::app_state::Register;
use crate::http::error::{Failure, Missing};
use crate::http::paths;
use crate::http::routes::read_only;

/// The resource.
pub(super) fn resource(register: &Register) -> Resource {
    let versions = register.versions;
    let answer = move |request: HttpRequest| std::future::ready(lead_on(request.query_string(), versions));
    read_only("/differences", answer)
}

fn lead_on(query: &str, versions: &Versions) -> HttpResponse {
    match asked(query, "from", versions).zip(asked(query, "to", versions)) {
        Some((from, to)) => HttpResponse::SeeOther().insert_header((LOCATION, paths::differences(from, to))).finish(),
        None => Failure::NotFound(Missing::Path).reply_to_anyone().into(),
    }
}

/// The version that a query names, if it is served.
fn asked(query: &str, name: &str, versions: &Versions) -> Option<Label> {
    let (_, value) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name)?;
    let label = value.parse().ok()?;
    versions.find(label).map(|served| served.version.label)
}
