//! A file of trainees: rows of cells under the names of fields.
//!
//! A column is the name of a field of the version, or that of a field of a nested record with its
//! list and its number from 1, such as `placements.1.urn` or `degrees.2.degree_id`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use csv::{ErrorKind, StringRecord};
use serde_json::{Map, Value};

use crate::record::input;
use crate::register::{INPUT_SUFFIX, Inputs, LISTS, List, TRAINEE_ID, UPDATED_AT};
use crate::store::digest;

/// Precedes the text of a cell in some files, and is no part of it.
const APOSTROPHE: char = '\'';

/// What a cell of a column is.
#[derive(Debug, PartialEq, Clone)]
enum Column {
    TraineeId,
    UpdatedAt,
    /// A field that a request can set.
    Input(String),
    /// A field of a nested record, by the place of the list in [`LISTS`] and the number of the
    /// record.
    Nested(usize, usize, String),
    /// A field that the register sets, or a column to leave out.
    Ignored,
}

/// A file of trainees.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// A row: its line in the file, and its cells without surrounding white space and without the
/// apostrophe before a text.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) line: u64,
    pub(crate) cells: Vec<String>,
}

/// A row by the fields of the version.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TraineeRow {
    pub(crate) line: u64,
    pub(crate) trainee_id: Option<String>,
    pub(crate) updated_at: Option<String>,
    /// Field and cell, in the order of the file. A blank cell is there too.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) nested: Vec<NestedRow>,
}

/// A nested record of a row, with at least one cell that is not blank.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NestedRow {
    pub(crate) list: List,
    /// Spelt as in the names of its columns.
    pub(crate) number: usize,
    pub(crate) id: Option<String>,
    pub(crate) fields: Vec<(String, String)>,
}

impl Table {
    /// Reads a whole file, so that later changes of it do not affect the run.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let unreadable = || format!("{} cannot be read", path.display());
        let text = fs::read(path).with_context(unreadable)?;
        let mut rows = rows(&text).with_context(unreadable)?.into_iter();
        let Some(first) = rows.next() else {
            bail!("{}: the file is empty", path.display())
        };
        let header: Vec<String> = first
            .cells
            .iter()
            .map(|name| name.to_ascii_lowercase())
            .collect();
        if let Some(separator) = other_separator(&header) {
            let problem = "the cells of the file are separated by";
            bail!(
                "{}: {problem} {separator}: save it with commas between them",
                path.display()
            );
        }
        let unique: BTreeSet<&String> = header.iter().collect();
        if unique.len() < header.len() || header.iter().any(String::is_empty) {
            bail!(
                "{}: each column needs a unique name in the first line",
                path.display()
            );
        }
        let (rows, columns): (Vec<Row>, usize) = (rows.collect(), header.len());
        if let Some(Row { line, cells }) = rows.iter().find(|row| row.cells.len() != columns) {
            let advice = "put quotes around cells with commas";
            bail!(
                "{}: line {line} has {} cells, and the first line has {columns}; {advice}",
                path.display(),
                cells.len()
            );
        }
        Ok(Self { header, rows })
    }

    /// Prints that a file with a header row alone changes nothing.
    pub(crate) fn warn_without_rows(&self) {
        if self.rows.is_empty() {
            eprintln!("the file has a header row and no other rows");
        }
    }

    /// The rows by the fields of the version. A column that is none is refused: nothing is sent of
    /// a file that the program does not understand.
    pub(crate) fn trainee_rows(
        &self,
        version: &str,
        inputs: &Inputs,
        ignore: &[String],
    ) -> Result<Vec<TraineeRow>> {
        let columns: Vec<Option<Column>> = self
            .header
            .iter()
            .map(|name| {
                if ignore.contains(name) {
                    Some(Column::Ignored)
                } else {
                    column(name, inputs)
                }
            })
            .collect();
        let unknown = self
            .header
            .iter()
            .zip(&columns)
            .filter(|(_, column)| column.is_none());
        let unknown: Vec<&str> = unknown.map(|(name, _)| name.as_str()).collect();
        if !unknown.is_empty() {
            bail!(
                "no fields of {version}: {}; correct the names, leave the columns out with --ignore {}, or see `trainee-sync \
                 translate` if they are those of another version",
                unknown.join(", "),
                unknown.join(",")
            );
        }
        Ok(self
            .rows
            .iter()
            .map(|row| trainee_row(row, &columns))
            .collect())
    }
}

