//! The columns of a file: what was found, and naming the others.

use askama::Template;
use storage::accounts::uploads::{UploadRecord, UploadState};
use storage::session::Session;
use trainee_file::{Column, Names, find_repeated_column};

use crate::request::context::UploaderContext;
use crate::request::form::Faults;
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;
use crate::upload::content::FileContent;
use crate::upload::heading_names::HeadingNames;
use crate::upload::{names, uploads};

struct ColumnLine {
    field: String,
    heading: String,
    examples: Vec<String>,
    /// The label of the assigned column, or what the person has typed.
    name: String,
    proposals: Vec<String>,
}

#[derive(Template)]
#[template(path = "settings/upload_columns.html")]
struct ColumnsPage {
    frame: Frame,
    faults: Faults,
    upload: UploadRecord,
    /// Of a workbook. The first one was read.
    sheets: Vec<String>,
    /// Without a name, or with a faulty one.
    unnamed: Vec<ColumnLine>,
    /// The other columns.
    named: Vec<ColumnLine>,
    /// The labels to choose from.
    offered: Vec<String>,
}

pub(crate) fn show(
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    content: &FileContent,
) -> Result<Reply, PageError> {
    let names = names::collect_names(request.versions);
    let found = content.columns.iter();
    let columns: Vec<_> = found.map(|column| column.recognise(&names)).collect();
    let mut faults = Faults::default();
    add_repeated(&columns, content, &mut faults);
    let assigned = columns.iter().map(|column| match column {
        Some(column) => column.label(),
        None => String::new(),
    });
    let assigned = assigned.collect();
    let page = build_page(request, context, upload, content, assigned, &names, faults);
    Reply::render(&page)
}

/// Assigns the columns of the form, and begins to prepare the rows.
pub(crate) fn assign(
    session: &mut Session<'_>,
    request: &PageRequest,
    context: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let upload = uploads::find_upload(session, request, context)?;
    let Some(mut content) = FileContent::read(&upload) else {
        return Ok(uploads::begin_work(upload.id));
    };
    let names = names::collect_names(request.versions);
    let mut faults = Faults::default();
    let (mut typed, mut columns) = (Vec::new(), Vec::new());
    for (place, heading) in content.header.iter().enumerate() {
        let name = request.form.value(&name_field(place));
        let column = names::find_column(&names, name);
        if column.is_none() {
            let fault = format!("Choose a name for the column {heading}, or “Left out”");
            faults.add(name_field(place), fault);
        }
        typed.push(name.to_owned());
        columns.push(column);
    }
    if faults.is_empty() {
        add_repeated(&columns, &content, &mut faults);
    }
    if !faults.is_empty() {
        let page = build_page(request, context, upload, &content, typed, &names, faults);
        return Reply::render_faults(&page);
    }
    content.assign(&columns);
    // Does nothing after the columns were assigned; the page shows this.
    let is_begun = session.begin_upload_work(
        (context.uploader, upload.id),
        &[UploadState::Received],
        UploadState::Preparing,
        &content.to_stored(),
    )?;
    if is_begun {
        remember_columns(session, context, &content.header, &columns, &names)?;
    }
    Ok(uploads::begin_work(upload.id))
}

/// Remembers the chosen columns for the next file, except those that their headings name.
fn remember_columns(
    session: &mut Session<'_>,
    context: &UploaderContext<'_>,
    header: &[String],
    columns: &[Option<Column>],
    names: &Names,
) -> Result<(), PageError> {
    let mut chosen = HeadingNames::read(&session.find_heading_names(context.uploader)?);
    for (heading, column) in header.iter().zip(columns) {
        match column {
            Some(column) if names.recognise(heading).as_ref() != Some(column) => {
                chosen.remember(heading, column);
            }
            Some(_) | None => chosen.forget(heading),
        }
    }
    Ok(session.store_heading_names(context.uploader, &chosen.to_stored())?)
}

fn add_repeated(columns: &[Option<Column>], content: &FileContent, faults: &mut Faults) {
    let known: Vec<_> = columns
        .iter()
        .map(|column| column.clone().unwrap_or(Column::Ignored))
        .collect();
    let Some((first, second)) = find_repeated_column(&known) else {
        return;
    };
    let headings = [first, second].map(|place| content.header.get(place));
    let [first_heading, second_heading] =
        headings.map(|heading| heading.map_or("", String::as_str));
    let fault = format!(
        "The columns {first_heading} and {second_heading} have the same name; set one of them to “Left out”"
    );
    faults.add(name_field(second), fault);
}

fn build_page(
    request: &PageRequest,
    context: &UploaderContext<'_>,
    upload: UploadRecord,
    content: &FileContent,
    assigned: Vec<String>,
    names: &Names,
    faults: Faults,
) -> ColumnsPage {
    let (mut unnamed, mut named) = (Vec::new(), Vec::new());
    let columns = content.header.iter().zip(&content.columns);
    for (place, ((heading, column), name)) in columns.zip(assigned).enumerate() {
        let proposals = column.recognise_proposals(names);
        let mut line = ColumnLine {
            field: name_field(place),
            heading: heading.clone(),
            examples: column.examples.clone(),
            name,
            proposals: proposals.iter().map(Column::label).collect(),
        };
        let is_faulty = faults.message(&line.field).is_some();
        if !line.name.is_empty() && !is_faulty {
            named.push(line);
            continue;
        }
        // The person confirms the only proposal by sending the form.
        if let ([proposal], true) = (line.proposals.as_slice(), line.name.is_empty()) {
            line.name.clone_from(proposal);
        }
        unnamed.push(line);
    }
    ColumnsPage {
        frame: Frame::new(request, context.signed_in, SettingsSection::Upload),
        faults,
        upload,
        sheets: content.sheets.clone(),
        unnamed,
        named,
        offered: names::list_offered(names)
            .iter()
            .map(Column::label)
            .collect(),
    }
}

fn name_field(place: usize) -> String {
    format!("column-{}", place + 1)
}
