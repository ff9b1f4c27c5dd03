//! The refused rows of an upload as a CSV file that can be corrected and uploaded again.

use std::mem;

use storage::accounts::uploads::{UploadRowKind, UploadStage};
use storage::session::Session;
use trainee_file::{WHY_HEADING, write_csv};

use crate::request::context::UploaderContext;
use crate::request::page::{PageError, Reply};
use crate::request::page_request::PageRequest;
use crate::upload::columns;
use crate::upload::row_details::{CellProblem, FILE_LINE, RowDetails, open_result};

/// The name of the file.
const FILE: &str = "refused.csv";
/// The number of results that are read at once.
const CHUNK: i64 = 500;
/// The results of rows that are in the file.
const REFUSED: [(UploadStage, UploadRowKind); 3] = [
    (UploadStage::Check, UploadRowKind::Refused),
    (UploadStage::Send, UploadRowKind::Refused),
    (UploadStage::Send, UploadRowKind::ChangedMeanwhile),
];

/// Returns the uploaded columns of the refused rows, in the order of the uploaded file, with a
/// column that says why each was refused.
pub(crate) fn download(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let (upload, head) = columns::find(session, request, context)?;
    let (Some(head), Some(key)) = (head, &request.upload_key) else {
        return columns::show(session, request, context);
    };
    // The file may be one of refused rows itself.
    let kept = |place: &usize| {
        let heading = head.header.get(*place);
        heading.is_some_and(|heading| !heading.eq_ignore_ascii_case(WHY_HEADING))
    };
    let places: Vec<usize> = (0..head.header.len()).filter(kept).collect();
    let mut rows: Vec<(i64, Vec<String>)> = Vec::new();
    for (stage, kind) in REFUSED {
        let mut after = FILE_LINE;
        loop {
            let found = session.list_upload_results(
                context.uploader,
                upload.id,
                stage,
                Some(kind),
                after,
                CHUNK,
            )?;
            let Some(last) = found.last() else {
                break;
            };
            after = last.line;
            for result in &found {
                let mut row: RowDetails = open_result(key, (upload.id, stage), result);
                let mut cells: Vec<String> = places
                    .iter()
                    .map(|place| row.cells.get_mut(*place).map(mem::take).unwrap_or_default())
                    .collect();
                cells.push(reason(&row.problems));
                rows.push((result.line, cells));
            }
        }
    }
    rows.sort_by_key(|(line, _)| *line);
    let headings = places.iter().filter_map(|place| head.header.get(*place));
    let header = headings.map(String::as_str).chain([WHY_HEADING]);
    let lines = rows
        .iter()
        .map(|(_, cells)| cells.iter().map(String::as_str));
    let file = write_csv(header, lines).map_err(PageError::File)?;
    Ok(Reply::Csv(FILE, file))
}

/// The problems of a row in one cell.
fn reason(problems: &[CellProblem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
