//! Printing the OpenAPI document of a version.

use clap::Args;
use domain::Lists;

use super::{CommandError, served};
use crate::cli::out;

#[derive(Debug, Args)]
pub(in crate::cli) struct OpenApi {
    /// The version, such as the newest one that `serve` names
    #[arg(value_name = "VERSION")]
    version: String,
}

impl OpenApi {
    pub(super) fn run(self) -> Result<(), CommandError> {
        out::text(crate::openapi::written(served(&self.version)?, Lists::embedded()))
    }
}
