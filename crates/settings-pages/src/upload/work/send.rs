//! Sends a row that the check has accepted. A row that was sent before is answered from the replies
//! stored with its idempotency keys.

use gateway::parts::rows::was_sent;
use storage::accounts::uploads::{RowStatus, UploadRow};
use trainee_file::{TRAINEE_ID, TraineeRow, at};

use super::check::{describe_changed_trainee, describe_problem, read_record};
use super::{RowResult, Work, WorkEnd};
use crate::upload::content::{CellProblem, RowDetails, StoredRequest};

struct Sent {
    status: RowStatus,
    trainee_id: Option<String>,
    problems: Vec<CellProblem>,
}

pub(super) async fn send_row(work: &Work, row: UploadRow) -> RowResult {
    let details = RowDetails::read(&row.details);
    let read = work.read_trainee_row(&row);
    let sent = match (row.status, &row.trainee_id) {
        (RowStatus::Register, _) => register(work, &row, &read).await?,
        (_, Some(trainee_id)) => change(work, &row, &read, trainee_id, details).await?,
        (_, None) => return Err(WorkEnd::Unreadable),
    };
    let is_failed = RowStatus::FAILED.contains(&sent.status);
    let row = UploadRow {
        status: sent.status,
        trainee_id: sent.trainee_id.or(row.trainee_id),
        // The content of a row is kept until it was sent.
        cells: if is_failed { row.cells } else { String::new() },
        details: String::new(),
        ..row
    };
    Ok((row, sent.problems))
}

async fn register(work: &Work, row: &UploadRow, read: &TraineeRow) -> Result<Sent, WorkEnd> {
    let stored = work.compose_registration(read);
    let request = work.build_request(row.line, "", &stored)?;
    if is_registered(work, row).await? && !was_sent(&work.state, work.user, request.clone()).await?
    {
        return Ok(refuse_changed());
    }
    let outcome = work.run(request).await?;
    let problems = outcome.problems.iter();
    Ok(Sent {
        status: match outcome.is_accepted() {
            true => RowStatus::Registered,
            false => RowStatus::RefusedWhenSent,
        },
        trainee_id: at(&read_record(work, &outcome), TRAINEE_ID)
            .as_str()
            .map(str::to_owned),
        problems: problems
            .map(|problem| describe_problem(work, &read.column_name(&problem.field), problem))
            .collect(),
    })
}

async fn is_registered(work: &Work, row: &UploadRow) -> Result<bool, WorkEnd> {
    // Another client may have registered a trainee with the key after the check.
    let mut trainees = work.trainees.lock().await;
    trainees.update(work).await?;
    Ok(trainees.is_registered(row.record_key.as_deref()))
}

/// Sends the requests of a row in order, until one is refused.
async fn change(
    work: &Work,
    row: &UploadRow,
    read: &TraineeRow,
    trainee_id: &str,
    details: RowDetails,
) -> Result<Sent, WorkEnd> {
    if details.requests.is_empty() {
        return Err(WorkEnd::Unreadable);
    }
    // The first request depends on the trainee as checked, the second on the trainee as changed.
    let mut trainee_etag = details.etag;
    for stored in &details.requests {
        let mut request = work.build_request(row.line, trainee_id, stored)?;
        request.if_match = request.if_match.or(trainee_etag);
        let outcome = work.run(request).await?;
        if outcome.is_changed_meanwhile() {
            return Ok(refuse_changed());
        }
        if !outcome.is_accepted() {
            let problems = outcome.problems.iter();
            return Ok(Sent {
                status: RowStatus::RefusedWhenSent,
                trainee_id: None,
                problems: problems
                    .map(|problem| {
                        describe_problem(work, &name_column(read, stored, &problem.field), problem)
                    })
                    .collect(),
            });
        }
        // The reply to a nested record has the tag of that record.
        trainee_etag = outcome.etag.filter(|_| stored.columns.is_empty());
    }
    Ok(Sent {
        status: RowStatus::Changed,
        trainee_id: None,
        problems: Vec::new(),
    })
}

fn name_column(read: &TraineeRow, stored: &StoredRequest, field: &str) -> String {
    read.column_name(&format!("{}{field}", stored.columns))
}

fn refuse_changed() -> Sent {
    Sent {
        status: RowStatus::ChangedMeanwhile,
        trainee_id: None,
        problems: vec![describe_changed_trainee()],
    }
}
