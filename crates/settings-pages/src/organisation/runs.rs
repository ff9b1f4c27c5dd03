//! The page "Imports and refusals": the uploaded files, the runs of an organisation's software, the
//! refused records of a run with sentences for their problems, also as a file, and the setting for
//! record keys.

use askama::Template;
use domain::values::iso_8601::timestamp;
use http_kit::paths;
use http_kit::responses::page::short_time;
use storage::accounts::tokens::TokenRecord;
use storage::accounts::users::SignedIn;
use storage::observations::requests::listing::RequestPosition;
use storage::observations::requests::runs::{MAX_COUNTED, PAGE, Run};
use storage::observations::requests::{RecordResult, RecordedRequest};
use storage::session::{ProviderSession, Session};

use crate::organisation::request_filter::AFTER;
use crate::request::context::AdminContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;
use crate::request_report::{
    describe_counts, describe_run_kind, find_help, list_refused_problems, name_record,
    write_refused_csv,
};
use crate::upload::report::{REPORTS, ReportSummary};

const FILE: &str = "refused.csv";
/// The most refused records in a file.
const MAX_FILE_RECORDS: usize = 10_000;
/// The parameter with the upload before the listed reports.
const REPORTS_BEFORE: &str = "uploads-before";
/// The field that switches the storage of record keys.
const KEYS: &str = "keys";

#[derive(Template)]
#[template(path = "settings/runs.html")]
struct Runs {
    frame: Frame,
    logs_requests: bool,
    logs_record_keys: bool,
    reports: Vec<ReportSummary>,
    older_reports: Option<String>,
    lines: Vec<RunLine>,
    /// Whether the page is not the first one.
    is_part: bool,
    next: Option<String>,
    /// Whether all requests of the runs were counted.
    is_complete: bool,
    max_counted: usize,
}

#[derive(Template)]
#[template(path = "settings/run.html")]
struct RunPage {
    frame: Frame,
    line: RunLine,
    records: Vec<RecordLine>,
    is_part: bool,
    next: Option<String>,
}

pub(crate) struct RunLine {
    pub(crate) address: String,
    /// The time of the last request for people, such as `26 Nov, 11:37`.
    pub(crate) time: String,
    full_time: String,
    started_at: String,
    kind: &'static str,
    /// The name of the token; its number if the token is gone.
    token: String,
    pub(crate) counts: String,
    run: Run,
}

struct RecordLine {
    name: String,
    request_id: String,
    problems: Vec<ProblemLine>,
    left_out: u32,
    is_check: bool,
}

struct ProblemLine {
    field: String,
    message: String,
    /// The documentation of the problem.
    help: Option<String>,
}

pub(crate) fn list(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let position = read_position(request)?;
    let found = session.runs(position, PAGE)?;
    let tokens = session.own_tokens()?;
    let lines = found.runs.into_iter();
    let before = request.query.value(REPORTS_BEFORE).parse().ok();
    let reports = session.list_upload_reports(before, REPORTS)?;
    let is_full = i64::try_from(reports.len()).is_ok_and(|reports| reports == REPORTS);
    let oldest = reports.last().filter(|_| is_full);
    Reply::render(&Runs {
        older_reports: oldest.map(|oldest| {
            let address = format!("{}/requests", paths::SETTINGS);
            format!("{address}?{REPORTS_BEFORE}={}", oldest.upload.id)
        }),
        reports: reports.iter().map(ReportSummary::from).collect(),
        frame: Frame::new(request, signed_in, SettingsSection::Requests),
        logs_requests: request.state.recorder.records_requests(),
        logs_record_keys: session.logs_record_keys()?,
        lines: lines.map(|run| RunLine::new(run, &tokens)).collect(),
        is_part: position.is_some() || before.is_some(),
        is_complete: found.is_complete,
        max_counted: MAX_COUNTED,
        next: found
            .next
            .map(|next| format!("{}/requests?{AFTER}={next}", paths::SETTINGS)),
    })
}

pub(crate) fn show(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let run = session.run(request.id()?)?.ok_or(PageError::NotFound)?;
    let position = read_position(request)?;
    let found = session.refused_in_run(&run, position, PAGE)?;
    let line = RunLine::new(run, &session.own_tokens()?);
    let next = found
        .next
        .map(|next| format!("{}?{AFTER}={next}", line.address));
    Reply::render(&RunPage {
        frame: Frame::new(request, signed_in, SettingsSection::Requests),
        line,
        records: found.requests.into_iter().map(RecordLine::from).collect(),
        is_part: position.is_some(),
        next,
    })
}

pub(crate) fn download(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    _: &SignedIn,
) -> Result<Reply, PageError> {
    let run = session.run(request.id()?)?.ok_or(PageError::NotFound)?;
    let found = session.refused_in_run(&run, None, MAX_FILE_RECORDS)?;
    let file = write_refused_csv(&found.requests).map_err(PageError::File)?;
    Ok(Reply::Csv(FILE, file))
}

pub(crate) fn switch_keys(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let is_on = match request.form.value(KEYS) {
        "on" => true,
        "off" => false,
        _ => return Err(PageError::NotFound),
    };
    session.set_record_key_logging(admin.actor, &admin.organisation.ukprn, is_on)?;
    Ok(Reply::Redirect(Target::Requests))
}

/// Returns `None` for the first page.
fn read_position(request: &PageRequest) -> Result<Option<RequestPosition>, PageError> {
    match request.query.value(AFTER) {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| PageError::NotFound),
    }
}

impl RunLine {
    pub(crate) fn new(run: Run, tokens: &[TokenRecord]) -> Self {
        let token = tokens.iter().find(|token| token.id == run.token_id);
        Self {
            token: token.map_or_else(|| run.token_id.to_string(), |token| token.name.clone()),
            address: format!("{}/requests/{}", paths::SETTINGS, run.id),
            time: short_time(run.ended_at),
            full_time: timestamp(run.ended_at),
            started_at: timestamp(run.started_at),
            kind: describe_run_kind(&run),
            counts: describe_counts(&run.counts),
            run,
        }
    }
}

impl From<RecordedRequest> for RecordLine {
    fn from(request: RecordedRequest) -> Self {
        let problems = list_refused_problems(&request).into_iter();
        Self {
            name: name_record(&request),
            problems: problems
                .map(|problem| ProblemLine {
                    help: find_help(&request.version, &problem.code, request.status),
                    field: problem.field,
                    message: problem.message,
                })
                .collect(),
            left_out: request.problems_left_out,
            is_check: request.result == RecordResult::RefusedCheck,
            request_id: request.request_id,
        }
    }
}
