//! The trainees of an organisation, read only: a list with the filters of the API, a search, the
//! list as a file, and one trainee with its history.
//!
//! A search text and an identifier are sent in forms, so that they do not appear in addresses. The
//! activity log records each view of a trainee.

use std::io;

use adapter_kit::Endpoint;
use askama::Template;
use chrono::NaiveDate;
use domain::fields::value::Timestamp;
use domain::listing::{Listing, Order, Status, known_cycles};
use domain::records::trainee::start_date;
use domain::values::academic_year;
use domain::{Lists, Record as _, RecordField as _, Stored, Trainee, TraineeField};
use form_urlencoded::Serializer;
use http_kit::responses::page::time_with_year;
use storage::base::cause::Cause;
use storage::error::{Refusal, StorageError};
use storage::records::history::Entry;
use storage::records::trainees::{ListTotals, Nested, TraineeDocument};
use storage::session::{ProviderSession, Session};
use trainee_file::add_apostrophe;

use crate::organisation::overview::Names;
use crate::organisation::trainee_words::{
    FieldLine, NestedLines, describe_change, format_label, list_fields, list_nested_records,
};
use crate::request::context::UploaderContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The trainees on a page, or found by a search.
const PAGE: i64 = 50;
/// Read at a time for a file.
const FILE_PAGE: i64 = 500;
/// The most shown entries of the history of a trainee.
const MAX_ENTRIES: i64 = 200;
const FILE: &str = "trainees.csv";
/// The columns of the file.
const COLUMNS: [TraineeField; 8] = [
    TraineeField::provider_trainee_id,
    TraineeField::trainee_id,
    TraineeField::first_names,
    TraineeField::last_name,
    TraineeField::trn,
    TraineeField::state,
    TraineeField::itt_start_date,
    TraineeField::updated_at,
];

#[derive(Template)]
#[template(path = "settings/trainees.html")]
struct Trainees<'a> {
    frame: Frame,
    form: &'a Form,
    faults: Faults,
    cycles: Vec<Choice>,
    statuses: Vec<Choice>,
    has_trn: Option<bool>,
    list: List,
}

struct Choice {
    value: String,
    words: String,
    is_chosen: bool,
}

struct List {
    title: String,
    lines: Vec<TraineeLine>,
    /// `None` for a search.
    query: Option<String>,
    previous: Option<String>,
    next: Option<String>,
    is_cut: bool,
}

struct TraineeLine {
    trainee_id: String,
    own_key: String,
    name: String,
    cycle: String,
    state: String,
    trn: String,
    changed_at: String,
}

#[derive(Template)]
#[template(path = "settings/trainee.html")]
struct TraineePage {
    frame: Frame,
    line: TraineeLine,
    fields: Vec<FieldLine>,
    nested: Vec<NestedLines>,
    /// Newest first.
    changes: Vec<ChangeLine>,
    /// The number of older changes.
    left_out: i64,
}

struct ChangeLine {
    time: String,
    by: String,
    operation: String,
    sentences: Vec<String>,
}

/// Lists the trainees of a cycle.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    user: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let today = session.now().date_naive();
    let listing = read_listing(&request.query, today)?;
    let mut own = open(session, user)?;
    let standing = own.standing()?;
    let page = own.list_trainees(&listing, &standing, &ListTotals::default())?;
    let is_last = listing.offset() + PAGE >= page.total;
    let list = List {
        title: match page.total {
            1 => "1 trainee".to_owned(),
            total => format!("{total} trainees"),
        },
        lines: read_lines(&page.trainees, request.state.lists, today)?,
        query: Some(build_query(&request.query, 1)),
        previous: (listing.page > 1).then(|| build_query(&request.query, listing.page - 1)),
        next: (!is_last).then(|| build_query(&request.query, listing.page + 1)),
        is_cut: false,
    };
    Reply::render(&build_page(request, user, today, &listing, list))
}

