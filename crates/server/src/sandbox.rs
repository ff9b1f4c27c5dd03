//! Features of the sandbox only: invented trainees, a demo provider, and a simulated registry.

pub mod demo;
pub mod seed;
