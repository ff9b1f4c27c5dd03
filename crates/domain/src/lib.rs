//! The canonical model of the Trainee Register.
//!
//! Everything that is true of a trainee's record in every version of the API is here: what its
//! fields are ([`trainee`], [`placement`], [`degree`], [`transition`]), which codes exist
//! ([`lists`]), which values may be combined ([`rules`]), which state may follow which
//! ([`lifecycle`]) and what a command does to a record ([`commands`]).
//!
//! It is pure: the date, the caller and everything that was looked up come in as arguments. It
//! deliberately knows no JSON, no HTTP, no database and no version of the API.

pub mod academic_year;
pub mod accepted_codes;
pub mod candidate;
pub mod commands;
pub mod context;
pub mod degree;
mod dictionary;
pub mod duplicate;
pub mod ended_codes;
pub mod field;
pub mod field_set;
pub mod history;
pub mod invariants;
pub mod iso_8601;
pub mod lifecycle;
pub mod listing;
pub mod lists;
mod named_enum;
pub mod organisations;
pub mod parsed;
pub mod placement;
pub mod problem;
pub mod record;
pub mod rules;
pub mod text;
pub mod trainee;
pub mod transition;
pub mod trn;
pub mod value;
pub mod vocabulary;

pub use accepted_codes::AcceptedCodes;
pub use candidate::Candidate;
pub use context::Context;
pub use degree::{Degree, DegreeField};
pub use field::{Field, FieldInfo, RecordField};
pub use field_set::FieldSet;
pub use history::FieldChange;
pub use lifecycle::{Action, State};
pub use lists::{List, Lists};
pub use parsed::{ParsedRecord, UnrecognisedNames};
pub use placement::{Placement, PlacementField};
pub use problem::{Code, Notice, Path, Problem, ProblemKind};
pub use record::{Change, Record, Stored};
pub use rules::{Rule, Rules};
pub use trainee::{Trainee, TraineeField};
pub use transition::{Deferral, DeferralField, Recommendation, RecommendationField, Withdrawal, WithdrawalField};
pub use trn::Trn;
pub use value::{Input, Kind, Value};