/// The rows of a file, the header row first, without those whose cells are all blank.
fn rows(text: &[u8]) -> Result<Vec<Row>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text);
    let mut lines = LineCounter {
        text,
        at: 0,
        line: 1,
    };
    let (mut rows, mut record) = (Vec::new(), StringRecord::new());
    while reader
        .read_record(&mut record)
        .map_err(|error| explain(error, &mut lines))?
    {
        let line = lines.line_of(record.position().map_or(0, csv::Position::byte));
        let cells: Vec<String> = record
            .iter()
            .map(|cell| remove_apostrophe(cell).to_owned())
            .collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push(Row { line, cells });
        }
    }
    Ok(rows)
}

/// The text of a cell without the one apostrophe that may precede it. Spreadsheet templates put it
/// before text that a spreadsheet would take for a number.
fn remove_apostrophe(cell: &str) -> &str {
    cell.strip_prefix(APOSTROPHE).map_or(cell, str::trim_start)
}

/// The cell of a text: [`remove_apostrophe`] returns the text again.
pub(crate) fn add_apostrophe(text: String) -> String {
    if text.starts_with(APOSTROPHE) {
        format!("{APOSTROPHE}{text}")
    } else {
        text
    }
}

/// What separates the cells of a file whose header row seems to have one cell; `None` if that is no
/// list of names.
fn other_separator(header: &[String]) -> Option<&'static str> {
    let [only] = header else { return None };
    let is_name = |text: &&str| {
        let text = text.trim();
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
    };
    let separates = |separator: char| only.split(separator).filter(is_name).count() > 1;
    [(';', "semicolons"), ('\t', "tabs")]
        .into_iter()
        .find_map(|(separator, name)| separates(separator).then_some(name))
}

/// Counts the lines of a file as an editor does: each ends with LF, CR or both.
struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
}

impl LineCounter<'_> {
    /// The line of the row that is found from there on. Rows are asked for in their order.
    fn line_of(&mut self, byte: u64) -> u64 {
        let byte = usize::try_from(byte).unwrap_or(usize::MAX);
        while let Some(next) = self.text.get(self.at)
            && (self.at < byte || matches!(next, b'\r' | b'\n'))
        {
            let follows_return =
                self.at.checked_sub(1).and_then(|at| self.text.get(at)) == Some(&b'\r');
            self.line += u64::from(*next == b'\r' || (*next == b'\n' && !follows_return));
            self.at += 1;
        }
        self.line
    }
}

fn column(name: &str, inputs: &Inputs) -> Option<Column> {
    match name {
        TRAINEE_ID => return Some(Column::TraineeId),
        UPDATED_AT => return Some(Column::UpdatedAt),
        _ if inputs.trainee.contains(name) => return Some(Column::Input(name.to_owned())),
        _ => {}
    }
    if let Some((list, number, field)) = nested_name(name) {
        let known = inputs.lists.get(list)?;
        let is_id = LISTS.get(list).is_some_and(|list| list.id == field);
        return (is_id || known.contains(field))
            .then(|| Column::Nested(list, number, field.to_owned()));
    }
    inputs.read_only.contains(name).then_some(Column::Ignored)
}

/// The list, the number and the field of a name such as `placements.1.urn`.
pub(crate) fn nested_name(name: &str) -> Option<(usize, usize, &str)> {
    let mut parts = name.splitn(3, '.');
    let list = parts.next()?;
    let list = LISTS.iter().position(|one| one.name == list)?;
    let number = parts.next()?.parse().ok().filter(|number| *number > 0)?;
    Some((list, number, parts.next()?))
}

fn trainee_row(row: &Row, columns: &[Option<Column>]) -> TraineeRow {
    let mut read = TraineeRow {
        line: row.line,
        ..TraineeRow::default()
    };
    let filled = |cell: &str| (!cell.is_empty()).then(|| cell.to_owned());
    let mut nested: BTreeMap<(usize, usize), Vec<(String, String)>> = BTreeMap::new();
    for (column, cell) in columns.iter().zip(&row.cells) {
        match column {
            Some(Column::TraineeId) => read.trainee_id = filled(cell),
            Some(Column::UpdatedAt) => read.updated_at = filled(cell),
            Some(Column::Input(field)) => read.fields.push((field.clone(), cell.clone())),
            Some(Column::Nested(list, number, field)) => {
                nested
                    .entry((*list, *number))
                    .or_default()
                    .push((field.clone(), cell.clone()));
            }
            Some(Column::Ignored) | None => {}
        }
    }
    for ((list, number), mut fields) in nested {
        let Some(list) = LISTS.get(list).copied() else {
            continue;
        };
        if fields.iter().all(|(_, cell)| cell.is_empty()) {
            continue;
        }
        let id = fields
            .iter()
            .position(|(field, _)| field == list.id)
            .map(|at| fields.remove(at).1);
        read.nested.push(NestedRow {
            list,
            number,
            id: id.filter(|id| !id.is_empty()),
            fields,
        });
    }
    read
}

