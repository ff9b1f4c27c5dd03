//! Names that released versions have for fields in requests where another version has another name.
//! Written by `make snapshots`; the lines of a version stay when it is removed, so that a client
//! that still sends its names is given the right ones.

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
