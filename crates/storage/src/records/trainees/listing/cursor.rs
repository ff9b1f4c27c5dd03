//! Follows a list page by page, so that no trainee is missed although others change meanwhile.
//!
//! A page number counts from the beginning of a list, where every change puts a trainee: what
//! changes between two pages pushes others over the edge of a page. A cursor names the last trainee
//! of a page instead. It also holds what the first page saw of all changes. A trainee that has not
//! changed since keeps its place and is shown when the client comes there. One that has changed is
//! left out, wherever it is now, and shown at the end: the client follows the list once more,
//! through the changes alone, and so on until they fit on a page.

use chrono::{DateTime, NaiveDateTime};
use database::connection::DatabaseConnection;
use domain::listing::{Listing, MAX_PER_PAGE};
use serde::{Deserialize, Serialize};

use super::finding::{self, Listed};
use super::query::ProviderListing;
use crate::error::StorageError;
use crate::records::change_generation::Generation;
use crate::records::change_position::{Snapshot, Standing, queue_standing};
use crate::records::trainees::TraineeDocument;
use crate::session::ProviderSession;

/// Where the next page of a list begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListCursor {
    /// In which the positions mean something.
    generation: Generation,
    /// What the page saw that began this passage.
    snapshot: Snapshot,
    passage: Passage,
}

/// What a client goes through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Passage {
    /// The list, in its order.
    ProviderListing {
        /// When the last trainee was changed, in milliseconds since 1970.
        updated_at: i64,
        key: i64,
    },
    /// What has changed since the passage before it began, in the order of the changes.
    Changes {
        since: Snapshot,
        position: i64,
        key: i64,
    },
}

/// A page of a list that was reached by a cursor.
#[derive(Debug)]
pub struct CursorPage {
    /// The trainees on the page; there may be none.
    pub trainees: Vec<TraineeDocument>,
    /// Where the next page begins, unless this is the last one.
    pub next: Option<ListCursor>,
}

impl ListCursor {
    /// Behind the last trainee of a page.
    pub(super) fn from_last_trainee(last: &Listed, standing: Standing) -> Option<Self> {
        let updated_at = last.updated_at?.and_utc().timestamp_millis();
        let Standing {
            snapshot,
            generation,
            ..
        } = standing;
        Some(Self {
            generation,
            snapshot,
            passage: Passage::ProviderListing {
                updated_at,
                key: last.document.key,
            },
        })
    }
}

impl Passage {
    /// Through what has changed since a passage began that saw so much.
    fn changes_since(since: Snapshot) -> Self {
        Self::Changes {
            position: since.oldest_open,
            key: i64::MIN,
            since,
        }
    }

    /// The same behind a trainee.
    fn moved_behind(self, last: Option<&Listed>) -> Self {
        let Some(Listed {
            updated_at,
            changed_in,
            document,
        }) = last
        else {
            return self;
        };
        match self {
            Self::ProviderListing {
                updated_at: before, ..
            } => Self::ProviderListing {
                updated_at: updated_at.map_or(before, |time| time.and_utc().timestamp_millis()),
                key: document.key,
            },
            Self::Changes { since, .. } => Self::Changes {
                since,
                position: *changed_in,
                key: document.key,
            },
        }
    }

    /// The next trainees, not more than `most`. A passage through the list has also those that it
    /// is not to show.
    fn next(
        &self,
        connection: &mut DatabaseConnection,
        list: ProviderListing<'_>,
        most: i64,
    ) -> Result<Vec<Listed>, StorageError> {
        match self {
            Self::ProviderListing { updated_at, key } => {
                let place = (time_of(*updated_at), *key);
                finding::load_after(connection, list, place, most)
            }
            Self::Changes {
                since,
                position,
                key,
            } => finding::changed(connection, list, (since, *position, *key), most),
        }
    }
}

impl ProviderSession<'_> {
    /// The page of a list that begins at a cursor. Its trainees and those of all pages before it
    /// are all that the list shows. `None` when the cursor is of another generation.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn continue_list(
        &mut self,
        listing: &Listing,
        cursor: ListCursor,
    ) -> Result<Option<CursorPage>, StorageError> {
        let list = ProviderListing {
            provider: self.provider().id,
            listing,
            today: self.today(),
        };
        let standing = queue_standing(self.connection)?;
        let listed = cursor
            .passage
            .next(self.connection, list, listing.per_page)?;
        let present = standing(self.connection)?;
        if !cursor.generation.is_current(&present.generation)? {
            return Ok(None);
        }
        let ListCursor {
            generation,
            snapshot,
            passage,
        } = cursor;
        let is_end = has_fewer(&listed, listing.per_page);
        let shows = |one: &Listed| snapshot.sees(one.changed_in);
        let reached = passage.clone().moved_behind(listed.last());
        let mut shown: Vec<Listed> = listed.into_iter().filter(shows).collect();
        if !is_end {
            let passage = reached;
            return Ok(Some(CursorPage::new(
                shown,
                Some(ListCursor {
                    generation,
                    snapshot,
                    passage,
                }),
            )));
        }
        // What has changed since this passage began is on the same page, if there is room for all
        // of it.
        let room = usize::try_from(listing.per_page)
            .unwrap_or(usize::MAX)
            .saturating_sub(shown.len());
        let start = Passage::changes_since(snapshot);
        let (mut place, mut changed) = (start.clone(), Vec::new());
        loop {
            let found = place.next(self.connection, list, MAX_PER_PAGE)?;
            let is_all = has_fewer(&found, MAX_PER_PAGE);
            place = place.moved_behind(found.last());
            changed.extend(found);
            if is_all || changed.len() > room {
                break;
            }
        }
        let fits = changed.len() <= room;
        changed.truncate(room);
        let passage = start.moved_behind(changed.last());
        shown.extend(changed);
        let next = ListCursor {
            generation,
            snapshot: present.snapshot,
            passage,
        };
        Ok(Some(CursorPage::new(shown, (!fits).then_some(next))))
    }
}

impl CursorPage {
    fn new(listed: Vec<Listed>, next: Option<ListCursor>) -> Self {
        Self {
            trainees: listed.into_iter().map(|one| one.document).collect(),
            next,
        }
    }
}

fn has_fewer(listed: &[Listed], than: i64) -> bool {
    i64::try_from(listed.len()).is_ok_and(|found| found < than)
}

fn time_of(milliseconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp_millis(milliseconds)
        .unwrap_or_default()
        .naive_utc()
}
