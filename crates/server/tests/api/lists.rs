//! Lists of trainees.

mod filters_and_pages;
mod parameters;
