//! The canonical model of the Trainee Register, equal for all versions of the API.
//!
//! - Records and fields: [`records`], [`fields`]
//! - Codes: [`lists`]
//! - Validation: [`rules`]
//! - States of a trainee: [`lifecycle`]
//! - Changes of records: [`commands`]
//!
//! All functions are pure. Callers pass the date, the provider and all data from the database as
//! arguments. The crate does not depend on JSON, HTTP, a database or a version of the API.
//!
//! # How to add a field or a rule
//!
//! A field:
//!
//! 1. Add an entry to `record!` in `records/trainee.rs`, `placement.rs` or `degree.rs`. Add a new
//!    code list to `lists/list.rs` and `reference-data/`. An entry with `required` needs a rule in
//!    `rules/required.rs` (test `required_rules_match_required_fields`).
//! 2. If a value can identify a person, add the field to `IDENTIFYING_FIELDS` in
//!    `commands/erasure.rs`. No test detects a missing field.
//! 3. If the field is stored, raise `SCHEMA` in `crates/stored-document/src/lib.rs` and run
//!    `make snapshots` (test `schema_number_is_raised_with_stored_fields`).
//! 4. Add the field to the versions that have it, and set it in `fixtures`
//!    (`docs/adding-a-version.md`).
//!
//! A rule:
//!
//! 1. Add an entry to `rules!` in a file of `rules/`, with every field that the rule reads
//!    (conformance check `updates_keep_records_valid`) and its section of `docs/api` (test
//!    `every_rule_names_a_section_that_the_contract_has`). A new kind of problem is an entry in
//!    `problem/kind.rs`. The compiler then requires its message in
//!    `crates/adapter-kit/src/problems.rs`.
//! 2. Add the rule to `rules.rs` of each version with that rule. Add a case to
//!    `crates/black-box/tests/api/trainees/clauses/`. Run `make docs` and `make snapshots`.

#![warn(missing_docs)]

pub mod commands;
pub mod duplicate;
pub mod ended_codes;
pub mod fields;
pub mod invariants;
pub mod lifecycle;
pub mod listing;
pub mod lists;
pub mod problem;
pub mod records;
pub mod rules;
pub mod values;

pub use fields::accepted_codes::AcceptedCodes;
pub use fields::field::{Field, FieldInfo, RecordField};
pub use fields::field_set::FieldSet;
pub use fields::parsed::{ParsedRecord, UnrecognisedNames};
pub use fields::value::{Input, Kind, Value};
pub use lifecycle::{Action, State};
pub use lists::{List, Lists};
pub use problem::{Code, Notice, Path, Problem, ProblemKind};
pub use records::candidate::Candidate;
pub use records::context::Context;
pub use records::degree::{Degree, DegreeField};
pub use records::history::FieldChange;
pub use records::placement::{Placement, PlacementField};
pub use records::record::{Change, Record, Stored};
pub use records::trainee::{NestedRecord, NestedRecords, Trainee, TraineeField};
pub use records::transition::{
    Deferral, DeferralField, Recommendation, RecommendationField, Withdrawal, WithdrawalField,
};
pub use rules::{Rule, Rules};
pub use values::trn::Trn;
