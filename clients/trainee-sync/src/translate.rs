//! `translate`: a file as another version of the API spells it, with what that version would refuse
//! or lose.
//!
//! The register translates; nothing is stored there, and no token is sent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::{Map, Value, json};
use trainee_file::{
    INPUT_SUFFIX, LISTS, Problem, Row, TRAINEE_ID, Table, UPDATED_AT, add_apostrophe, cell, input,
    nested_name,
};

use crate::cli::{Outcome, column_name};
use crate::client::Client;
use crate::connection::{ConnectionOptions, require_label};
use crate::export::finish;
use crate::private_file::PrivateFile;
use crate::progress::Progress;
use crate::register::Register;
use crate::report::{refused_rows, write_report};
use crate::table::{read_table, warn_of_missing_cells};

/// Rows of a request, at most.
const MOST_ROWS: usize = 500;
/// Bytes of a request, at most: the register takes 256 KiB.
const MOST_BYTES: usize = 240_000;

/// How the code of what may matter begins.
const NOTICE: &str = "notice_";

/// What is translated.
#[derive(Debug, Args)]
pub(crate) struct TranslateOptions {
    #[command(flatten)]
    connection: ConnectionOptions,
    /// File whose columns are the fields of --version
    file: PathBuf,
    /// Sheet of the workbook; without this option the first one
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// Version to translate to, such as v2026.1
    #[arg(long, value_name = "LABEL")]
    to: String,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', value_parser = column_name)]
    ignore: Vec<String>,
}

/// A row as the body of a request, with the column behind each of its fields.
struct Body {
    line: u64,
    /// Columns that are no part of the body, and are written as they are.
    kept: Vec<(String, String)>,
    is_update: bool,
    data: Value,
    /// The numbers of the nested records in the file, by [`LISTS`].
    numbers: [Vec<usize>; 2],
}

/// Writes the file as the other version spells it, and a report.
pub(crate) fn translate(options: &TranslateOptions) -> Result<Outcome> {
    let (register, version) = options.connection.resolve(None)?;
    require_label(&options.to)?;
    let table = read_table(&options.file, options.sheet.as_deref())?;
    warn_of_missing_cells(&table);
    let progress = Progress::new();
    let client = options.connection.client(register, None, true, &progress)?;
    let bodies: Vec<Body> = table
        .rows
        .iter()
        .map(|row| read_body(&table, row, &options.ignore))
        .collect();
    let mut translated: BTreeMap<u64, Vec<(String, String)>> = BTreeMap::new();
    let mut problems = Vec::new();
    // A row without an identifier registers a trainee, so all of its problems are reported.
    for (purpose, is_update) in [("create", false), ("update", true)] {
        let of_purpose: Vec<&Body> = bodies
            .iter()
            .filter(|body| body.is_update == is_update)
            .collect();
        for batch in batches(&of_purpose) {
            let answer = ask(&client, &version, &options.to, purpose, batch)?;
            take_answer(&answer, batch, &mut translated, &mut problems)?;
            progress.show(
                "rows translated",
                translated.len(),
                Some(bodies.len()),
                client.count(),
            );
        }
    }
    progress.clear();
    let translated: Vec<Vec<(String, String)>> = translated.into_values().collect();
    let target = options.file.with_extension(format!("{}.csv", options.to));
    let report = options
        .file
        .with_extension(format!("{}.report.csv", options.to));
    write_file(&target, &translated)?;
    write_report(&report, &mut problems)?;
    problems.retain(|problem| !problem.code.starts_with(NOTICE));
    let rows = refused_rows(&problems);
    println!(
        "{} rows in {}, {rows} of them with a problem or a loss in {} ({})",
        translated.len(),
        target.display(),
        report.display(),
        client.summary()
    );
    Ok(Outcome::from_refused_count(rows))
}

