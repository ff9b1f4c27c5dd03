//! Version v2025.0 of the Trainee Register API, the first release.
//!
//! - Uses the names `lead_partner_urn`, `course_subject_one` and `withdraw_date` instead of
//!   `training_partner_urn`, `course_subject_1` and `withdrawal_date`.
//! - Accepts a primary course with any first subject, and inserts 100511 as the first subject.
//! - Shows four fields that later versions do not have: `expected_end_date`, `bursary_level`,
//!   `agency_disabilities` and `withdraw_reasons_dfe_details`.
//! - Accepts any text as the year of a course, and any end date after the start.
//! - Allows updates of finished records: recommended, withdrawn or awarded trainees.
//! - Reports problems by field in a flat object, for clients that request problems by field.
//! - Refuses iQTS, assessment only, early years and HPITT routes in requests. Records on such a
//!   route can be read, listed, deferred, withdrawn and recommended.
//!
//! The crate does not depend on other versions, storage or HTTP.
//!
//! # How to add a name or a rule
//!
//! 1. A name: add it to `names.rs`, in `SHAPES` for replies and in `INPUTS` for requests. Write
//!    `name = field` if the name differs from the dictionary. The order of the list is the
//!    contract.
//! 2. A rule that other versions also have: add it to `rules.rs`. The rules run in this order.
//!    Their code is in `crates/domain/src/rules/`.
//! 3. A rule or a field of this version only: declare it in `own.rs`, and list it in `rules.rs` or
//!    `names.rs`.
//! 4. Describe the difference in the list above, in `notes` and in `docs/api/9-versions.md`.
//! 5. Run the tests of this crate: `tests/conformance.rs` fails if names or rules are inconsistent.
//! 6. Run `make docs` and `make snapshots` (tests `the_committed_documents_say_what_the_code_says`
//!    and `the_committed_contracts_are_what_is_served`). Snapshots of a released version change
//!    only with `ACCEPT_RELEASED=1` and a line in `CHANGELOG.md`.

use adapter_kit::{
    ApiVersion, Endpoint, Endpoints, Label, NestedErrors, Publication, Status, Vocabulary, Wire,
    date,
};
use domain::{AcceptedCodes, List};

mod names;
mod own;
mod rules;

/// This version.
#[rustfmt::skip]
pub static V2025_0: ApiVersion = ApiVersion {
    label: Label::release(2025, 0),
    publication: Publication { since: Some(date(2025, 9, 1)), status: Status::Released, deprecated_on: None, sunset_on: None },
    shapes: names::SHAPES,
    inputs: names::INPUTS,
    rules: rules::RULES,
    accepted_codes: AcceptedCodes { funding_exception_years: &[2025], accepted: &[
        (List::TrainingRoute, &["02", "03", "09", "10", "11", "12", "14"]),
        (List::CourseAgeRange, &["13909", "13911", "13912", "13913", "13914", "13915", "13916", "13917", "13918", "13919"]),
    ] },
    endpoints: Endpoints {
        available: &[
            Endpoint::Info, Endpoint::ListTrainees, Endpoint::CreateTrainee, Endpoint::ShowTrainee, Endpoint::UpdateTrainee,
            Endpoint::ListPlacements, Endpoint::CreatePlacement, Endpoint::ShowPlacement, Endpoint::UpdatePlacement,
            Endpoint::DeletePlacement, Endpoint::ListDegrees, Endpoint::CreateDegree, Endpoint::ShowDegree,
            Endpoint::UpdateDegree, Endpoint::DeleteDegree, Endpoint::Defer, Endpoint::Withdraw, Endpoint::RecommendForQts,
        ],
        deprecated: &[],
    },
    refuses_names_up_to: Label::release(2026, 1),
    nested_errors: NestedErrors::Flat,
    vocabulary: Vocabulary { training_partner: "lead partner" },
    wire: Wire::COMMON,
    notes: &[
        "A primary course gets 100511 as its first subject by itself.",
        "The four fields expected_end_date, bursary_level, agency_disabilities and withdraw_reasons_dfe_details leave with the next version.",
    ],
};
