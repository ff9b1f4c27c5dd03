//! The recorded requests of an organisation, read only: the most frequent problems, and the requests
//! that match the search form, newest first.

use askama::Template;
use domain::values::iso_8601::timestamp;
use storage::accounts::users::SignedIn;
use storage::observations::requests::RecordedRequest;
use storage::observations::requests::listing::{RequestPage, RequestPosition};
use storage::observations::requests::refusals::Refusal;
use storage::session::ProviderSession;

use crate::organisation::request_filter::{self, Choice};
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::request_report::{
    FrequentRefusals, describe_problem, find_help, load_frequent_refusals,
};

#[derive(Template)]
#[template(path = "settings/requests.html")]
struct Requests<'a> {
    frame: Frame,
    logs_requests: bool,
    query: &'a Form,
    faults: Faults,
    endpoints: Vec<Choice>,
    versions: Vec<Choice>,
    is_open: bool,
    /// On the first page without filters only.
    most: Option<Most>,
    /// `None` if the form is invalid.
    list: Option<List>,
}

struct Most {
    since: String,
    counted: usize,
    is_complete: bool,
    lines: Vec<MostLine>,
}

struct MostLine {
    refusal: Refusal,
    problem: String,
    /// The documentation of the problem.
    help: Option<String>,
    /// All requests with this problem.
    requests: String,
    /// The newest of these requests.
    newest: String,
}

struct List {
    lines: Vec<Line>,
    next: Option<String>,
    /// Whether the list shows only a part of the log.
    is_part: bool,
}

struct Line {
    at: String,
    request: RecordedRequest,
    problems: Vec<Problem>,
}

impl Line {
    fn tag(&self) -> &'static str {
        if self.request.result.is_refused() {
            "tag-bad"
        } else {
            "tag-good"
        }
    }
}

struct Problem {
    words: String,
    /// The documentation of the problem.
    help: Option<String>,
}

pub(crate) fn list(
    session: &mut ProviderSession<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let query = &request.query;
    let after = query.value(request_filter::AFTER);
    let position = match after {
        "" => None,
        text => Some(
            text.parse::<RequestPosition>()
                .map_err(|_| PageError::NotFound)?,
        ),
    };
    let mut faults = Faults::default();
    let filter = request_filter::read(query, &mut faults);
    let is_part = position.is_some() || request_filter::is_set(query);
    let most = if is_part {
        None
    } else {
        Some(Most::from(load_frequent_refusals(session)?))
    };
    let list = match faults.is_empty() {
        true => Some(List::from_page(
            session.requests(&filter, position)?,
            query,
            is_part,
        )),
        false => None,
    };
    let is_valid = faults.is_empty();
    let page = Requests {
        frame: Frame::new(request, signed_in, SettingsSection::Requests),
        logs_requests: request.state.recorder.records_requests(),
        query,
        faults,
        endpoints: request_filter::list_endpoints(query),
        versions: request_filter::list_versions(query, request.versions),
        is_open: request_filter::is_set(query),
        most,
        list,
    };
    if is_valid {
        Reply::render(&page)
    } else {
        Reply::render_faults(&page)
    }
}

impl From<FrequentRefusals> for Most {
    fn from(FrequentRefusals { since, refusals }: FrequentRefusals) -> Self {
        Self {
            since: timestamp(since),
            counted: refusals.counted,
            is_complete: refusals.is_complete,
            lines: refusals.kinds.into_iter().map(MostLine::from).collect(),
        }
    }
}

impl From<Refusal> for MostLine {
    fn from(refusal: Refusal) -> Self {
        let kind = &refusal.kind;
        let status = kind.status.to_string();
        let filter = [
            ("outcome", "refused"),
            ("status", status.as_str()),
            ("endpoint", kind.endpoint.as_str()),
            ("version", kind.version.as_str()),
            ("code", kind.code.as_str()),
        ];
        let problem = if kind.code.is_empty() {
            format!("status {status}")
        } else {
            kind.code.clone()
        };
        let requests = request_filter::build_address(filter);
        let newest = request_filter::build_address([("request_id", &*refusal.newest.request_id)]);
        Self {
            problem,
            help: find_help(&kind.version, &kind.code, kind.status),
            requests,
            newest,
            refusal,
        }
    }
}

impl List {
    fn from_page(page: RequestPage, query: &Form, is_part: bool) -> Self {
        // Following pages have the same filters.
        let next = page
            .next
            .map(|position| request_filter::build_address_after(query, &position.to_string()));
        Self {
            lines: page.requests.into_iter().map(Line::from).collect(),
            next,
            is_part,
        }
    }
}

impl From<RecordedRequest> for Line {
    fn from(request: RecordedRequest) -> Self {
        let mut problems: Vec<Problem> = request
            .problems
            .iter()
            .map(|problem| Problem {
                words: describe_problem(problem),
                help: find_help(&request.version, &problem.code, request.status),
            })
            .collect();
        // Requests refused before their body was read have a status only.
        if problems.is_empty() && request.result.is_refused() {
            problems.push(Problem {
                words: format!("status {}", request.status),
                help: find_help(&request.version, "", request.status),
            });
        }
        let names = request.names.iter();
        let names = names.map(|name| format!("name of another version: {name}"));
        let newest = request.newest_problems.iter().flatten();
        let newest = newest.map(|(code, field)| format!("in the newest version: {code} {field}"));
        problems.extend(
            names
                .chain(newest)
                .map(|words| Problem { words, help: None }),
        );
        Self {
            at: timestamp(request.answered_at),
            problems,
            request,
        }
    }
}
