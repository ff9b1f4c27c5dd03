//! Receiving a file: finding its faults and its columns, then storing its rows.

use std::sync::Arc;

use actix_web::rt::task::spawn_blocking;
use gateway::error::ApiError;
use storage::accounts::uploads::{MAX_UPLOADS, RowStatus, UploadRow};
use storage::accounts::users::SignedIn;
use storage::error::{Refusal, StorageError};
use storage::session::Session;
use tokio::sync::{Semaphore, SemaphorePermit};
use trainee_file::{FileFault, Limits, ProposalContext, Row, Table, propose_columns, sheet_names};

use crate::request::context::UploaderContext;
use crate::request::form::Faults;
use crate::request::page::{PageError, Reply, Target};
use crate::request::page_request::PageRequest;
use crate::request::uploaded_file::{FILE, UploadedFile};
use crate::upload::codes::NewestCodes;
use crate::upload::content::{FileContent, join_cells};
use crate::upload::heading_names::HeadingNames;
use crate::upload::{names, uploads};

/// The sheet of a workbook; blank for the first one.
const SHEET: &str = "sheet";
/// In the memory of a server as a whole. A file takes several times its size.
const FILES_AT_ONCE: usize = 1;

static TURNS: Semaphore = Semaphore::const_new(FILES_AT_ONCE);

/// The right to have a whole file in memory.
pub(crate) type FileTurn = SemaphorePermit<'static>;

/// Returns `None` if the server stops.
pub(crate) async fn take_turn() -> Option<FileTurn> {
    TURNS.acquire().await.ok()
}

/// Runs a function on a whole file outside of the event loop. Returns `None` if the function panics
/// or the server stops.
pub(crate) async fn run_in_turn<T: Send + 'static>(
    turn: FileTurn,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<(T, FileTurn)> {
    // The function has the turn until its end, even if the caller ends before it.
    spawn_blocking(move || (work(), turn)).await.ok()
}

struct ReadFile {
    content: String,
    rows: Vec<UploadRow>,
}

pub(crate) fn accept(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let fault = match &request.file {
        UploadedFile::Received(_) => {
            let signed_in = context.signed_in.clone();
            let names = HeadingNames::read(&session.find_heading_names(context.uploader)?);
            // Outside of this job, which would hold a connection while the file is read.
            return Ok(Reply::from_work(async move |request: Arc<PageRequest>| {
                store_file(signed_in, names, request).await
            }));
        }
        UploadedFile::Absent => "Choose an Excel workbook or a CSV file.".to_owned(),
        UploadedFile::TooLarge => {
            let limit = Limits::UPLOAD.bytes;
            FileFault::TooLarge { limit }.to_string()
        }
    };
    refuse(session, request, context, fault)
}

fn refuse(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    fault: String,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    faults.add(FILE, fault);
    Reply::render_faults(&uploads::load_page(session, request, context, faults)?)
}

/// Reads a file, and stores its rows. Returns the page with the fault of a file that is refused.
async fn store_file(
    signed_in: SignedIn,
    heading_names: HeadingNames,
    request: Arc<PageRequest>,
) -> Result<Reply, PageError> {
    let turn = take_turn().await.ok_or(PageError::Busy)?;
    let sent = Arc::clone(&request);
    let read = run_in_turn(turn, move || read_file(&sent, &heading_names));
    let (read, _turn) = read
        .await
        .ok_or(PageError::Request(ApiError::Interrupted))?;
    let fault = match read {
        Ok(read) => match store_upload(&request, read).await {
            Err(PageError::Storage(StorageError::Refused(Refusal::TooManyUploads))) => {
                format!("You have {MAX_UPLOADS} unsent uploads; delete one of them first.")
            }
            stored => return Ok(Reply::Redirect(Target::Upload(stored?))),
        },
        Err(fault) => fault.to_string(),
    };
    let sent = Arc::clone(&request);
    let refused = request.state.store.read(move |session| {
        let context = UploaderContext {
            signed_in: &signed_in,
            organisation: signed_in.organisation.as_ref().ok_or(PageError::NotFound)?,
            uploader: signed_in.uploader()?,
        };
        refuse(session, &sent, &context, fault.clone())
    });
    refused.await
}

fn read_file(request: &PageRequest, heading_names: &HeadingNames) -> Result<ReadFile, FileFault> {
    let UploadedFile::Received(file) = &request.file else {
        return Err(FileFault::Empty);
    };
    let chosen = Some(request.form.value(SHEET)).filter(|name| !name.is_empty());
    let mut sheets = sheet_names(file, &Limits::UPLOAD)?;
    let table = Table::read_sheet(file, chosen, &Limits::UPLOAD)?;
    if table.rows.is_empty() {
        return Err(FileFault::NoRows);
    }
    // The pages show the read sheet first.
    if let Some(place) = sheets.iter().position(|name| Some(name.as_str()) == chosen) {
        let chosen = sheets.remove(place);
        sheets.insert(0, chosen);
    }
    let context = ProposalContext {
        names: &names::collect_names(request.versions),
        codes: &NewestCodes::new(request.versions, request.state.lists),
        remembered: &heading_names.find(&table.header),
        today: request.state.store.now().date_naive(),
    };
    let found = propose_columns(&table, &context);
    Ok(ReadFile {
        content: FileContent::new(&table, sheets, found).to_stored(),
        rows: table.rows.into_iter().map(to_stored_row).collect(),
    })
}

fn to_stored_row(row: Row) -> UploadRow {
    UploadRow {
        line: i64::try_from(row.line).unwrap_or(i64::MAX),
        status: RowStatus::Waiting,
        record_key: None,
        trainee_id: None,
        cells: join_cells(&row.cells),
        details: String::new(),
    }
}

/// Stores a file. Returns the number of the upload.
async fn store_upload(request: &Arc<PageRequest>, read: ReadFile) -> Result<i64, PageError> {
    let sent = Arc::clone(request);
    let added = request.state.store.write(move |session| {
        // Reading took time: the user may have lost the access since then.
        let digest = sent.session.as_ref().ok_or(PageError::NotSignedIn)?;
        let signed_in = session.signed_in(digest)?;
        let by = signed_in.ok_or(PageError::NotSignedIn)?.uploader()?;
        Ok(session.add_upload(by, &read.content, &read.rows)?)
    });
    added.await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    static RUNNING: AtomicUsize = AtomicUsize::new(0);

    #[expect(
        clippy::disallowed_methods,
        reason = "a test waits on a thread of its own"
    )]
    fn count_running() -> usize {
        let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
        thread::sleep(Duration::from_millis(20));
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        running
    }

    #[actix_web::test]
    async fn files_are_in_memory_one_after_the_other() {
        let reading = (0..4).map(async |_| {
            let turn = take_turn().await.unwrap();
            run_in_turn(turn, count_running).await.unwrap().0
        });
        assert_eq!(join_all(reading).await, [1; 4]);
    }
}
