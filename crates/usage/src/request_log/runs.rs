//! The counts of runs in memory, until they are written.

use adapter_kit::Label;
use chrono::{DateTime, Utc};
use http_kit::requests::request_id::RequestId;
use storage::base::sender::Sender;
use storage::observations::request_log::runs::{NewRun, RunCounts, RunKey};

/// The result of a request, or of an item of a batch, for its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordResult {
    /// An accepted request that only reads, or a batch whose items have their own results. Counts
    /// in no run.
    Read,
    /// A trainee was registered.
    Registered,
    /// A record was changed.
    Changed,
    /// The request was refused because the trainee is registered already.
    AlreadyRegistered,
    /// The request was refused for another reason.
    Refused,
    /// The request was accepted with `validate-only`.
    Checked,
    /// The reply repeats that to an earlier request with the same idempotency key.
    Repeated,
}

/// Identifies a run of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct OpenRunKey {
    pub(super) sender: Sender,
    pub(super) version: Label,
    /// The identifier of the request with a batch, or of an upload; `None` for single requests.
    pub(super) batch: Option<RequestId>,
}

/// Counts that are not written yet.
#[derive(Debug, Clone)]
pub(super) struct OpenRun {
    started_at: DateTime<Utc>,
    ended_at: DateTime<Utc>,
    counts: RunCounts,
}

impl OpenRunKey {
    /// Converts the key to the form of the store.
    pub(super) fn stored(&self, provider_id: i64) -> RunKey {
        RunKey {
            provider_id,
            sender: self.sender,
            version: self.version.to_string(),
            batch: self.batch.as_ref().map(ToString::to_string),
        }
    }
}

impl OpenRun {
    /// Creates counts of zero, for a run that starts and ends at this time.
    pub(super) fn empty(at: DateTime<Utc>) -> Self {
        Self {
            started_at: at,
            ended_at: at,
            counts: RunCounts::default(),
        }
    }

    /// Counts one record.
    pub(super) fn count(&mut self, result: RecordResult) {
        let RunCounts {
            registered,
            changed,
            already_registered,
            refused,
            checked,
            repeated,
        } = &mut self.counts;
        let count = match result {
            RecordResult::Read => return,
            RecordResult::Registered => registered,
            RecordResult::Changed => changed,
            RecordResult::AlreadyRegistered => already_registered,
            RecordResult::Refused => refused,
            RecordResult::Checked => checked,
            RecordResult::Repeated => repeated,
        };
        *count += 1;
    }

    /// Adds the counts of the same run.
    pub(super) fn add(&mut self, other: &Self) {
        self.started_at = self.started_at.min(other.started_at);
        self.ended_at = self.ended_at.max(other.ended_at);
        self.counts += other.counts;
    }

    /// Converts the counts to the form of the store.
    pub(super) fn stored(&self, key: &OpenRunKey, provider_id: i64) -> NewRun {
        NewRun {
            key: key.stored(provider_id),
            started_at: self.started_at,
            ended_at: self.ended_at,
            counts: self.counts,
        }
    }
}