/// Every column but identifiers is taken for a field: which ones the version has, the register
/// says.
fn read_body(table: &Table, row: &Row, ignore: &[String]) -> Body {
    let (mut kept, mut data) = (Vec::new(), Map::new());
    let mut nested: [BTreeMap<usize, Map<String, Value>>; 2] = Default::default();
    let identifier = table
        .header
        .iter()
        .position(|name| name == TRAINEE_ID)
        .and_then(|at| row.cells.get(at));
    let is_update = identifier.is_some_and(|identifier| !identifier.is_empty());
    for (name, text) in table
        .header
        .iter()
        .zip(&row.cells)
        .filter(|(name, _)| !ignore.contains(name))
    {
        if matches!(name.as_str(), TRAINEE_ID | UPDATED_AT) {
            kept.push((name.clone(), text.clone()));
        } else if let Some((list, number, field)) = nested_name(name) {
            let place = LISTS.iter().position(|known| *known == list);
            let Some(records) = place.and_then(|place| nested.get_mut(place)) else {
                continue;
            };
            if list.id == field {
                kept.push((name.clone(), text.clone()));
            } else if !text.is_empty() {
                records
                    .entry(number)
                    .or_default()
                    .insert(field.to_owned(), text.clone().into());
            }
        } else if is_update || !text.is_empty() {
            // A blank cell of an update clears the field.
            data.insert(name.clone(), input(text));
        }
    }
    let numbers = nested
        .each_ref()
        .map(|records| records.keys().copied().collect());
    for (list, records) in LISTS.iter().zip(nested) {
        if !records.is_empty() {
            let records = records.into_values().map(Value::Object).collect();
            data.insert(
                format!("{}{INPUT_SUFFIX}", list.name),
                Value::Array(records),
            );
        }
    }
    Body {
        line: row.line,
        kept,
        is_update,
        data: Value::Object(data),
        numbers,
    }
}

/// The rows of each request.
fn batches<'a>(bodies: &'a [&'a Body]) -> Vec<&'a [&'a Body]> {
    let (mut batches, mut rest) = (Vec::new(), bodies);
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(MOST_ROWS).take_while(|body| {
            bytes += body.data.to_string().len() + 1;
            bytes <= MOST_BYTES
        });
        let (batch, others) = rest.split_at(fits.count().max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}

fn ask(client: &Client, from: &str, to: &str, purpose: &str, batch: &[&Body]) -> Result<Value> {
    let data: Vec<&Value> = batch.iter().map(|body| &body.data).collect();
    let question = json!({
        "from": from, "to": to, "record": "trainee", "direction": "request", "purpose": purpose, "data": data,
    });
    let reply = Register {
        client,
        version: from,
    }
    .translate(&question)?;
    if reply.status == 413 {
        let line = batch.first().map_or(0, |body| body.line);
        bail!(
            "line {line} is too long to be translated; shorten it, or leave columns out with --ignore"
        );
    }
    Ok(reply.body)
}

/// Takes up the translated rows, and what is said about them.
fn take_answer(
    answer: &Value,
    batch: &[&Body],
    translated: &mut BTreeMap<u64, Vec<(String, String)>>,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    let rows = answer["data"]
        .as_array()
        .filter(|rows| rows.len() == batch.len());
    for (body, row) in batch
        .iter()
        .zip(rows.context("the register did not translate every row; inform the operator")?)
    {
        let mut cells = body.kept.clone();
        for (field, value) in row.as_object().into_iter().flatten() {
            let list = LISTS
                .iter()
                .position(|list| field.strip_suffix(INPUT_SUFFIX) == Some(list.name));
            let (Some(list), Some(records)) = (list, value.as_array()) else {
                cells.push((field.clone(), cell(value)));
                continue;
            };
            for (record, number) in records
                .iter()
                .zip(body.numbers.get(list).into_iter().flatten())
            {
                let name = LISTS.get(list).map_or("", |list| list.name);
                let fields = record.as_object().into_iter().flatten();
                cells.extend(
                    fields.map(|(field, value)| (format!("{name}.{number}.{field}"), cell(value))),
                );
            }
        }
        translated.insert(body.line, cells);
    }
    for (key, path, kind) in [
        ("problems", "field", ""),
        ("lost", "path", "lost_"),
        ("notices", "path", NOTICE),
    ] {
        for said in answer[key].as_array().into_iter().flatten() {
            let text = |key: &str| said[key].as_str().unwrap_or_default();
            let Some((body, column)) = locate(text(path), batch) else {
                continue;
            };
            let code = if text("code").is_empty() {
                text("why")
            } else {
                text("code")
            };
            problems.push(Problem::new(
                body.line,
                &column,
                &format!("{kind}{code}"),
                text("message"),
            ));
        }
    }
    Ok(())
}

/// The row and the column of a path such as `[3].degrees_attributes[0].subject`.
fn locate<'a>(path: &str, batch: &[&'a Body]) -> Option<(&'a Body, String)> {
    let (index, field) = path.strip_prefix('[')?.split_once(']')?;
    let body = *batch.get(index.parse::<usize>().ok()?)?;
    let field = field.trim_start_matches('.');
    for (list, numbers) in LISTS.iter().zip(&body.numbers) {
        let nested = field
            .strip_prefix(list.name)
            .and_then(|rest| rest.strip_prefix(INPUT_SUFFIX));
        if let Some((index, rest)) =
            nested.and_then(|nested| nested.strip_prefix('[')?.split_once(']'))
        {
            let number = index
                .parse()
                .ok()
                .and_then(|index: usize| numbers.get(index))?;
            return Some((body, format!("{}.{number}{rest}", list.name)));
        }
    }
    Some((body, field.to_owned()))
}

