//! Tests of the program under load while its processes, its network and its database fail
//! (`tests/`).
//!
//! They run the program that is built next to them, over HTTP. No program contains any of this.
