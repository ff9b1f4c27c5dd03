//! The end-to-end benchmark (`make bench`): the server over loopback, against a limit program, the
//! plain service and an earlier server, in turn. `docs/performance.md` says how to read it.
//!
//! This library is empty. The program is the bench target `end-to-end` (`main.rs`) with
//! dev-dependencies alone, so `cargo build` and `cargo test` build nothing of it, and clippy checks
//! all of it.
