//! The commands that archive months of the history and of usage, and remove them from the database.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use storage::archive::{Archive, ArchiveError, ArchivedMonth, Kind, Month, MonthReport};
use storage::store::Store;

use super::values::{month, whole};
use super::{CommandError, Database};
use crate::cli::output;

#[derive(Debug, Subcommand)]
pub(super) enum ArchiveCommand {
    /// List the months of the history and of usage: entries, size, and when they were archived and removed
    List(List),
    /// Write months to files of a folder, one for each month; a running server goes on meanwhile
    ///
    /// A month that is archived already is left out, so the same command can be given again at any time. Nothing is removed.
    /// The files hold personal data; docs/operations.md says what is in them.
    Write(Months),
    /// Remove months from the database that are archived; a running server goes on meanwhile
    ///
    /// The file of each month must be in the folder, with the digest that was recorded, and the database must have no other
    /// entries of the month. Months that are not archived stay. A removal that was interrupted is ended by the same command.
    Remove(Months),
}

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    database: Database,
}

#[derive(Debug, Args)]
pub(super) struct Months {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    end: End,
    /// What to take [default: both]
    #[arg(long, value_name = "KIND", env = "REGISTER_KIND", value_enum)]
    kind: Option<KindArgument>,
}

/// The folder of the files.
#[derive(Debug, Clone, Args)]
pub(super) struct Folder {
    /// Folder with the files of archived months
    #[arg(long = "archive", id = "archive", value_name = "DIR", env = "REGISTER_ARCHIVE", required = true)]
    pub(super) path: PathBuf,
}

/// The folder of the files, where removed months are to be read too.
#[derive(Debug, Clone, Args)]
pub(super) struct OptionalFolder {
    /// Folder with the files of archived months
    #[arg(long = "archive", id = "archive", value_name = "DIR", env = "REGISTER_ARCHIVE")]
    pub(super) path: Option<PathBuf>,
}

/// Up to which month.
#[derive(Debug, Clone, Copy, Args)]
#[group(required = true, multiple = false)]
struct End {
    /// Take the months before this one
    #[arg(long, value_name = "YYYY-MM", env = "REGISTER_BEFORE", value_parser = month)]
    before: Option<Month>,
    /// Take what is older than so many whole months, the present one not counted
    #[arg(long, value_name = "MONTHS", env = "REGISTER_OLDER_THAN", value_parser = whole::<u32>)]
    older_than: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KindArgument {
    /// What was changed in trainees
    History,
    /// What tokens asked for
    Usage,
}

const HEADINGS: [&str; 8] =
    ["kind", "month", "entries", "characters", "archived_entries", "archived_bytes", "archived_at", "removed_at"];

impl ArchiveCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::List(list) => list.run(),
            Self::Write(months) => months
                .run("archived", |archive, kind, before, folder, report| archive.archive(kind, before, folder, report)),
            Self::Remove(months) => months
                .run("removed", |archive, kind, before, folder, report| archive.remove(kind, before, folder, report)),
        }
    }
}

impl List {
    fn run(self) -> Result<(), CommandError> {
        let store = self.database.open_unrecorded()?;
        let months = Archive::of(&store)?.months()?;
        output::table(HEADINGS, &months.iter().map(cells).collect::<Vec<_>>())
    }
}

fn cells(report: &MonthReport) -> [String; 8] {
    let archived = |text: fn(&ArchivedMonth) -> String| report.archived.as_ref().map(text).unwrap_or_default();
    let time = |at: DateTime<Utc>| at.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    let removed = |month: &ArchivedMonth| match (month.removed_at, month.removal_begun_at) {
        (Some(at), _) => time(at),
        (None, Some(_)) => "begun".to_owned(),
        (None, None) => String::new(),
    };
    [
        report.kind.to_string(),
        report.month.to_string(),
        report.entries.to_string(),
        report.characters.to_string(),
        archived(|month| month.entries.to_string()),
        archived(|month| month.bytes.to_string()),
        report.archived.as_ref().map(|month| time(month.archived_at)).unwrap_or_default(),
        report.archived.as_ref().map(removed).unwrap_or_default(),
    ]
}

impl End {
    fn month(self, store: &Store) -> Month {
        let present = Month::of(store.now().date_naive());
        self.before.unwrap_or_else(|| present.earlier(self.older_than.unwrap_or_default()))
    }
}

impl Months {
    fn run(
        self,
        done: &str,
        work: impl Fn(&mut Archive<'_>, Kind, Month, &Path, &mut dyn FnMut(&ArchivedMonth)) -> Result<(), ArchiveError>,
    ) -> Result<(), CommandError> {
        let store = self.database.open_to_write()?;
        let before = self.end.month(&store);
        let mut archive = Archive::of(&store)?;
        let chosen = self.kind.map(|kind| match kind {
            KindArgument::History => Kind::History,
            KindArgument::Usage => Kind::Usage,
        });
        let mut months = 0;
        let mut printed = Ok(());
        for kind in Kind::ALL.into_iter().filter(|kind| chosen.is_none_or(|chosen| chosen == *kind)) {
            work(&mut archive, kind, before, &self.folder.path, &mut |month| {
                months += 1;
                if printed.is_ok() {
                    printed = output::line(format_args!("{done} {}  entries {}", month.file_name(), month.entries));
                }
            })?;
        }
        printed?;
        eprintln!("months {done}: {months}");
        Ok(())
    }
}
