//! Scenarios that hold in every version: each is stated once and run for all of them.

mod authentication;
mod creating;
mod fields;
mod malformed;
mod missing_data;
mod nested;
mod partners;
mod paths;
mod precedence;
mod sending_back;
mod updating;
mod withdrawing;
mod withdrawing_refused;
