//! Faults of workbooks.

/// The reason that a workbook cannot be read. `Display` is one sentence for the person who chose the
/// file. Cells are named as in a spreadsheet, such as `C3`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkbookFault {
    /// The archive or a part of it cannot be read.
    #[error("The workbook is damaged; open it in a spreadsheet and save it again.")]
    Damaged,
    /// A zip archive of another kind, such as a text document.
    #[error(
        "The file is a zip archive without a workbook; choose an Excel workbook (.xlsx) or a CSV \
         file."
    )]
    OtherArchive,
    /// An Excel workbook that is not XML.
    #[error("The file is an Excel binary workbook; save it as an Excel workbook (.xlsx).")]
    Binary,
    /// The workbook is encrypted.
    #[error("The workbook has a password; save a copy without a password.")]
    Password,
    /// The workbook has or can have macros.
    #[error("The workbook has macros; save it as an Excel workbook (.xlsx) without macros.")]
    Macros,
    /// The workbook refers to other files, except by hyperlinks.
    #[error(
        "The workbook has links to other files; paste its cells as values into a new workbook."
    )]
    ExternalLinks,
    /// A part of the workbook declares a document type, which can define entities.
    #[error("The workbook declares a document type; save it again in a spreadsheet.")]
    DocumentType,
    /// The parts of the workbook or the texts of its cells have more bytes than the limit.
    #[error(
        "The workbook has more than {megabytes} MB when it is unpacked; remove sheets and pictures \
         that are not needed.",
        megabytes = .0 / 1_048_576
    )]
    TooLarge(usize),
    /// The workbook has only charts and hidden sheets.
    #[error("The workbook has no sheet with cells.")]
    NoSheets,
    /// The workbook has no sheet of this name.
    #[error("The workbook has no sheet {0:?}.")]
    UnknownSheet(String),
    /// The sheet has no cell with text.
    #[error("The sheet {0:?} is empty.")]
    EmptySheet(String),
    /// The cell has a number with more digits than a spreadsheet keeps.
    #[error(
        "Cell {0} has a number of more than 15 digits, and a spreadsheet keeps 15; format the column \
         as text, and enter the numbers again."
    )]
    LongNumber(String),
    /// The cell has a formula, and the program that wrote the file did not calculate it.
    #[error("Cell {0} has a formula without a value; open the file in a spreadsheet and save it.")]
    NotCalculated(String),
    /// The cell has a control character.
    #[error("Cell {0} has a control character; delete the text and enter it again.")]
    ControlCharacter(String),
}
