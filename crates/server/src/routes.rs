//! The routes of each listener: where the adapters of all versions, the documentation pages and the
//! settings are mounted.

use actix_web::web::ServiceConfig;

use crate::app_state::AppState;

/// Configures the application: every route that the register answers.
pub fn configure(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure(config, &state.gateway);
    configure_pages(config, state);
    gateway::routes::configure_not_found(config, &state.gateway);
}

/// Configures a listener of the pages for people alone: the settings, the documents that they lead
/// to, and the descriptions of the API that these load.
pub fn configure_settings(config: &mut ServiceConfig, state: &AppState) {
    gateway::routes::configure_descriptions(config, &state.gateway);
    configure_pages(config, state);
    gateway::routes::configure_not_found(config, &state.gateway);
}

/// Configures the pages of operators on their own listener: the settings, and the files that these
/// load.
pub fn configure_operator_pages(config: &mut ServiceConfig, state: &AppState) {
    docs_pages::configure_files(config);
    configure_settings_pages(config, state);
}

fn configure_pages(config: &mut ServiceConfig, state: &AppState) {
    docs_pages::configure(config, &state.gateway, &state.translations);
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
