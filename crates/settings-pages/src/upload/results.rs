//! The page of an upload, by its state: the columns, the repairs, the progress, or the results of the
//! check and of sending. Also begins sending.

use askama::Template;
use http_kit::paths;
use storage::accounts::uploads::{
    ProblemCount, RowFilter, RowStatus, UploadProblem, UploadRecord, UploadRow, UploadState,
};
use storage::session::Session;

use crate::request::context::UploaderContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::upload::content::{CellProblem, FileContent, RowDetails};
use crate::upload::{columns, repairs, uploads};

/// The rows on a page.
const PAGE: i64 = 20;
/// The most different problems on a page.
const PROBLEMS: i64 = 50;
/// The parameters of the query.
const STATUS: &str = "status";
const PROBLEM: &str = "problem";
const AFTER: &str = "after";

#[derive(Template)]
#[template(path = "settings/upload_progress.html")]
struct ProgressPage {
    frame: Frame,
    upload: UploadRecord,
    done: i64,
    /// Of the stage.
    all: i64,
}

#[derive(Template)]
#[template(path = "settings/upload_results.html")]
struct ResultsPage {
    frame: Frame,
    upload: UploadRecord,
    counts: Vec<CountLine>,
    to_send: i64,
    has_failed: bool,
    /// Whether the cells of failed rows are stored.
    has_content: bool,
    short_rows: Vec<u64>,
    /// The documentation of the newest version, if the same listener serves it.
    documents: Option<String>,
    problems: Vec<ProblemLine>,
    listed: String,
    rows: Vec<RowLine>,
    next: Option<String>,
}

struct CountLine {
    words: &'static str,
    rows: i64,
    address: String,
}

struct ProblemLine {
    count: ProblemCount,
    words: String,
    address: String,
}

struct RowLine {
    line: i64,
    /// The key of the provider, or else the identifier; may be blank.
    name: String,
    problems: Vec<CellProblem>,
    details: RowDetails,
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let upload = uploads::find_upload(session, request, context)?;
    let content = FileContent::read(&upload);
    match (upload.state, content) {
        (UploadState::Received, Some(content)) => columns::show(request, context, upload, &content),
        (UploadState::Prepared, Some(content)) => repairs::show(request, context, upload, content),
        (state, _) if state.is_working() => show_progress(session, request, context, upload),
        (_, content) => show_results(session, request, context, upload, content),
    }
}

/// Begins to send the checked rows.
pub(crate) fn send(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let upload = uploads::find_upload(session, request, context)?;
    // Does nothing after sending has begun; the page shows this.
    session.begin_upload_work(
        (context.uploader, upload.id),
        &[UploadState::Checked],
        UploadState::Sending,
        &upload.content,
    )?;
    Ok(uploads::begin_work(upload.id))
}

fn show_progress(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
) -> Result<Reply, PageError> {
    let counts = session.count_upload_rows(&upload)?;
    let rows = i64::from(upload.rows);
    let (all, left) = if upload.state == UploadState::Sending {
        // These rows are not sent.
        let of_check = sum_rows(&counts, &[RowStatus::Refused, RowStatus::Equal]);
        (rows - of_check, sum_rows(&counts, &RowStatus::TO_SEND))
    } else {
        (rows, sum_rows(&counts, &[RowStatus::Waiting]))
    };
    let page = ProgressPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Upload),
        done: all - left,
        all,
        upload,
    };
    Ok(Reply::Working(page.render().map_err(PageError::Template)?))
}

fn show_results(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    content: Option<FileContent>,
) -> Result<Reply, PageError> {
    let counted = session.count_upload_rows(&upload)?;
    let counts: Vec<CountLine> = SHOWN
        .iter()
        .filter(|status| upload.state != UploadState::Checked || is_of_check(**status))
        .map(|status| CountLine {
            words: describe_rows(upload.state, *status),
            rows: sum_rows(&counted, &[*status]),
            address: format!("/settings/upload/{}?{STATUS}={}", upload.id, status.name()),
        })
        .collect();
    let mut problems = Vec::new();
    for count in session.count_upload_problems(&upload, PROBLEMS)? {
        problems.push(ProblemLine {
            address: format!("/settings/upload/{}?{PROBLEM}={}", upload.id, count.number),
            words: CellProblem {
                heading: count.heading.clone(),
                words: count.words.clone(),
            }
            .to_string(),
            count,
        });
    }
    let with_rows = SHOWN
        .iter()
        .find(|status| sum_rows(&counted, &[**status]) > 0);
    let asked = RowStatus::named(request.query.value(STATUS));
    let status = asked.or(with_rows.copied()).unwrap_or(RowStatus::Equal);
    let problem = request.query.value(PROBLEM).parse::<i64>().ok();
    let problem = problems
        .iter()
        .find(|line| Some(line.count.number) == problem);
    let (listed, address, filter) = match problem {
        Some(line) => (
            line.words.clone(),
            line.address.clone(),
            RowFilter::Problem(line.count.number),
        ),
        None => (
            describe_rows(upload.state, status).to_owned(),
            format!("/settings/upload/{}?{STATUS}={}", upload.id, status.name()),
            RowFilter::Statuses(&[status]),
        ),
    };
    let after = request.query.value(AFTER).parse().unwrap_or(0);
    let RowPage { rows, last_line } = list_rows(session, &upload, filter, after)?;
    let frame = Frame::new(request, context.signed_in, SettingsSection::Upload);
    let newest = request.versions.newest().filter(|_| frame.has_documents);
    Reply::render(&ResultsPage {
        documents: newest.map(|newest| paths::documentation(newest.version.label)),
        frame,
        counts,
        to_send: sum_rows(&counted, &RowStatus::TO_SEND),
        has_failed: sum_rows(&counted, &RowStatus::FAILED) > 0,
        has_content: content.is_some(),
        short_rows: content.map_or_else(Vec::new, |content| content.short_rows),
        problems,
        listed,
        rows,
        next: last_line.map(|line| format!("{address}&{AFTER}={line}")),
        upload,
    })
}

