//! The report on a sent upload, which is kept for 30 days: what has become of each row, as a page of
//! "Imports and refusals" and as a file. Only users who may upload see it.

use askama::Template;
use domain::values::iso_8601::timestamp;
use http_kit::paths;
use http_kit::responses::page::short_time;
use storage::accounts::uploads::reports::{ReportLine, UploadReport};
use storage::base::cause::Cause;
use storage::session::{Provider, ProviderSession, Session};
use trainee_file::{write_csv, write_csv_rows};

use crate::request::context::UploaderContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::upload::files::{NO_ROWS, PIECE, Piece, send_in_pieces};
use crate::upload::results::{SHOWN, describe_status, sum_rows};

const FILE: &str = "report.csv";
const HEADINGS: [&str; 5] = ["line", "provider_trainee_id", "trainee_id", "status", "trn"];
/// The most reports on the page of imports.
pub(crate) const REPORTS: i64 = 20;
/// The lines on a page.
const PAGE: i64 = 100;
/// The parameter with the line before the page.
const AFTER: &str = "after";

pub(crate) struct ReportSummary {
    pub(crate) address: String,
    /// For people, such as `26 Nov, 11:37`.
    pub(crate) time: String,
    pub(crate) full_time: String,
    pub(crate) email: String,
    /// Such as `12 rows: 1 registered, 8 refused`.
    pub(crate) counts: String,
}

#[derive(Template)]
#[template(path = "settings/upload_report.html")]
struct ReportPage {
    frame: Frame,
    report: ReportSummary,
    lines: Vec<ReportLine>,
    next: Option<String>,
}

impl From<&UploadReport> for ReportSummary {
    fn from(report: &UploadReport) -> Self {
        let all: i64 = report.counts.iter().map(|(_, rows)| rows).sum();
        let mut parts: Vec<String> = Vec::new();
        for status in SHOWN {
            let rows = sum_rows(&report.counts, &[status]);
            if rows > 0 {
                parts.push(format!("{rows} {}", describe_status(status)));
            }
        }
        Self {
            address: format!("{}/requests/uploads/{}", paths::SETTINGS, report.upload.id),
            time: short_time(report.sent_at),
            full_time: timestamp(report.sent_at),
            email: report.email.clone(),
            counts: format!(
                "{all} {}: {}",
                if all == 1 { "row" } else { "rows" },
                parts.join(", ")
            ),
        }
    }
}

pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let mut records = open_records(session, context.organisation)?;
    let report = find_report(&mut records, request)?;
    let after = request.query.value(AFTER).parse().unwrap_or(0);
    let lines = records.list_report_lines(&report, after, PAGE)?;
    let summary = ReportSummary::from(&report);
    let is_full = i64::try_from(lines.len()).is_ok_and(|lines| lines == PAGE);
    let last = lines.last().filter(|_| is_full);
    let next = last.map(|last| format!("{}?{AFTER}={}", summary.address, last.line));
    Reply::render(&ReportPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Requests),
        report: summary,
        lines,
        next,
    })
}

pub(crate) fn download(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let report = find_report(&mut open_records(session, context.organisation)?, request)?;
    let organisation = context.organisation.clone();
    let head = write_csv(HEADINGS, NO_ROWS).map_err(PageError::File)?;
    Ok(send_in_pieces(FILE, head, move |session, after| {
        read_piece(session, &organisation, &report, after)
    }))
}

fn read_piece(
    session: &mut Session<'_>,
    organisation: &Provider,
    report: &UploadReport,
    after: i64,
) -> Result<Option<Piece>, PageError> {
    let mut records = open_records(session, organisation)?;
    let lines = records.list_report_lines(report, after, PIECE)?;
    let Some(last_line) = lines.last().map(|last| last.line) else {
        return Ok(None);
    };
    let lines: Vec<[String; 5]> = lines.into_iter().map(to_cells).collect();
    let text = write_csv_rows(lines.iter().map(|line| line.iter().map(String::as_str)))
        .map_err(PageError::File)?;
    Ok(Some(Piece { text, last_line }))
}

fn open_records<'b>(
    session: &'b mut Session<'_>,
    organisation: &Provider,
) -> Result<ProviderSession<'b>, PageError> {
    let own = session.open_provider(&organisation.ukprn, Cause::new("settings"))?;
    own.ok_or(PageError::NotFound)
}

fn find_report(
    records: &mut ProviderSession<'_>,
    request: &PageRequest,
) -> Result<UploadReport, PageError> {
    let report = records.find_upload_report(request.id()?)?;
    report.ok_or(PageError::NotFound)
}

fn to_cells(line: ReportLine) -> [String; 5] {
    [
        line.line.to_string(),
        line.record_key.unwrap_or_default(),
        line.trainee_id.unwrap_or_default(),
        line.status.name().to_owned(),
        line.trn.unwrap_or_default(),
    ]
}
