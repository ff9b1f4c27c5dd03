//! The pages below `/settings`, as browsers get them: who gets in, what they can do there, and what
//! attackers cannot.

mod at_issuer;
mod attacks;
pub(super) mod browser;
mod fake_issuer;
mod matrix;
mod openid;
mod openid_attacks;
mod operators;
pub(super) mod pages;
mod registry;
mod registry_file;
mod reports;
mod requests;
mod runs;
mod signing_in;
mod signing_in_by_mail;
mod token_lifecycle;
mod trainees;
mod upload_and_sync;
mod upload_keys;
mod upload_repairs;
mod upload_rows;
mod uploads;
mod versions;
