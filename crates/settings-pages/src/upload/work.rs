//! Checks and sends the rows of uploads, a few at a time, after the request that began it.
//!
//! A page of an upload whose rows are to be checked or sent starts the work, unless a server has
//! its lease. So work that was interrupted continues when the browser, which alone has the key,
//! shows the page again. The check stores the requests of each accepted row. Each request has an
//! idempotency key: a row that was sent and has no result is sent again, and has no second effect.

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
use gateway::parts::PARTS_PER_REQUEST;
use gateway::parts::rows::{RowOutcome, run_row};
use gateway::request::row::Row as RowRequest;
use gateway::state::GatewayState;
use http_kit::error_chain::Causes;
use http_kit::limits::long_jobs::{LongJob, LongJobs};
use http_kit::requests::request_id;
use storage::accounts::uploads::{UploadLease, UploadResult, UploadRowKind, UploadStage};
use storage::error::{DatabaseError, JobError, StorageError};
use storage::session::Session;
use trainee_file::{FileFault, Row};

use crate::upload::opened_file::{OpenedFile, line_of, read_in_turn};
use crate::upload::row_details::{FILE_LINE, StoredRequest, seal_result};
use crate::upload::sealing::SealError;
use crate::upload::stored_file;
use crate::upload::work_order::WorkOrder;

mod check;
mod requests;
mod send;

/// The number of rows whose results are stored together.
const PORTION: usize = 50;
/// The shortest time for a portion, so that 5,000 rows take 40 s and leave most of the server to
/// requests of the API.
const PORTION_TIME: Duration = Duration::from_millis(400);
/// The most rows that are checked or sent at once.
const ROWS_AT_ONCE: usize = 4;
/// The pauses before a row is sent again while the register is busy.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];
/// The time between two renewals of the lease, which is longer, while the rows of a portion run.
const LEASE_RENEWAL: Duration = Duration::from_secs(10);
/// The shortest and the longest pause after the rate limit of the user was used up, in seconds. Work
/// that continues opens the file again, and an upload is kept for an hour.
const QUOTA_PAUSE: (u64, u64) = (10, 60);

