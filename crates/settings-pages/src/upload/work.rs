//! The work on the rows of uploads, in the background. Any server continues an upload after another
//! one has ended.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::time::{Instant, sleep, sleep_until, timeout};
use actix_web::rt::{self, System};
use adapter_kit::Envelope;
use futures_util::lock::Mutex;
use futures_util::stream::{self, StreamExt as _};
use gateway::error::ApiError;
use gateway::parts::rows::{RowOutcome, run_row};
use gateway::request::identity::UserIdentity;
use gateway::request::row::Row as RowRequest;
use gateway::state::GatewayState;
use http_kit::error_chain::Causes;
use http_kit::limits::long_jobs::{LongJob, LongJobs};
use http_kit::requests::request_id;
use storage::accounts::uploads::{
    RowFilter, RowStatus, UploadLease, UploadProblem, UploadRecord, UploadRow, UploadState,
};
use storage::error::{DatabaseError, JobError, StorageError};
use trainee_file::{Column, Row, TraineeRow};

use crate::upload::content::{CellProblem, FileContent, StoredRequest, split_cells};
use crate::upload::names;

mod cells;
mod check;
mod prepare;
mod requests;
mod send;

/// Between two searches for uploads that wait for a server.
const PAUSE: Duration = Duration::from_secs(1);
/// The rows whose results are stored together.
const PORTION: i64 = 50;
/// 5,000 rows take at least 40 s, which leaves most of the server to requests of the API.
const PORTION_TIME: Duration = Duration::from_millis(400);
const ROWS_AT_ONCE: usize = 4;
/// Stored per row.
const MAX_PROBLEMS: usize = 20;
/// Before a row is sent again while the register is busy.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];
/// The lease is longer.
const LEASE_RENEWAL: Duration = Duration::from_secs(10);

/// A reason to end work before its last row.
#[derive(Debug, thiserror::Error)]
enum WorkEnd {
    #[error("the server stops")]
    Stopping,
    #[error("the upload was stopped or deleted, or another server has its lease")]
    LeaseLost,
    #[error("the user may no longer upload")]
    NotPermitted,
    #[error("the newest version has no endpoint for a nested record")]
    NoEndpoint,
    #[error("the stored content or a stored row cannot be read")]
    Unreadable,
    #[error(transparent)]
    Request(#[from] ApiError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<DatabaseError> for WorkEnd {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for WorkEnd {
    fn database_error(&self) -> Option<&DatabaseError> {
        match self {
            Self::Request(error) => error.database_error(),
            Self::Storage(error) => error.database_error(),
            Self::Stopping
            | Self::LeaseLost
            | Self::NotPermitted
            | Self::NoEndpoint
            | Self::Unreadable => None,
        }
    }
}

/// Starts the work on uploads. Must be called on a `LocalSet`.
pub fn start(state: GatewayState, jobs: LongJobs) {
    rt::spawn(async move {
        loop {
            begin_waiting(&state, &jobs).await;
            sleep(PAUSE).await;
        }
    });
}

/// Begins to work on uploads that wait for a server, unless enough others run.
pub(crate) async fn begin_waiting(state: &GatewayState, jobs: &LongJobs) {
    loop {
        match state.store.read(|session| session.has_upload_work()).await {
            Ok(true) => {}
            Ok(false) => return,
            // The probe reports an unavailable database, and the next search follows soon.
            Err(error) => return log::debug!("uploads not found: {}", Causes(&error)),
        }
        let Some(job) = jobs.begin_upload().await else {
            return;
        };
        let taken = state
            .store
            .write::<_, StorageError>(|session| session.take_upload_lease());
        let (upload, lease) = match taken.await {
            Ok(Some(taken)) => taken,
            Ok(None) => return,
            Err(error) => return log::warn!("upload not begun: {}", Causes(&error)),
        };
        let (state, jobs) = (state.clone(), jobs.clone());
        // On the server's own thread: the work continues after the caller, and an ending worker does
        // not interrupt it.
        System::current().arbiter().spawn_fn(move || {
            let name = format!("upload-{}", upload.id).into();
            rt::spawn(async move {
                let work = run(Arc::new(state.clone()), upload, lease, job);
                request_id::under(name, work).await;
                // The next step of this upload, or another one that waits for its turn.
                begin_waiting(&state, &jobs).await;
            });
        });
    }
}

async fn run(state: Arc<GatewayState>, upload: UploadRecord, lease: UploadLease, job: LongJob) {
    if let Err(end) = work_on(state, upload, lease, job).await {
        let request_id = request_id::for_the_log();
        log::info!(request_id; "upload not finished: {}", Causes(&end));
    }
}

/// Works on an upload until its user must decide, or until it has ended.
async fn work_on(
    state: Arc<GatewayState>,
    upload: UploadRecord,
    lease: UploadLease,
    job: LongJob,
) -> Result<(), WorkEnd> {
    let content = FileContent::read(&upload).ok_or(WorkEnd::Unreadable)?;
    let work = Work {
        columns: content.recognise_columns(&names::collect_names(state.versions)),
        user: UserIdentity {
            upload_id: upload.id,
            uploader: upload.by,
        },
        state,
        content,
        upload,
        job,
        lease: RefCell::new(lease),
        trainees: Mutex::default(),
    };
    let worked = if work.upload.state == UploadState::Preparing {
        work.prepare().await
    } else {
        work.work_on_rows().await
    };
    match worked {
        Err(WorkEnd::NotPermitted) => work.finish(UploadState::StoppedByRole, None).await,
        // Another server can continue at once.
        Err(WorkEnd::Stopping) => work.finish(work.upload.state, None).await,
        // After a failure, the end of the lease is the pause before the next attempt.
        worked => worked,
    }
}

/// A row with its result and its problems, or the reason that the work ends with it.
type RowResult = Result<(UploadRow, Vec<CellProblem>), WorkEnd>;

struct Work {
    state: Arc<GatewayState>,
    upload: UploadRecord,
    user: UserIdentity,
    content: FileContent,
    columns: Vec<Column>,
    job: LongJob,
    lease: RefCell<UploadLease>,
    /// With the keys of the file.
    trainees: Mutex<check::TraineesByKey>,
}

impl Work {
    fn envelope(&self) -> Envelope {
        // The newest version reads the rows.
        let newest = self.state.versions.newest();
        newest.map_or(Envelope::COMMON, |served| served.version.wire.envelope)
    }

