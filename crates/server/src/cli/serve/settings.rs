//! Where the pages of the settings are served.

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
    /// Whether the pages at /settings are served, where people sign in to look after the tokens of
    /// their organisation; an address and a port give them a listener of their own [default: on in
    /// the sandbox, off in production]
    #[arg(long, value_name = "on|off|ADDR", env = "REGISTER_SETTINGS")]
    settings: Option<Placement>,
    /// Where operators of the service have their pages: on the listener of --operator-listen alone,
    /// at /settings of the other users too, or nowhere [default: operator-listener, and off where
    /// --settings is off]
    #[arg(
        long,
        value_name = "operator-listener|settings|off",
        env = "REGISTER_OPERATOR_PAGES"
    )]
    operator_pages: Option<OperatorPages>,
    /// Address of the settings as the users of organisations see it, such as
    /// https://register.example; the links that operators make begin with it [default: the address
    /// of --settings, otherwise that of --listen]
    #[arg(long, value_name = "URL", env = "REGISTER_SERVE_SETTINGS_URL", value_parser = site)]
    settings_url: Option<String>,
}

/// Where the pages of operators are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OperatorPages {
    /// On the listener for operators.
    OperatorListener,
    /// There, and next to the pages of organisations.
    Settings,
    /// Nowhere.
    Off,
}

/// Where the pages are.
#[derive(Debug, Clone)]
pub(super) enum Placement {
    /// Next to the API.
    WithApi,
    /// Nowhere.
    Nowhere,
    /// At an address of their own.
    Own(String),
}

/// A text does not say where the pages are.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be on, off, or an address and a port such as 10.0.0.5:8443")]
pub(super) struct NoPlacement;

/// Why the pages of operators cannot be where the options say.
#[derive(Debug, thiserror::Error)]
pub enum OperatorPagesError {
    /// They are to be next to pages that are not served.
    #[error(
        "--operator-pages settings is for the pages at /settings, which are off: see --settings"
    )]
    WithoutSettings,
    /// They are to be on a listener that there is not.
    #[error(
        "--operator-pages operator-listener is for the listener of operators, which is off: see --operator-listen"
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
                let port = address
                    .rsplit_once(':')
                    .and_then(|(_, port)| port.parse::<u16>().ok());
                port.map(|_| Self::Own(address.to_owned()))
                    .ok_or(NoPlacement)
            }
        }
    }
}

impl SettingsOptions {
    /// Where they are in a register of this environment.
    pub(super) fn placement(&self, environment: Environment) -> Placement {
        let usual = match environment {
            Environment::Sandbox => Placement::WithApi,
            Environment::Production => Placement::Nowhere,
        };
        self.settings.clone().unwrap_or(usual)
    }

    /// Whether there are any pages, of organisations or of operators.
    pub(super) fn are_served(&self, environment: Environment) -> bool {
        let placement = self.placement(environment);
        !placement.is_nowhere() || self.operator_pages(&placement) != OperatorPages::Off
    }

    /// Refuses to have the pages of operators where nothing is served.
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

    /// Where those of operators are, next to others that are there.
    pub(super) fn operator_pages(&self, others: &Placement) -> OperatorPages {
        let usual = match others {
            Placement::WithApi | Placement::Own(_) => OperatorPages::OperatorListener,
            Placement::Nowhere => OperatorPages::Off,
        };
        self.operator_pages.unwrap_or(usual)
    }

    /// The site of the settings as the users of organisations see it; `listener` is that of the
    /// listener.
    pub(super) fn site(&self, listener: String) -> String {
        self.settings_url.clone().unwrap_or(listener)
    }

    /// The sites at which the pages are served: `settings` is that of the settings, where they are
    /// served, and `operators` that of the listener for operators, if there is one.
    pub(super) fn served_addresses(
        &self,
        others: &Placement,
        settings: &str,
        operators: Option<String>,
    ) -> ServedAddresses {
        let settings = Some(settings.to_owned()).filter(|_| !others.is_nowhere());
        let operator_pages = match self.operator_pages(others) {
            OperatorPages::OperatorListener => operators,
            OperatorPages::Settings => operators.or_else(|| settings.clone()),
            OperatorPages::Off => None,
        };
        ServedAddresses {
            settings,
            operator_pages,
        }
    }

    /// The pages on the listener for operators, if there are any; `site` is that of the settings of
    /// organisations.
    pub(super) fn on_operator_listener(
        &self,
        others: &Placement,
        site: &str,
    ) -> Option<SettingsPages> {
        match self.operator_pages(others) {
            OperatorPages::OperatorListener | OperatorPages::Settings => {
                let pages = SettingsPages::default().with_organisations_at(site);
                // Where the program listens is not where others reach the API.
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

    /// The pages of organisations, and of operators where they are to be there too.
    pub(super) fn organisation_pages(&self, own: &Placement) -> SettingsPages {
        let audience = match self.operator_pages(own) {
            OperatorPages::Settings => Audience::Everybody,
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
    /// Whether they are next to the API.
    pub(super) fn is_with_api(&self) -> bool {
        matches!(self, Self::WithApi)
    }

    /// Whether there are none.
    pub(super) fn is_nowhere(&self) -> bool {
        matches!(self, Self::Nowhere)
    }

    /// The listener of their own, if they have one.
    pub(super) fn listen(&self) -> Result<Option<TcpListener>, StartError> {
        match self {
            Self::Own(address) => Ok(Some(startup::listen(address, "--settings")?)),
            Self::WithApi | Self::Nowhere => Ok(None),
        }
    }
}
