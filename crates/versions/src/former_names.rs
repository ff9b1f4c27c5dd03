//! Field names in requests of released versions that differ from the names of other versions.
//! `make snapshots` writes this file. The names of a removed version are kept, so that a client
//! that still sends them gets the current names in the error message.

use adapter_kit::{FormerName, Label};
use domain::{TraineeField, WithdrawalField};

/// The names, by version.
#[rustfmt::skip]
pub const FORMER_NAMES: &[FormerName] = &[
    FormerName { version: Label::release(2025, 0), name: "course_subject_one", field: TraineeField::course_subject_1.to_field() },
    FormerName { version: Label::release(2025, 0), name: "course_subject_two", field: TraineeField::course_subject_2.to_field() },
    FormerName { version: Label::release(2025, 0), name: "course_subject_three", field: TraineeField::course_subject_3.to_field() },
    FormerName { version: Label::release(2025, 0), name: "lead_partner_urn", field: TraineeField::training_partner_urn.to_field() },
    FormerName { version: Label::release(2025, 0), name: "lead_partner_ukprn", field: TraineeField::training_partner_ukprn.to_field() },
    FormerName { version: Label::release(2025, 0), name: "withdraw_date", field: WithdrawalField::withdrawal_date.to_field() },
];
