//! Authentication, limits, headers, paths and bodies: what is the same for every endpoint.

mod access;
mod any_bytes;
mod authentication;
mod bad_input;
mod compression;
mod dry_run;
mod expiring_tokens;
mod json_forms;
mod limits;
mod malformed;
mod paths;
mod precedence;
mod preconditions;
mod repeated;