impl TraineeRow {
    /// The body that registers the trainee, without its envelope. A blank cell is left out.
    pub(crate) fn body(&self) -> String {
        let mut body = body_of(&self.fields);
        for list in LISTS {
            let nested: Vec<Value> = self
                .nested_of(list)
                .map(|nested| Value::Object(body_of(&nested.fields)))
                .collect();
            if !nested.is_empty() {
                body.insert(format!("{}{INPUT_SUFFIX}", list.name), Value::Array(nested));
            }
        }
        Value::Object(body).to_string()
    }

    /// The cell of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, cell)| cell.as_str())
    }

    fn nested_of(&self, list: List) -> impl Iterator<Item = &NestedRow> {
        self.nested.iter().filter(move |nested| nested.list == list)
    }

    /// The column of the file behind a field of an answer, such as `degrees_attributes[0].subject`.
    pub(crate) fn column_of(&self, field: &str) -> String {
        for list in LISTS {
            let Some(path) = field
                .strip_prefix(list.name)
                .and_then(|rest| rest.strip_prefix(INPUT_SUFFIX))
            else {
                continue;
            };
            let Some((index, rest)) = path.strip_prefix('[').and_then(|path| path.split_once(']'))
            else {
                return list.name.to_owned();
            };
            let nested = index
                .parse()
                .ok()
                .and_then(|index| self.nested_of(list).nth(index));
            let number =
                nested.map_or_else(|| index.to_owned(), |nested| nested.number.to_string());
            return format!("{}.{number}{rest}", list.name);
        }
        field.to_owned()
    }
}

impl NestedRow {
    /// The body that adds the record, without its envelope.
    pub(crate) fn body(&self) -> String {
        Value::Object(body_of(&self.fields)).to_string()
    }

    /// Identifies the request that adds the record to a trainee.
    pub(crate) fn digest(&self, trainee_id: &str) -> String {
        digest(&[
            trainee_id,
            self.list.name,
            &self.number.to_string(),
            &self.body(),
        ])
    }

    /// The column of a field.
    pub(crate) fn column_of(&self, field: &str) -> String {
        format!("{}.{}.{field}", self.list.name, self.number)
    }
}

fn body_of(fields: &[(String, String)]) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(field, cell)| (field.clone(), input(cell)))
        .collect()
}

