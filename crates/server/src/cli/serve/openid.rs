//! The options for signing in to the settings by OpenID Connect.

use std::path::PathBuf;

use clap::Args;
use domain::values::text::is_blank;
use storage::base::token::Environment;

use settings_pages::signing_in::openid::{
    AddressError, ClaimName, ClaimNames, Issuer, IssuerConfig,
};

use crate::cli::values::secret_file;

#[derive(Debug, Args)]
#[command(next_help_heading = "OpenID Connect")]
pub(super) struct OpenIdOptions {
    /// OpenID Connect issuer for signing in to the settings, exactly as in its metadata, such as
    /// https://id.example; register the callback path /settings/sign-in/oidc/callback at the issuer
    /// [default: none, sign-in links only]
    #[arg(
        long,
        value_name = "URL",
        requires = "oidc_client_id",
        hide_env_values = true
    )]
    oidc_issuer: Option<String>,
    /// Client ID registered at the issuer
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    oidc_client_id: Option<String>,
    /// File with the client secret from the issuer [default: none, for a public client]
    #[arg(long, value_name = "FILE", requires = "oidc_issuer")]
    oidc_client_secret_file: Option<PathBuf>,
    /// Scopes to request in addition to openid, separated by spaces
    #[arg(
        long,
        value_name = "SCOPES",
        value_delimiter = ' ',
        default_value = "email"
    )]
    oidc_scopes: Vec<String>,
    /// Claim that contains the UKPRNs of the user's organisations; for a nested value, use a JSON
    /// pointer such as /organisation/ukprn [default: none, by invitation only]
    #[arg(long, value_name = "NAME", requires = "oidc_issuer")]
    oidc_provider_claim: Option<ClaimName>,
    /// Claim that contains the user's roles; can be a JSON pointer [default: none; users from
    /// --oidc-provider-claim are viewers]
    #[arg(long, value_name = "NAME", requires = "oidc_issuer")]
    oidc_role_claim: Option<ClaimName>,
    /// Value of --oidc-role-claim for admins of an organisation
    #[arg(long, value_name = "VALUE", default_value = "admin")]
    oidc_admin_value: String,
    /// Value of --oidc-role-claim for operators of the service [default: none, by invitation only]
    #[arg(long, value_name = "VALUE", requires = "oidc_role_claim")]
    oidc_operator_value: Option<String>,
}

/// The reasons why the options of OpenID Connect are invalid.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdError {
    /// The issuer is not valid.
    #[error("--oidc-issuer (REGISTER_OIDC_ISSUER) {0}")]
    Issuer(#[from] AddressError),
    /// The settings pages are off.
    #[error(
        "--oidc-issuer (REGISTER_OIDC_ISSUER) needs the settings pages, which are off: see --settings \
         (REGISTER_SETTINGS)"
    )]
    WithoutSettings,
    /// The client secret is unreadable.
    #[error("--oidc-client-secret-file (REGISTER_OIDC_CLIENT_SECRET_FILE) {}: {why}", .path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl OpenIdOptions {
    /// The issuer, or `None` if it is not configured. Sends no request, because the issuer may be
    /// unavailable.
    pub(super) fn issuer(
        &self,
        environment: Environment,
        has_pages: bool,
    ) -> Result<Option<Issuer>, OpenIdError> {
        // An empty environment variable counts as absent.
        let text = |text: &Option<String>| text.clone().filter(|text| !is_blank(text));
        let claim =
            |name: &Option<ClaimName>| name.clone().filter(|name| !is_blank(&name.to_string()));
        let (Some(issuer), Some(client_id)) = (text(&self.oidc_issuer), text(&self.oidc_client_id))
        else {
            return Ok(None);
        };
        if !has_pages {
            return Err(OpenIdError::WithoutSettings);
        }
        let config = IssuerConfig {
            issuer,
            client_id,
            client_secret: self.client_secret()?,
            scopes: self
                .oidc_scopes
                .iter()
                .filter(|scope| !is_blank(scope))
                .cloned()
                .collect(),
            claims: ClaimNames {
                provider: claim(&self.oidc_provider_claim),
                role: claim(&self.oidc_role_claim),
                admin: self.oidc_admin_value.clone(),
                operator: text(&self.oidc_operator_value),
            },
        };
        Ok(Some(Issuer::new(config, environment)?))
    }

    /// The client secret in the file of the option; `None` without the option.
    fn client_secret(&self) -> Result<Option<String>, OpenIdError> {
        let Some(path) = &self.oidc_client_secret_file else {
            return Ok(None);
        };
        let secret = secret_file(path).map_err(|why| OpenIdError::Secret {
            path: path.clone(),
            why,
        })?;
        Ok(Some(secret))
    }
}