/// Finds trainees by key, name or TRN.
pub(crate) fn search(
    session: &mut Session<'_>,
    request: &PageRequest,
    user: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let today = session.now().date_naive();
    let listing = read_listing(&request.query, today)?;
    let text = request.form.value("text");
    let mut found = match text {
        "" => Vec::new(),
        text => open(session, user)?.search_trainees(text, PAGE + 1)?,
    };
    let most = usize::try_from(PAGE).unwrap_or(usize::MAX);
    let is_cut = found.len() > most;
    found.truncate(most);
    let list = List {
        title: "Search results".to_owned(),
        lines: read_lines(&found, request.state.lists, today)?,
        query: None,
        previous: None,
        next: None,
        is_cut,
    };
    let mut page = build_page(request, user, today, &listing, list);
    if text.is_empty() {
        page.faults.add("text", "Enter a key, a name or a TRN");
        return Reply::render_faults(&page);
    }
    Reply::render(&page)
}

/// Returns the whole list as a CSV file.
pub(crate) fn download(
    session: &mut Session<'_>,
    request: &PageRequest,
    user: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let mut listing = Listing {
        per_page: FILE_PAGE,
        page: 1,
        ..read_listing(&request.query, session.now().date_naive())?
    };
    let mut own = open(session, user)?;
    let standing = own.standing()?;
    let totals = ListTotals::default();
    let mut file = csv::Writer::from_writer(Vec::new());
    let headings = COLUMNS.map(|field| field.info().name);
    write_row(&mut file, headings.map(str::to_owned))?;
    loop {
        let page = own.list_trainees(&listing, &standing, &totals)?;
        for document in &page.trainees {
            let trainee = document.read(Nested::Without)?;
            let cells = COLUMNS
                .map(|field| add_apostrophe(format_cell(&trainee, field, request.state.lists)));
            write_row(&mut file, cells)?;
        }
        if page.next.is_none() {
            break;
        }
        listing.page += 1;
    }
    let bytes = file
        .into_inner()
        .map_err(|error| PageError::File(error.into_error()))?;
    let text =
        String::from_utf8(bytes).map_err(|error| PageError::File(io::Error::other(error)))?;
    Ok(Reply::Csv(FILE, text))
}

fn write_row(
    file: &mut csv::Writer<Vec<u8>>,
    cells: [String; COLUMNS.len()],
) -> Result<(), PageError> {
    let written = file.write_record(cells);
    written.map_err(|error| PageError::File(error.into()))
}

/// Shows a trainee, and records the view in the activity log.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    user: &UploaderContext<'_>,
) -> Result<Reply, PageError> {
    let organisation = user.signed_in.organisation.as_ref();
    let ukprn = &organisation.ok_or(PageError::NotFound)?.ukprn;
    let trainee_id = request.form.value("trainee_id");
    // The identifier is in the form: addresses appear in logs of proxies and browsers.
    let viewed = session.view_trainee(user.uploader, request.origin(), trainee_id, MAX_ENTRIES)?;
    let history = viewed.ok_or(PageError::NotFound)?;
    let names = Names::load(session, ukprn, user.signed_in)?;
    let today = session.now().date_naive();
    let trainee = history.record();
    Reply::render(&TraineePage {
        frame: Frame::new(request, user.signed_in, SettingsSection::Trainees),
        line: TraineeLine::new(trainee, request.state.lists, today),
        fields: list_fields(trainee, request.state.lists),
        nested: list_nested_records(trainee, request.state.lists),
        left_out: history.left_out,
        changes: history
            .entries
            .into_iter()
            .rev()
            .map(|entry| ChangeLine::new(&entry, &names, request.state.lists))
            .collect(),
    })
}

fn open<'a>(
    session: &'a mut Session<'_>,
    user: &UploaderContext<'_>,
) -> Result<ProviderSession<'a>, PageError> {
    let organisation = user.signed_in.organisation.as_ref();
    let ukprn = &organisation.ok_or(PageError::NotFound)?.ukprn;
    let own = session.open_provider(ukprn, Cause::new("settings"))?;
    Ok(own.ok_or(Refusal::UnknownProvider)?)
}

