//! Text, dates and times, academic years and TRNs: how they are read, compared and written.

pub mod academic_year;
pub mod iso_8601;
pub mod text;
pub mod trn;
