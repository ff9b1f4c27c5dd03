//! The file to push or translate.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};
use trainee_file::{Column, Limits, Names, Table, TraineeRow, find_repeated_column};

/// Reads a whole file, so that later changes of it do not affect the run. The headings are in lower
/// case.
pub(crate) fn read_table(path: &Path, sheet: Option<&str>) -> Result<Table> {
    let unreadable = || format!("{} cannot be read", path.display());
    let bytes = fs::read(path).with_context(unreadable)?;
    let mut table = Table::read_sheet(&bytes, sheet, &Limits::NONE).with_context(unreadable)?;
    for heading in &mut table.header {
        heading.make_ascii_lowercase();
    }
    Ok(table)
}

/// Warns of a file with a header row alone, and of rows with fewer cells than headings.
pub(crate) fn warn_of_missing_cells(table: &Table) {
    if table.rows.is_empty() {
        eprintln!("the file has a header row and no other rows");
    }
    if let Some(first) = table.short_rows.first() {
        eprintln!(
            "{} rows have fewer cells than the first row (line {first}); the missing cells count as blank",
            table.short_rows.len()
        );
    }
}

/// The columns by the fields of the version. A column that is none is refused: nothing is sent of a
/// file that the program does not understand.
pub(crate) fn columns(
    table: &Table,
    version: &str,
    names: &Names,
    ignore: &[String],
) -> Result<Vec<Column>> {
    let (mut columns, mut unknown) = (Vec::new(), Vec::new());
    for heading in &table.header {
        let column = if ignore.contains(heading) {
            Some(Column::Ignored)
        } else {
            names.recognise(heading)
        };
        if column.is_none() {
            unknown.push(heading.as_str());
        }
        columns.push(column.unwrap_or(Column::Ignored));
    }
    if !unknown.is_empty() {
        bail!(
            "no fields of {version}: {}; correct the names, leave the columns out with --ignore {}, or see `trainee-sync \
             translate` if they are those of another version",
            unknown.join(", "),
            unknown.join(",")
        );
    }
    if let Some((first, second)) = find_repeated_column(&columns)
        && let (Some(first), Some(second)) = (table.header.get(first), table.header.get(second))
    {
        bail!("{first} and {second} are the same field; leave one out with --ignore {second}");
    }
    Ok(columns)
}

/// The rows by their columns.
pub(crate) fn trainee_rows(table: &Table, columns: &[Column]) -> Vec<TraineeRow> {
    table
        .rows
        .iter()
        .map(|row| TraineeRow::new(row, columns))
        .collect()
}

/// The JSON text of a body. Equal rows have equal texts, which identify what was sent.
pub(crate) fn json_text(body: Map<String, Value>) -> String {
    Value::Object(body).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let mut names = Names::default();
        for field in ["first_names", "email"] {
            names.add_field(field, field);
        }
        names.add_nested("placements", "urn", "urn");
        names.add_nested("degrees", "subject", "subject");
        names.add_read_only("state");
        names
    }

    fn table(text: &[u8]) -> Result<Table> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read_table(file.path(), None)
    }

    #[test]
    fn unknown_column_is_rejected_unless_ignored() {
        let table = table(b"first_names,midle_names,placements.0.urn\na,b,c\n").unwrap();
        let refused = columns(&table, "v1", &names(), &[])
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("midle_names, placements.0.urn"),
            "{refused}"
        );
        let ignore = ["midle_names".to_owned(), "placements.0.urn".to_owned()];
        let columns = columns(&table, "v1", &names(), &ignore).unwrap();
        assert_eq!(trainee_rows(&table, &columns).len(), 1);
    }

    #[test]
    fn two_columns_of_one_field_are_rejected() {
        let table = table(b"first_names,First Names\na,b\n").unwrap();
        let refused = columns(&table, "v1", &names(), &[]).unwrap_err();
        assert!(refused.to_string().contains("first names are the same"));
    }

    #[test]
    fn column_names_are_compared_without_case_and_surrounding_space() {
        let table = table(b"First_Names , EMAIL,State\nAyo,a@x,draft\n").unwrap();
        let columns = columns(&table, "v1", &names(), &[]).unwrap();
        let rows = trainee_rows(&table, &columns);
        assert_eq!(
            json_text(rows[0].body()),
            r#"{"first_names":"Ayo","email":"a@x"}"#
        );
    }

    #[test]
    fn unreadable_file_is_named_with_its_fault() {
        let refused = format!("{:#}", table(b"a,b\n1,2\n1,2,3\n").unwrap_err());
        assert!(
            refused.contains("cannot be read: Line 3 has 3 cells"),
            "{refused}"
        );
    }
}
