//! The apostrophe before a cell that a spreadsheet would read as a number or a formula.

/// The apostrophe that spreadsheets add before a text that looks like a number or a formula.
pub(crate) const APOSTROPHE: char = '\'';
/// The beginnings of formulas, in the forms that spreadsheets read in some locale: ASCII, the minus
/// sign, full width and small. Spreadsheets skip a tab or a line end before them.
pub(crate) const FORMULA_STARTS: [char; 16] = [
    '=', '+', '-', '@', '\u{2212}', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{fe66}',
    '\u{fe62}', '\u{fe63}', '\u{fe6b}', '\t', '\r', '\n',
];

/// The text after an apostrophe that a spreadsheet or [`spreadsheet_cell`] has added; `None` if the
/// text has none. An apostrophe before a letter belongs to the text, such as in a name.
///
/// [`spreadsheet_cell`]: crate::spreadsheet_cell
pub(crate) fn remove_apostrophe(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(APOSTROPHE)?;
    let shown = rest.trim_start();
    let is_added = |first: char| {
        first == APOSTROPHE || first.is_ascii_digit() || FORMULA_STARTS.contains(&first)
    };
    // Text that begins with a tab or a line end is a formula for spreadsheets, too.
    let first = shown.chars().next();
    first.is_none_or(is_added).then_some(shown)
}
