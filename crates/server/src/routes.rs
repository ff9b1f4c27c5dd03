//! The routes of each listener: the adapters of all versions, the documentation pages and the
//! settings pages.

use actix_web::web::ServiceConfig;
use docs_pages::SettingsLink;

use crate::app_state::AppState;

/// Configures the main listener with all routes of the register.
pub fn configure(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure(config, &state.gateway);
    configure_pages(config, state);
    gateway::routes::configure_not_found(config, &state.gateway);
}

/// Configures a separate listener for settings pages, with the documents that they link to and the
/// API descriptions that those load.
pub fn configure_settings(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure_descriptions(config, &state.gateway);
    configure_pages(config, state);
    gateway::routes::configure_not_found(config, &state.gateway);
}

/// Configures the operators' pages on the operator listener, with the files that they load.
pub fn configure_operator_pages(config: &mut ServiceConfig, state: &AppState) {
    docs_pages::configure_files(config);
    configure_settings_pages(config, state);
}

fn configure_pages(config: &mut ServiceConfig, state: &AppState) {
    let settings = if state.settings.is_some() {
        SettingsLink::Served
    } else {
        SettingsLink::Missing
    };
    docs_pages::configure(config, &state.gateway, &state.translations, settings);
    configure_settings_pages(config, state);
}

fn configure_settings_pages(config: &mut ServiceConfig, state: &AppState) {
    if let Some(settings) = &state.settings {
        settings_pages::configure(
            config,
            &state.gateway,
            &settings.clone().with_long_jobs(state.long_jobs.clone()),
        );
    }
}
