//! The uploads of the user: the form for a new one, the list, and deleting.

use std::sync::Arc;

use adapter_kit::Label;
use askama::Template;
use storage::accounts::uploads::{UploadRecord, UploadState};
use storage::error::StorageError;
use storage::session::Session;
use trainee_file::Limits;

use crate::request::context::UploaderContext;
use crate::request::form::Faults;
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;
use crate::upload::work;

#[derive(Template)]
#[template(path = "settings/uploads.html")]
pub(crate) struct UploadsPage {
    frame: Frame,
    faults: Faults,
    uploads: Vec<UploadRecord>,
    /// Newest first.
    versions: Vec<Label>,
    limits: Limits,
}

pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    Reply::render(&load_page(session, request, context, Faults::default())?)
}

pub(crate) fn load_page(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
    faults: Faults,
) -> Result<UploadsPage, StorageError> {
    let versions = request.versions.iter().rev();
    Ok(UploadsPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Upload),
        faults,
        uploads: session.list_uploads(context.uploader)?,
        versions: versions.map(|served| served.version.label).collect(),
        limits: Limits::UPLOAD,
    })
}

pub(crate) fn find_upload(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<UploadRecord, PageError> {
    let found = session.find_upload(context.uploader, request.id()?)?;
    found.ok_or(PageError::NotFound)
}

pub(crate) fn begin_work(id: i64) -> Reply {
    Reply::from_work(async move |request: Arc<PageRequest>| {
        work::begin_waiting(&request.state, &request.settings.long_jobs).await;
        Ok(Reply::Redirect(Target::Upload(id)))
    })
}

/// Deletes an upload. Does nothing once sending has begun.
pub(crate) fn delete(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let upload = find_upload(session, request, context)?;
    let target = match session.delete_upload(context.uploader, upload.id)? {
        true => Target::Uploads,
        false => Target::Upload(upload.id),
    };
    Ok(Reply::Redirect(target))
}

pub(crate) fn describe_state(state: &UploadState) -> &'static str {
    match state {
        UploadState::Received => "received, columns not confirmed yet",
        UploadState::Preparing => "being prepared",
        UploadState::Prepared => "repairs not decided yet",
        UploadState::Checking => "being checked",
        UploadState::Checked => "checked, not sent yet",
        UploadState::Sending => "being sent",
        UploadState::Sent => "sent",
        UploadState::StoppedByErasure => "stopped by an erasure",
        UploadState::StoppedByRole => "stopped: its user may no longer upload",
        UploadState::StoppedByTime => "stopped after a day",
    }
}
