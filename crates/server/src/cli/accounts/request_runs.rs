//! Commands about the runs of a provider's requests.

use clap::Args;
use domain::Code;
use domain::values::iso_8601::timestamp;
use settings_pages::request_report::{record_name, refused_problems, run_kind};
use storage::base::cause::Cause;
use storage::error::{Refusal, StorageError};
use storage::observations::requests::RecordedRequest;
use storage::observations::requests::listing::RequestPosition;
use storage::observations::requests::runs::{MAX_COUNTED, PAGE, Run};
use storage::session::ProviderSession;
use storage::store::Store;

use crate::cli::output::{Cell, ListOutput, Number};
use crate::cli::values::{id, ukprn};
use crate::cli::{CommandError, Database};

const RUN_HEADINGS: [&str; 12] = [
    "id",
    "started_at",
    "ended_at",
    "version",
    "token",
    "sent_as",
    "registered",
    "changed",
    "already_registered",
    "refused",
    "checked",
    "repeated",
];
const RECORD_HEADINGS: [&str; 5] = ["record", "status", "field", "problem", "request_id"];

#[derive(Debug, Args)]
pub(crate) struct ListRuns {
    #[command(flatten)]
    database: Database,
    /// UKPRN of the provider
    #[arg(long, value_name = "UKPRN", env = "REGISTER_REQUEST_LIST_PROVIDER", value_parser = ukprn)]
    provider: String,
    /// Only lines after this position in the list, as printed by the command
    #[arg(long, value_name = "POSITION", env = "REGISTER_REQUEST_LIST_AFTER")]
    after: Option<RequestPosition>,
    #[command(flatten)]
    output: ListOutput,
}

#[derive(Debug, Args)]
pub(crate) struct ShowRun {
    /// Number in `request list`
    #[arg(value_name = "ID", value_parser = id)]
    id: i64,
    #[command(flatten)]
    database: Database,
    /// UKPRN of the provider
    #[arg(long, value_name = "UKPRN", env = "REGISTER_REQUEST_SHOW_PROVIDER", value_parser = ukprn)]
    provider: String,
    /// Only records after this position in the list, as printed by the command
    #[arg(long, value_name = "POSITION", env = "REGISTER_REQUEST_SHOW_AFTER")]
    after: Option<RequestPosition>,
    #[command(flatten)]
    output: ListOutput,
}

impl ListRuns {
    /// Prints a page of the runs of the provider's requests.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let store = self.database.open()?;
        let page = read_for_provider(&store, &self.provider, |session| {
            session.runs(self.after, PAGE)
        })?;
        let rows: Vec<_> = page.runs.iter().map(run_cells).collect();
        self.output.print(RUN_HEADINGS, &rows)?;
        if !page.is_complete {
            self.output.note(format_args!(
                "\n{MAX_COUNTED} requests are counted, so the last line may be incomplete"
            ))?;
        }
        match page.next {
            Some(next) => self
                .output
                .note(format_args!("\nmore lines: --after {next}")),
            None => Ok(()),
        }
    }
}

impl ShowRun {
    /// Prints a page of the refused records of a run.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        let store = self.database.open()?;
        let page = read_for_provider(&store, &self.provider, |session| {
            let run = session.run(self.id)?;
            let run = run.ok_or(StorageError::Refused(Refusal::UnknownRun))?;
            session.refused_in_run(&run, self.after, PAGE)
        })?;
        let rows: Vec<_> = page.requests.into_iter().flat_map(record_cells).collect();
        self.output.print(RECORD_HEADINGS, &rows)?;
        match page.next {
            Some(next) => self
                .output
                .note(format_args!("\nmore records: --after {next}")),
            None => Ok(()),
        }
    }
}

/// The number of an item in its batch, from 1; `None` for a single request.
pub(crate) fn item_number(request: &RecordedRequest) -> Option<u64> {
    request.item.map(|position| u64::from(position) + 1)
}

/// The row of a run in `request list`.
fn run_cells(run: &Run) -> [Cell; 12] {
    let counts = &run.counts;
    [
        Number(run.id).into(),
        timestamp(run.started_at).into(),
        timestamp(run.ended_at).into(),
        run.version.clone().into(),
        run.sender.token_id().map(Number).into(),
        run_kind(run).into(),
        Number(counts.registered).into(),
        Number(counts.changed).into(),
        Number(counts.already_registered).into(),
        Number(counts.refused).into(),
        Number(counts.checked).into(),
        Number(counts.repeated).into(),
    ]
}

/// A row for each problem of a refused record. The key that the provider gave the record, and the
/// messages beside it that may repeat values, are replaced, because only the provider may see them.
fn record_cells(mut request: RecordedRequest) -> Vec<[Cell; 5]> {
    let has_values = request.record_key.take().is_some();
    let problems = refused_problems(&request).into_iter();
    problems
        .map(|problem| {
            let known = Code::ALL.iter().find(|code| code.name() == problem.code);
            let meaning = known.filter(|_| has_values).map(|code| code.meaning());
            [
                record_name(&request).into(),
                Number(request.status).into(),
                problem.field.into(),
                meaning.map_or(problem.message, str::to_owned).into(),
                request.request_id.clone().into(),
            ]
        })
        .collect()
}

/// Reads data of a provider: runs `job` in a session of the provider and returns its result. Fails
/// if no provider has the UKPRN.
pub(super) fn read_for_provider<T: Send + 'static>(
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
