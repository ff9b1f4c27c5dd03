//! The position in a table, the names of its columns, and its header cells.

use super::escaped;

/// The state of the renderer in a table.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The names of the columns, as values of HTML attributes; empty for a column without a name.
    columns: Vec<String>,
    is_in_body: bool,
    column: usize,
    /// The anchor of the row and the text of its first cell; `None` for a row without an anchor.
    row: Option<(String, String)>,
    /// The end tag of the open cell.
    end: &'static str,
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
        self.row = anchor.map(|anchor| (anchor, String::new()));
    }

    /// Starts a cell with a text and returns its start tag. An empty cell is not a header cell. Below
    /// the header row the tag has the name of the column, for narrow screens.
    pub(super) fn start_cell(&mut self, text: &str) -> String {
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
        match self.columns.get(self.column) {
            Some(name) if !name.is_empty() => format!("<{tag} data-name=\"{name}\">"),
            Some(_) | None => format!("<{tag}>"),
        }
    }

    /// Ends a cell and returns its end tag. `text` is the text of the row so far.
    pub(super) fn end_cell(&mut self, text: &str) -> &'static str {
        if let Some((_, first)) = self.row.as_mut().filter(|_| self.column == 0) {
            text.trim().clone_into(first);
        }
        self.column += 1;
        self.end
    }

    /// Ends a row. Returns its anchor and the text of its first cell; `None` for a row without an
    /// anchor.
    pub(super) fn end_row(&mut self) -> Option<(String, String)> {
        self.row.take()
    }
}
