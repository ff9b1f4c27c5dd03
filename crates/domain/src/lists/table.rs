//! Reads the rows of a table. Errors have the line of the malformed row.

use thiserror::Error;
use uuid::Uuid;

use crate::values::text::is_blank;

/// An error in a table.
#[derive(Debug, Error)]
#[error("list {list}, line {line}: {kind}")]
pub struct ListError {
    /// The name of the list.
    pub list: String,
    /// The line in the file, from 1.
    pub line: u64,
    /// The kind of the error.
    pub kind: ListErrorKind,
}

/// The kinds of errors in a table.
#[derive(Debug, Error)]
pub enum ListErrorKind {
    /// The text is not a table of comma-separated values.
    #[error("not comma-separated values")]
    Csv(#[source] csv::Error),
    /// The table has no rows.
    #[error("there are no rows")]
    NoRows,
    /// A row is longer or shorter than the header.
    #[error("the row does not have as many columns as the header")]
    Ragged,
    /// The header lacks a column.
    #[error("column {0} is missing")]
    Missing(String),
    /// A required cell is empty.
    #[error("column {0} is empty")]
    Empty(String),
    /// A cell is neither `true` nor `false`.
    #[error("column {0} must be true or false")]
    NotFlag(String),
    /// A cell is not a whole number.
    #[error("column {0} must be a whole number")]
    NotNumber(String),
    /// A cell is not a UUID.
    #[error("column {0} must be a UUID")]
    NotUuid(String),
    /// A cell has a word that is not allowed.
    #[error("column {0} holds a word that is not allowed there")]
    NotAllowed(String),
    /// An earlier row has the same code.
    #[error("code {0} is there already")]
    Repeated(String),
}

/// One row of a list.
pub(super) struct Row<'a> {
    list: &'a str,
    text: &'a str,
    headers: csv::StringRecord,
    cells: csv::StringRecord,
}

