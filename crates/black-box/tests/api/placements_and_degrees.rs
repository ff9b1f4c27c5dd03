//! The endpoints of the records nested in a trainee.

mod degrees;
mod endpoints;
