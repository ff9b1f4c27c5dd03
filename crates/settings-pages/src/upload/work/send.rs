//! Sends the requests of a row that the check has accepted and stored. A row that was sent before is
//! answered from the replies stored with its idempotency keys.

use std::mem;

use gateway::parts::rows::was_sent;
use storage::accounts::uploads::{UploadResult, UploadRowKind, UploadStage};
use trainee_file::{Row, TraineeRow};

use super::check::{cell_problem, changed_problem};
use super::{Work, WorkEnd};
use crate::upload::row_details::{RowDetails, StoredRequest, read_result};

/// Sends the row of a result of the check.
pub(super) async fn send_row(work: &Work, checked: &UploadResult) -> Result<UploadResult, WorkEnd> {
    let place = (work.order.upload.id, UploadStage::Check);
    let mut details: RowDetails =
        read_result(&work.order.key, place, checked).ok_or(WorkEnd::Unreadable)?;
    let requests = mem::take(&mut details.requests);
    let row = work.file.row_at(checked.line).ok_or(WorkEnd::LeaseLost)?;
    let read = work.file.trainee_row(row);
    let kind = match (checked.kind, requests.as_slice()) {
        (UploadRowKind::Register, [request])
            if is_registered(work, row, &read, request).await? =>
        {
            UploadRowKind::ChangedMeanwhile
        }
        (UploadRowKind::Register, [_]) | (UploadRowKind::Change, [_, ..]) => {
            let refused = send_requests(work, (row, &read), &requests, &mut details).await?;
            refused.unwrap_or(checked.kind)
        }
        _ => return Err(WorkEnd::Unreadable),
    };
    if kind == UploadRowKind::ChangedMeanwhile {
        details.problems.push(changed_problem());
    }
    if !details.problems.is_empty() {
        details.cells.clone_from(&row.cells);
    }
    Ok(work.seal(checked.line, kind, &details)?)
}

/// Whether another client has registered a trainee with the key of the row after the check.
async fn is_registered(
    work: &Work,
    row: &Row,
    read: &TraineeRow,
    registration: &StoredRequest,
) -> Result<bool, WorkEnd> {
    let mut trainees = work.trainees.lock().await;
    trainees.update(work).await?;
    if !trainees.is_registered(read) {
        return Ok(false);
    }
    let request = work.request(row, registration);
    Ok(!was_sent(&work.state, &work.order.user, request).await?)
}

/// Sends the requests of a row in order. Returns the kind of the result if one is refused.
async fn send_requests(
    work: &Work,
    (row, read): (&Row, &TraineeRow),
    requests: &[StoredRequest],
    details: &mut RowDetails,
) -> Result<Option<UploadRowKind>, WorkEnd> {
    // The first request depends on the trainee as checked, the second on the trainee as changed.
    let mut trainee_etag = details.etag.clone();
    for stored in requests {
        let mut request = work.request(row, stored);
        request.if_match = request.if_match.or(trainee_etag);
        let outcome = work.run(request).await?;
        if outcome.is_changed_meanwhile() {
            return Ok(Some(UploadRowKind::ChangedMeanwhile));
        }
        for problem in &outcome.problems {
            let column = read.column_name(&format!("{}{}", stored.columns, problem.field));
            details.problems.push(cell_problem(work, &column, problem));
        }
        if !outcome.is_accepted() {
            return Ok(Some(UploadRowKind::Refused));
        }
        // The reply to a nested record has the tag of that record.
        trainee_etag = outcome.etag.filter(|_| stored.columns.is_empty());
    }
    Ok(None)
}
