//! Files with the rows of an upload, which are read in pieces while they are sent.

use std::future::ready;
use std::sync::Arc;

use actix_web::web::Bytes;
use futures_util::stream::{self, StreamExt as _};
use storage::accounts::uploads::{RowFilter, RowStatus, UploadRecord};
use storage::session::Session;
use trainee_file::{WHY_HEADING, write_csv, write_csv_rows};

use crate::request::context::UploaderContext;
use crate::request::page::{PageError, Reply};
use crate::request::page_request::PageRequest;
use crate::upload::content::{CellProblem, FileContent, split_cells};
use crate::upload::uploads;

const REFUSED: &str = "refused.csv";
pub(crate) const PIECE: i64 = 200;
/// For a file that has only headings yet.
pub(crate) const NO_ROWS: [[&str; 0]; 0] = [];

/// Sends the rows that did not reach the register, with the reason in the last column, to correct
/// and upload again.
pub(crate) fn download_refused(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let upload = uploads::find_upload(session, request, context)?;
    let header = FileContent::read(&upload)
        .ok_or(PageError::NotFound)?
        .header;
    // The file may be one of refused rows itself.
    let is_kept = header
        .iter()
        .map(|heading| !heading.eq_ignore_ascii_case(WHY_HEADING));
    let kept: Vec<bool> = is_kept.collect();
    let headings = drop_reasons(header, &kept);
    let headings = headings.iter().map(String::as_str);
    let head = write_csv(headings.chain([WHY_HEADING]), NO_ROWS).map_err(PageError::File)?;
    Ok(send_in_pieces(REFUSED, head, move |session, after| {
        read_refused(session, &upload, &kept, after)
    }))
}

fn read_refused(
    session: &mut Session<'_>,
    upload: &UploadRecord,
    kept: &[bool],
    after: i64,
) -> Result<Option<Piece>, PageError> {
    let filter = RowFilter::Statuses(&RowStatus::FAILED);
    let rows = session.list_upload_rows(upload, filter, after, PIECE)?;
    let Some((first, last)) = rows.first().zip(rows.last()) else {
        return Ok(None);
    };
    let problems = session.list_upload_problems(upload, first.line, last.line)?;
    let mut written: Vec<Vec<String>> = Vec::with_capacity(rows.len());
    for row in &rows {
        let of_row = problems.iter().filter(|problem| problem.line == row.line);
        let reasons: Vec<String> = of_row
            .map(|problem| CellProblem::from(problem.clone()).to_string())
            .collect();
        let mut cells = drop_reasons(split_cells(&row.cells), kept);
        cells.push(reasons.join("; "));
        written.push(cells);
    }
    let text = write_csv_rows(written.iter().map(|row| row.iter().map(String::as_str)))
        .map_err(PageError::File)?;
    let last_line = last.line;
    Ok(Some(Piece { text, last_line }))
}

/// Drops the cells of columns that are not kept.
fn drop_reasons(cells: Vec<String>, kept: &[bool]) -> Vec<String> {
    let cells = cells.into_iter().zip(kept);
    cells
        .filter_map(|(cell, is_kept)| is_kept.then_some(cell))
        .collect()
}

/// A part of a file.
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) last_line: i64,
}

/// Sends a CSV file that begins with `head`. `read` reads the piece after a line; `None` at the end
/// of the file.
pub(crate) fn send_in_pieces(
    name: &'static str,
    head: String,
    read: impl Fn(&mut Session<'_>, i64) -> Result<Option<Piece>, PageError> + Send + Sync + 'static,
) -> Reply {
    Reply::from_work(async move |request: Arc<PageRequest>| {
        let store = request.state.store.clone();
        let read = Arc::new(read);
        let pieces = stream::try_unfold(0, move |after| {
            let (store, read) = (store.clone(), Arc::clone(&read));
            async move {
                // Each piece has its own job, so that a slow download holds no connection.
                let piece = store.read(move |session| read(session, after)).await?;
                Ok(piece.map(|piece| (Bytes::from(piece.text), piece.last_line)))
            }
        });
        let head = stream::once(ready(Ok(Bytes::from(head))));
        Ok(Reply::CsvStream(name, head.chain(pieces).boxed()))
    })
}
