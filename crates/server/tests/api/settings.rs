//! The pages below `/settings`, as browsers get them: who gets in, what they can do there, and what attackers cannot.

mod attacks;
mod browser;
mod matrix;
mod operators;
mod pages;
mod registry;
mod reports;
mod requests;
mod signing_in;
mod token_lifecycle;
