//! Registry actions on the trainees of a file by an operator: the form, and the report.
//!
//! Each row runs in its own job, like in the command, so that requests of the API do not wait for
//! the whole file.

use std::sync::Arc;

use actix_web::rt::System;
use askama::Template;
use gateway::error::ApiError;
use http_kit::error_chain::Causes;
use http_kit::limits::long_jobs::LongJob;
use registry::actions::{Outcome, RegistryAction, RegistryActionError, perform_for_operator};
use registry::file::{FileReport, StopReason};
use registry::import::RowProblem;
use registry::rows::each_order;
use storage::accounts::users::SignedIn;
use storage::error::{Refusal, StorageError};
use storage::session::Session;
use tokio::sync::oneshot;

use crate::operators::registry_actions::{ACTIONS, find_action};
use crate::operators::registry_confirm;
use crate::operators::registry_queue::build_address;
use crate::request::context::OperatorContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The largest form, in bytes. URL encoding can take three bytes for each byte of a file.
pub(crate) const MAX_FORM_BYTES: usize = 262_144;
/// The commands have no such limit.
const MAX_ROWS: usize = 1_000;

/// The rows of a form with their first lines. A row is the identifier of the trainee and the
/// action, or the problem of the row.
type ActionRows = Vec<(u64, Result<(String, RegistryAction), RowProblem>)>;

struct FileOfActions {
    signed_in: SignedIn,
    action: RegistryAction,
    rows: ActionRows,
}

#[derive(Template)]
#[template(path = "settings/registry_file.html")]
struct FileForm<'a> {
    frame: Frame,
    form: &'a Form,
    faults: Faults,
    actions: [(&'static str, &'static str); 6],
    max_rows: usize,
}

#[derive(Template)]
#[template(path = "settings/registry_report.html")]
struct ReportPage<'a> {
    frame: Frame,
    operation: &'static str,
    report: &'a FileReport,
    /// The number of the stored import.
    import: Option<i64>,
}

pub(crate) fn ask(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    Reply::render(&build_page(request, operator, Faults::default()))
}

/// Reads the rows. They are processed after this job.
pub(crate) fn act(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    let action = faults.keep("action", find_action(request.form.value("action")));
    let rows = action
        .as_ref()
        .and_then(|action| faults.keep("rows", read_rows(action, request.form.raw_value("rows"))));
    match action.zip(rows) {
        Some((action, _)) if registry_confirm::needs_confirmation(&action, &request.form) => {
            let question = "Discard the records of all listed trainees?".to_owned();
            registry_confirm::ask(
                request,
                operator,
                question,
                build_address("/file"),
                &["action", "rows"],
            )
        }
        Some((action, rows)) => {
            let signed_in = operator.signed_in.clone();
            let file = FileOfActions {
                signed_in,
                action,
                rows,
            };
            Ok(Reply::from_work(|request| perform(file, request)))
        }
        None => Reply::render_faults(&build_page(request, operator, faults)),
    }
}

/// Reads the rows of a pasted file. `Err` is the fault of the field.
fn read_rows(action: &RegistryAction, text: &str) -> Result<ActionRows, String> {
    let mut rows = Vec::new();
    let read = each_order(action, text.as_bytes(), |line, row| {
        rows.push((line, row));
        Ok(())
    });
    read.map_err(|error| format!("The rows cannot be read: {error}"))?;
    match rows.len() {
        0 => Err("Enter at least one row below the header row".to_owned()),
        count if count > MAX_ROWS => Err(format!(
            "Enter up to {MAX_ROWS} rows instead of {count}, or use `registry apply`"
        )),
        _ => Ok(rows),
    }
}

fn build_page<'a>(
    request: &'a PageRequest,
    operator: &OperatorContext<'_>,
    faults: Faults,
) -> FileForm<'a> {
    let frame = Frame::new(request, operator.signed_in, SettingsSection::Registry);
    FileForm {
        frame,
        form: &request.form,
        faults,
        actions: ACTIONS,
        max_rows: MAX_ROWS,
    }
}

/// Processes the rows in order, stores the results and reports them. Stops if the store fails or
/// the server stops.
async fn perform(file: FileOfActions, request: Arc<PageRequest>) -> Result<Reply, PageError> {
    let Some(job) = request.settings.long_jobs.begin().await else {
        return Err(PageError::Busy);
    };
    // On the main thread of the server instead of a worker: a closed connection or an ending worker
    // must not interrupt the rows.
    let (sender, reply) = oneshot::channel();
    System::current().arbiter().spawn(async move {
        // Sending fails if the browser has closed the connection.
        let _ = sender.send(perform_rows(file, &request, &job).await);
    });
    reply
        .await
        .map_err(|_| PageError::Request(ApiError::Interrupted))?
}

/// Processes the rows, stores the report, and returns its page.
async fn perform_rows(
    file: FileOfActions,
    request: &Arc<PageRequest>,
    job: &LongJob,
) -> Result<Reply, PageError> {
    let FileOfActions {
        signed_in,
        action,
        rows,
    } = file;
    let mut report = FileReport::default();
    for (line, row) in rows {
        if job.is_stopping() {
            report.stop(line, StopReason::Stopping);
            break;
        }
        match row {
            Ok((trainee_id, action)) => {
                let outcome = perform_row(request, &trainee_id, &action).await;
                if let Err(error) = report.add(line, &trainee_id, outcome) {
                    log::warn!(
                        "registry file stopped; remaining rows not processed: {}",
                        Causes(&error)
                    );
                    break;
                }
            }
            Err(problem) => report.add_unreadable(line, &problem),
        }
    }
    let import = report.import(&action);
    let recorded_by = signed_in.clone();
    let origin = Arc::clone(request);
    let import = request.state.store.write(move |session| {
        let by = recorded_by.operator(origin.origin())?;
        session.record_import(by, &import)
    });
    // The rows were processed: if the report cannot be stored, the page is shown without its number.
    let import = import
        .await
        .inspect_err(|error| log::warn!("import report not stored: {}", Causes(error)))
        .ok();
    let frame = Frame::new(request, &signed_in, SettingsSection::Registry);
    let operation = action.operation();
    Reply::render(&ReportPage {
        frame,
        operation,
        report: &report,
        import,
    })
}

async fn perform_row(
    request: &Arc<PageRequest>,
    trainee_id: &str,
    action: &RegistryAction,
) -> Result<Outcome, RegistryActionError> {
    let origin = Arc::clone(request);
    let trainee_id = trainee_id.to_owned();
    let action = action.clone();
    let performed = request.state.store.write(move |session| {
        // The operator may have signed out, or lost access, since the first row.
        let signed_in = match &origin.session {
            Some(digest) => session.signed_in(digest)?,
            None => None,
        };
        let signed_in = signed_in.ok_or(StorageError::from(Refusal::NotPermitted))?;
        let by = signed_in
            .operator(origin.origin())
            .map_err(StorageError::from)?;
        perform_for_operator(session, &trainee_id, &action, by)
    });
    performed.await
}
