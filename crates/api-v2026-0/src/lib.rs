//! Version v2026.0 of the Trainee Register API.
//!
//! - Renames the lead partner to training partner, the subjects to `course_subject_1` to `_3`, and
//!   `withdraw_date` and `withdraw_reasons` to `withdrawal_date` and `withdrawal_reasons`.
//! - Refuses a primary course with a first subject other than 100511.
//! - Limits the end date of a course, requires a whole number as its year, and checks the second
//!   initiative against the year of the start.
//! - Nests problems of placements and degrees, for clients that request problems by field.
//! - Refuses route 02 in requests.
//! - Also accepts funding for some subjects without student finance for starts in 2026.
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
//! 3. A rule or a field of this version only: create `own.rs`, declare it there, and list it in
//!    `rules.rs` or `names.rs`.
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
mod rules;

/// This version.
#[rustfmt::skip]
pub static V2026_0: ApiVersion = ApiVersion {
    label: Label::release(2026, 0),
    publication: Publication { since: Some(date(2026, 1, 30)), status: Status::SandboxOnly, deprecated_on: None, sunset_on: None },
    shapes: names::SHAPES,
    inputs: names::INPUTS,
    rules: rules::RULES,
    accepted_codes: AcceptedCodes { funding_exception_years: &[2025, 2026], accepted: &[
        (List::TrainingRoute, &["03", "09", "10", "11", "12", "14"]),
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
    nested_errors: NestedErrors::Nested,
    vocabulary: Vocabulary { training_partner: "training partner" },
    wire: Wire::COMMON,
    notes: &[
        "A primary course needs 100511 as its first subject.",
    ],
};
