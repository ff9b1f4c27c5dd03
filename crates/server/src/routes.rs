//! The routes of each listener: the adapters of all versions, the documentation pages and the
//! settings pages.

use actix_web::guard::fn_guard;
use actix_web::middleware::from_fn;
use actix_web::web::{self, ServiceConfig};
use docs_pages::{ListenerPages, SettingsLink, no_settings_page, not_found_page, with_error_pages};
use http_kit::paths;

use crate::app_state::AppState;

/// Configures the main listener with all routes of the register.
pub fn configure(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure(config, &state.gateway);
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
    let has_settings = state.settings.is_some();
    gateway::routes::configure_not_found(config, &state.gateway, move |request| {
        if has_settings {
            not_found_page(request, ListenerPages::All)
        } else if request.path() == paths::SETTINGS {
            no_settings_page(request)
        } else {
            not_found_page(request, ListenerPages::Documents)
        }
    });
}
