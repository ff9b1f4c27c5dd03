//! The pages for uploading a file of trainees, for admins and editors, and the work on its rows.
//!
//! A received file is read once; its rows are stored. Each page asks one question: the names of the
//! columns, the repairs of cells, and whether to send. Between the pages, any server works on the
//! rows ([`work`]).

mod codes;
pub(crate) mod columns;
pub(crate) mod content;
pub(crate) mod files;
pub(crate) mod heading_names;
pub(crate) mod names;
pub(crate) mod receiving;
mod repair_choices;
pub(crate) mod repairs;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod templates;
pub(crate) mod uploads;
pub(crate) mod work;