/// Reads the filters of a query. An invalid filter counts as not sent.
fn read_listing(query: &Form, today: NaiveDate) -> Result<Listing, PageError> {
    let cycle = query.value("cycle").parse().ok();
    Ok(Listing {
        cycle: cycle
            .filter(|cycle| known_cycles(today).contains(cycle))
            .unwrap_or_else(|| academic_year::starting_year(today)),
        status: query.value("status").parse().ok(),
        since: None,
        has_trn: match query.value("has_trn") {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        order: Order::NewestFirst,
        page: match query.value("page") {
            "" => 1,
            text => text
                .parse()
                .ok()
                .filter(|page| (1..i64::from(i32::MAX)).contains(page))
                .ok_or(PageError::NotFound)?,
        },
        per_page: PAGE,
    })
}

fn build_query(query: &Form, number: i64) -> String {
    let mut next = Serializer::new(String::new());
    for name in ["cycle", "status", "has_trn"] {
        next.append_pair(name, query.value(name));
    }
    next.append_pair("page", &number.to_string()).finish()
}

fn build_page<'a>(
    request: &'a PageRequest,
    user: &UploaderContext<'_>,
    today: NaiveDate,
    listing: &Listing,
    list: List,
) -> Trainees<'a> {
    let cycles = known_cycles(today).rev().map(|year| Choice {
        value: year.to_string(),
        words: academic_year::label(year),
        is_chosen: year == listing.cycle,
    });
    let statuses = Status::ALL.iter().map(|status| Choice {
        value: status.name().to_owned(),
        words: format_label(status.name()),
        is_chosen: listing.status == Some(*status),
    });
    Trainees {
        frame: Frame::new(request, user.signed_in, SettingsSection::Trainees),
        form: &request.form,
        faults: Faults::default(),
        cycles: cycles.collect(),
        statuses: statuses.collect(),
        has_trn: listing.has_trn,
        list,
    }
}

fn read_lines(
    documents: &[TraineeDocument],
    lists: &Lists,
    today: NaiveDate,
) -> Result<Vec<TraineeLine>, StorageError> {
    let lines = documents.iter().map(|document| {
        let trainee = document.read(Nested::Without)?;
        Ok(TraineeLine::new(&trainee, lists, today))
    });
    lines.collect()
}

/// Formats a field; an empty text for no value.
fn format_cell(trainee: &dyn Stored<Trainee>, field: TraineeField, lists: &Lists) -> String {
    let value = Trainee::shown(trainee, field, lists);
    value.to_plain_text().unwrap_or_default().into_owned()
}

impl TraineeLine {
    fn new(trainee: &dyn Stored<Trainee>, lists: &Lists, today: NaiveDate) -> Self {
        let [first_names, last_name] = [TraineeField::first_names, TraineeField::last_name]
            .map(|field| format_cell(trainee, field, lists));
        let name = format!("{first_names} {last_name}");
        let cycle = academic_year::training_year(start_date(trainee), today);
        let changed_at = trainee.get::<Timestamp>(TraineeField::updated_at);
        Self {
            trainee_id: format_cell(trainee, TraineeField::trainee_id, lists),
            own_key: format_cell(trainee, TraineeField::provider_trainee_id, lists),
            name: match name.trim() {
                "" => "No name".to_owned(),
                name => name.to_owned(),
            },
            cycle: academic_year::label(cycle),
            state: format_label(&format_cell(trainee, TraineeField::state, lists)),
            trn: format_cell(trainee, TraineeField::trn, lists),
            changed_at: changed_at.map(time_with_year).unwrap_or_default(),
        }
    }
}

impl ChangeLine {
    fn new(entry: &Entry, names: &Names, lists: &Lists) -> Self {
        let by = match (&entry.token, &entry.by) {
            (Some((id, name)), _) => format!("token {id} ({name})"),
            (None, Some(by)) => names.convert(by),
            (None, None) => "the service".to_owned(),
        };
        let fields = entry.fields.iter();
        let sentences = fields
            // Every change changes a time; people see it above the sentences.
            .filter(|field| !field.path.ends_with("_at"))
            .map(|field| describe_change(field, lists));
        Self {
            time: time_with_year(entry.changed_at),
            by,
            operation: describe_operation(&entry.operation),
            sentences: sentences.collect(),
        }
    }
}

/// Describes an operation: `Registers a trainee`.
fn describe_operation(operation: &str) -> String {
    let mut endpoints = Endpoint::ALL.iter();
    match endpoints.find(|endpoint| endpoint.name() == operation) {
        Some(endpoint) => endpoint.meaning().trim_end_matches('.').to_owned(),
        // An operation outside the API, such as an import.
        None => format_label(operation),
    }
}
