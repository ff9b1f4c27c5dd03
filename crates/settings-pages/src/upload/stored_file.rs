//! The sealed parts of a stored file: first its headings with examples, then its bytes.

use serde::{Deserialize, Serialize};
use storage::accounts::uploads::Uploader;
use storage::error::StorageError;
use storage::session::Session;
use trainee_file::Table;

use crate::request::page::PageError;
use crate::upload::sealing::UploadKey;

/// The bytes of a file in one part.
const PART_BYTES: usize = 1_048_576;
/// The number of the part with the headings.
const HEAD_PART: i32 = 0;
/// The number of the first part with bytes of the file.
const FIRST_FILE_PART: i32 = 1;
/// The rows with examples.
const EXAMPLE_ROWS: usize = 3;
/// The longest example, in characters.
const EXAMPLE_CHARS: usize = 40;

/// The headings of a file, and examples of the cells below them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileHead {
    /// The headings, as the file spells them.
    pub(crate) header: Vec<String>,
    /// The shortened cells of the first rows.
    pub(crate) examples: Vec<Vec<String>>,
}

impl FileHead {
    /// The head of a file.
    pub(crate) fn new(table: &Table) -> Self {
        let mut examples = Vec::new();
        for row in table.rows.iter().take(EXAMPLE_ROWS) {
            examples.push(row.cells.iter().map(|cell| shortened(cell)).collect());
        }
        Self {
            header: table.header.clone(),
            examples,
        }
    }

    /// The examples below a heading without blank ones, separated by commas.
    pub(crate) fn examples_below(&self, column: usize) -> String {
        let cells = self.examples.iter().filter_map(|row| row.get(column));
        let filled: Vec<_> = cells
            .filter(|cell| !cell.is_empty())
            .map(String::as_str)
            .collect();
        filled.join(", ")
    }
}

fn shortened(cell: &str) -> String {
    let mut text: String = cell.chars().take(EXAMPLE_CHARS).collect();
    if text.len() < cell.len() {
        text.push('…');
    }
    text
}

fn place(part: i32) -> String {
    format!("part {part}")
}

/// Seals and stores a file, after its upload was added in the same job.
pub(crate) fn add(
    session: &mut Session<'_>,
    id: i64,
    key: &UploadKey,
    head: &FileHead,
    file: &[u8],
) -> Result<(), PageError> {
    let head = serde_json::to_vec(head).map_err(|error| PageError::File(error.into()))?;
    let sealed = key.seal(id, &place(HEAD_PART), &head)?;
    session.add_upload_part(id, HEAD_PART, &sealed)?;
    for (part, bytes) in (FIRST_FILE_PART..).zip(file.chunks(PART_BYTES)) {
        let sealed = key.seal(id, &place(part), bytes)?;
        session.add_upload_part(id, part, &sealed)?;
    }
    Ok(())
}

/// The headings of a stored file; `None` if the key is not that of the file.
pub(crate) fn head(
    session: &mut Session<'_>,
    by: Uploader,
    id: i64,
    key: &UploadKey,
) -> Result<Option<FileHead>, StorageError> {
    let sealed = session.upload_part(by, id, HEAD_PART)?;
    let opened = sealed.and_then(|sealed| key.open(id, &place(HEAD_PART), &sealed));
    Ok(opened.and_then(|head| serde_json::from_slice(&head).ok()))
}

/// The bytes of a stored file; `None` if the key is not that of the file.
pub(crate) fn bytes(
    session: &mut Session<'_>,
    by: Uploader,
    id: i64,
    key: &UploadKey,
) -> Result<Option<Vec<u8>>, StorageError> {
    let mut file = Vec::new();
    for part in FIRST_FILE_PART.. {
        let Some(sealed) = session.upload_part(by, id, part)? else {
            break;
        };
        let Some(bytes) = key.open(id, &place(part), &sealed) else {
            return Ok(None);
        };
        file.extend_from_slice(&bytes);
    }
    Ok((!file.is_empty()).then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_has_shortened_examples_of_filled_cells() {
        let long = "x".repeat(50);
        let file = format!("a,b\n1,\n2,{long}\n3,z\n4,y\n");
        let head = FileHead::new(&Table::read(file.as_bytes()).unwrap());
        assert_eq!(head.examples_below(0), "1, 2, 3");
        let shortened = format!("{}…, z", "x".repeat(40));
        assert_eq!(head.examples_below(1), shortened);
        assert_eq!(head.examples_below(2), "");
    }
}
