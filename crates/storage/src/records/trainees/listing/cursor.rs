//! Cursors of lists. A client that follows the cursors misses no trainee, even if trainees change
//! between two pages.
//!
//! A page number counts from the beginning of a list. A changed trainee moves to the beginning and
//! pushes other trainees over the edges of pages. A cursor therefore names the last trainee of a
//! page, and the last position at the time of the first page:
//!
//! - A trainee without changes since then keeps its place, and the client receives it there.
//! - A trainee with changes since then is skipped. After the end of the list, the client receives
//!   the changed trainees in a new passage, up to the last position at that time. Further passages
//!   follow until the remaining changes fit on one page.

use chrono::{DateTime, NaiveDateTime};
use database::connection::DatabaseConnection;
use domain::listing::{Listing, MAX_PER_PAGE};
use serde::{Deserialize, Serialize};

use super::finding::{self, Listed};
use super::query::ProviderListing;
use crate::base::standing::Generation;
use crate::error::StorageError;
use crate::records::positions::Standing;
use crate::records::trainees::TraineeDocument;
use crate::session::ProviderSession;

/// The start of the next page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListCursor {
    /// The generation of the positions.
    generation: Generation,
    /// The last position at the time of the first page of this passage.
    until: i64,
    passage: Passage,
}

/// One of the passages of a client through a list, and the last trainee of the page before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Passage {
    /// The first passage: the list in its order.
    ProviderListing {
        /// The time of the last trainee's change, in milliseconds since 1970.
        updated_at: i64,
        key: i64,
    },
    /// A later passage: the changes since the passage before, in the order of changes.
    Changes {
        /// Position and key of the last trainee.
        position: i64,
        key: i64,
    },
}

/// A page of a list that starts at a cursor.
#[derive(Debug)]
pub struct CursorPage {
    /// The trainees on the page; there may be none.
    pub trainees: Vec<TraineeDocument>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<ListCursor>,
}

impl ListCursor {
    /// A cursor of the first passage, after the last trainee of a page. Returns `None` when the
    /// trainee has no date of its last change.
    pub(super) fn from_last_trainee(last: &Listed, standing: &Standing) -> Option<Self> {
        let updated_at = last.updated_at?.and_utc().timestamp_millis();
        Some(Self {
            generation: standing.generation.clone(),
            until: standing.position,
            passage: Passage::ProviderListing {
                updated_at,
                key: last.document.key,
            },
        })
    }
}

impl Passage {
    /// A passage through the changes after a position.
    fn changes_after(position: i64) -> Self {
        // No key is greater: the passage begins with the next position.
        let key = i64::MAX;
        Self::Changes { position, key }
    }

    /// Moves the passage to the position after a trainee; without a trainee, leaves it unchanged.
    fn moved_after(self, last: Option<&Listed>) -> Self {
        let Some(Listed {
            updated_at,
            position,
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
            Self::Changes { .. } => Self::Changes {
                position: *position,
                key: document.key,
            },
        }
    }

    /// Loads the next trainees, up to `limit`. The result may contain trainees that have changed
    /// since the first page of the passage.
    fn next(
        &self,
        connection: &mut DatabaseConnection,
        list: ProviderListing<'_>,
        limit: i64,
    ) -> Result<Vec<Listed>, StorageError> {
        match self {
            Self::ProviderListing { updated_at, key } => {
                let place = (time_from_millis(*updated_at), *key);
                finding::load_after(connection, list, place, limit)
            }
            Self::Changes { position, key } => {
                finding::load_changes(connection, list, (*position, *key), limit)
            }
        }
    }

    /// Loads all remaining trainees of the passage, but stops when there are more than `room`.
    fn remaining(
        &self,
        connection: &mut DatabaseConnection,
        list: ProviderListing<'_>,
        room: usize,
    ) -> Result<Vec<Listed>, StorageError> {
        let mut passage = self.clone();
        let mut remaining = Vec::new();
        loop {
            let found = passage.next(connection, list, MAX_PER_PAGE)?;
            let is_all = has_fewer(&found, MAX_PER_PAGE);
            passage = passage.moved_after(found.last());
            remaining.extend(found);
            if is_all || remaining.len() > room {
                return Ok(remaining);
            }
        }
    }
}

impl ProviderSession<'_> {
    /// The page of a list that starts at a cursor. The pages up to the last one together contain
    /// every trainee of the list. Returns `None` when the cursor is of another generation.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn continue_list(
        &mut self,
        listing: &Listing,
        cursor: ListCursor,
        standing: &Standing,
    ) -> Result<Option<CursorPage>, StorageError> {
        if !cursor.generation.is_current(&standing.generation)? {
            return Ok(None);
        }
        let list = ProviderListing {
            provider: self.provider().id,
            listing,
            today: self.today(),
        };
        let ListCursor {
            generation,
            until,
            passage,
        } = cursor;
        let listed = passage.next(self.connection, list, listing.per_page)?;
        let is_end = has_fewer(&listed, listing.per_page);
        let reached = passage.moved_after(listed.last());
        let mut shown: Vec<Listed> = listed
            .into_iter()
            .filter(|found| found.position <= until)
            .collect();
        if !is_end {
            let next = ListCursor {
                generation,
                until,
                passage: reached,
            };
            return Ok(Some(CursorPage::new(shown, Some(next))));
        }
        // The changes since the start of this passage follow on the same page, as far as they fit.
        let room = usize::try_from(listing.per_page)
            .unwrap_or(usize::MAX)
            .saturating_sub(shown.len());
        let changes = Passage::changes_after(until);
        let mut changed = changes.remaining(self.connection, list, room)?;
        let fits = changed.len() <= room;
        changed.truncate(room);
        let next = ListCursor {
            generation,
            until: standing.position,
            passage: changes.moved_after(changed.last()),
        };
        shown.extend(changed);
        Ok(Some(CursorPage::new(shown, (!fits).then_some(next))))
    }
}

impl CursorPage {
    /// The page with the `listed` trainees.
    fn new(listed: Vec<Listed>, next: Option<ListCursor>) -> Self {
        Self {
            trainees: listed.into_iter().map(|found| found.document).collect(),
            next,
        }
    }
}

/// Whether there are fewer trainees than the limit, so that none follow.
fn has_fewer(listed: &[Listed], limit: i64) -> bool {
    i64::try_from(listed.len()).is_ok_and(|found| found < limit)
}

/// The time from milliseconds since 1970; the start of 1970 if they are out of range.
fn time_from_millis(milliseconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp_millis(milliseconds)
        .unwrap_or_default()
        .naive_utc()
}
