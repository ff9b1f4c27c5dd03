//! `GET /docs/<version>/`: the contract of a version, to be looked through and tried out in a browser. All of it comes from
//! here; no other host is asked for anything.

use std::sync::Arc;

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, Resource};
use adapter_kit::Label;
use utoipa_swagger_ui::{Config, serve};

use crate::addresses;
use crate::failure::{Failure, Missing};
use crate::mount::read_only;

/// The explorer sets styles by itself, and shows pictures that are part of them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
/// How long a browser may use a file without asking, in seconds.
const MAX_AGE_SECONDS: u32 = 3_600;

/// The explorer of a version: its address, which leads to the page, and the files of the page.
pub(super) fn resources(label: Label) -> [Resource; 2] {
    let to = format!("{}/", addresses::documentation(label));
    let lead = move || {
        let reply = HttpResponse::PermanentRedirect().insert_header((LOCATION, to.clone())).finish();
        std::future::ready(reply)
    };
    // Nothing of the document is checked by a service elsewhere.
    let config = Config::new([addresses::openapi(label)])
        .validator_url("none")
        .deep_linking(true)
        .display_request_duration(true)
        .default_models_expand_depth(0);
    let config = Arc::new(config);
    let file = move |request: HttpRequest| std::future::ready(answer(&request, &config));
    [read_only(&format!("/{label}"), lead), read_only(&format!("/{label}/{{file:.*}}"), file)]
}

fn answer(request: &HttpRequest, config: &Arc<Config<'static>>) -> HttpResponse {
    let name = request.match_info().get("file").unwrap_or_default();
    match serve(name, Arc::clone(config)) {
        Ok(Some(file)) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, file.content_type))
            .insert_header((CACHE_CONTROL, format!("public, max-age={MAX_AGE_SECONDS}")))
            .insert_header((CONTENT_SECURITY_POLICY, POLICY))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
            .body(file.bytes.into_owned()),
        Ok(None) => Failure::NotFound(Missing::Path).reply_to_anyone().into(),
        Err(error) => Failure::UnwritablePage(askama::Error::Custom(error.to_string().into())).reply_to_anyone().into(),
    }
}
