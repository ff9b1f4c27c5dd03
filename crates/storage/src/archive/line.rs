//! An entry of the history as a line of a file.

use chrono::{DateTime, NaiveDateTime, SecondsFormat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::history::{Entry, fields_of};
use crate::schema::ChangeRow;

/// The fields of a line, in their order. That of the trainee stands first, so that its lines are found without reading the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct HistoryLine {
    pub(super) trainee_id: String,
    pub(super) ukprn: String,
    pub(super) id: i64,
    pub(super) changed_at: String,
    pub(super) token_id: Option<i64>,
    pub(super) token_name: Option<String>,
    pub(super) changed_by: Option<String>,
    pub(super) request_id: Option<String>,
    pub(super) version: Option<String>,
    pub(super) operation: String,
    /// Field to `[old value, new value]`, as it is stored.
    pub(super) fields: Map<String, Json>,
}

impl HistoryLine {
    /// The line of a row; nothing when its fields are no JSON object.
    pub(super) fn of(row: ChangeRow, trainee_id: &str, ukprn: &str, token_name: Option<&str>) -> Option<Self> {
        Some(Self {
            trainee_id: trainee_id.to_owned(),
            ukprn: ukprn.to_owned(),
            id: row.id,
            changed_at: date(row.changed_at),
            token_id: row.token_id,
            token_name: token_name.map(str::to_owned),
            changed_by: row.changed_by,
            request_id: row.request_id,
            version: row.version,
            operation: row.operation,
            fields: serde_json::from_str(&row.fields).ok()?,
        })
    }

    /// What the lines of a trainee begin with.
    pub(super) fn beginning(trainee_id: &str) -> Option<String> {
        Some(format!("{{\"trainee_id\":{},", serde_json::to_string(trainee_id).ok()?))
    }

    /// The entry of a line; nothing when the line is none.
    pub(super) fn entry(self) -> Option<Entry> {
        let changed_at = DateTime::parse_from_rfc3339(&self.changed_at).ok()?.to_utc();
        let token = self.token_id.map(|id| (id, self.token_name.unwrap_or_default()));
        let Self { id, changed_by: by, request_id, version, operation, fields, .. } = self;
        let fields = fields_of(fields)?;
        Some(Entry { id, changed_at, token, by, request_id, version, operation, fields })
    }
}

pub(super) fn date(date: NaiveDateTime) -> String {
    date.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}
