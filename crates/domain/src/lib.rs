//! The canonical model of the Trainee Register: dictionary, rules, lifecycle and code lists.
//!
//! Everything that is true of a trainee's record in every version of the API is here: which records
//! and fields exist ([`records`], [`fields`]), which codes exist ([`lists`]), which values may be
//! combined ([`rules`]), which state may follow which ([`lifecycle`]) and what a command does to a
//! record ([`commands`]).
//!
//! The domain is pure: the date, the caller and everything that was looked up are arguments. It
//! deliberately knows no JSON, no HTTP, no database and no version of the API.
//!
//! # How to add a field or a rule
//!
//! A field:
//!
//! 1. Add an entry to `record!` in `records/trainee.rs`, `placement.rs` or `degree.rs`; a new code
//!    list also to `lists/list.rs` and `reference-data/`. An entry that says `required` needs a
//!    rule in `rules/required.rs` (test `required_rules_are_those_of_the_required_fields`).
//! 2. If a value can identify a person, add the field to `IDENTIFYING_FIELDS` in
//!    `commands/erasure.rs`. No test finds a missing one.
//! 3. If the field is stored, raise `SCHEMA` in `crates/stored-document/src/lib.rs` and run
//!    `make snapshots` (test `the_number_of_the_schema_is_raised_with_the_fields`).
//! 4. Name it in the versions that have it, and set it in `fixtures` (`docs/adding-a-version.md`).
//!
//! A rule:
//!
//! 1. Add an entry to `rules!` in a file of `rules/`, with every field that the rule reads
//!    (conformance check `updates_keep_records_valid`) and its section of `docs/api.md` (test
//!    `every_rule_names_a_section_that_the_contract_has`). A new kind of problem is an entry in
//!    `problem/kind.rs`; the compiler then asks for its message in
//!    `crates/adapter-kit/src/problems.rs`.
//! 2. Name it in `rules.rs` of each version that it binds. Add a case to
//!    `crates/black-box/tests/api/trainees/clauses/`. Run `make docs` and `make snapshots`.

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
