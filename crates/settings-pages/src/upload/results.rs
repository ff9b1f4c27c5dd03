//! The page of an upload after its columns are assigned: the progress of the check and of sending,
//! and the results of both. Also begins both.

use std::sync::Arc;

use askama::Template;
use gateway::request::identity::UserIdentity;
use http_kit::paths;
use storage::accounts::uploads::{
    UploadCount, UploadRecord, UploadResult, UploadRowKind, UploadStage, UploadState,
};
use storage::error::StorageError;
use storage::session::Session;
use trainee_file::{Column, find_repeated_column};

use crate::request::context::UploaderContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;
use crate::upload::repair_choices::RepairChoices;
use crate::upload::row_details::{
    FILE_LINE, FileDetails, Proposal, RowDetails, StoredRemedy, open_result,
};
use crate::upload::sealing::UploadKey;
use crate::upload::work;
use crate::upload::work_order::WorkOrder;
use crate::upload::{columns, names};

/// The most rows on a page.
const PAGE: i64 = 20;
/// The parameters of the address: the stage and the kind of the rows, and the line before them.
const STAGE: &str = "stage";
const KIND: &str = "kind";
const AFTER: &str = "after";
/// The parameter that shows the columns of a checked upload.
const COLUMNS: &str = "columns";

#[derive(Template)]
#[template(path = "settings/upload_progress.html")]
struct ProgressPage {
    frame: Frame,
    upload: UploadRecord,
    is_sending: bool,
    done: i64,
    all: i64,
}

#[derive(Template)]
#[template(path = "settings/upload_results.html")]
struct ResultsPage {
    frame: Frame,
    upload: UploadRecord,
    is_sent: bool,
    counts: Vec<CountLine>,
    /// The number of rows to send.
    to_send: i64,
    has_refused: bool,
    proposals: Vec<Proposal>,
    /// Whether the person must choose the order of day and month.
    asks_for_date_order: bool,
    /// The lines of rows with fewer cells than headings.
    short_rows: Vec<u64>,
    /// The documentation of the version of the rows, if this listener serves it.
    documents: Option<String>,
    /// What was chosen about repairs before.
    choices: RepairChoices,
    /// The words for the listed rows.
    listed: &'static str,
    rows: Vec<RowLine>,
    /// The address of the next page.
    next: Option<String>,
}

/// The number of rows of a kind.
struct CountLine {
    words: &'static str,
    rows: i64,
    address: String,
}

/// The result of a row.
struct RowLine {
    line: i64,
    details: RowDetails,
}

/// Shows an upload in its state. Before the check, the page shows the columns.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let (upload, head) = columns::find(session, request, context)?;
    let shows_columns = upload.state == UploadState::Received
        || upload.state == UploadState::Checked && !request.query.value(COLUMNS).is_empty();
    let (Some(_), Some(key), false) = (&head, &request.upload_key, shows_columns) else {
        return columns::show(session, request, context);
    };
    match upload.state {
        UploadState::Checking | UploadState::Sending => {
            show_progress(session, request, context, upload, key)
        }
        UploadState::Received | UploadState::Checked | UploadState::Sent => {
            let page = results(session, request, context, upload, key)?;
            Reply::page(&page)
        }
    }
}

/// Begins the check, with the repairs that the form accepts. Does nothing before the columns are
/// assigned, while the rows are worked on, or after they were sent.
pub(crate) fn check(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let (upload, _) = columns::find(session, request, context)?;
    let found = names::read(&names::names(request.versions), &upload.columns);
    let known: Vec<Column> = found.iter().flatten().cloned().collect();
    if known.len() == found.len() && find_repeated_column(&known).is_none() {
        let mut choices = RepairChoices::read(&upload.repairs);
        if let Some(key) = &request.upload_key {
            let details = file_details(session, context, &upload, key)?;
            let names = details.proposals.into_iter().map(|one| one.name);
            choices.add(&request.form, names);
        }
        session.begin_upload_check(context.uploader, upload.id, &choices.to_stored())?;
    }
    Ok(Reply::Redirect(Target::Upload(upload.id)))
}

/// Begins to send the rows of a checked upload.
pub(crate) fn send(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let (upload, _) = columns::find(session, request, context)?;
    session.begin_upload_sending(context.uploader, upload.id)?;
    Ok(Reply::Redirect(Target::Upload(upload.id)))
}

/// Shows how many rows are done, and continues the work if no server does it.
fn show_progress(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    key: &Arc<UploadKey>,
) -> Result<Reply, PageError> {
    let counts = session.count_upload_results(context.uploader, upload.id)?;
    let is_sending = upload.state == UploadState::Sending;
    let checked = [UploadRowKind::Register, UploadRowKind::Change];
    let page = ProgressPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Upload),
        is_sending,
        done: match is_sending {
            true => sum(&counts, UploadStage::Send, &UploadRowKind::OF_ROWS),
            false => sum(&counts, UploadStage::Check, &UploadRowKind::OF_ROWS),
        },
        all: match is_sending {
            true => sum(&counts, UploadStage::Check, &checked),
            false => upload.rows.into(),
        },
        upload: upload.clone(),
    };
    let now = session.now();
    let is_idle = upload.worked_until.is_none_or(|until| until <= now);
    let order = request
        .session
        .clone()
        .filter(|_| is_idle)
        .map(|session| WorkOrder {
            user: UserIdentity {
                session,
                uploader: context.uploader,
            },
            upload,
            key: Arc::clone(key),
        });
    let html = page.render().map_err(PageError::Template)?;
    let Some(order) = order else {
        return Ok(Reply::Working(html));
    };
    Ok(Reply::after(async move |request: Arc<PageRequest>| {
        work::start(&request.state, &request.settings.long_jobs, order).await;
        Ok(Reply::Working(html))
    }))
}

