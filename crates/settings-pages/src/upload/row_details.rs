//! What the result of a row says, as it is sealed and shown.

use std::fmt;

use adapter_kit::Endpoint;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use storage::accounts::uploads::{UploadResult, UploadRowKind, UploadStage};
use trainee_file::Remedy;

use crate::upload::sealing::{SealError, UploadKey};

/// The line of the result about the whole file. Lines of rows begin at 1.
pub(crate) const FILE_LINE: i64 = 0;

/// The details of the result of a row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RowDetails {
    /// The key that the provider has given the trainee, or else its identifier; may be blank.
    pub(crate) name: String,
    /// The trainee to change; `None` for a registration.
    pub(crate) trainee_id: Option<String>,
    /// The entity tag of the trainee that was compared.
    pub(crate) etag: Option<String>,
    /// The requests of an accepted row, in order.
    pub(crate) requests: Vec<StoredRequest>,
    /// The fields that change.
    pub(crate) changes: Vec<CellChange>,
    /// What the register says about the values of an accepted row, such as that one is not stored as
    /// it is in the file.
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    /// The reasons for refusing the row.
    pub(crate) problems: Vec<CellProblem>,
    /// The cells of a refused row, as they were checked.
    pub(crate) cells: Vec<String>,
}

/// A request of a row, sealed by the check until it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRequest {
    #[serde(with = "endpoint_name")]
    pub(crate) endpoint: Endpoint,
    /// The identifier of the trainee in the path; empty for a registration.
    pub(crate) trainee_id: String,
    /// The identifier of the nested record in the path; empty if there is none.
    pub(crate) nested_id: String,
    /// The body; empty for a request that reads.
    pub(crate) body: String,
    /// The entity tag of the nested record that was checked.
    pub(crate) if_match: Option<String>,
    pub(crate) idempotency_key: String,
    /// The beginning of the names of the columns of a nested record, such as `placements.1.`; empty
    /// for the trainee.
    pub(crate) columns: String,
}

/// Writes an endpoint as its name.
mod endpoint_name {
    use adapter_kit::Endpoint;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(endpoint: &Endpoint, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(endpoint.name())
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Endpoint, D::Error> {
        let name = String::deserialize(from)?;
        let mut endpoints = Endpoint::ALL.iter().copied();
        let found = endpoints.find(|endpoint| endpoint.name() == name);
        found.ok_or_else(|| D::Error::custom("unknown endpoint"))
    }
}

/// A field that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CellChange {
    /// The heading of the column.
    pub(crate) heading: String,
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A problem of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CellProblem {
    /// The heading of the column, or the name of a field without one; blank for the whole row.
    pub(crate) heading: String,
    pub(crate) words: String,
}

impl fmt::Display for CellProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.heading.is_empty() {
            formatter.write_str(&self.words)
        } else {
            write!(formatter, "{}: {}", self.heading, self.words)
        }
    }
}

/// What a check found of the whole file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FileDetails {
    /// The columns that a spreadsheet has changed.
    pub(crate) proposals: Vec<Proposal>,
    /// The lines of rows with fewer cells than headings.
    pub(crate) short_rows: Vec<u64>,
}

/// A proposal to repair the cells of a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Proposal {
    /// The name of the repair in forms, and in the list of accepted repairs.
    pub(crate) name: String,
    /// The heading of the column.
    pub(crate) heading: String,
    /// What happened.
    pub(crate) sentence: String,
    /// The number of cells.
    pub(crate) cells: usize,
    /// What can be done about the cells.
    pub(crate) remedy: StoredRemedy,
    /// Cells as they are, and as they become.
    pub(crate) examples: Vec<(String, String)>,
}

/// A [`Remedy`], as it is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StoredRemedy {
    Repair,
    ChooseDateOrder,
    Correct,
}

impl From<Remedy> for StoredRemedy {
    fn from(remedy: Remedy) -> Self {
        match remedy {
            Remedy::Repair => Self::Repair,
            Remedy::ChooseDateOrder => Self::ChooseDateOrder,
            Remedy::Correct => Self::Correct,
        }
    }
}

/// Seals the details of the result of a line.
pub(crate) fn seal_result(
    key: &UploadKey,
    (upload, stage): (i64, UploadStage),
    (line, kind): (i64, UploadRowKind),
    details: &impl Serialize,
) -> Result<UploadResult, SealError> {
    // Texts and lists of texts are always JSON.
    let plain = serde_json::to_vec(details).unwrap_or_default();
    Ok(UploadResult {
        line,
        kind,
        content: key.seal(upload, &place(stage, line), &plain)?,
    })
}

/// The details of a result; the default ones if they cannot be read, for pages that only show them.
pub(crate) fn open_result<T: Default + DeserializeOwned>(
    key: &UploadKey,
    place: (i64, UploadStage),
    result: &UploadResult,
) -> T {
    read_result(key, place, result).unwrap_or_default()
}

/// The details of a result; `None` if it was sealed with another key or is damaged.
pub(crate) fn read_result<T: DeserializeOwned>(
    key: &UploadKey,
    (upload, stage): (i64, UploadStage),
    result: &UploadResult,
) -> Option<T> {
    let plain = key.open(upload, &place(stage, result.line), &result.content)?;
    serde_json::from_slice(&plain).ok()
}

fn place(stage: UploadStage, line: i64) -> String {
    format!("{} of line {line}", stage.name())
}
