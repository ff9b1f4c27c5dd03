//! Printing the OpenAPI document of a version.

use clap::Args;
use domain::Lists;

use super::{CommandError, served};
use crate::cli::output;

#[derive(Debug, Args)]
pub(in crate::cli) struct OpenApi {
    /// The version, such as the newest one that `serve` names
    #[arg(value_name = "VERSION")]
    version: String,
}

impl OpenApi {
    pub(super) fn run(self) -> Result<(), CommandError> {
        output::text(crate::endpoints::openapi::written(served(&self.version)?, Lists::embedded()))
    }
}
