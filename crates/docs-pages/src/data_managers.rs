//! `GET /docs/data-managers`: the guide for users of the settings who upload files and look up
//! trainees.

use actix_web::{HttpRequest, HttpResponse, Resource};
use gateway::error::ApiError;
use gateway::routes::read_only;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::shared_page;

use crate::page_location::respond;
use crate::version_notes::written_page;

const GUIDE: &str = include_str!("../../../docs/data-managers.md");

pub(super) fn resource(state: &GatewayState) -> Resource {
    let state = state.clone();
    read_only("/data-managers", move |request: HttpRequest| {
        std::future::ready(respond(answer(&state, &request)))
    })
}

fn answer(state: &GatewayState, request: &HttpRequest) -> Result<HttpResponse, ApiError> {
    let content = state.contents.get(paths::DATA_MANAGERS, || {
        // Other files of the repository are not pages.
        written_page(GUIDE, &[], &|address| {
            address.starts_with('#').then(|| address.to_owned())
        })
    })?;
    Ok(shared_page(request, &content))
}
