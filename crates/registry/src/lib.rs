//! Changes to records outside the API: registry actions, erasure and imports.
//!
//! Each action finds the trainee of any provider, calls the domain for the decision, and saves the
//! result in one transaction. Callers are commands, operators' pages and, in a sandbox, the
//! provider. In a sandbox, [`simulated`] also performs due actions automatically.
//!
//! # How to add a registry action or an import
//!
//! A registry action:
//!
//! 1. Decide in `crates/domain/src`: the transition in `lifecycle.rs` (`snapshots/lifecycle.snap`),
//!    the record in `commands/registry.rs`.
//! 2. Add a variant to [`actions::RegistryAction`]. The compiler then requires its name, a branch
//!    of [`actions::perform`], the columns of its file in `rows.rs`, and texts for new refusals in
//!    `file.rs`.
//! 3. Add it to `crates/server/src/cli/records/registry.rs`, and to `ACTIONS` and `named` of
//!    `crates/settings-pages/src/operators/registry_actions.rs`. The compiler does not check these
//!    lists.
//! 4. Test it in `crates/black-box/tests/api/transitions/registry.rs`, also in
//!    `registry_actions_are_in_the_history`.
//!
//! An import:
//!
//! 1. Implement [`import::ImportableOrganisation`] in `import/organisations.rs`, for a type that
//!    `crates/storage/src/records/organisations/merge.rs` stores and a variant of `ImportKind` in
//!    `crates/storage/src/observations/imports.rs`. A new reason to reject a row is a variant of
//!    [`import::RowProblem`]; the compiler requires its message without values.
//! 2. Add the command to `crates/server/src/cli/organisations.rs`. Add the file to the fuzz targets
//!    in `crates/black-box/tests/api/http/any_bytes/csv.rs` and
//!    `crates/server/examples/fuzz-corpus.rs`.

pub mod actions;
pub mod erasure;
pub mod file;
pub mod import;
pub mod rows;
pub mod simulated;
