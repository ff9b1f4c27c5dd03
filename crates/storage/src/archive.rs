//! Months of the history, and of the counts of usage, that are written to files and then removed from the database.
//!
//! A month is one file of JSON Lines, an entry a line. It gets its name when it is whole and on the disk; the database
//! records its digest ([`ArchivedMonth`]) in the transaction in which it gets the name. A month is removed only when its
//! file still has that digest and the database has no other entries of it, so whatever is interrupted can be done again:
//! nothing is lost, and nothing is there twice.
//!
//! Each line of the history begins with the identifier of its trainee, and lines do not depend on each other: when a trainee is
//! erased, the files are written again without those lines (`erasing.rs`).
//!
//! This module works on a connection of its own, since it may take long; no transaction of it does.

mod erasing;
mod file;
mod history;
mod line;
mod manifest;
mod month;
mod reading;
mod usage;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, thread};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

pub use self::erasing::ArchiveFiles;
pub use self::manifest::ArchivedMonth;
pub(crate) use self::manifest::removed_history;
pub use self::month::{Month, NoMonth};
pub use self::reading::ArchivedEntries;
pub(crate) use self::reading::read_entries;
use crate::connection::{Access, DatabaseConnection};
use crate::error::StorageError;
use crate::store::Store;

/// For so long a month must be over: until then servers may add to it, whose clocks differ a little, or that wait to write.
const MARGIN: TimeDelta = TimeDelta::hours(1);
/// How long others can write between two transactions that remove entries.
const PAUSE: Duration = Duration::from_millis(20);

/// What is archived by month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The history: what was changed in trainees.
    History,
    /// What tokens asked for, counted by day.
    Usage,
}

impl Kind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::History, Self::Usage];

    /// The name by which the database and files know it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Usage => "usage",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name of the file of a month.
    #[must_use]
    pub fn file_name(self, month: Month) -> String {
        format!("{}-{month}.jsonl", self.name())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why a month was not archived, not removed, or not read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A file could not be read or written.
    #[error("{}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder to write to is absent. One that was made there might be on another disk than the one that was meant.
    #[error("the folder {} does not exist; make it, or name another one", .0.display())]
    NoFolder(PathBuf),
    /// A month is yet to end.
    #[error("{0} is not over: months before it can be archived and removed")]
    NotOver(Month),
    /// Another file has the name.
    #[error("{} is there already and holds something else: move it away, or use another folder", .0.display())]
    Exists(PathBuf),
    /// A month was archived into another folder.
    #[error("{} is missing: it was archived, and this is not its folder, or it was moved away", .0.display())]
    Missing(PathBuf),
    /// A file is not what was archived.
    #[error("{} is not what was archived: its SHA-256 is another one", .0.display())]
    Differs(PathBuf),
    /// An unfinished file may hold entries of erased trainees.
    #[error(
        "{} is being written by another command, or cannot be locked or removed, and may hold entries of those who are erased: \
         give the same command again when the other one has ended, or remove the file when there is none",
        .0.display()
    )]
    Unfinished(PathBuf),
    /// A line of a file is no entry.
    #[error("{}, line {line}: no entry of an archive", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: u64,
    },
    /// The database has other entries of a month than its file.
    #[error(
        "{kind} of {month} is not as it was archived, or another command works on it: archive it again, then remove it"
    )]
    Changed {
        /// Of what.
        kind: Kind,
        /// The month.
        month: Month,
    },
}

/// What a month comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthReport {
    /// Of what.
    pub kind: Kind,
    /// The month.
    pub month: Month,
    /// How many entries the database has.
    pub entries: i64,
    /// How many characters they hold, roughly; only of the history.
    pub characters: i64,
    /// What was archived, where it was.
    pub archived: Option<ArchivedMonth>,
}

/// Archives and removes months of a register.
pub struct Archive<'a> {
    store: &'a Store,
    connection: DatabaseConnection,
}

impl<'a> Archive<'a> {
    /// For the register of a store.
    ///
    /// # Errors
    ///
    /// When the database cannot be reached.
    pub fn of(store: &'a Store) -> Result<Self, StorageError> {
        Ok(Self { store, connection: store.own_connection()? })
    }