/// Parses a table with a header row. Skips blank rows.
///
/// # Errors
///
/// [`ListError`] if the text is not a table, a row has the wrong number of columns, or there are no
/// rows.
pub(super) fn rows<'a>(list: &'a str, text: &'a str) -> Result<Vec<Row<'a>>, ListError> {
    let text = text.trim_start_matches('\u{feff}');
    // The loop below reports rows with a wrong number of columns.
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let csv_error = |error: csv::Error| ListError {
        list: list.to_owned(),
        line: error.position().map_or(1, |at| line_of(text, at)),
        kind: ListErrorKind::Csv(error),
    };
    let headers = reader.headers().map_err(csv_error)?.clone();
    let mut rows = Vec::new();
    for cells in reader.records() {
        let row = Row {
            list,
            text,
            headers: headers.clone(),
            cells: cells.map_err(csv_error)?,
        };
        if row.cells.iter().all(is_blank) {
            continue;
        }
        if row.cells.len() != headers.len() {
            return Err(row.error(ListErrorKind::Ragged));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(ListError {
            list: list.to_owned(),
            line: 1,
            kind: ListErrorKind::NoRows,
        });
    }
    Ok(rows)
}

impl Row<'_> {
    /// Returns the text of a required cell. Fails if the column is missing or the cell is empty.
    pub(super) fn text(&self, column: &str) -> Result<&str, ListError> {
        self.optional(column)?
            .ok_or_else(|| self.error(ListErrorKind::Empty(column.to_owned())))
    }

    /// Returns the text of a cell, or `None` if the cell is empty. Fails if the column is missing.
    pub(super) fn optional(&self, column: &str) -> Result<Option<&str>, ListError> {
        let cell = self.cell(column).ok_or_else(|| ListError {
            list: self.list.to_owned(),
            line: 1,
            kind: ListErrorKind::Missing(column.to_owned()),
        })?;
        Ok((!is_blank(cell)).then_some(cell))
    }

    /// Parses a required cell as `true` or `false`.
    pub(super) fn flag(&self, column: &str) -> Result<bool, ListError> {
        match self.text(column)? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.error(ListErrorKind::NotFlag(column.to_owned()))),
        }
    }

    /// Parses a required cell as a whole number.
    pub(super) fn number<N: std::str::FromStr>(&self, column: &str) -> Result<N, ListError> {
        self.text(column)?
            .parse()
            .map_err(|_| self.error(ListErrorKind::NotNumber(column.to_owned())))
    }

    /// Parses a cell as a year. Returns `None` if the cell is empty or the column is missing.
    pub(super) fn year(&self, column: &str) -> Result<Option<i32>, ListError> {
        match self.cell(column) {
            Some(text) if !is_blank(text) => self.number(column).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// Parses a cell as a UUID. Returns `None` if the cell is empty or the column is missing.
    pub(super) fn uuid(&self, column: &str) -> Result<Option<Uuid>, ListError> {
        match self.cell(column) {
            Some(text) if !is_blank(text) => Uuid::try_parse(text)
                .map(Some)
                .map_err(|_| self.error(ListErrorKind::NotUuid(column.to_owned()))),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the word in a required cell. Fails if the word is not in `words`.
    pub(super) fn one_of(
        &self,
        column: &str,
        words: &[&'static str],
    ) -> Result<&'static str, ListError> {
        let text = self.text(column)?;
        let word = words.iter().find(|word| **word == text).copied();
        word.ok_or_else(|| self.error(ListErrorKind::NotAllowed(column.to_owned())))
    }

    /// Returns an error with the line of this row.
    pub(super) fn error(&self, kind: ListErrorKind) -> ListError {
        let line = self.cells.position().map_or(1, |at| line_of(self.text, at));
        ListError {
            list: self.list.to_owned(),
            line,
            kind,
        }
    }

    /// Returns the text of a cell, or `None` if the column is missing.
    fn cell(&self, column: &str) -> Option<&str> {
        let index = self
            .headers
            .iter()
            .position(|header| header.trim().eq_ignore_ascii_case(column))?;
        self.cells.get(index)
    }
}

/// Returns the line number of the beginning of a row. A line ends with LF, CR or CRLF.
///
/// The position of the reader is the end of the previous row. Between that position and the row can
/// be the LF of a CRLF, and blank lines.
fn line_of(text: &str, at: &csv::Position) -> u64 {
    let end = usize::try_from(at.byte()).unwrap_or(usize::MAX);
    let (before, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let blank = rest
        .bytes()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'));
    let mut lines = 1;
    let mut follows_return = false;
    for byte in before.bytes().chain(blank) {
        lines += u64::from(byte == b'\r' || (byte == b'\n' && !follows_return));
        follows_return = byte == b'\r';
    }
    lines
}

#[cfg(test)]
mod tests {
    use crate::Lists;

    /// Returns the error for a replaced table.
    fn error_message(table: &str, text: &str) -> String {
        Lists::with_replacements(|name| (name == table).then_some(text))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn malformed_table_is_refused_with_its_line() {
        for (table, text, expected) in [
            ("sex", "", "list sex, line 1: there are no rows"),
            ("sex", "code,name\n", "list sex, line 1: there are no rows"),
            (
                "sex",
                "code,title\n10,Female\n",
                "list sex, line 1: column name is missing",
            ),
            (
                "sex",
                "code,name\n10,Female\n11,\n",
                "list sex, line 3: column name is empty",
            ),
            (
                "sex",
                "code,name\n10,Female\n11,Male\n10,Other\n",
                "list sex, line 4: code 10 is there already",
            ),
            (
                "sex",
                "code,name\r\n10,Female\r\n10,Male\r\n",
                "list sex, line 3: code 10 is there already",
            ),
            (
                "sex",
                "\u{feff}code,name\r\n\r\n10,\"Fe\r\nmale\"\r\n10,M",
                "list sex, line 5: code 10 is there already",
            ),
            (
                "sex",
                "code,name\r10,Female\r\r10,Male",
                "list sex, line 4: code 10 is there already",
            ),
            (
                "sex",
                "code,name\r\n10,Female\n,\r10,\"Ma\rle\"\r10,Male",
                "list sex, line 4: code 10 is there already",
            ),
            (
                "sex",
                "code,name\n,\n \t,\u{200b}\n,,\n",
                "list sex, line 1: there are no rows",
            ),
            (
                "sex",
                "code,name\n10,\u{200b}\n",
                "list sex, line 2: column name is empty",
            ),
            (
                "sex",
                "code,name\n10,Female,\n",
                "list sex, line 2: the row does not have as many columns as the header",
            ),
            (
                "sex",
                "code,name,end_year\n10,Female,soon\n",
                "list sex, line 2: column end_year must be a whole number",
            ),
            (
                "degree_grade",
                "code,name,uuid\n01,First,8741765a-13d8-4550-a413-c5a860a59d25\n02,Second,2:1\n",
                "list degree_grade, line 3: column uuid must be a UUID",
            ),
            (
                "country",
                "code,name,uk\nXK,Kosovo,no\n",
                "list country, line 2: column uk must be true or false",
            ),
            (
                "withdrawal_reason",
                "code,name,trigger,requires_another_reason,requires_safeguarding_concern_reasons\na,A,me,false,false\n",
                "list withdrawal_reason, line 2: column trigger holds a word that is not allowed there",
            ),
        ] {
            assert_eq!(error_message(table, text), expected, "{text}");
        }
    }

    #[test]
    fn replaced_table_leaves_other_tables_unchanged() {
        let text = "CODE, Name\r\n10,Female\r\n,\r\n42,Something else\r\n,,";
        let lists = Lists::with_replacements(|name| (name == "sex").then_some(text)).unwrap();
        assert_eq!(
            lists.codes(crate::List::Sex).collect::<Vec<_>>(),
            ["10", "42"]
        );
        assert_eq!(
            lists.entries(crate::List::Country),
            Lists::embedded().entries(crate::List::Country)
        );
    }
}
