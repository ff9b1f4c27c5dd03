//! Printing the OpenAPI document of a version.

use clap::{Args, ValueEnum};
use domain::Lists;
use gateway::endpoints::openapi;
use http_kit::paths::OpenApiDocument;

use super::{CommandError, served};
use crate::cli::output;
use crate::contracts::ContractError;

#[derive(Debug, Args)]
pub(crate) struct OpenApi {
    /// The version, such as the newest one that `serve` names
    #[arg(value_name = "VERSION")]
    version: String,
    /// What the document is for
    #[arg(long, env = "REGISTER_VERSION_OPENAPI_FORM", value_enum, default_value_t = Form::Complete)]
    form: Form,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// All that the server accepts and answers, in OpenAPI 3.1
    Complete,
    /// For programs that generate clients
    Client,
    /// The same in OpenAPI 3.0
    #[value(name = "client-3.0")]
    Client30,
}

impl From<Form> for OpenApiDocument {
    fn from(form: Form) -> Self {
        match form {
            Form::Complete => Self::Complete,
            Form::Client => Self::Client,
            Form::Client30 => Self::Client30,
        }
    }
}

impl OpenApi {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let text = openapi::written(served(&self.version)?, self.form.into(), Lists::embedded());
        output::text(text.map_err(ContractError::Unwritable)?)
    }
}
