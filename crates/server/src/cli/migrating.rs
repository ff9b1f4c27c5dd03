//! The command that moves the schema.

use clap::Args;
use storage::environment::Unrecorded;
use storage::error::StorageError;
use storage::store::Goal;

use super::{CommandError, Database, out};

#[derive(Debug, Args)]
pub(super) struct Migrate {
    #[command(flatten)]
    database: Database,
    /// Go to this migration, such as 2026-01-05-000002, and take back those behind it
    ///
    /// This is the way back to an older program, whose last migration it is; do it with the newer one, and make a backup
    /// first. What only the migrations that are taken back have room for is lost.
    #[arg(long, value_name = "MIGRATION", env = "REGISTER_MIGRATE_TO")]
    to: Option<String>,
}

impl Migrate {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let goal = self.to.as_deref().map_or(Goal::Newest, Goal::Migration);
        let unrecorded = match self.database.expected.environment {
            Some(_) => Unrecorded::RecordRequested,
            None => Unrecorded::Keep,
        };
        let (_, set_up) = self.database.set_up(goal, unrecorded)?;
        let change = set_up.schema;
        change.taken_back.iter().try_for_each(|name| out::line(format_args!("taken back  {name}")))?;
        change.applied.iter().try_for_each(|name| out::line(format_args!("applied     {name}")))?;
        eprintln!("migrations applied: {}; taken back: {}", change.applied.len(), change.taken_back.len());
        match set_up.environment {
            Some(environment) => eprintln!("environment: {environment}"),
            None if self.to.is_none() => eprintln!("{}", StorageError::EnvironmentNotRecorded),
            // The schema to which it went back may have no room for the record.
            None => {}
        }
        Ok(())
    }
}
