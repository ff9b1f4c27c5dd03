//! What the tests work with: a register that is served, clients of it, and bodies to send.

pub(crate) mod bodies;
pub(crate) mod cases;
pub(crate) mod client;
pub(crate) mod common_form;
pub(crate) mod contract;
pub(crate) mod register;
pub(crate) mod shown;
pub(crate) mod versions;
pub(crate) mod wire_values;

pub(crate) use bodies::{
    Body, REQUIRED, can_set, has_default, record, requires, takes_numbers_alone,
};
pub(crate) use cases::run_cases;
pub(crate) use client::{Page, Raw, Request, Response, TextChecks};
pub(crate) use register::{Api, Register, Setup, every_version, every_version_that, version};
pub(crate) use shown::Shown;
pub(crate) use versions::{newest, others_than};