/// What is wrong with a file, and what to do about it.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other errors of reading say what they are"
)]
fn explain(error: csv::Error, lines: &mut LineCounter<'_>) -> anyhow::Error {
    match error.kind() {
        ErrorKind::Utf8 { pos, .. } => {
            let line = lines.line_of(pos.as_ref().map_or(0, csv::Position::byte));
            anyhow::anyhow!("line {line} is not UTF-8; save the file as CSV UTF-8")
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Inputs {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Inputs {
            trainee: names(&["first_names", "email"]),
            lists: [names(&["urn", "name"]), names(&["subject"])],
            read_only: names(&["state"]),
        }
    }

    fn table(text: &str) -> Result<Table> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Table::read(file.path())
    }

    #[test]
    fn rows_are_read_by_the_fields_of_the_version() {
        let text = "trainee_id,updated_at,first_names,email,state,degrees.1.subject,degrees.3.subject,degrees.3.degree_id\n\
                    ,,\" Ayo\nOla \",,awarded,,x,\nT,2026,Bea,b@x,,,y,D\n";
        let rows = table(text)
            .unwrap()
            .trainee_rows("v1", &inputs(), &[])
            .unwrap();
        assert_eq!(rows[0].line, 2);
        assert_eq!(rows[0].trainee_id, None);
        assert_eq!(
            rows[0].body(),
            r#"{"first_names":"Ayo\nOla","degrees_attributes":[{"subject":"x"}]}"#
        );
        assert_eq!(
            rows[0].column_of("degrees_attributes[0].subject"),
            "degrees.3.subject"
        );
        assert_eq!(rows[0].column_of("degrees_attributes[0]"), "degrees.3");
        assert_eq!(rows[0].column_of("placements_attributes"), "placements");
        assert_eq!(rows[0].column_of("email"), "email");
        assert_eq!(rows[1].line, 4);
        assert_eq!(rows[1].trainee_id.as_deref(), Some("T"));
        assert_eq!(rows[1].nested[0].id.as_deref(), Some("D"));
        assert_eq!(rows[1].nested[0].column_of("subject"), "degrees.3.subject");
    }

    #[test]
    fn unknown_column_is_rejected_unless_ignored() {
        let table = table("first_names,midle_names,placements.0.urn\na,b,c\n").unwrap();
        let refused = table
            .trainee_rows("v1", &inputs(), &[])
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("midle_names, placements.0.urn"),
            "{refused}"
        );
        let ignore = ["midle_names".to_owned(), "placements.0.urn".to_owned()];
        assert_eq!(
            table.trainee_rows("v1", &inputs(), &ignore).unwrap().len(),
            1
        );
    }

    #[test]
    fn malformed_files_are_refused_by_line() {
        let refused = |text: &str| format!("{:#}", table(text).unwrap_err());
        assert!(refused("a,b\n1,2\n1,2,3\n").contains("line 3 has 3 cells"));
        assert!(refused("a,a\n1,2\n").contains("unique name"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"a\nx\n\xff\n").unwrap();
        assert!(
            format!("{:#}", Table::read(file.path()).unwrap_err()).contains("line 3 is not UTF-8")
        );
    }

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        let lines = ["a,b", "1,2", "", "\"x", "y\",2", ",", "3,4"];
        let mixed = "a,b\r1,2\r\n\r\"x\ny\",2\n,\r3,4\r".to_owned();
        for text in ["\n", "\r\n", "\r"]
            .map(|end| lines.join(end))
            .into_iter()
            .chain([mixed])
        {
            let rows = table(&text).unwrap().rows;
            assert_eq!(
                rows.iter().map(|row| row.line).collect::<Vec<_>>(),
                [2, 4, 7],
                "{text:?}"
            );
        }
    }

    #[test]
    fn one_apostrophe_before_a_cell_is_removed() {
        let text = "'Trainee_ID,first_names\n'01,''t Hooft\n ' 02 ,O'Neil\n',''\n',\n\u{2019}03,'\u{2bc}x\n";
        let table = table(text).unwrap();
        assert_eq!(table.header, ["trainee_id", "first_names"]);
        let rows: Vec<_> = table
            .rows
            .iter()
            .map(|row| (row.line, row.cells.join("|")))
            .collect();
        let expected = [
            (2, "01|'t Hooft"),
            (3, "02|O'Neil"),
            (4, "|'"),
            (6, "\u{2019}03|\u{2bc}x"),
        ];
        assert_eq!(rows, expected.map(|(line, cells)| (line, cells.to_owned())));
        for text in ["'t Hooft", "''", "O'Neil", ""] {
            assert_eq!(remove_apostrophe(&add_apostrophe(text.to_owned())), text);
        }
    }

    #[test]
    fn rows_of_blank_cells_are_skipped_whatever_their_number_is() {
        let rows = table(",,,\nfirst_names,email\n , \nAyo,\n,,,\n,")
            .unwrap()
            .rows;
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn column_names_are_compared_without_case_and_surrounding_space() {
        let rows = table("First_Names , EMAIL\nAyo,a@x\n")
            .unwrap()
            .trainee_rows("v1", &inputs(), &[])
            .unwrap();
        assert_eq!(rows[0].body(), r#"{"first_names":"Ayo","email":"a@x"}"#);
    }

    #[test]
    fn other_separators_are_named() {
        for (text, separator) in [
            (
                "first_names;email\nAyo;a@x\n",
                "separated by semicolons: save it with commas",
            ),
            (
                "first_names;email;Title (long)\nAyo, B.;a@x;1,5\n",
                "separated by semicolons",
            ),
            (
                "first_names\tdegrees.1.subject\nAyo\tx\n",
                "separated by tabs",
            ),
            ("\u{feff}\r\n", "the file is empty"),
        ] {
            let refused = format!("{:#}", table(text).unwrap_err());
            assert!(refused.contains(separator), "{refused}");
        }
        assert_eq!(
            table("a; b\nx\n")
                .unwrap_err()
                .to_string()
                .matches("semicolons")
                .count(),
            1
        );
        assert!(table("Title; or name\nx\n").is_ok());
    }

    #[test]
    fn byte_order_mark_is_no_part_of_the_first_name() {
        assert_eq!(
            table("\u{feff}first_names\nAyo\n").unwrap().header,
            ["first_names"]
        );
    }
}