    async fn work_on_rows(&self) -> Result<(), WorkEnd> {
        let is_sending = self.upload.state == UploadState::Sending;
        let (statuses, end): (&[RowStatus], _) = if is_sending {
            (&RowStatus::TO_SEND, UploadState::Sent)
        } else {
            (&[RowStatus::Waiting], UploadState::Checked)
        };
        self.find_trainees().await?;
        loop {
            let began = Instant::now();
            let rows = self.list_rows(statuses, 0, PORTION).await?;
            if rows.is_empty() {
                return self.finish(end, None).await;
            }
            let results = rows.into_iter().map(async |row| {
                if is_sending {
                    send::send_row(self, row).await
                } else {
                    check::check_row(self, row).await
                }
            });
            let results = self.run_rows(results).await?;
            self.store_results(results).await?;
            sleep_until(began + PORTION_TIME).await;
        }
    }

    async fn list_rows(
        &self,
        statuses: &'static [RowStatus],
        after: i64,
        most: i64,
    ) -> Result<Vec<UploadRow>, StorageError> {
        let upload = self.upload.clone();
        let listed = self.state.store.read(move |session| {
            session.list_upload_rows(&upload, RowFilter::Statuses(statuses), after, most)
        });
        listed.await
    }

    /// Runs the rows of a portion, a few at once.
    async fn run_rows(
        &self,
        rows: impl Iterator<Item = impl Future<Output = RowResult>>,
    ) -> Result<Vec<RowResult>, WorkEnd> {
        let results = stream::iter(rows).buffered(ROWS_AT_ONCE).collect();
        let mut results = pin!(results);
        loop {
            match timeout(LEASE_RENEWAL, &mut results).await {
                Ok(results) => return Ok(results),
                // Renews the lease: a busy register can delay a row for longer.
                Err(_) => self.store_rows(Vec::new(), Vec::new()).await?,
            }
        }
    }

    /// Fails if a row has ended the work, or if the server stops.
    async fn store_results(&self, results: Vec<RowResult>) -> Result<(), WorkEnd> {
        let (mut rows, mut problems) = (Vec::new(), Vec::new());
        let mut end = Ok(());
        for result in results {
            match result {
                Ok((row, found)) => {
                    problems.extend(limit_problems(row.line, found));
                    rows.push(row);
                }
                Err(error) => end = Err(error),
            }
        }
        // Stored before the work ends: the rows that have run are not run again.
        self.store_rows(rows, problems).await?;
        if self.job.is_stopping() {
            return Err(WorkEnd::Stopping);
        }
        end
    }

