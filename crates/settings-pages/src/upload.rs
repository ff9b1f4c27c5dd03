//! The pages for uploading a file of trainees, for admins and editors.
//!
//! A received file is read once, to find its faults and its columns, then sealed and stored. The
//! key is in a cookie of the browser only, so the register cannot read a file without its browser.
//! Every stored text with content of the file is sealed with the number of its upload.

mod codes;
pub(crate) mod columns;
pub(crate) mod names;
mod opened_file;
pub(crate) mod receiving;
pub(crate) mod refused;
mod repair_choices;
pub(crate) mod results;
mod row_details;
pub(crate) mod sealing;
pub(crate) mod stored_file;
pub(crate) mod templates;
pub(crate) mod uploads;
pub(crate) mod work;
pub(crate) mod work_order;
