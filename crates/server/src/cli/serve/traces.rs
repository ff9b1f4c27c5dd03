//! The options by which requests are traced.

use clap::Args;

use crate::operations::traces::collector::Collector;
use crate::operations::traces::{SampleRatio, Tracer};

use super::CommandError;

#[derive(Debug, Args)]
pub(super) struct TraceOptions {
    /// Collector to which traces are exported by OTLP over HTTP, such as http://127.0.0.1:4318 [default: none]
    #[arg(long, value_name = "URL", env = "REGISTER_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
    /// Share of the requests that are traced, from 0 to 1, where the caller does not say (`traceparent`)
    #[arg(long, value_name = "RATIO", env = "REGISTER_TRACE_SAMPLE_RATIO", default_value = "0.1")]
    trace_sample_ratio: SampleRatio,
}

impl TraceOptions {
    /// Begins to trace, where there is a collector.
    pub(super) fn tracer(&self, environment: String) -> Result<Option<Tracer>, CommandError> {
        let Some(address) = &self.otlp_endpoint else { return Ok(None) };
        // Not read by the parser of the command line, which would show it: there may be a password in it.
        let collector: Collector = address.parse().map_err(CommandError::Collector)?;
        let tracer = Tracer::start(collector.clone(), self.trace_sample_ratio, environment);
        let tracer = tracer.map_err(CommandError::Server)?;
        log::info!("traces are exported to {collector}");
        Ok(Some(tracer))
    }
}
