//! Workbooks and CSV files of trainees, as spreadsheets and student-record systems write them.
//!
//! A file is processed in these steps:
//!
//! 1. [`Table::read`] finds the format by the content and checks the limits. Of CSV, it finds the
//!    encoding, the separator and the line ends; of a workbook, it reads one of the
//!    [`sheet_names`].
//! 2. [`Names::recognise`] finds the field of each heading, and [`propose_columns`] proposes fields
//!    for the others.
//! 3. [`find_repairs`] finds columns that a spreadsheet has changed; [`Repair::apply`] restores
//!    their cells.
//! 4. [`TraineeRow::new`] reads a row by its columns. [`TraineeRow::body`] is the body that
//!    registers the trainee, and [`compare`] lists what a row changes in a record.
//! 5. [`write_csv`] writes templates and refused rows, so that a spreadsheet changes no cell.
//!
//! The crate does not contain the fields of a version: the caller passes them as [`Names`] and
//! [`Codes`]. The labels and the everyday headings of fields are in `headings.rs`.
//!
//! To accept another heading, add it to `headings.rs`. To refuse another kind of workbook, add it to
//! `workbook/archive.rs`. To recognise another change by spreadsheets,
//! add a [`Mangled`] and the function that finds its cells in `repairs`.

mod apostrophe;
mod cells;
mod columns;
mod compare;
mod fault;
mod headings;
mod proposals;
mod record;
mod repairs;
mod table;
mod text;
mod trainee_row;
mod workbook;
mod workbook_fault;
mod writing;

pub use cells::{FileRows, Row};
pub use columns::{Column, INPUT_SUFFIX, LISTS, List, Names, TRAINEE_ID, UPDATED_AT};
pub use columns::{find_repeated_column, nested_name};
pub use compare::{
    AcceptedValue, Differences, FieldChange, Memory, NestedChange, NoMemory, Problem, SentNested,
    compare, shown_otherwise,
};
pub use fault::{FileFault, Limits};
pub use headings::{WHY_HEADING, bare_key, named_fields};
pub use proposals::{ColumnProposal, ProposalContext, propose_columns};
pub use record::{at, cell, input};
pub use repairs::{
    CellKind, CodeNames, Codes, DateOrder, Mangled, Remedy, Repair, RepairContext, find_repairs,
};
pub use table::Table;
pub use text::decode;
pub use trainee_row::{NestedRow, TraineeRow};
pub use workbook::sheet_names;
pub use workbook_fault::WorkbookFault;
pub use writing::{add_apostrophe, spreadsheet_cell, write_csv, write_csv_rows};
