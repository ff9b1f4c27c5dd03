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
    /// Version of OpenAPI
    #[arg(long, value_enum, default_value_t = Form::Version31)]
    form: Form,
}

/// The versions of OpenAPI.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// OpenAPI 3.1
    #[value(name = "3.1")]
    Version31,
    /// OpenAPI 3.0, with one form of each value, for client generators
    #[value(name = "3.0")]
    Version30,
}

impl From<Form> for OpenApiDocument {
    fn from(form: Form) -> Self {
        match form {
            Form::Version31 => Self::Version31,
            Form::Version30 => Self::Version30,
        }
    }
}

impl OpenApi {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let text = openapi::written(served(&self.version)?, self.form.into(), Lists::embedded());
        output::text(text.map_err(CommandError::OpenApi)?)
    }
}
