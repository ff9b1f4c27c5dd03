//! The options by which people sign in to the settings by OpenID Connect.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use domain::values::text::is_blank;
use storage::base::token::Environment;

use settings_pages::signing_in::openid::{
    AddressError, ClaimName, ClaimNames, Issuer, IssuerConfig,
};

#[derive(Debug, Args)]
pub(super) struct OpenIdOptions {
    /// Issuer of OpenID Connect by which people sign in to the settings, exactly as it names
    /// itself, such as https://id.example; it knows the address /settings/sign-in/oidc/callback of
    /// the settings [default: links alone]
    #[arg(
        long,
        value_name = "URL",
        env = "REGISTER_OIDC_ISSUER",
        requires = "oidc_client_id",
        hide_env_values = true
    )]
    oidc_issuer: Option<String>,
    /// Name by which the issuer knows the register
    #[arg(
        long,
        value_name = "ID",
        env = "REGISTER_OIDC_CLIENT_ID",
        requires = "oidc_issuer"
    )]
    oidc_client_id: Option<String>,
    /// File with the secret that the issuer has given the register [default: none, as for a public
    /// client]
    #[arg(
        long,
        value_name = "FILE",
        env = "REGISTER_OIDC_CLIENT_SECRET_FILE",
        requires = "oidc_issuer"
    )]
    oidc_client_secret_file: Option<PathBuf>,
    /// Scopes that are requested besides openid, separated by spaces
    #[arg(
        long,
        value_name = "SCOPES",
        env = "REGISTER_OIDC_SCOPES",
        value_delimiter = ' ',
        default_value = "email"
    )]
    oidc_scopes: Vec<String>,
    /// Claim with the UKPRN of the organisation to which somebody belongs, or with several; a JSON
    /// pointer such as /organisation/ukprn reads within a claim [default: none, invitations alone]
    #[arg(
        long,
        value_name = "NAME",
        env = "REGISTER_OIDC_PROVIDER_CLAIM",
        requires = "oidc_issuer"
    )]
    oidc_provider_claim: Option<ClaimName>,
    /// Claim with the role of somebody who belongs by the claim, or with several; a JSON pointer
    /// too [default: none, all are viewers]
    #[arg(
        long,
        value_name = "NAME",
        env = "REGISTER_OIDC_ROLE_CLAIM",
        requires = "oidc_issuer"
    )]
    oidc_role_claim: Option<ClaimName>,
    /// Role that makes an admin of the organisation
    #[arg(
        long,
        value_name = "VALUE",
        env = "REGISTER_OIDC_ADMIN_VALUE",
        default_value = "admin"
    )]
    oidc_admin_value: String,
    /// Role that makes an operator of the service [default: none, by invitation alone]
    #[arg(
        long,
        value_name = "VALUE",
        env = "REGISTER_OIDC_OPERATOR_VALUE",
        requires = "oidc_role_claim"
    )]
    oidc_operator_value: Option<String>,
}

/// Why people cannot sign in by OpenID Connect as the options say.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdError {
    /// The issuer cannot be one.
    #[error("--oidc-issuer {0}")]
    Issuer(#[from] AddressError),
    /// There is nothing to sign in to.
    #[error("--oidc-issuer is for the pages at /settings, which are off: see --settings")]
    WithoutSettings,
    /// The secret of the client cannot be read.
    #[error("--oidc-client-secret-file {}: {why}", .path.display())]
    Secret {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl OpenIdOptions {
    /// The issuer, where there is one. Fetches nothing: it may be away.
    pub(super) fn issuer(
        &self,
        environment: Environment,
        has_pages: bool,
    ) -> Result<Option<Issuer>, OpenIdError> {
        // A variable that is set to nothing counts as absent.
        let set = |text: &Option<String>| text.clone().filter(|text| !is_blank(text));
        let named =
            |name: &Option<ClaimName>| name.clone().filter(|name| !is_blank(&name.to_string()));
        let (Some(issuer), Some(client_id)) = (set(&self.oidc_issuer), set(&self.oidc_client_id))
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
                provider: named(&self.oidc_provider_claim),
                role: named(&self.oidc_role_claim),
                admin: self.oidc_admin_value.clone(),
                operator: set(&self.oidc_operator_value),
            },
        };
        Ok(Some(Issuer::new(config, environment)?))
    }

    fn client_secret(&self) -> Result<Option<String>, OpenIdError> {
        let Some(path) = &self.oidc_client_secret_file else {
            return Ok(None);
        };
        let unreadable = |why| OpenIdError::Secret {
            path: path.clone(),
            why,
        };
        let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        match text.trim() {
            "" => Err(unreadable("it is empty".to_owned())),
            secret => Ok(Some(secret.to_owned())),
        }
    }
}
