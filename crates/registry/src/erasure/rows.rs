//! The list of erasures as a file. Operators read it back to repeat erasures after restoring a
//! backup.

use chrono::{DateTime, Utc};
use domain::commands::erasure::{MAX_GROUND_CHARS, ground};
use domain::values::iso_8601::timestamp;
use storage::records::erasure::{Erasure, ErasureOrder};

use crate::import::{Importable, Row, RowProblem};

/// The columns, in their order in the file.
pub const HEADINGS: [&str; 6] = [
    TRAINEE_ID,
    PROVIDER,
    ERASED_AT,
    BY,
    GROUND,
    "entries_removed",
];

const TRAINEE_ID: &str = "trainee_id";
const PROVIDER: &str = "provider";
const ERASED_AT: &str = "erased_at";
const BY: &str = "by";
const GROUND: &str = "ground";

/// The cells of an erasure.
#[must_use]
pub fn cells(erasure: &Erasure) -> [String; 6] {
    let Erasure {
        trainee_id,
        ukprn,
        erased_at,
        by,
        ground,
        entries,
    } = erasure.clone();
    [
        trainee_id,
        ukprn,
        timestamp(erased_at),
        by,
        ground,
        entries.to_string(),
    ]
}

/// An erasure to repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureRow {
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The person who ordered the erasure, its time and its reason.
    pub order: ErasureOrder,
}

impl From<Erasure> for ErasureRow {
    fn from(
        Erasure {
            trainee_id,
            ukprn,
            erased_at,
            by,
            ground,
            ..
        }: Erasure,
    ) -> Self {
        Self {
            ukprn,
            trainee_id,
            order: ErasureOrder {
                by,
                ground,
                erased_at: Some(erased_at),
            },
        }
    }
}

impl Importable for ErasureRow {
    const COLUMNS: &'static [&'static str] = &[TRAINEE_ID, PROVIDER, ERASED_AT, BY, GROUND];

    fn from_row(row: &Row<'_>) -> Result<Self, RowProblem> {
        let text = |column| row.text(column).ok_or(RowProblem::Blank(column));
        let erased_at: DateTime<Utc> = text(ERASED_AT)?
            .parse()
            .map_err(|_| RowProblem::BadTimestamp(ERASED_AT))?;
        let too_long = |_| RowProblem::TooLong {
            column: GROUND,
            max: MAX_GROUND_CHARS,
        };
        let ground = ground(&text(GROUND)?).map_err(too_long)?;
        let order = ErasureOrder {
            by: text(BY)?,
            ground,
            erased_at: Some(erased_at),
        };
        Ok(Self {
            ukprn: text(PROVIDER)?,
            trainee_id: text(TRAINEE_ID)?,
            order,
        })
    }
}
