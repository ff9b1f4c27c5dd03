//! The options for serving the settings pages.

use std::net::TcpListener;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use settings_pages::{Audience, SettingsPages};
use storage::base::token::Environment;
use storage::maintenance::served_addresses::ServedAddresses;

use crate::cli::values::site;
use crate::operations::startup::{self, StartError};

#[derive(Debug, Args)]
pub(super) struct SettingsOptions {
    /// Serve the settings pages at /settings, where users manage their organisation's tokens; an
    /// address and a port open a separate listener for these pages [default: on in the sandbox, off
    /// in production]
    #[arg(long, value_name = "on|off|ADDR", env = "REGISTER_SETTINGS")]
    settings: Option<Placement>,
    /// Where to serve the operators' pages [default: operator-listener, or off if --settings is
    /// off]
    #[arg(
        long,
        value_name = "operator-listener|settings|off",
        env = "REGISTER_OPERATOR_PAGES"
    )]
    operator_pages: Option<OperatorPages>,
    /// Public address of the settings pages, such as https://register.example, for links that
    /// operators create [default: the address of --settings, or else of --listen]
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

/// The location of the settings pages.
#[derive(Debug, Clone)]
pub(super) enum Placement {
    /// On the listener of the API.
    WithApi,
    /// Nowhere.
    Nowhere,
    /// On their own listener at an address.
    Own(String),
}

/// Error: a text is not a location of the pages.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be on, off, or an address and a port such as 10.0.0.5:8443")]
pub(super) struct NoPlacement;

/// The reasons why the options of the operators' pages are invalid.
#[derive(Debug, thiserror::Error)]
pub enum OperatorPagesError {
    /// The settings pages that should include them are off.
    #[error("--operator-pages settings needs the settings pages, which are off: see --settings")]
    WithoutSettings,
    /// The operator listener is off.
    #[error(
        "--operator-pages operator-listener needs the operator listener, which is off: see --operator-listen"
    )]
    WithoutListener,
}

impl FromStr for Placement {
    type Err = NoPlacement;

    fn from_str(text: &str) -> Result<Self, NoPlacement> {
        match text {
            "on" => Ok(Self::WithApi),
            "" | "off" => Ok(Self::Nowhere),
            address => {
                let (_, port) = address.rsplit_once(':').ok_or(NoPlacement)?;
                match port.parse::<u16>() {
                    Ok(_) => Ok(Self::Own(address.to_owned())),
                    Err(_) => Err(NoPlacement),
                }
            }
        }
    }
}

impl SettingsOptions {
    /// The location of the settings pages in an environment.
    pub(super) fn placement(&self, environment: Environment) -> Placement {
        let usual = match environment {
            Environment::Sandbox => Placement::WithApi,
            Environment::Production => Placement::Nowhere,
        };
        self.settings.clone().unwrap_or(usual)
    }

    /// Whether any settings pages are served, of organisations or of operators.
    pub(super) fn are_served(&self, environment: Environment) -> bool {
        let placement = self.placement(environment);
        !placement.is_nowhere() || self.operator_pages(&placement) != OperatorPages::Off
    }

    /// Fails if the operators' pages are requested on a listener that is off.
    pub(super) fn require_operator_pages(
        &self,
        environment: Environment,
        has_operator_listener: bool,
    ) -> Result<(), OperatorPagesError> {
        match self.operator_pages {
            Some(OperatorPages::Settings) if self.placement(environment).is_nowhere() => {
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

    /// The listeners of the operators' pages, given the location of the other settings pages.
    pub(super) fn operator_pages(&self, others: &Placement) -> OperatorPages {
        let usual = match others {
            Placement::WithApi | Placement::Own(_) => OperatorPages::OperatorListener,
            Placement::Nowhere => OperatorPages::Off,
        };
        self.operator_pages.unwrap_or(usual)
    }

    /// The public site of the settings: that of the option, else `listener`, the site of the
    /// listener.
    pub(super) fn site(&self, listener: String) -> String {
        self.settings_url.clone().unwrap_or(listener)
    }

    /// The sites of the pages, which are recorded in the database. `others` is the location of the
    /// settings pages and `settings` their site. `operators` is the site of the operator listener,
    /// if there is one. `sends_mail` states whether the server sends mails.
    pub(super) fn served_addresses(
        &self,
        others: &Placement,
        settings: &str,
        operators: Option<String>,
        sends_mail: bool,
    ) -> ServedAddresses {
        let settings = (!others.is_nowhere()).then(|| settings.to_owned());
        let operator_pages = match self.operator_pages(others) {
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

    /// The operators' pages on the operator listener, or `None` if they are off. `others` is the
    /// location of the settings pages of organisations, and `site` their site.
    pub(super) fn on_operator_listener(
        &self,
        others: &Placement,
        site: &str,
    ) -> Option<SettingsPages> {
        match self.operator_pages(others) {
            OperatorPages::OperatorListener | OperatorPages::Settings => {
                let pages = SettingsPages::default().with_organisations_at(site);
                // The address of the listener is not the public address of the API.
                let is_site_of_api = self.settings_url.is_some() && others.is_with_api();
                Some(if is_site_of_api {
                    pages
                } else {
                    pages.apart_from_api()
                })
            }
            OperatorPages::Off => None,
        }
    }

    /// The settings pages at the location `own`. They include the operators' pages if the options
    /// say so.
    pub(super) fn organisation_pages(&self, own: &Placement) -> SettingsPages {
        let audience = match self.operator_pages(own) {
            OperatorPages::Settings => Audience::All,
            OperatorPages::OperatorListener | OperatorPages::Off => Audience::Organisations,
        };
        let pages = SettingsPages::default().with_audience(audience);
        let pages = if own.is_with_api() {
            pages
        } else {
            pages.apart_from_api()
        };
        match &self.settings_url {
            Some(site) => pages.with_organisations_at(site),
            None => pages,
        }
    }
}

impl Placement {
    /// Whether the pages are on the listener of the API.
    pub(super) fn is_with_api(&self) -> bool {
        matches!(self, Self::WithApi)
    }

    /// Whether no pages are served.
    pub(super) fn is_nowhere(&self) -> bool {
        matches!(self, Self::Nowhere)
    }

    /// Opens the listener of the pages, if they have their own.
    pub(super) fn listen(&self) -> Result<Option<TcpListener>, StartError> {
        match self {
            Self::Own(address) => Ok(Some(startup::listen(address, "--settings")?)),
            Self::WithApi | Self::Nowhere => Ok(None),
        }
    }
}
