//! The uploads of the user: the form for a new one, the list, and deleting.

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

#[derive(Template)]
#[template(path = "settings/uploads.html")]
pub(crate) struct UploadsPage {
    frame: Frame,
    faults: Faults,
    uploads: Vec<UploadRecord>,
    /// The served versions, newest first.
    versions: Vec<Label>,
    limits: Limits,
}

/// Shows the form and the uploads.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    Reply::page(&page(session, request, context, Faults::default())?)
}

/// The page with the form and the uploads.
pub(crate) fn page(
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

/// Deletes an upload. Does nothing while its rows are sent.
pub(crate) fn delete(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let id = request.id()?;
    if session.delete_upload(context.uploader, id)? {
        return Ok(Reply::Redirect(Target::Uploads));
    }
    let upload = session.find_upload(context.uploader, id)?;
    upload.ok_or(PageError::NotFound)?;
    Ok(Reply::Redirect(Target::Upload(id)))
}

/// The words for a state.
pub(crate) fn state_words(state: &UploadState) -> &'static str {
    match state {
        UploadState::Received => "received, not checked yet",
        UploadState::Checking => "being checked",
        UploadState::Checked => "checked, not sent yet",
        UploadState::Sending => "being sent",
        UploadState::Sent => "sent",
    }
}
