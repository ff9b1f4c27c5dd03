//! The refused rows of an upload as a CSV file that can be corrected and uploaded again.

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
    let mut rows: Vec<(i64, RowDetails)> = Vec::new();
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
                let details = open_result(key, (upload.id, stage), result);
                rows.push((result.line, details));
            }
        }
    }
    rows.sort_by_key(|(line, _)| *line);
    // The file may be one of refused rows itself.
    let kept = |place: &usize| {
        let heading = head.header.get(*place);
        heading.is_some_and(|heading| !heading.eq_ignore_ascii_case(WHY_HEADING))
    };
    let places: Vec<usize> = (0..head.header.len()).filter(kept).collect();
    let reasons: Vec<String> = rows.iter().map(|(_, row)| reason(&row.problems)).collect();
    let header = pick(&head.header, &places).chain([WHY_HEADING]);
    let mut lines = Vec::with_capacity(rows.len());
    for ((_, row), reason) in rows.iter().zip(&reasons) {
        lines.push(pick(&row.cells, &places).chain([reason.as_str()]));
    }
    let file = write_csv(header, lines).map_err(PageError::File)?;
    Ok(Reply::Csv(FILE, file))
}

fn pick<'a>(cells: &'a [String], places: &'a [usize]) -> impl Iterator<Item = &'a str> {
    places
        .iter()
        .map(|place| cells.get(*place).map_or("", String::as_str))
}

/// The problems of a row in one cell.
fn reason(problems: &[CellProblem]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
