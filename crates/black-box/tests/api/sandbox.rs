//! What a test run needs in a sandbox, and that production does not have it.

mod advancing;
mod production;
mod resetting;