/// The reason that work ends before its last row.
#[derive(Debug, thiserror::Error)]
enum WorkEnd {
    #[error("the server stops")]
    Stopping,
    #[error("the upload was deleted, or another server has its lease")]
    LeaseLost,
    #[error("the user is no longer signed in, or may no longer upload")]
    SignedOut,
    #[error("the newest version has no endpoint for a nested record")]
    NoEndpoint,
    #[error("a result of the check cannot be read")]
    Unreadable,
    #[error("the rate limit of the user is used up")]
    LimitUsedUp,
    #[error("the browser has another key, or the file is not there")]
    NoFile,
    #[error(transparent)]
    Fault(#[from] FileFault),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Request(#[from] ApiError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Starts the work on an upload unless enough others run. It goes on after the request on the
/// server's own thread, so that a closed connection or an ending worker does not interrupt it.
pub(crate) async fn start(state: &GatewayState, jobs: &LongJobs, order: WorkOrder) {
    let Some(job) = jobs.begin_upload().await else {
        return;
    };
    let state = Arc::new(state.clone());
    System::current().arbiter().spawn_fn(move || {
        let name = format!("upload-{}", order.upload.id).into();
        rt::spawn(request_id::under(name, async move {
            if let Err(end) = run(state, order, job).await {
                let request_id = request_id::for_the_log();
                log::info!(request_id; "upload not finished; the page continues it: {}", Causes(&end));
            }
        }));
    });
}

async fn run(state: Arc<GatewayState>, order: WorkOrder, job: LongJob) -> Result<(), WorkEnd> {
    let (by, id) = (order.user.uploader, order.upload.id);
    let taken = state
        .store
        .write::<_, StorageError>(move |session| session.take_upload_lease(by, id))
        .await?;
    let Some(lease) = taken else {
        return Ok(());
    };
    let stage = lease.stage;
    let last = state
        .store
        .read::<_, StorageError>(move |session| session.last_upload_line(id, stage))
        .await?;
    let file = open_file(&state, &order).await?;
    let work = Work {
        state,
        order,
        file,
        job,
        lease: RefCell::new(lease),
        trainees: Mutex::default(),
    };
    match stage {
        UploadStage::Check => work.check(last).await?,
        UploadStage::Send => work.send(last).await?,
    }
    let lease = work.lease.into_inner();
    let finish = move |session: &mut Session<'_>| session.finish_upload_work(&lease);
    match work.state.store.write::<_, StorageError>(finish).await? {
        true => Ok(()),
        false => Err(WorkEnd::LeaseLost),
    }
}

/// Opens and reads the file.
async fn open_file(state: &GatewayState, order: &WorkOrder) -> Result<OpenedFile, WorkEnd> {
    let (by, id, key) = (order.user.uploader, order.upload.id, Arc::clone(&order.key));
    let load = move |session: &mut Session<'_>| stored_file::bytes(session, by, id, &key);
    let bytes = state.store.read::<_, StorageError>(load).await?;
    let bytes = bytes.ok_or(WorkEnd::NoFile)?;
    let (upload, versions, lists) = (order.upload.clone(), state.versions, state.lists);
    let today = state.store.now().date_naive();
    let read = read_in_turn(move || OpenedFile::read(&bytes, &upload, versions, lists, today));
    Ok(read.await.ok_or(WorkEnd::Stopping)??)
}

impl From<DatabaseError> for WorkEnd {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for WorkEnd {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Request(error) = self {
            return error.database_error();
        }
        if let Self::Storage(error) = self {
            return error.database_error();
        }
        None
    }
}

/// The result of a row to store, or the reason that the work ends with it.
type RowResult = Result<UploadResult, WorkEnd>;

/// The work on the rows of one upload.
struct Work {
    state: Arc<GatewayState>,
    order: WorkOrder,
    file: OpenedFile,
    job: LongJob,
    lease: RefCell<UploadLease>,
    /// The trainees with the keys of the file, read before rows are sent.
    trainees: Mutex<check::TraineesByKey>,
}

impl Work {
    /// The JSON members around records in the version that reads the rows, the newest one.
    fn envelope(&self) -> Envelope {
        let newest = self.state.versions.newest();
        newest.map_or(Envelope::COMMON, |served| served.version.wire.envelope)
    }

    /// Checks the rows after a line.
    async fn check(&self, last: i64) -> Result<(), WorkEnd> {
        let mut trainees = check::TraineesByKey::default();
        trainees.update(self).await?;
        trainees.find_repeated_rows(&self.file);
        let of_file = self.seal(FILE_LINE, UploadRowKind::File, &self.file.details)?;
        let mut of_file = Some(of_file).filter(|_| last == FILE_LINE);
        let mut after = last;
        loop {
            let rows = self.file.rows_after(after);
            if rows.is_empty() {
                return Ok(());
            }
            let (began, most) = self.begin_portion(rows.len().min(PORTION)).await?;
            let portion = rows.get(..most).unwrap_or(rows);
            let checks = portion
                .iter()
                .map(|row| check::check_row(self, &trainees, row));
            let results = self.run_rows(checks).await?;
            after = portion.last().map_or(after, line_of);
            self.end_portion(began, results, of_file.take()).await?;
        }
    }

    /// Sends the rows after a line that the check has found to register or change a trainee.
    async fn send(&self, last: i64) -> Result<(), WorkEnd> {
        let (by, id) = (self.order.user.uploader, self.order.upload.id);
        let mut after = last;
        let most = i64::try_from(PORTION).unwrap_or(i64::MAX);
        loop {
            let checked = self
                .state
                .store
                .read::<_, StorageError>(move |session| {
                    session.list_upload_results(by, id, UploadStage::Check, None, after, most)
                })
                .await?;
            let Some(end) = checked.last() else {
                return Ok(());
            };
            let accepted = [UploadRowKind::Register, UploadRowKind::Change];
            let mut wanted: Vec<_> = checked
                .iter()
                .filter(|result| accepted.contains(&result.kind))
                .collect();
            if wanted.is_empty() {
                after = end.line;
                continue;
            }
            let (began, rows) = self.begin_portion(wanted.len()).await?;
            wanted.truncate(rows);
            after = wanted.last().map_or(end.line, |row| row.line);
            let rows = wanted.iter().map(|row| send::send_row(self, row));
            let results = self.run_rows(rows).await?;
            self.end_portion(began, results, None).await?;
        }
    }

    /// Counts rows for the rate limit of the user. Returns the time, and how many of the rows may run
    /// now. If none may, the work ends, and leaves its place to other uploads until the page
    /// continues it.
    async fn begin_portion(&self, rows: usize) -> Result<(Instant, usize), WorkEnd> {
        let began = Instant::now();
        let user_id = self.order.user.uploader.user_id();
        let mut counted = 0;
        while counted < rows {
            match self.state.admission.count_user(user_id) {
                Ok(()) => counted += PARTS_PER_REQUEST,
                Err(_) if counted > 0 => break,
                Err(used_up) => {
                    self.delay(used_up.retry_after).await?;
                    return Err(WorkEnd::LimitUsedUp);
                }
            }
        }
        Ok((began, counted.min(rows)))
    }

    /// Gives up the lease, and no server can take it for some seconds.
    async fn delay(&self, seconds: u64) -> Result<(), WorkEnd> {
        let lease = self.lease.borrow().clone();
        let (shortest, longest) = QUOTA_PAUSE;
        let pause = Duration::from_secs(seconds.clamp(shortest, longest));
        let delay = move |session: &mut Session<'_>| session.delay_upload_work(&lease, pause);
        Ok(self.state.store.write::<_, StorageError>(delay).await?)
    }

    /// Runs the rows of a portion, a few at once, and renews the lease while they run.
    async fn run_rows(
        &self,
        rows: impl Iterator<Item = impl Future<Output = RowResult>>,
    ) -> Result<Vec<RowResult>, WorkEnd> {
        let results = stream::iter(rows).buffered(ROWS_AT_ONCE).collect();
        let mut results = pin!(results);
        loop {
            match timeout(LEASE_RENEWAL, &mut results).await {
                Ok(results) => return Ok(results),
                Err(_) => self.renew_lease(Vec::new()).await?,
            }
        }
    }

    /// Stores the results of a portion, and waits until its time is over.
    async fn end_portion(
        &self,
        began: Instant,
        results: Vec<RowResult>,
        of_file: Option<UploadResult>,
    ) -> Result<(), WorkEnd> {
        // Rows behind one that failed have no result either, so that all are found again.
        let mut end = Ok(());
        let mut stored: Vec<_> = of_file.into_iter().collect();
        for result in results {
            match result {
                Ok(result) => stored.push(result),
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
        }
        // Work that ends at its first row does not delay the deletion of the file.
        if !stored.is_empty() {
            self.store_results(stored).await?;
        }
        end?;
        sleep_until(began + PORTION_TIME).await;
        Ok(())
    }

    /// Stores results, renews the lease, and ends the work if the server stops.
    async fn store_results(&self, results: Vec<UploadResult>) -> Result<(), WorkEnd> {
        self.renew_lease(results).await?;
        if self.job.is_stopping() {
            return Err(WorkEnd::Stopping);
        }
        Ok(())
    }

    /// Stores results, and renews the lease.
    async fn renew_lease(&self, results: Vec<UploadResult>) -> Result<(), WorkEnd> {
        let lease = self.lease.borrow().clone();
        let store = move |session: &mut Session<'_>| session.add_upload_results(&lease, &results);
        let renewed = self.state.store.write::<_, StorageError>(store).await?;
        self.lease.replace(renewed.ok_or(WorkEnd::LeaseLost)?);
        Ok(())
    }

    /// A stored request of a row.
    fn request(&self, row: &Row, stored: &StoredRequest) -> RowRequest {
        RowRequest {
            position: self.file.position(row),
            endpoint: stored.endpoint,
            trainee_id: stored.trainee_id.clone(),
            nested_id: stored.nested_id.clone(),
            body: stored.body.clone().into_bytes(),
            validates_only: false,
            if_match: stored.if_match.clone(),
            idempotency_key: Some(stored.idempotency_key.clone()),
        }
    }

    /// Runs a request of a row without storing anything.
    async fn validate(&self, row: &Row, stored: &StoredRequest) -> Result<RowOutcome, WorkEnd> {
        let request = self.request(row, stored);
        self.run(RowRequest {
            validates_only: true,
            ..request
        })
        .await
    }

    /// Runs a request of a row, again while the register is busy. After the last pause, the outcome
    /// is that of a refused row.
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
        self.run_once(row).await
    }

    async fn run_once(&self, row: RowRequest) -> Result<RowOutcome, WorkEnd> {
        let outcome = run_row(&self.state, &self.order.user, row).await;
        match outcome.is_signed_out() {
            true => Err(WorkEnd::SignedOut),
            false => Ok(outcome),
        }
    }

    fn seal(
        &self,
        line: i64,
        kind: UploadRowKind,
        details: &impl serde::Serialize,
    ) -> Result<UploadResult, SealError> {
        let place = (self.order.upload.id, self.lease.borrow().stage);
        seal_result(&self.order.key, place, (line, kind), details)
    }
}
