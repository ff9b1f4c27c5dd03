//! The options for serving the settings pages.

use clap::{Args, ValueEnum};
use settings_pages::{Audience, SettingsPages};
use storage::base::token::Environment;
use storage::maintenance::served_addresses::ServedAddresses;

use super::Switch;
use crate::cli::values::site;

#[derive(Debug, Args)]
#[command(next_help_heading = "Settings pages")]
pub(super) struct SettingsOptions {
    /// Serve the settings pages at /settings, where users manage their organisation's tokens
    /// [default: on in the sandbox, off in production]
    #[arg(long, value_name = "on|off")]
    settings: Option<Switch>,
    /// Where to serve the operators' pages [default: operator-listener, or off if --settings is
    /// off]
    #[arg(long, value_name = "operator-listener|settings|off")]
    operator_pages: Option<OperatorPages>,
    /// Public address of the settings pages, such as https://register.example, for links that
    /// operators create [default: the address of --listen]
    #[arg(long, value_name = "URL", env = "REGISTER_SERVE_SETTINGS_URL", value_parser = site)]
    settings_url: Option<String>,
}

/// The listeners of the operators' pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OperatorPages {
    /// On the listener of --operator-listen
    OperatorListener,
    /// On both the listener of --operator-listen and the listener of the settings pages
    Settings,
    /// Not served
    Off,
}

/// The reasons why the options of the operators' pages are invalid.
#[derive(Debug, thiserror::Error)]
pub enum OperatorPagesError {
    /// The settings pages that should include them are off.
    #[error(
        "--operator-pages settings (REGISTER_OPERATOR_PAGES) needs the settings pages, which are off: \
         see --settings (REGISTER_SETTINGS)"
    )]
    WithoutSettings,
    /// The operator listener is off.
    #[error(
        "--operator-pages operator-listener (REGISTER_OPERATOR_PAGES) needs the operator listener, which \
         is off: see --operator-listen (REGISTER_OPERATOR_LISTEN)"
    )]
    WithoutListener,
}

impl SettingsOptions {
    /// Whether the settings pages of organisations are served.
    pub(super) fn are_on(&self, environment: Environment) -> bool {
        match self.settings {
            Some(switch) => switch == Switch::On,
            None => environment == Environment::Sandbox,
        }
    }

    /// Whether any settings pages are served, of organisations or of operators.
    pub(super) fn are_served(&self, environment: Environment) -> bool {
        self.are_on(environment) || self.operator_pages(environment) != OperatorPages::Off
    }

    /// Fails if the operators' pages are requested on a listener that is off.
    pub(super) fn require_operator_pages(
        &self,
        environment: Environment,
        has_operator_listener: bool,
    ) -> Result<(), OperatorPagesError> {
        match self.operator_pages {
            Some(OperatorPages::Settings) if !self.are_on(environment) => {
                Err(OperatorPagesError::WithoutSettings)
            }
            Some(OperatorPages::OperatorListener) if !has_operator_listener => {
                Err(OperatorPagesError::WithoutListener)
            }
            Some(
                OperatorPages::Settings | OperatorPages::OperatorListener | OperatorPages::Off,
            )
            | None => Ok(()),
        }
    }

    /// The listeners of the operators' pages.
    pub(super) fn operator_pages(&self, environment: Environment) -> OperatorPages {
        self.operator_pages
            .unwrap_or(match self.are_on(environment) {
                true => OperatorPages::OperatorListener,
                false => OperatorPages::Off,
            })
    }

    /// The public site of the settings: that of the option, else `listener`, the site of the
    /// listener.
    pub(super) fn site(&self, listener: String) -> String {
        self.settings_url.clone().unwrap_or(listener)
    }

    /// The sites of the pages, which are recorded in the database. `settings` is the site of the
    /// settings pages, and `operators` that of the operator listener, if there is one. `sends_mail`
    /// states whether the server sends mails.
    pub(super) fn served_addresses(
        &self,
        environment: Environment,
        settings: &str,
        operators: Option<String>,
        sends_mail: bool,
    ) -> ServedAddresses {
        let settings = self.are_on(environment).then(|| settings.to_owned());
        let operator_pages = match self.operator_pages(environment) {
            OperatorPages::OperatorListener => operators,
            OperatorPages::Settings => operators.or_else(|| settings.clone()),
            OperatorPages::Off => None,
        };
        ServedAddresses {
            settings,
            operator_pages,
            sends_mail,
        }
    }

    /// Whether the option for the address of the settings pages is set.
    pub(super) fn has_address(&self) -> bool {
        self.settings_url.is_some()
    }

    /// Whether the option for the address of the settings pages has an address with HTTPS.
    pub(super) fn has_https_address(&self) -> bool {
        self.settings_url
            .as_ref()
            .is_some_and(|site| site.starts_with("https:"))
    }

    /// The operators' pages on the operator listener, or `None` if they are off. `site` is the site
    /// of the settings pages of organisations.
    pub(super) fn on_operator_listener(
        &self,
        environment: Environment,
        site: &str,
    ) -> Option<SettingsPages> {
        if self.operator_pages(environment) == OperatorPages::Off {
            return None;
        }
        let pages = SettingsPages::default().with_organisations_at(site);
        // The address of the listener is not the public address of the API.
        let is_site_of_api = self.settings_url.is_some() && self.are_on(environment);
        Some(if is_site_of_api {
            pages
        } else {
            pages.apart_from_api()
        })
    }

    /// The settings pages of organisations, if they are served. They include the operators' pages if
    /// the options say so.
    pub(super) fn organisation_pages(&self, environment: Environment) -> Option<SettingsPages> {
        let audience = match self.operator_pages(environment) {
            OperatorPages::Settings => Audience::All,
            OperatorPages::OperatorListener | OperatorPages::Off => Audience::Organisations,
        };
        let pages = SettingsPages::default().with_audience(audience);
        let pages = match &self.settings_url {
            Some(site) => pages.with_organisations_at(site),
            None => pages,
        };
        self.are_on(environment).then_some(pages)
    }
}
