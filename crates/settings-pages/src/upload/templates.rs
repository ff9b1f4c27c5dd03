//! Templates to download: all columns of a version, and a row with an example.

use adapter_kit::WireRecord as _;
use adapter_kit::compose::Request;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireNested;
use domain::{Lists, RecordField as _, Trainee, for_each_nested};
use fixtures::example;
use serde_json::Value;
use storage::session::Session;
use trainee_file::{Column, INPUT_SUFFIX, Names, at, cell, write_csv};

use crate::request::context::UploaderContext;
use crate::request::page::{PageError, Reply};
use crate::request::page_request::PageRequest;
use crate::upload::names;

/// Per nested list.
const RECORDS: usize = 2;

pub(crate) fn download(
    _: &mut Session<'_>,
    request: &PageRequest,
    _: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let label = request.parameter("version")?;
    let version = request.versions.named(label);
    let version = version.map_err(|_| PageError::NotFound)?;
    let newest = request.versions.newest().ok_or(PageError::NotFound)?;
    let names = names::collect_names(request.versions);
    // The headings are names of this version. The cells are values for the newest version, whose rules
    // apply to a file.
    let text = write_template(version.version, newest.version, &names)?;
    Ok(Reply::Csv("trainees.csv", text))
}

fn write_template(
    version: &ApiVersion,
    newest: &ApiVersion,
    names: &Names,
) -> Result<String, PageError> {
    let example = Request {
        version: newest,
        record: &example::trainee(),
        lists: Lists::embedded(),
    };
    let example = serde_json::to_value(example).map_err(|error| PageError::File(error.into()))?;
    let (mut header, mut cells) = (Vec::new(), Vec::new());
    for heading in list_headings(version) {
        let text = match names.recognise(&heading) {
            Some(Column::Field(field)) => cell(at(&example, &field)),
            Some(Column::Nested {
                list,
                number,
                field,
            }) => {
                let records = at(&example, &format!("{}{INPUT_SUFFIX}", list.name));
                let record = records.get(number - 1).unwrap_or(&Value::Null);
                cell(at(record, &field))
            }
            Some(Column::TraineeId | Column::UpdatedAt | Column::Ignored) | None => continue,
        };
        header.push(heading);
        cells.push(text);
    }
    let header = header.iter().map(String::as_str);
    write_csv(header, [cells.iter().map(String::as_str)]).map_err(PageError::File)
}

fn list_headings(version: &ApiVersion) -> Vec<String> {
    let inputs = Trainee::inputs(version).entries.iter();
    let mut headings: Vec<String> = inputs.map(|input| input.name.to_owned()).collect();
    for nested in for_each_nested!(list_nested_headings(version)) {
        headings.extend(nested);
    }
    headings
}

fn list_nested_headings<R: WireNested>(version: &ApiVersion) -> Vec<String> {
    let list = R::LIST.info().name;
    let mut headings = Vec::new();
    for number in 1..=RECORDS {
        for input in R::inputs(version).entries {
            headings.push(format!("{list}.{number}.{}", input.name));
        }
    }
    headings
}
