//! Names that released versions have for fields in requests where another version has another name. Written by
//! `make snapshots`; the lines of a version stay when it is removed, so that whoever still sends its names is told the right
//! ones.

use adapter_kit::{FormerName, Label};
use domain::{Field, TraineeField, WithdrawalField};

/// The names, by version.
#[rustfmt::skip]
pub const FORMER_NAMES: &[FormerName] = &[
    FormerName { version: Label::release(2025, 0), name: "course_subject_one", field: Field::Trainee(TraineeField::course_subject_1) },
    FormerName { version: Label::release(2025, 0), name: "course_subject_two", field: Field::Trainee(TraineeField::course_subject_2) },
    FormerName { version: Label::release(2025, 0), name: "course_subject_three", field: Field::Trainee(TraineeField::course_subject_3) },
    FormerName { version: Label::release(2025, 0), name: "lead_partner_urn", field: Field::Trainee(TraineeField::training_partner_urn) },
    FormerName { version: Label::release(2025, 0), name: "lead_partner_ukprn", field: Field::Trainee(TraineeField::training_partner_ukprn) },
    FormerName { version: Label::release(2025, 0), name: "withdraw_date", field: Field::Withdrawal(WithdrawalField::withdrawal_date) },
];