    /// Stores rows, and renews the lease.
    async fn store_rows(
        &self,
        rows: Vec<UploadRow>,
        problems: Vec<UploadProblem>,
    ) -> Result<(), WorkEnd> {
        let lease = self.lease.borrow().clone();
        let stored = self.state.store.write::<_, StorageError>(move |session| {
            session.store_upload_rows(&lease, &rows, &problems)
        });
        self.lease.replace(stored.await?.ok_or(WorkEnd::LeaseLost)?);
        Ok(())
    }

    /// Gives up the lease, and moves the upload to a state.
    async fn finish(&self, to: UploadState, content: Option<String>) -> Result<(), WorkEnd> {
        let lease = self.lease.borrow().clone();
        let finished = self.state.store.write::<_, StorageError>(move |session| {
            session.finish_upload_work(&lease, to, content.as_deref())
        });
        match finished.await? {
            true => Ok(()),
            false => Err(WorkEnd::LeaseLost),
        }
    }

    fn read_trainee_row(&self, row: &UploadRow) -> TraineeRow {
        let row = Row {
            line: u64::try_from(row.line).unwrap_or_default(),
            cells: split_cells(&row.cells),
        };
        TraineeRow::new(&row, &self.columns)
    }

    fn find_heading(&self, column_name: &str) -> String {
        let mut columns = self.columns.iter();
        let place = columns.position(|column| column.to_string() == column_name);
        // A problem can be about a field without a column.
        let heading = place.and_then(|place| self.content.header.get(place));
        heading.map_or(column_name, String::as_str).to_owned()
    }

    fn build_request(
        &self,
        line: i64,
        trainee_id: &str,
        stored: &StoredRequest,
    ) -> Result<RowRequest, WorkEnd> {
        // A second upload of the file has other keys, because records that the first one added may be
        // gone.
        let (user, id) = (self.upload.by.user_id(), self.upload.id);
        let part = &stored.columns;
        Ok(RowRequest {
            position: u32::try_from(line - 1).unwrap_or_default(),
            endpoint: stored.find_endpoint().ok_or(WorkEnd::Unreadable)?,
            trainee_id: trainee_id.to_owned(),
            nested_id: stored.nested_id.clone(),
            body: stored.body.clone().into_bytes(),
            validates_only: false,
            if_match: stored.if_match.clone(),
            idempotency_key: Some(format!("upload-{user}-{id}-{line}{part}")),
        })
    }

    /// Runs a request of a row without storing anything.
    async fn validate(
        &self,
        line: i64,
        trainee_id: &str,
        stored: &StoredRequest,
    ) -> Result<RowOutcome, WorkEnd> {
        let request = self.build_request(line, trainee_id, stored)?;
        self.run(RowRequest {
            validates_only: true,
            ..request
        })
        .await
    }

    /// Runs a request of a row, again while the register is busy.
    async fn run(&self, row: RowRequest) -> Result<RowOutcome, WorkEnd> {
        for pause in PAUSES {
            let outcome = self.run_once(row.clone()).await?;
            if !outcome.is_temporary {
                return Ok(outcome);
            }
            if self.job.is_stopping() {
                return Err(WorkEnd::Stopping);
            }
            sleep(pause).await;
        }
        // The outcome is that of a refused row.
        self.run_once(row).await
    }

    async fn run_once(&self, row: RowRequest) -> Result<RowOutcome, WorkEnd> {
        let outcome = run_row(&self.state, self.user, row).await;
        match outcome.is_stopped() {
            true => Err(WorkEnd::NotPermitted),
            false => Ok(outcome),
        }
    }
}

fn limit_problems(line: i64, mut found: Vec<CellProblem>) -> Vec<UploadProblem> {
    let left_out = found.len().saturating_sub(MAX_PROBLEMS);
    found.truncate(MAX_PROBLEMS);
    if left_out > 0 {
        let words = format!("{left_out} further problems are not listed.");
        found.push(CellProblem::from_words(words));
    }
    let problems = found
        .into_iter()
        .map(|CellProblem { heading, words }| UploadProblem {
            line,
            heading,
            words,
        });
    problems.collect()
}
