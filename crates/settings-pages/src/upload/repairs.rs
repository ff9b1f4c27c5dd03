//! The repairs of cells that a spreadsheet has changed, before the check.

use askama::Template;
use storage::accounts::uploads::{UploadRecord, UploadState};
use storage::session::Session;
use trainee_file::Remedy;

use crate::request::context::UploaderContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::upload::content::{FileContent, Proposal};
use crate::upload::repair_choices::RepairChoices;
use crate::upload::uploads;

#[derive(Template)]
#[template(path = "settings/upload_repairs.html")]
struct RepairsPage {
    frame: Frame,
    upload: UploadRecord,
    proposals: Vec<Proposal>,
    asks_for_date_order: bool,
}

pub(crate) fn show(
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    content: FileContent,
) -> Result<Reply, PageError> {
    let proposals = content.proposals;
    let mut remedies = proposals.iter().map(Proposal::remedy);
    Reply::render(&RepairsPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Upload),
        asks_for_date_order: remedies.any(|remedy| remedy == Remedy::ChooseDateOrder),
        proposals,
        upload,
    })
}

/// Stores the choices, and begins to make the repairs.
pub(crate) fn choose(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let upload = uploads::find_upload(session, request, context)?;
    if let Some(mut content) = FileContent::read(&upload) {
        let names = content
            .proposals
            .iter()
            .map(|proposal| proposal.name.clone());
        content.choices = RepairChoices::from_form(&request.form, names);
        // Does nothing after the repairs were chosen; the page shows this.
        session.begin_upload_work(
            (context.uploader, upload.id),
            &[UploadState::Prepared],
            UploadState::Preparing,
            &content.to_stored(),
        )?;
    }
    Ok(uploads::begin_work(upload.id))
}