/// Rows after a line.
#[derive(Default)]
struct RowPage {
    rows: Vec<RowLine>,
    /// `None` for the last page.
    last_line: Option<i64>,
}

fn list_rows(
    session: &mut Session<'_>,
    upload: &UploadRecord,
    filter: RowFilter<'_>,
    after: i64,
) -> Result<RowPage, PageError> {
    // One more than a page, to find out whether more rows follow.
    let mut found = session.list_upload_rows(upload, filter, after, PAGE + 1)?;
    let is_last = i64::try_from(found.len()).is_ok_and(|rows| rows <= PAGE);
    found.truncate(usize::try_from(PAGE).unwrap_or(usize::MAX));
    let Some((first, last)) = found.first().zip(found.last()) else {
        return Ok(RowPage::default());
    };
    let last_line = (!is_last).then_some(last.line);
    let problems = session.list_upload_problems(upload, first.line, last.line)?;
    let rows = found.into_iter().map(|row| RowLine::new(row, &problems));
    Ok(RowPage {
        rows: rows.collect(),
        last_line,
    })
}

impl RowLine {
    fn new(row: UploadRow, problems: &[UploadProblem]) -> Self {
        let of_row = problems.iter().filter(|problem| problem.line == row.line);
        Self {
            line: row.line,
            name: row.record_key.or(row.trainee_id).unwrap_or_default(),
            problems: of_row.cloned().map(CellProblem::from).collect(),
            details: RowDetails::read(&row.details),
        }
    }
}

impl From<UploadProblem> for CellProblem {
    fn from(problem: UploadProblem) -> Self {
        Self {
            heading: problem.heading,
            words: problem.words,
        }
    }
}

/// In the order of the page.
pub(crate) const SHOWN: [RowStatus; 8] = [
    RowStatus::RefusedWhenSent,
    RowStatus::ChangedMeanwhile,
    RowStatus::Refused,
    RowStatus::Register,
    RowStatus::Change,
    RowStatus::Registered,
    RowStatus::Changed,
    RowStatus::Equal,
];

fn is_of_check(status: RowStatus) -> bool {
    let sent = [RowStatus::Registered, RowStatus::Changed];
    let failed = [RowStatus::RefusedWhenSent, RowStatus::ChangedMeanwhile];
    !sent.contains(&status) && !failed.contains(&status)
}

fn describe_rows(state: UploadState, status: RowStatus) -> &'static str {
    let is_sent = state != UploadState::Checked;
    match status {
        RowStatus::Waiting => "Not checked",
        RowStatus::Register if is_sent => "Not registered",
        RowStatus::Register => "Will be registered",
        RowStatus::Change if is_sent => "Not changed",
        RowStatus::Change => "Will be changed",
        RowStatus::Equal => "Equal to the register",
        RowStatus::Refused if is_sent => "Refused by the check",
        RowStatus::Refused => "Refused",
        RowStatus::Registered => "Registered",
        RowStatus::Changed => "Changed",
        RowStatus::ChangedMeanwhile => "Not sent, because changed after the check",
        RowStatus::RefusedWhenSent => "Refused when they were sent",
    }
}

/// Describes rows with a status, such as `registered`.
pub(crate) fn describe_status(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Waiting => "not checked",
        RowStatus::Register => "not registered yet",
        RowStatus::Change => "not changed yet",
        RowStatus::Equal => "equal to the register",
        RowStatus::Refused => "refused by the check",
        RowStatus::Registered => "registered",
        RowStatus::Changed => "changed",
        RowStatus::ChangedMeanwhile => "changed after the check",
        RowStatus::RefusedWhenSent => "refused",
    }
}

pub(crate) fn sum_rows(counts: &[(RowStatus, i64)], statuses: &[RowStatus]) -> i64 {
    let counted = counts
        .iter()
        .filter(|(status, _)| statuses.contains(status));
    counted.map(|(_, rows)| rows).sum()
}
