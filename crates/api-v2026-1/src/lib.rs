//! Version v2026.1 of the Trainee Register API, the current version.
//!
//! - Accepts the routes 15 to 21: iQTS, assessment only, early years and HPITT.
//! - Adds `iqts_country`. Requires it on the iQTS route and refuses it on all other routes.
//! - Does not require a study mode on the two assessment only routes.
//! - Accepts the age range 13920 only on early years routes. These routes accept no other age
//!   range.
//! - Refuses changes of recommended, withdrawn or awarded trainees.
//! - Adds `update-qts-or-eyts-status`, and deprecates `recommend-for-qts`.
//! - Publishes the code lists at `reference-data`.
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
    ApiVersion, Deprecation, Endpoint, Endpoints, Label, NestedErrors, Publication, Status,
    Vocabulary, Wire, date,
};
use domain::{AcceptedCodes, List};

mod names;
mod rules;

/// This version.
#[rustfmt::skip]
pub static V2026_1: ApiVersion = ApiVersion {
    label: Label::release(2026, 1),
    publication: Publication { since: Some(date(2026, 3, 20)), status: Status::SandboxOnly, deprecated_on: None, sunset_on: None },
    shapes: names::SHAPES,
    inputs: names::INPUTS,
    rules: rules::RULES,
    accepted_codes: AcceptedCodes { funding_exception_years: &[2025, 2026], accepted: &[
        (List::TrainingRoute, &["03", "09", "10", "11", "12", "14", "15", "16", "17", "18", "19", "20", "21"]),
    ] },
    endpoints: Endpoints {
        available: &[
            Endpoint::Info, Endpoint::ListTrainees, Endpoint::CreateTrainee, Endpoint::ShowTrainee, Endpoint::UpdateTrainee,
            Endpoint::ListPlacements, Endpoint::CreatePlacement, Endpoint::ShowPlacement, Endpoint::UpdatePlacement,
            Endpoint::DeletePlacement, Endpoint::ListDegrees, Endpoint::CreateDegree, Endpoint::ShowDegree,
            Endpoint::UpdateDegree, Endpoint::DeleteDegree, Endpoint::Defer, Endpoint::Withdraw,
            Endpoint::UpdateQtsOrEytsStatus, Endpoint::ReferenceData,
        ],
        deprecated: &[Deprecation {
            endpoint: Endpoint::RecommendForQts,
            since: date(2026, 3, 20),
            removed_in: Label::release(2027, 0),
        }],
    },
    refuses_names_up_to: Label::release(2026, 1),
    nested_errors: NestedErrors::Nested,
    vocabulary: Vocabulary { training_partner: "training partner" },
    wire: Wire::COMMON,
    notes: &[
        "A trainee who is recommended, withdrawn or awarded cannot be changed.",
        "Use update-qts-or-eyts-status instead of recommend-for-qts.",
    ],
};
