//! Lists of trainees.

mod cursors;
mod filters_and_pages;
mod included;
mod parameters;
