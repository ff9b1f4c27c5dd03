//! The columns of a file: what was recognised, and assigning the others.

use askama::Template;
use storage::accounts::uploads::UploadRecord;
use storage::session::Session;
use trainee_file::{Column, Names, find_repeated_column};

use crate::request::context::UploaderContext;
use crate::request::form::Faults;
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;
use crate::upload::names;
use crate::upload::stored_file::{self, FileHead};

/// A column of the form.
struct ColumnLine {
    /// The name of the field in the form.
    field: String,
    heading: String,
    examples: String,
    /// The assigned name, or what the person has typed.
    name: String,
}

#[derive(Template)]
#[template(path = "settings/upload_columns.html")]
struct ColumnsPage {
    frame: Frame,
    faults: Faults,
    upload: UploadRecord,
    /// The columns without a name, or with a faulty one.
    unnamed: Vec<ColumnLine>,
    /// The other columns.
    named: Vec<ColumnLine>,
    /// The names to choose from.
    offered: Vec<String>,
}

#[derive(Template)]
#[template(path = "settings/upload_unreadable.html")]
struct UnreadablePage {
    frame: Frame,
    upload: UploadRecord,
}

/// Shows an upload: its columns before the check.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let (upload, head) = find(session, request, context)?;
    let Some(head) = head else {
        return unreadable(request, context, upload);
    };
    let names = names::names(request.versions);
    let columns = names::read(&names, &upload.columns);
    let assigned: Vec<_> = columns.iter().map(column_name).collect();
    let mut faults = Faults::default();
    add_repeated(&columns, &head, &mut faults);
    let page = page(request, context, upload, &head, assigned, &names, faults);
    Reply::page(&page)
}

/// Assigns the columns of the form.
pub(crate) fn assign(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let (upload, head) = find(session, request, context)?;
    let Some(head) = head else {
        return unreadable(request, context, upload);
    };
    let names = names::names(request.versions);
    let mut faults = Faults::default();
    let (mut typed, mut columns) = (Vec::new(), Vec::new());
    for (place, heading) in head.header.iter().enumerate() {
        let name = request.form.value(&field(place));
        let column = names.recognise(name);
        if column.is_none() {
            let fault = format!("Choose a name for the column {heading}, or “ignored”");
            faults.add(field(place), fault);
        }
        typed.push(name.to_owned());
        columns.push(column);
    }
    if faults.is_empty() {
        add_repeated(&columns, &head, &mut faults);
    }
    if !faults.is_empty() {
        return Reply::faults(&page(
            request, context, upload, &head, typed, &names, faults,
        ));
    }
    // Does nothing while the rows are checked or sent; the page shows this.
    session.assign_upload_columns(context.uploader, upload.id, &names::written(&columns))?;
    Ok(Reply::Redirect(Target::Upload(upload.id)))
}

/// The upload of the path and its headings, which are `None` if this browser has no key for it.
pub(crate) fn find(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<(UploadRecord, Option<FileHead>), PageError> {
    let id = request.id()?;
    let upload = session.find_upload(context.uploader, id)?;
    let upload = upload.ok_or(PageError::NotFound)?;
    let head = match &request.upload_key {
        Some(key) => stored_file::head(session, context.uploader, id, key)?,
        None => None,
    };
    Ok((upload, head))
}

fn unreadable(
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
) -> Result<Reply, PageError> {
    let frame = Frame::new(request, context.signed_in, SettingsSection::Upload);
    Reply::page(&UnreadablePage { frame, upload })
}

/// Adds the fault of two columns with the same name.
fn add_repeated(columns: &[Option<Column>], head: &FileHead, faults: &mut Faults) {
    let known: Vec<_> = columns
        .iter()
        .map(|column| column.clone().unwrap_or(Column::Ignored))
        .collect();
    let Some((first, second)) = find_repeated_column(&known) else {
        return;
    };
    let heading = |place: usize| head.header.get(place).map_or("", String::as_str);
    let fault = format!(
        "The columns {} and {} have the same name; set one of them to “ignored”",
        heading(first),
        heading(second)
    );
    faults.add(field(second), fault);
}

fn page(
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    head: &FileHead,
    assigned: Vec<String>,
    names: &Names,
    faults: Faults,
) -> ColumnsPage {
    let lines = head
        .header
        .iter()
        .enumerate()
        .map(|(place, heading)| ColumnLine {
            field: field(place),
            heading: heading.clone(),
            examples: head.examples_below(place),
            name: assigned.get(place).cloned().unwrap_or_default(),
        });
    let (unnamed, named) = lines.partition(|line: &ColumnLine| {
        line.name.is_empty() || faults.message(&line.field).is_some()
    });
    ColumnsPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Upload),
        faults,
        upload,
        unnamed,
        named,
        offered: names::offered(names),
    }
}

/// The name of the form's field for a column.
fn field(place: usize) -> String {
    format!("column-{}", place + 1)
}

fn column_name(column: &Option<Column>) -> String {
    column.as_ref().map(Column::to_string).unwrap_or_default()
}
