//! What the registry does, done to the trainees of a file by an operator: the form, and the report.
//!
//! Each row is done in a job of its own, as the commands do it, so that no request of the API waits
//! for a file.

use std::sync::Arc;

use actix_web::rt::System;
use askama::Template;
use gateway::error::ApiError;
use http_kit::error_chain::Causes;
use http_kit::limits::long_jobs::LongJob;
use registry::actions::{Outcome, RegistryAction, RegistryActionError, perform_for_operator};
use registry::file::{FileReport, StopReason};
use registry::retries::write_with_retries;
use registry::rows::each_order;
use storage::error::{Refusal, StorageError};
use storage::session::Session;
use storage::store::Store;
use tokio::sync::oneshot;

use crate::operators::registry_actions::{ACTIONS, named};
use crate::operators::registry_confirm;
use crate::operators::registry_queue::address;
use crate::request::context::OperatorContext;
use crate::request::file_of_actions::{ActionRows, FileOfActions};
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The largest form, in bytes: the rows of a file, each byte of which may take three.
pub(crate) const MAX_FORM_BYTES: usize = 262_144;
/// The rows of a file at most; the commands do more.
const MAX_ROWS: usize = 1_000;

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
    /// The number of the import that was stored.
    import: Option<i64>,
}

/// The form.
pub(crate) fn ask(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    Reply::page(&page(request, operator, Faults::default()))
}

/// Reads the rows, which are done when this job has ended.
pub(crate) fn act(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    let action = faults.keep("action", named(request.form.value("action")));
    let rows = action
        .as_ref()
        .and_then(|action| faults.keep("rows", read(action, request.form.untrimmed("rows"))));
    match action.zip(rows) {
        Some((action, _)) if registry_confirm::is_due(&action, &request.form) => {
            let question = "Discard the records of all these rows?".to_owned();
            registry_confirm::ask(
                request,
                operator,
                question,
                address("/file"),
                &["action", "rows"],
            )
        }
        Some((action, rows)) => {
            let signed_in = operator.signed_in.clone();
            Ok(Reply::File(Box::new(FileOfActions {
                signed_in,
                action,
                rows,
            })))
        }
        None => Reply::faults(&page(request, operator, faults)),
    }
}

fn read(action: &RegistryAction, text: &str) -> Result<ActionRows, String> {
    let mut rows = Vec::new();
    let read = each_order(action, text.as_bytes(), |line, row| {
        rows.push((line, row));
        Ok(())
    });
    read.map_err(|error| format!("The rows cannot be read: {error}"))?;
    match rows.len() {
        0 => Err("Enter a row below the header row".to_owned()),
        count if count > MAX_ROWS => Err(format!(
            "There are {count} rows, and {MAX_ROWS} can be done at once. The commands do more"
        )),
        _ => Ok(rows),
    }
}

fn page<'a>(
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

/// Does the rows, one after the other, stores what became of them, and reports it. Stops where the
/// register does not answer or the server stops, and not where the browser has gone away: it runs
/// on the thread of the server, because a worker may end before it.
pub(crate) async fn perform(
    file: FileOfActions,
    store: &Store,
    request: &Arc<PageRequest>,
    job: LongJob,
) -> Result<Reply, PageError> {
    let (store, request) = (store.clone(), Arc::clone(request));
    let (sender, reply) = oneshot::channel();
    System::current().arbiter().spawn(async move {
        // Nobody receives it where the browser has gone away.
        let _ = sender.send(perform_rows(file, &store, &request, &job).await);
    });
    reply
        .await
        .map_err(|_| PageError::Request(ApiError::Interrupted))?
}

async fn perform_rows(
    file: FileOfActions,
    store: &Store,
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
                let outcome = perform_row(store, request, &trainee_id, &action).await;
                if let Err(error) = report.add(line, &trainee_id, outcome) {
                    log::warn!(
                        "the rows of a file were not done to the end: {}",
                        Causes(&error)
                    );
                    break;
                }
            }
            Err(problem) => report.add_unreadable(line, &problem),
        }
    }
    let (import, recorded_by, origin) = (
        report.import(&action),
        signed_in.clone(),
        Arc::clone(request),
    );
    let import = write_with_retries(store, move |session| {
        let by = recorded_by.operator(origin.origin())?;
        session.record_import(by, &import)
    });
    let import = import
        .await
        .inspect_err(|error| log::warn!("an import was not stored: {}", Causes(error)))
        .ok();
    let frame = Frame::new(request, &signed_in, SettingsSection::Registry);
    let operation = action.operation();
    Reply::page(&ReportPage {
        frame,
        operation,
        report: &report,
        import,
    })
}

/// Does one row, as long as the operator is signed in.
async fn perform_row(
    store: &Store,
    request: &Arc<PageRequest>,
    trainee_id: &str,
    action: &RegistryAction,
) -> Result<Outcome, RegistryActionError> {
    let (request, trainee_id, action) =
        (Arc::clone(request), trainee_id.to_owned(), action.clone());
    let job = move |session: &mut Session<'_>| {
        let signed_in = match &request.session {
            Some(digest) => session.signed_in(digest)?,
            None => None,
        };
        let signed_in = signed_in.ok_or(StorageError::from(Refusal::NotPermitted))?;
        let by = signed_in
            .operator(request.origin())
            .map_err(StorageError::from)?;
        perform_for_operator(session, &trainee_id, &action, by)
    };
    write_with_retries(store, job).await
}
