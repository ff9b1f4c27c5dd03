//! Reads the rows of one list, and says where a malformed one is.

use thiserror::Error;
use uuid::Uuid;

use crate::values::text::is_blank;

/// A list that cannot be used.
#[derive(Debug, Error)]
#[error("list {list}, line {line}: {kind}")]
pub struct ListError {
    /// The name of the list.
    pub list: String,
    /// The line in its file, counted from 1.
    pub line: u64,
    /// What is wrong there.
    pub kind: ListErrorKind,
}

/// What is wrong with a list.
#[derive(Debug, Error)]
pub enum ListErrorKind {
    /// It is not a table of comma-separated values.
    #[error("not comma-separated values")]
    Csv(#[source] csv::Error),
    /// It has no rows.
    #[error("there are no rows")]
    NoRows,
    /// A row is longer or shorter than the header.
    #[error("the row does not have as many columns as the header")]
    Ragged,
    /// A column is not in the header.
    #[error("column {0} is missing")]
    Missing(String),
    /// A cell that must have a value is empty.
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
    /// A cell has a word that is not one of the few allowed.
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

/// The rows of a list with a header row; there is at least one.
pub(super) fn rows<'a>(list: &'a str, text: &'a str) -> Result<Vec<Row<'a>>, ListError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(text.as_bytes());
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, |at| line_of(text, at));
        ListError {
            list: list.to_owned(),
            line,
            kind: ListErrorKind::Csv(error),
        }
    };
    let headers = reader.headers().map_err(broken)?.clone();
    let mut rows = Vec::new();
    for cells in reader.records() {
        let row = Row {
            list,
            text,
            headers: headers.clone(),
            cells: cells.map_err(broken)?,
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
    /// The text of a column that must not be empty.
    pub(super) fn text(&self, column: &str) -> Result<&str, ListError> {
        self.optional(column)?
            .ok_or_else(|| self.error(ListErrorKind::Empty(column.to_owned())))
    }

    /// The text of a column that must exist.
    pub(super) fn optional(&self, column: &str) -> Result<Option<&str>, ListError> {
        let missing = || ListError {
            list: self.list.to_owned(),
            line: 1,
            kind: ListErrorKind::Missing(column.to_owned()),
        };
        let cell = self.cell(column).ok_or_else(missing)?;
        Ok((!is_blank(cell)).then_some(cell))
    }

    /// A column of `true` and `false`.
    pub(super) fn flag(&self, column: &str) -> Result<bool, ListError> {
        match self.text(column)? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.error(ListErrorKind::NotFlag(column.to_owned()))),
        }
    }

    /// A column of whole numbers.
    pub(super) fn number<N: std::str::FromStr>(&self, column: &str) -> Result<N, ListError> {
        self.text(column)?
            .parse()
            .map_err(|_| self.error(ListErrorKind::NotNumber(column.to_owned())))
    }

    /// A column of years that a list need not have.
    pub(super) fn year(&self, column: &str) -> Result<Option<i32>, ListError> {
        match self.cell(column) {
            Some(text) if !is_blank(text) => self.number(column).map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// A column of UUIDs that a list need not have, in which a cell can be empty.
    pub(super) fn uuid(&self, column: &str) -> Result<Option<Uuid>, ListError> {
        match self.cell(column) {
            Some(text) if !is_blank(text) => Uuid::try_parse(text)
                .map(Some)
                .map_err(|_| self.error(ListErrorKind::NotUuid(column.to_owned()))),
            Some(_) | None => Ok(None),
        }
    }

    /// A column of a few words.
    pub(super) fn one_of(
        &self,
        column: &str,
        words: &[&'static str],
    ) -> Result<&'static str, ListError> {
        let text = self.text(column)?;
        let word = words.iter().find(|word| **word == text).copied();
        word.ok_or_else(|| self.error(ListErrorKind::NotAllowed(column.to_owned())))
    }

    /// What is wrong with this row.
    pub(super) fn error(&self, kind: ListErrorKind) -> ListError {
        let line = self.cells.position().map_or(1, |at| line_of(self.text, at));
        ListError {
            list: self.list.to_owned(),
            line,
            kind,
        }
    }

    fn cell(&self, column: &str) -> Option<&str> {
        let is_column = |header: &str| header.trim().eq_ignore_ascii_case(column);
        self.headers
            .iter()
            .position(is_column)
            .and_then(|at| self.cells.get(at))
    }
}

/// The line on which a row begins; each line ends with LF, CR or both. The reader's own count
/// points to where the row before ended: in front of a line feed that follows a carriage return,
/// and of blank lines.
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

    /// What is said of the text when it takes the place of a table.
    fn said(table: &str, text: &str) -> String {
        Lists::with_replacements(|name| (name == table).then_some(text))
            .map_or_else(|error| error.to_string(), |_| "fine".into())
    }

    #[test]
    fn a_malformed_table_is_refused_with_its_line() {
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
            assert_eq!(said(table, text), expected, "{text}");
        }
    }

    #[test]
    fn a_table_takes_the_place_of_the_embedded_one_and_leaves_the_others() {
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