    /// Whether any month of the history is in a file.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn has_history(&mut self) -> Result<bool, StorageError> {
        Ok(!manifest::of_kind(&mut self.connection, Kind::History)?.is_empty())
    }

    /// The months that the database has, or had, oldest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn months(&mut self) -> Result<Vec<MonthReport>, StorageError> {
        let mut months = Vec::new();
        for kind in Kind::ALL {
            let mut archived = manifest::of_kind(&mut self.connection, kind)?;
            // As far as dates are compared as texts.
            let end = NaiveDate::from_ymd_opt(9999, 12, 31).unwrap_or(NaiveDate::MAX).into();
            let found = match kind {
                Kind::History => history::counts(&mut self.connection, end)?,
                Kind::Usage => usage::counts(&mut self.connection, end)?,
            };
            let mut of_kind: Vec<_> = found
                .into_iter()
                .map(|(month, count)| {
                    let at = archived.iter().position(|one| one.month == month);
                    let archived = at.map(|at| archived.swap_remove(at));
                    MonthReport { kind, month, entries: count.entries, characters: count.characters, archived }
                })
                .collect();
            of_kind.extend(archived.into_iter().map(|one| MonthReport {
                kind,
                month: one.month,
                entries: 0,
                characters: 0,
                archived: Some(one),
            }));
            of_kind.sort_unstable_by_key(|report| report.month);
            months.extend(of_kind);
        }
        Ok(months)
    }

    /// Writes the months before another one to files of a folder, those that are not there yet, and returns them. A month that
    /// has other entries than were archived, or none any more, and is not removed, is archived again. Files that commands left
    /// unfinished are removed from the folder.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]. What was archived stays so, and the same call goes on there.
    pub fn archive(
        &mut self,
        kind: Kind,
        before: Month,
        folder: &Path,
        mut report: impl FnMut(&ArchivedMonth),
    ) -> Result<(), ArchiveError> {
        self.require_over(before)?;
        if !folder.is_dir() {
            return Err(ArchiveError::NoFolder(folder.to_owned()));
        }
        file::remove_leftovers(folder)?;
        let archived = manifest::of_kind(&mut self.connection, kind)?;
        let mut counts = match kind {
            Kind::History => history::counts(&mut self.connection, before.begin())?,
            Kind::Usage => usage::counts(&mut self.connection, before.begin())?,
        };
        for known in archived.iter().filter(|one| one.month < before) {
            // All of its entries may have been of trainees who are erased.
            counts.entry(known.month).or_insert(history::Count::NONE);
        }
        if kind == Kind::Usage {
            // Of older ones the servers may have removed a part already.
            let first = Month::of(self.now().date_naive() - TimeDelta::days(crate::usage::KEPT_DAYS)).next();
            counts.retain(|month, _| *month >= first);
        }
        for (month, count) in counts {
            let known = archived.iter().find(|one| one.month == month);
            if let Some(known) = known
                && (known.removal_begun_at.is_some() || self.is_archived(known, count, folder)?)
            {
                continue;
            }
            let mut draft = file::Draft::begin(folder)?;
            match kind {
                Kind::History => history::write(&mut self.connection, month, count, &mut draft)?,
                Kind::Usage => usage::write(&mut self.connection, month, &mut draft)?,
            }
            draft.sync()?;
            let now = self.now();
            // The file gets its name once nobody else can begin the removal of the month, which may need the file before.
            let month = self.write_transaction(|connection| {
                let recorded = manifest::record(connection, (kind, month), known, &draft.done(), now)?;
                draft.finish(&folder.join(kind.file_name(month)), known.map(|known| known.digest.as_str()))?;
                Ok::<_, ArchiveError>(recorded)
            })?;
            report(&month);
        }
        Ok(())
    }

    /// Whether the folder has the file of a month, and the database what was archived.
    fn is_archived(
        &mut self,
        month: &ArchivedMonth,
        count: history::Count,
        folder: &Path,
    ) -> Result<bool, ArchiveError> {
        if !folder.join(month.file_name()).is_file() {
            return Ok(false);
        }
        match month.kind {
            Kind::History => Ok(month.has_count(count)),
            Kind::Usage => usage::is_as_archived(&mut self.connection, month),
        }
    }

    /// Removes the months before another one from the database, of those that are archived, and returns them. Each file must
    /// be in the folder and be what was archived. Files that commands left unfinished are removed from the folder.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]. What was removed stays so, and the same call goes on there.
    pub fn remove(
        &mut self,
        kind: Kind,
        before: Month,
        folder: &Path,
        mut report: impl FnMut(&ArchivedMonth),
    ) -> Result<(), ArchiveError> {
        self.require_over(before)?;
        file::remove_leftovers(folder)?;
        let archived = manifest::of_kind(&mut self.connection, kind)?;
        for mut month in archived.into_iter().filter(|one| one.month < before && one.removed_at.is_none()) {
            file::verify(&folder.join(month.file_name()), &month)?;
            match kind {
                Kind::History => self.remove_history(&mut month)?,
                Kind::Usage => self.remove_usage(&mut month)?,
            }
            report(&month);
        }
        Ok(())
    }

    fn require_over(&self, before: Month) -> Result<(), ArchiveError> {
        let present = Month::of((self.now() - MARGIN).date_naive());
        if before > present { Err(ArchiveError::NotOver(present)) } else { Ok(()) }
    }

    fn now(&self) -> DateTime<Utc> {
        self.store.now()
    }

    /// Runs a transaction that writes.
    fn write_transaction<T, E: From<StorageError>>(
        &mut self,
        job: impl FnOnce(&mut DatabaseConnection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.connection.begin(Access::Write).map_err(StorageError::from)?;
        match job(&mut self.connection) {
            Ok(answer) => {
                self.connection.commit().map_err(StorageError::from)?;
                Ok(answer)
            }
            Err(error) => {
                // What cannot be rolled back is not committed either.
                let _ = self.connection.roll_back();
                Err(error)
            }
        }
    }

    /// Removes entries in as many transactions as it takes, between which others write. `remove` removes some behind a key,
    /// and returns the last key that it has looked at.
    fn remove_in_batches(
        &mut self,
        mut remove: impl FnMut(&mut DatabaseConnection, Option<i64>) -> Result<Option<i64>, StorageError>,
    ) -> Result<(), StorageError> {
        let mut last = None;
        loop {
            last = self.write_transaction(|connection| remove(connection, last))?;
            if last.is_none() {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests;