/// The columns are those of all rows, each behind the one before it in its row.
fn write_file(path: &std::path::Path, rows: &[Vec<(String, String)>]) -> Result<()> {
    let mut header: Vec<&str> = Vec::new();
    for row in rows {
        let mut behind = 0;
        for (name, _) in row {
            behind = header
                .iter()
                .position(|one| one == name)
                .unwrap_or_else(|| {
                    header.insert(behind, name);
                    behind
                })
                + 1;
        }
    }
    let mut writer = csv::Writer::from_writer(PrivateFile::create(path)?);
    if !header.is_empty() {
        writer.write_record(&header)?;
    }
    for row in rows {
        let text = |name: &&str| {
            row.iter()
                .find(|(one, _)| one == name)
                .map(|(_, text)| text.clone())
        };
        let cell = |name: &&str| add_apostrophe(text(name).unwrap_or_default());
        writer.write_record(header.iter().map(cell))?;
    }
    finish(writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<Body> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let table = read_table(file.path(), None).unwrap();
        table
            .rows
            .iter()
            .map(|row| read_body(&table, row, &[]))
            .collect()
    }

    #[test]
    fn rows_are_bodies_of_requests() {
        let bodies = bodies(
            "trainee_id,old_name,email,degrees.2.subject,degrees.2.degree_id\n,a,,x,\nT,,b,,D\n",
        );
        assert_eq!(
            bodies[0].data,
            json!({ "old_name": "a", "degrees_attributes": [{ "subject": "x" }] })
        );
        assert!(!bodies[0].is_update && bodies[1].is_update);
        assert_eq!(bodies[1].data, json!({ "old_name": null, "email": "b" }));
        assert!(
            bodies[1]
                .kept
                .contains(&("degrees.2.degree_id".to_owned(), "D".to_owned()))
        );
    }

    #[test]
    fn answer_is_written_by_line_and_column() {
        let bodies = bodies("old_name,degrees.2.subject\n'a,x\nb,\n");
        let batch: Vec<&Body> = bodies.iter().collect();
        let answer = json!({
            "data": [{ "new_name": "'1", "degrees_attributes": [{ "subject": "x" }] }, { "new_name": "'b" }],
            "problems": [
                { "field": "[0].degrees_attributes[0].subject", "code": "unknown_code", "message": "m" },
                { "field": "[1].new_name", "code": "blank", "message": "m" },
            ],
            "lost": [{ "path": "[1].old_name", "why": "own_field", "message": "m" }],
            "notices": [{ "path": "[0].x", "code": "unknown_name", "message": "m" }],
        });
        let (mut translated, mut problems) = (BTreeMap::new(), Vec::new());
        take_answer(&answer, &batch, &mut translated, &mut problems).unwrap();
        let places: Vec<(u64, &str, &str)> = problems
            .iter()
            .map(|problem| (problem.line, problem.column.as_str(), problem.code.as_str()))
            .collect();
        let expected = [
            (2, "degrees.2.subject", "unknown_code"),
            (3, "new_name", "blank"),
            (3, "old_name", "lost_own_field"),
            (2, "x", "notice_unknown_name"),
        ];
        assert_eq!(places, expected);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.csv");
        write_file(&path, &translated.into_values().collect::<Vec<_>>()).unwrap();
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            "new_name,degrees.2.subject\n''1,x\n'b,\n"
        );
    }

    #[test]
    fn requests_are_as_large_as_the_register_takes() {
        let rows: String = (0..1_100).map(|number| format!("{number}\n")).collect();
        let bodies = bodies(&format!("old_name\n{rows}"));
        let all: Vec<&Body> = bodies.iter().collect();
        assert_eq!(
            batches(&all)
                .iter()
                .map(|batch| batch.len())
                .collect::<Vec<_>>(),
            [500, 500, 100]
        );
    }
}
