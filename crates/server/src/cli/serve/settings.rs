//! Where the pages of the settings are served.

use std::convert::Infallible;
use std::net::TcpListener;
use std::str::FromStr;

use clap::Args;
use storage::tokens::Environment;

use crate::cli::CommandError;
use crate::operations::startup;

#[derive(Debug, Args)]
pub(super) struct SettingsOptions {
    /// Whether the pages at /settings are served, where people sign in to look after the tokens of their organisation; an
    /// address and a port give them a listener of their own [default: on in the sandbox, off in production]
    #[arg(long, value_name = "on|off|ADDR", env = "REGISTER_SETTINGS")]
    settings: Option<Placement>,
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

impl FromStr for Placement {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "on" => Self::WithApi,
            "" | "off" => Self::Nowhere,
            address => Self::Own(address.to_owned()),
        })
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
    pub(super) fn listen(&self) -> Result<Option<TcpListener>, CommandError> {
        match self {
            Self::Own(address) => {
                let listener = startup::listen(address, "--settings")?;
                log::info!("settings are at {}", listener.local_addr().map_err(CommandError::Server)?);
                Ok(Some(listener))
            }
            Self::WithApi | Self::Nowhere => Ok(None),
        }
    }
}
