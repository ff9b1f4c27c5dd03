//! Where in a table the text is: which cell is a heading, and which column is about other versions.

/// A table that is being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Whether each column is about other versions alone.
    columns_of_others: Vec<bool>,
    is_in_body: bool,
    column: usize,
    /// The identifier of the row, and its first cell.
    row: Option<(String, String)>,
    end: &'static str,
}

impl Table {
    /// Whether names stay as they are written, since the column is about other versions.
    pub(super) fn is_as_written(&self) -> bool {
        self.is_in_body && self.columns_of_others.get(self.column) == Some(&true)
    }

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

    /// The start of a cell. One without a text is no heading.
    pub(super) fn start_cell(&mut self, is_empty: bool, is_of_others: bool) -> &'static str {
        let (start, end) = match (self.is_in_body, is_empty) {
            (false, false) => ("<th scope=\"col\">", "</th>"),
            (true, false) if self.column == 0 => ("<th scope=\"row\">", "</th>"),
            (_, _) => ("<td>", "</td>"),
        };
        if !self.is_in_body {
            self.columns_of_others.push(is_of_others);
        }
        self.end = end;
        start
    }

    /// The end of a cell; `text` is that of the row so far.
    pub(super) fn end_cell(&mut self, text: &str) -> &'static str {
        if let Some((_, first)) = self.row.as_mut().filter(|_| self.column == 0) {
            text.trim().clone_into(first);
        }
        self.column += 1;
        self.end
    }

    /// The identifier of the row that ends and its first cell, where it can be linked to.
    pub(super) fn end_row(&mut self) -> Option<(String, String)> {
        self.row.take()
    }
}
