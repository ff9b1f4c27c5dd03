//! What others than providers do to records: registry actions, erasure and imports.
//!
//! Each action finds the trainee of any provider, has the domain decide, and saves, in one
//! transaction. The crate does not know who asks: a command, a page of an operator, or in a sandbox
//! the provider. In a sandbox, [`simulated`] does what is due without being asked.
//!
//! # How to add a registry action or an import
//!
//! A registry action:
//!
//! 1. Decide in `crates/domain/src`: the transition in `lifecycle.rs` (`snapshots/lifecycle.snap`),
//!    the record in `commands/registry.rs`.
//! 2. Add a variant to [`actions::RegistryAction`]. The compiler asks for its name, for
//!    [`actions::perform`], for the columns of its file in `rows.rs`, and for the words of new
//!    refusals in `file.rs`.
//! 3. Offer it in `crates/server/src/cli/records/registry.rs`, and in `ACTIONS` and `named` of
//!    `crates/settings-pages/src/operators/registry_actions.rs`. The compiler does not ask for
//!    these.
//! 4. Test it in `crates/black-box/tests/api/transitions/registry.rs`, also in
//!    `every_registry_action_is_in_the_history_as_clients_saw_it`.
//!
//! An import:
//!
//! 1. Implement [`import::ImportableOrganisation`] in `import/organisations.rs`, for a type that
//!    `crates/storage/src/records/organisations/merge.rs` stores and a variant of `ImportKind` in
//!    `crates/storage/src/observations/imports.rs`. A new reason to refuse a row is a variant of
//!    [`import::RowProblem`]; the compiler asks for its words without values.
//! 2. Add the command to `crates/server/src/cli/organisations.rs`, and the file to the fuzzed ones
//!    in `crates/black-box/tests/api/http/any_bytes/csv.rs` and
//!    `crates/server/examples/fuzz-corpus.rs`.

pub mod actions;
pub mod erasure;
pub mod file;
pub mod import;
pub mod retries;
pub mod rows;
pub mod simulated;
