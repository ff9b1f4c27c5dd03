//! The command that prints the history of a trainee.

use std::fmt;

use clap::Args;
use domain::values::iso_8601::timestamp;
use storage::records::erasure::Erasure;
use storage::records::history::{Entry, TraineeHistory};

use crate::cli::values::trainee_id;
use crate::cli::{CommandError, Database, output};

#[derive(Debug, Args)]
#[command(after_help = "Example: trainee-register audit Fs4G74pwBJ1WWa15FMzZsQKn")]
pub(crate) struct Audit {
    #[command(flatten)]
    database: Database,
    /// Identifier of the trainee
    #[arg(value_parser = trainee_id)]
    trainee_id: String,
}

impl Audit {
    /// Prints the history. Fails if no trainee has the identifier.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let Self {
            database,
            trainee_id,
        } = self;
        let id = trainee_id.clone();
        let history = database
            .open()?
            .read_blocking(move |session| session.history_of(&id))?;
        let history = history.ok_or(CommandError::UnknownTrainee(trainee_id))?;
        output::text(Printed(&history))
    }
}

/// A history in its printed form.
struct Printed<'a>(&'a TraineeHistory);

impl fmt::Display for Printed<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(history) = self;
        writeln!(
            formatter,
            "trainee {} of provider {}",
            history.trainee_id, history.ukprn
        )?;
        if let Some(Erasure {
            erased_at,
            by,
            ground,
            entries,
            ..
        }) = &history.erasure
        {
            let at = timestamp(*erased_at);
            writeln!(
                formatter,
                "erased {at} by {by}: {ground}; history entries removed: {entries}"
            )?;
        }
        if let Some(day) = history.removed_before {
            writeln!(formatter, "\nentries before {day} were removed")?;
        }
        if history.entries.is_empty() {
            writeln!(formatter, "\nentries: {}", output::EMPTY)?;
        }
        for entry in &history.entries {
            writeln!(formatter, "\n{}", heading(entry))?;
            let width = entry
                .fields
                .iter()
                .map(|field| field.path.chars().count())
                .max()
                .unwrap_or_default();
            for field in &entry.fields {
                writeln!(
                    formatter,
                    "  {:width$}  {} -> {}",
                    field.path,
                    field.before(),
                    field.after()
                )?;
            }
        }
        Ok(())
    }
}

/// The heading of an entry: time, operation, version, token or user, and request.
fn heading(entry: &Entry) -> String {
    let mut text = format!("{}  {}", timestamp(entry.changed_at), entry.operation);
    if let Some(version) = &entry.version {
        text.push_str(&format!("  {version}"));
    }
    text.push_str(&match (&entry.token, &entry.by) {
        (Some((id, name)), _) => format!("  token {id} ({name})"),
        (None, Some(by)) => format!("  by {by}"),
        // The change came from the server, or the entry is older than the record of users.
        (None, None) => "  operator".to_owned(),
    });
    if let Some(request_id) = &entry.request_id {
        text.push_str(&format!("  request {request_id}"));
    }
    text
}
