//! The pages of an organisation.

pub(crate) mod activity;
pub(crate) mod overview;
pub(crate) mod people;
pub(crate) mod readiness;
pub(crate) mod request_filter;
pub(crate) mod requests;
pub(crate) mod runs;
pub(crate) mod tokens;
pub(crate) mod trainee_words;
pub(crate) mod trainees;
pub(crate) mod usage;
