//! The command that prints the OpenAPI document of a version.

use clap::{Args, ValueEnum};
use domain::Lists;
use gateway::endpoints::openapi;
use http_kit::paths::OpenApiDocument;

use super::{CommandError, served};
use crate::cli::output;

#[derive(Debug, Args)]
pub(crate) struct OpenApi {
    /// API version
    #[arg(value_name = "VERSION")]
    version: String,
    /// Kind of document
    #[arg(long, env = "REGISTER_VERSION_OPENAPI_FORM", value_enum, default_value_t = Form::Complete)]
    form: Form,
}

/// The kinds of OpenAPI documents.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// Complete document in OpenAPI 3.1
    Complete,
    /// OpenAPI 3.1 document for client generators
    Client,
    /// OpenAPI 3.0 document for client generators
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
        output::text(text.map_err(CommandError::OpenApi)?)
    }
}
