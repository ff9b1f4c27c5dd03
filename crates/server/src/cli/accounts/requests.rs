//! Commands about the recorded requests of a provider.

use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use domain::values::iso_8601::timestamp;
use settings_pages::request_report::{
    describe_problem, find_help, load_frequent_refusals, parse_code, parse_endpoint,
    parse_statuses, parse_time, parse_version,
};
use storage::base::cause::Cause;
use storage::error::{Refusal, StorageError};
use storage::observations::requests::RecordedRequest;
use storage::observations::requests::listing::{RequestFilter, RequestPosition};
use storage::observations::requests::refusals::Refusal as RefusedRequests;
use storage::session::ProviderSession;
use storage::store::Store;

use crate::cli::output::{Cell, ListOutput, Number};
use crate::cli::values::{id, ukprn};
use crate::cli::{CommandError, Database};

#[derive(Debug, Subcommand)]
pub(crate) enum RequestCommand {
    /// List a provider's requests of the last 30 days, newest first: writes and refused requests
    ///
    /// Each line shows the request, its status, and its problems' codes and field names, without
    /// content of bodies. The command prints 20 requests. To continue the list, add the --after
    /// option that the command prints.
    #[command(after_help = "Example:
  trainee-register request list --provider 10012345 --status 422")]
    List(Box<List>),
    /// List the most frequent refusals of the last seven days, with documentation links
    #[command(after_help = "Example: trainee-register request refused --provider 10012345")]
    Refused {
        #[command(flatten)]
        database: Database,
        /// UKPRN of the provider
        #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
        provider: String,
        #[command(flatten)]
        output: ListOutput,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    database: Database,
    /// UKPRN of the provider
    #[arg(long, value_name = "UKPRN", value_parser = ukprn)]
    provider: String,
    /// Only requests answered at this time or later, such as 2026-10-05T09:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<DateTime<Utc>>,
    /// Only requests answered before this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<DateTime<Utc>>,
    /// Only refused or only accepted requests
    #[arg(long, value_enum)]
    outcome: Option<OutcomeOption>,
    /// Only requests with this reply status, such as 422 or 4xx
    #[arg(long, value_parser = parse_statuses)]
    status: Option<RangeInclusive<u16>>,
    /// Only requests to this endpoint, such as "POST /trainees"
    #[arg(long, value_parser = parse_endpoint)]
    endpoint: Option<String>,
    /// Only requests to this API version
    #[arg(long = "version", value_name = "LABEL", value_parser = parse_version)]
    version: Option<String>,
    /// Only requests with this token number; see `token list`
    #[arg(long, value_name = "ID", value_parser = id)]
    token: Option<i64>,
    /// Only requests with this problem code
    #[arg(long, value_parser = parse_code)]
    code: Option<String>,
    /// Only the request with this identifier
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Continue the list after this position, printed by the previous command
    #[arg(long, value_name = "POSITION")]
    after: Option<RequestPosition>,
    #[command(flatten)]
    output: ListOutput,
}

/// The outcome of the requests to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutcomeOption {
    Refused,
    Accepted,
}

const HEADINGS: [&str; 8] = [
    "answered_at",
    "status",
    "endpoint",
    "version",
    "token",
    "item",
    "request_id",
    "problems",
];
const REFUSED_HEADINGS: [&str; 9] = [
    "requests",
    "status",
    "endpoint",
    "version",
    "code",
    "field",
    "newest_at",
    "newest_request_id",
    "help",
];

impl RequestCommand {
    /// Runs the subcommand, and prints its list.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::List(list) => list.run(),
            Self::Refused {
                database,
                provider,
                output,
            } => {
                let frequent = read_for_provider(&database.open()?, &provider, |session| {
                    load_frequent_refusals(session)
                })?;
                let most = frequent.refusals;
                let rows: Vec<_> = most.kinds.into_iter().map(refused_cells).collect();
                output.print(REFUSED_HEADINGS, &rows)?;
                let incomplete_note = if most.is_complete {
                    ""
                } else {
                    "; only the newest requests are counted"
                };
                output.note(format_args!(
                    "\nsince {}: refused requests {}{incomplete_note}",
                    timestamp(frequent.since),
                    most.counted
                ))
            }
        }
    }
}

impl List {
    /// Prints a page of the requests that match all options.
    fn run(self) -> Result<(), CommandError> {
        let filter = RequestFilter {
            from: self.from,
            until: self.until,
            is_refused: self
                .outcome
                .map(|outcome| outcome == OutcomeOption::Refused),
            statuses: self.status,
            endpoint: self.endpoint,
            version: self.version,
            token_id: self.token,
            code: self.code,
            request_id: self.request_id,
        };
        let store = self.database.open()?;
        // A mistyped number would give an empty list.
        if let Some(id) = self.token {
            let provider = self.provider.as_str();
            let tokens = store
                .read_blocking::<_, StorageError>(|session| session.list_tokens(Some(provider)))?;
            if tokens.iter().all(|token| token.id != id) {
                return Err(StorageError::Refused(Refusal::UnknownToken).into());
            }
        }
        let page = read_for_provider(&store, &self.provider, |session| {
            session.requests(&filter, self.after)
        })?;
        if let (Some(request_id), []) = (&filter.request_id, page.requests.as_slice()) {
            return Err(CommandError::UnknownRequest(request_id.clone()));
        }
        let rows: Vec<_> = page.requests.into_iter().map(cells).collect();
        self.output.print(HEADINGS, &rows)?;
        match page.next {
            Some(next) => self
                .output
                .note(format_args!("\nmore requests: --after {next}")),
            None => Ok(()),
        }
    }
}

/// The row of a request in `request list`.
fn cells(request: RecordedRequest) -> [Cell; 8] {
    let mut problems: Vec<_> = request.problems.iter().map(describe_problem).collect();
    if request.problems_left_out > 0 {
        problems.push(format!("and {} more", request.problems_left_out));
    }
    // Items of a batch are numbered from 1.
    let item = request.item.map(|position| u64::from(position) + 1);
    [
        timestamp(request.answered_at).into(),
        Number(request.status).into(),
        request.endpoint.into(),
        request.version.into(),
        request.sender.token_id().map(Number).into(),
        item.map(Number).into(),
        request.request_id.into(),
        problems.join("; ").into(),
    ]
}

/// The row of a kind of refusal in `request refused`.
fn refused_cells(refused: RefusedRequests) -> [Cell; 9] {
    let RefusedRequests {
        kind,
        requests,
        newest,
    } = refused;
    let help = find_help(&kind.version, &kind.code, kind.status);
    [
        Number(requests).into(),
        Number(kind.status).into(),
        kind.endpoint.into(),
        kind.version.into(),
        kind.code.into(),
        kind.field.into(),
        timestamp(newest.at).into(),
        newest.request_id.to_string().into(),
        help.into(),
    ]
}

/// Reads data of a provider: runs `job` in a session of the provider and returns its result. Fails
/// if no provider has the UKPRN.
fn read_for_provider<T: Send + 'static>(
    store: &Store,
    ukprn: &str,
    mut job: impl FnMut(&mut ProviderSession<'_>) -> Result<T, StorageError>,
) -> Result<T, CommandError> {
    let result = store.read_blocking::<_, StorageError>(|session| {
        let provider = session.open_provider(ukprn, Cause::new("requests"))?;
        job(&mut provider.ok_or(StorageError::Refused(Refusal::UnknownProvider))?)
    })?;
    Ok(result)
}
