//! The routes of each listener: the adapters of all versions, the documentation pages and the
//! settings pages.

use actix_web::guard::fn_guard;
use actix_web::http::header::LOCATION;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use docs_pages::{ListenerPages, SettingsLink, no_settings_page, not_found_page, with_error_pages};
use http_kit::paths;
use http_kit::requests::media_types::prefers_html;

use crate::app_state::{AppState, SettingsAddress};

/// Configures the main listener with all routes of the register.
pub fn configure(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure(config, &state.gateway);
    configure_pages(config, state);
    configure_not_found(config, state);
}

/// Configures a separate listener for settings pages. It also has the documentation pages that the
/// settings link to, and the API descriptions that the documentation loads.
pub fn configure_settings(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure_descriptions(config, &state.gateway);
    configure_pages(config, state);
    configure_not_found(config, state);
}

/// Configures the operators' pages on the operator listener, with the files that the pages load.
pub fn configure_operator_pages(config: &mut ServiceConfig, state: &AppState) {
    docs_pages::configure_files(config);
    configure_settings_pages(config, state);
}

/// Configures the documentation pages, and the settings pages if they are served.
fn configure_pages(config: &mut ServiceConfig, state: &AppState) {
    let settings = if state.settings.is_some() {
        SettingsLink::Served
    } else {
        SettingsLink::Missing
    };
    docs_pages::configure(config, &state.gateway, &state.translations, settings);
    configure_settings_pages(config, state);
}

/// Configures the settings pages if they are served. The scope applies only to their paths.
fn configure_settings_pages(config: &mut ServiceConfig, state: &AppState) {
    if let Some(settings) = &state.settings {
        let gateway = state.gateway.clone();
        let settings = settings.clone().with_long_jobs(state.long_jobs.clone());
        let scope = web::scope("")
            .guard(fn_guard(|request| {
                request.head().uri.path().starts_with(paths::SETTINGS)
            }))
            .wrap(from_fn(|request, next| {
                with_error_pages(ListenerPages::Settings, request, next)
            }))
            .configure(move |config| settings_pages::configure(config, &gateway, &settings));
        config.service(scope);
    }
}

/// Configures the reply to every other path: a page for browsers, JSON for programs.
fn configure_not_found(config: &mut ServiceConfig, state: &AppState) {
    let settings = state.settings_address();
    gateway::routes::configure_not_found(config, &state.gateway, move |request| {
        page_for_unknown_path(request, &settings)
    });
}

/// The reply to a browser that requests an unknown path; `None` for a program. `/settings`
/// redirects to the settings if another listener serves them.
fn page_for_unknown_path(
    request: &HttpRequest,
    settings: &SettingsAddress,
) -> Option<HttpResponse> {
    let pages = match settings {
        SettingsAddress::Here => ListenerPages::All,
        SettingsAddress::At(site) if request.path() == paths::SETTINGS => {
            let redirect = HttpResponse::TemporaryRedirect()
                .insert_header((LOCATION, format!("{site}{}", paths::SETTINGS)))
                .finish();
            return prefers_html(request).then_some(redirect);
        }
        SettingsAddress::Nowhere if request.path() == paths::SETTINGS => {
            return no_settings_page(request);
        }
        SettingsAddress::At(_) => ListenerPages::All,
        SettingsAddress::Nowhere => ListenerPages::Documents,
    };
    not_found_page(request, pages)
}
