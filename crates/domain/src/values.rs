//! Reads, compares and writes text, dates and times, academic years and TRNs.

pub mod academic_year;
pub mod iso_8601;
pub mod text;
pub mod trn;
