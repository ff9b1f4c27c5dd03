//! The position in a table, the names of its columns, and its header cells.

use super::escaped;

/// The state of the renderer in a table.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Values of HTML attributes; empty for a column without a name.
    columns: Vec<String>,
    is_in_body: bool,
    column: usize,
    /// `None` for a row without an anchor.
    row: Option<RowAnchor>,
    end: &'static str,
}

/// The anchor of a row, and the text of its first cell.
#[derive(Debug)]
pub(super) struct RowAnchor {
    pub(super) anchor: String,
    pub(super) title: String,
}

impl Table {
    pub(super) fn is_in_first_cell(&self) -> bool {
        self.is_in_body && self.column == 0
    }

    pub(super) fn end_head(&mut self) {
        self.is_in_body = true;
        self.column = 0;
    }

    pub(super) fn start_row(&mut self, anchor: Option<String>) {
        self.column = 0;
        self.row = anchor.map(|anchor| RowAnchor {
            anchor,
            title: String::new(),
        });
    }

    /// Returns the start tag.
    pub(super) fn start_cell(&mut self, text: &str) -> String {
        // An empty cell is not a header cell.
        let (tag, end) = match (self.is_in_body, text.is_empty()) {
            (false, false) => ("th scope=\"col\"", "</th>"),
            (true, false) if self.column == 0 => ("th scope=\"row\"", "</th>"),
            (_, _) => ("td", "</td>"),
        };
        self.end = end;
        if !self.is_in_body {
            self.columns.push(escaped(text).replace('"', "&quot;"));
            return format!("<{tag}>");
        }
        // On narrow screens, each cell is shown below the name of its column.
        match self.columns.get(self.column) {
            Some(name) if !name.is_empty() => format!("<{tag} data-name=\"{name}\">"),
            Some(_) | None => format!("<{tag}>"),
        }
    }

    /// Returns the end tag. `text` is the text of the row so far.
    pub(super) fn end_cell(&mut self, text: &str) -> &'static str {
        if let Some(row) = self.row.as_mut().filter(|_| self.column == 0) {
            text.trim().clone_into(&mut row.title);
        }
        self.column += 1;
        self.end
    }

    /// Returns `None` for a row without an anchor.
    pub(super) fn end_row(&mut self) -> Option<RowAnchor> {
        self.row.take()
    }
}
