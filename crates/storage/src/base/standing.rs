//! The standing of a provider: the position of its last change, and the generation of positions.
//!
//! A promoted standby may lack the last changes of its former primary and may give their positions to
//! other changes. The generation therefore includes the timeline of the server, which changes on
//! promotion.

use database::connection::fixed_expression::fixed_expressions;
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};

use crate::error::StorageError;
use crate::schema::provider_positions;

/// The scope of positions: positions are comparable within one generation only.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Generation {
    /// The generation recorded in the register.
    pub(crate) register: String,
    /// The timeline of the PostgreSQL server; empty on SQLite.
    pub(crate) timeline: String,
}

impl Generation {
    /// Whether positions of this generation are valid in the present one.
    ///
    /// # Errors
    ///
    /// [`StorageError::CursorOnStandby`] on a standby of the same register: the timeline of a
    /// standby is unknown.
    pub(crate) fn is_current(&self, present: &Self) -> Result<bool, StorageError> {
        if present.timeline == STANDBY && self.register == present.register {
            return Err(StorageError::CursorOnStandby);
        }
        Ok(self == present)
    }
}

/// What a transaction sees of a provider's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The position of the last change.
    pub(crate) position: i64,
    /// The generation of the positions.
    pub(crate) generation: Generation,
}

impl Standing {
    /// The standing as a text that differs from every other standing.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Generation { register, timeline } = &self.generation;
        format!("{register} {timeline} {}", self.position)
    }
}

/// Position, and the parts of the generation.
pub(crate) type StandingRow = (i64, String, String);

/// The columns of [`StandingRow`].
pub(crate) const STANDING: (provider_positions::position, GenerationText, Timeline) =
    (provider_positions::position, GenerationText, Timeline);

impl From<StandingRow> for Standing {
    fn from((position, register, timeline): StandingRow) -> Self {
        let generation = Generation { register, timeline };
        Self {
            position,
            generation,
        }
    }
}

/// The name used for the timeline of a standby. PostgreSQL does not report it: a standby may follow
/// a server of another timeline.
const STANDBY: &str = "standby";

fixed_expressions! {
    /// The recorded generation; empty when none is recorded.
    pub(crate) GenerationText: Text = GENERATION_SQL, sqlite: GENERATION_SQL;
    /// The timeline of a PostgreSQL server, which changes when a standby is promoted; empty on
    /// SQLite.
    pub(crate) Timeline: Text =
        "CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END",
        sqlite: "''";
}

/// The SQL of [`GenerationText`].
const GENERATION_SQL: &str =
    "coalesce((SELECT value FROM register_settings WHERE name = 'change_generation'), '')";

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(register: &str, timeline: &str) -> Generation {
        Generation {
            register: register.to_owned(),
            timeline: timeline.to_owned(),
        }
    }

    #[test]
    fn generation_of_other_register_is_not_current() {
        let present = generation("abcd 12", "00000002");
        assert!(present.is_current(&present).unwrap());
        for (register, timeline) in [
            ("efgh 12", "00000002"),
            ("abcd 12", "00000001"),
            ("abcd 12", STANDBY),
        ] {
            assert!(
                !generation(register, timeline).is_current(&present).unwrap(),
                "{register} {timeline}"
            );
        }
    }

    #[test]
    fn generation_on_standby_is_unknown() {
        let present = generation("abcd 12", STANDBY);
        for timeline in ["00000001", STANDBY] {
            let unknown = generation("abcd 12", timeline).is_current(&present);
            assert!(
                matches!(unknown, Err(StorageError::CursorOnStandby)),
                "{timeline}: {unknown:?}"
            );
        }
        assert!(!generation("efgh 12", STANDBY).is_current(&present).unwrap());
    }
}
