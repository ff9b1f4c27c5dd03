//! Receiving a file: finding its faults and its columns, then sealing and storing it.

use std::sync::Arc;

use gateway::error::ApiError;
use http_kit::requests::body::Body;
use storage::accounts::uploads::{MAX_UPLOADS, NewUpload};
use storage::accounts::users::SignedIn;
use storage::error::{Refusal, StorageError};
use storage::session::Session;
use storage::store::Store;
use trainee_file::{FileFault, Limits, Names, Table};

use crate::request::context::UploaderContext;
use crate::request::cookies::SecretCookie;
use crate::request::form::Faults;
use crate::request::page::{PageError, Reply};
use crate::request::page_request::PageRequest;
use crate::request::uploaded_file::{FILE, UploadedFile};
use crate::upload::opened_file::read_in_turn;
use crate::upload::sealing::UploadKey;
use crate::upload::stored_file::{self, FileHead};
use crate::upload::{names, uploads};

/// What was found in a file.
struct ReadFile {
    head: FileHead,
    rows: i32,
    columns: String,
    digest: String,
}

/// Checks that the form has a file. The file is read and stored after this job.
pub(crate) fn accept(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let fault = match &request.file {
        UploadedFile::Received(_) => {
            let signed_in = context.signed_in.clone();
            return Ok(Reply::after(async move |request: Arc<PageRequest>| {
                store_file(signed_in, &request.state.store, &request).await
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

/// The page with the form and a fault of the file.
fn refuse(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    fault: String,
) -> Result<Reply, PageError> {
    let mut faults = Faults::default();
    faults.add(FILE, fault);
    Reply::faults(&uploads::page(session, request, context, faults)?)
}

/// Reads the file of a request, and stores it if it has no fault.
pub(crate) async fn store_file(
    signed_in: SignedIn,
    store: &Store,
    request: &Arc<PageRequest>,
) -> Result<Reply, PageError> {
    let UploadedFile::Received(file) = request.file.clone() else {
        return Err(PageError::NoForm);
    };
    let key = match &request.upload_key {
        Some(key) => Arc::clone(key),
        None => Arc::new(UploadKey::new(SecretCookie::generate()?.text())),
    };
    let (read_file_bytes, read_key, versions) = (file.clone(), Arc::clone(&key), request.versions);
    let read =
        read_in_turn(move || read_file(&read_file_bytes, &read_key, &names::names(versions)));
    let read = read
        .await
        .ok_or(PageError::Request(ApiError::Interrupted))?;
    let fault = match read {
        Ok(read) => match add(store, request, read, file, &key).await {
            Err(PageError::Storage(StorageError::Refused(Refusal::TooManyUploads))) => {
                format!("You have {MAX_UPLOADS} uploads; delete one of them first.")
            }
            stored => return Ok(Reply::FileStored(stored?, key.cookie().to_owned())),
        },
        Err(fault) => fault.to_string(),
    };
    let request = Arc::clone(request);
    let job = move |session: &mut Session<'_>| {
        let context = UploaderContext {
            signed_in: &signed_in,
            uploader: signed_in.uploader()?,
        };
        refuse(session, &request, &context, fault.clone())
    };
    store.read(job).await
}

fn read_file(file: &[u8], key: &UploadKey, names: &Names) -> Result<ReadFile, FileFault> {
    let table = Table::read(file)?;
    if table.rows.is_empty() {
        return Err(FileFault::NoRows);
    }
    Ok(ReadFile {
        head: FileHead::new(&table),
        rows: i32::try_from(table.rows.len()).unwrap_or(i32::MAX),
        columns: names::written(&names::recognise(names, &table.header)),
        digest: key.file_digest(file),
    })
}

/// Stores a file if the user is still signed in. Returns the number of the upload.
async fn add(
    store: &Store,
    request: &Arc<PageRequest>,
    read: ReadFile,
    file: Body,
    key: &Arc<UploadKey>,
) -> Result<i64, PageError> {
    let (request, key) = (Arc::clone(request), Arc::clone(key));
    let job = move |session: &mut Session<'_>| {
        let digest = request.session.as_ref().ok_or(PageError::NotSignedIn)?;
        let signed_in = session.signed_in(digest)?;
        let by = signed_in.ok_or(PageError::NotSignedIn)?.uploader()?;
        let upload = NewUpload {
            file_digest: &read.digest,
            rows: read.rows,
            columns: &read.columns,
        };
        let id = session.add_upload(by, upload)?;
        stored_file::add(session, id, &key, &read.head, &file)?;
        Ok(id)
    };
    store.write(job).await
}
