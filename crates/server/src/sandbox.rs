//! What exists in a sandbox alone: invented trainees, a first request to paste, and a simulated
//! registry.

pub mod demo;
pub mod seed;