fn results(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    key: &Arc<UploadKey>,
) -> Result<ResultsPage, PageError> {
    use UploadRowKind::{Change, ChangedMeanwhile, Equal, Refused, Register};
    use UploadStage::{Check, Send};
    let counted = session.count_upload_results(context.uploader, upload.id)?;
    let is_sent = upload.state == UploadState::Sent;
    let shown: &[(UploadStage, UploadRowKind, &'static str)] = match is_sent {
        false => &[
            (Check, Refused, "Refused"),
            (Check, Register, "Will be registered"),
            (Check, Change, "Will be changed"),
            (Check, Equal, "Equal to the register"),
        ],
        true => &[
            (Send, Refused, "Refused when they were sent"),
            (
                Send,
                ChangedMeanwhile,
                "Not sent, because changed after the check",
            ),
            (Check, Refused, "Refused by the check, not sent"),
            (Send, Register, "Registered"),
            (Send, Change, "Changed"),
            (Check, Equal, "Equal to the register, not sent"),
        ],
    };
    let rows_of = |(stage, kind, _): &(UploadStage, UploadRowKind, &'static str)| {
        sum(&counted, *stage, &[*kind])
    };
    let is_asked_for = |(stage, kind, _): &&(UploadStage, UploadRowKind, &'static str)| {
        request.query.value(STAGE) == stage.name() && request.query.value(KIND) == kind.name()
    };
    let chosen = shown
        .iter()
        .find(is_asked_for)
        .or_else(|| shown.iter().find(|one| rows_of(one) > 0));
    let after = request.query.value(AFTER).parse().unwrap_or(FILE_LINE);
    let mut rows = Vec::new();
    let mut next = None;
    if let Some((stage, kind, _)) = chosen {
        let mut found = session.list_upload_results(
            context.uploader,
            upload.id,
            *stage,
            Some(*kind),
            after,
            PAGE + 1,
        )?;
        if i64::try_from(found.len()).is_ok_and(|rows| rows > PAGE) {
            found.pop();
            let address = address(upload.id, *stage, *kind);
            next = found
                .last()
                .map(|last| format!("{address}&{AFTER}={}", last.line));
        }
        rows = found
            .iter()
            .map(|result| RowLine::open(key, &upload, *stage, result))
            .collect();
    }
    let of_file = match is_sent {
        true => FileDetails::default(),
        false => file_details(session, context, &upload, key)?,
    };
    let mut counts = Vec::with_capacity(shown.len());
    for one in shown {
        counts.push(CountLine {
            words: one.2,
            rows: rows_of(one),
            address: address(upload.id, one.0, one.1),
        });
    }
    let frame = Frame::new(request, context.signed_in, SettingsSection::Upload);
    let newest = request.versions.newest().filter(|_| frame.has_documents);
    Ok(ResultsPage {
        documents: newest.map(|newest| paths::documentation(newest.version.label)),
        frame,
        is_sent,
        counts,
        to_send: sum(&counted, Check, &[Register, Change]),
        has_refused: sum(&counted, Check, &[Refused]) > 0
            || sum(&counted, Send, &[Refused, ChangedMeanwhile]) > 0,
        asks_for_date_order: of_file
            .proposals
            .iter()
            .any(|one| one.remedy == StoredRemedy::ChooseDateOrder),
        proposals: of_file.proposals,
        short_rows: of_file.short_rows,
        choices: RepairChoices::read(&upload.repairs),
        listed: chosen.map_or("", |(_, _, words)| words),
        rows,
        next,
        upload,
    })
}

/// What the check found of the whole file.
fn file_details(
    session: &mut Session<'_>,
    context: &UploaderContext<'_>,
    upload: &UploadRecord,
    key: &UploadKey,
) -> Result<FileDetails, StorageError> {
    let stage = UploadStage::Check;
    let kind = Some(UploadRowKind::File);
    let found =
        session.list_upload_results(context.uploader, upload.id, stage, kind, FILE_LINE - 1, 1)?;
    Ok(found
        .first()
        .map(|result| open_result(key, (upload.id, stage), result))
        .unwrap_or_default())
}

impl RowLine {
    fn open(
        key: &UploadKey,
        upload: &UploadRecord,
        stage: UploadStage,
        result: &UploadResult,
    ) -> Self {
        Self {
            line: result.line,
            details: open_result(key, (upload.id, stage), result),
        }
    }
}

/// The number of results of a stage with one of these kinds.
fn sum(counts: &[UploadCount], stage: UploadStage, kinds: &[UploadRowKind]) -> i64 {
    let counted = counts
        .iter()
        .filter(|count| count.stage == stage && kinds.contains(&count.kind));
    counted.map(|count| count.rows).sum()
}

/// The address of the rows of a stage and a kind.
fn address(id: i64, stage: UploadStage, kind: UploadRowKind) -> String {
    let (stage, kind) = (stage.name(), kind.name());
    format!("/settings/upload/{id}?{STAGE}={stage}&{KIND}={kind}")
}
