//! Clients that keep a copy of the register, or read a list page by page, while others write: they
//! miss nothing.

mod changes;
mod lists;
mod mirror;
mod stopping;
mod writers;
