//! The cells of one row, by the names of their columns.

use domain::values::text::is_blank;

/// The cells of one row.
#[derive(Debug)]
pub struct Row<'a> {
    columns: &'static [&'static str],
    optional_columns: &'static [&'static str],
    cells: &'a [String],
}

impl<'a> Row<'a> {
    /// Creates a row from cells in the order of the columns, the optional ones last.
    pub(super) fn new(
        columns: &'static [&'static str],
        optional_columns: &'static [&'static str],
        cells: &'a [String],
    ) -> Self {
        Self {
            columns,
            optional_columns,
            cells,
        }
    }

    /// The text of a column, or `None` if the cell is blank. Each run of white space and control
    /// characters becomes one space.
    #[must_use]
    pub fn text(&self, column: &str) -> Option<String> {
        let mut columns = self.columns.iter().chain(self.optional_columns);
        let cell = columns
            .position(|name| *name == column)
            .and_then(|at| self.cells.get(at))?;
        let words = cell.split(|letter: char| letter.is_whitespace() || letter.is_control());
        let text = words
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        Some(text).filter(|text| !is_blank(text))
    }
}
