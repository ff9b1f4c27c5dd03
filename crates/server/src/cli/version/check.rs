//! The comparison of the served versions with their contracts.

use std::fs;
use std::path::PathBuf;

use adapter_kit::Label;
use adapter_kit::lifecycle::Removed;
use clap::Args;
use domain::Lists;
use version_tools::compatibility::Outcome;
use version_tools::difference::Change;
use versions::REMOVED;

use super::CommandError;
use crate::cli::output;
use crate::contracts::{self, ContractError, Report};

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Folder with the committed contracts, one subfolder per version, such as `snapshots/`
    #[arg(long, value_name = "DIR", env = "REGISTER_AGAINST")]
    against: PathBuf,
    /// Change log that must mention all additions; a breaking change is accepted if an entry under
    /// a "Breaking changes" heading names its version and subject
    #[arg(long, value_name = "FILE", env = "REGISTER_CHANGE_LOG")]
    change_log: Option<PathBuf>,
}

impl Check {
    /// Compares the versions with their contracts and prints the changes. Fails on breaking changes
    /// that the change log does not announce, and on additions that it does not mention.
    pub(super) fn run(self) -> Result<(), CommandError> {
        let removed: Vec<_> = REMOVED.iter().map(|Removed { label, .. }| *label).collect();
        let report = contracts::check(&self.against, versions::all(), &removed, Lists::embedded())?;
        let change_log = match &self.change_log {
            Some(path) => {
                let unreadable = |source| ContractError::Unreadable {
                    path: path.clone(),
                    source,
                };
                Some(fs::read_to_string(path).map_err(unreadable)?)
            }
            None => None,
        };
        let announced = change_log
            .as_ref()
            .map_or_else(Vec::new, |text| report.announced(text));
        print(&report, &announced)?;
        let unmentioned = change_log
            .as_ref()
            .map_or_else(Vec::new, |text| report.unmentioned(text));
        for (label, subject) in &unmentioned {
            output::line(format_args!(
                "{label}: the change log does not mention {subject}"
            ))?;
        }
        match (report.broken() - announced.len(), unmentioned.len()) {
            (0, 0) => Ok(()),
            (broken, unmentioned) => Err(CommandError::ContractBroken {
                broken,
                unmentioned,
            }),
        }
    }
}

/// Prints a line for each change of a version. `announced` are the accepted breaking changes.
fn print(report: &Report, announced: &[(Label, &Change)]) -> Result<(), CommandError> {
    for (label, outcome) in &report.outcomes {
        match outcome {
            Outcome::Served(changes) if changes.is_empty() => {
                output::line(format_args!("{label}: no breaking changes"))?
            }
            Outcome::Served(changes) => {
                for change in changes {
                    let effect = match change.breaking {
                        true if announced.contains(&(*label, change)) => "breaks, as announced,",
                        true => "BREAKS",
                        false => "adds",
                    };
                    output::line(format_args!("{label} {effect} {change}"))?;
                }
            }
            Outcome::Removed => {
                output::line(format_args!("{label}: removed, and listed as removed"))?
            }
            Outcome::Lost => output::line(format_args!(
                "{label}: BREAKS all clients; neither served nor listed as removed"
            ))?,
        }
    }
    for label in &report.new {
        output::line(format_args!("{label}: new, without a contract"))?;
    }
    Ok(())
}
