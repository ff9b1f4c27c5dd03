//! Tests of the register over HTTP, as its clients meet it (`tests/`).
//!
//! They run the server in their own process, through a real listener. No program contains any of
//! this.
