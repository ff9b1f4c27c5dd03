//! The CSV files of a folder: the trainees, their placements and their degrees.
//!
//! Each file is written beside the old one and takes its place. Which cursor they show is stored
//! once all are there, so a run that is killed between two of them leaves it to the next run to
//! write them again.

use std::fs;
use std::path::Path;

use anyhow::Result;
use trainee_file::{LISTS, TRAINEE_ID, add_apostrophe, cell};

use crate::private_file::PrivateFile;
use crate::store::Store;

/// The form of the files, before the cursor that they show: files of another form are written
/// again.
const FORM: &str = "2 ";
/// The name of the file with the trainees themselves.
const TRAINEES_FILE: &str = "trainees.csv";

/// Writes the files of the folder where they do not show the copy as it is. Returns whether they
/// were written.
pub(crate) fn export(store: &Store, folder: &Path) -> Result<bool> {
    let Some(cursor) = store.cursor()? else {
        return Ok(false);
    };
    let shown = format!("{FORM}{cursor}");
    if store.exported()?.as_deref() == Some(&shown)
        && files().all(|file| folder.join(file).exists())
    {
        return Ok(false);
    }
    let columns = store.columns();
    let writer = |file: &str| PrivateFile::create(&folder.join(file)).map(csv::Writer::from_writer);
    let mut trainees = writer(TRAINEES_FILE)?;
    trainees.write_record(&columns.trainees)?;
    let mut lists = Vec::with_capacity(LISTS.len());
    for (list, fields) in LISTS.iter().zip(&columns.lists) {
        let mut writer = writer(&file_of(list.name))?;
        writer
            .write_record(std::iter::once(TRAINEE_ID).chain(fields.iter().map(String::as_str)))?;
        lists.push((list, fields, writer));
    }
    store.each_record(|record| {
        trainees.write_record(
            columns
                .trainees
                .iter()
                .map(|field| add_apostrophe(cell(&record[field]))),
        )?;
        for (list, fields, writer) in &mut lists {
            for nested in record[list.name].as_array().into_iter().flatten() {
                let cells = fields
                    .iter()
                    .map(|field| add_apostrophe(cell(&nested[field])));
                writer.write_record(std::iter::once(cell(&record[TRAINEE_ID])).chain(cells))?;
            }
        }
        Ok(())
    })?;
    for writer in std::iter::once(trainees).chain(lists.into_iter().map(|(_, _, writer)| writer)) {
        finish(writer)?;
    }
    store.set_exported(&shown)?;
    Ok(true)
}

/// The names of the files.
pub(crate) fn files() -> impl Iterator<Item = String> {
    std::iter::once(TRAINEES_FILE.to_owned()).chain(LISTS.iter().map(|list| file_of(list.name)))
}

/// Whether the file is one of those that `pull` writes to the folder.
pub(crate) fn is_exported(file: &Path, folder: &Path) -> bool {
    let is_same = |name: String| {
        fs::canonicalize(folder.join(name))
            .ok()
            .is_some_and(|path| fs::canonicalize(file).ok() == Some(path))
    };
    files().any(is_same)
}

fn file_of(list: &str) -> String {
    format!("{list}.csv")
}

/// Brings a file to its place.
pub(crate) fn finish(writer: csv::Writer<PrivateFile>) -> Result<()> {
    writer
        .into_inner()
        .map_err(csv::IntoInnerError::into_error)?
        .finish()
}
