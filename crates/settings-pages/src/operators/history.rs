//! The history of a trainee by identifier, for operators only, because it contains personal data.
//! The activity log records each view. The identifier is sent in a form, so that it does not appear
//! in addresses.

use askama::Template;
use chrono::NaiveDate;
use storage::records::erasure::Erasure;
use storage::records::history::Entry;
use storage::session::Session;

use crate::request::context::OperatorContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The command `history` prints all entries.
const MAX_ENTRIES: i64 = 200;

#[derive(Template)]
#[template(path = "settings/history.html")]
struct HistoryForm<'a> {
    frame: Frame,
    form: &'a Form,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "settings/history_shown.html")]
struct HistoryPage {
    frame: Frame,
    trainee_id: String,
    ukprn: String,
    erasure: Option<Erasure>,
    /// Entries before this date were removed.
    removed_before: Option<NaiveDate>,
    /// Newest first.
    entries: Vec<Line>,
    /// The number of older entries.
    left_out: i64,
}

struct Line {
    by: String,
    entry: Entry,
}

pub(crate) fn ask(
    _: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let frame = Frame::new(request, operator.signed_in, SettingsSection::History);
    Reply::render(&HistoryForm {
        frame,
        form: &request.form,
        faults: Faults::default(),
    })
}

/// Shows the history, and records the view in the activity log.
pub(crate) fn show(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let frame = Frame::new(request, operator.signed_in, SettingsSection::History);
    let mut faults = Faults::default();
    let trainee_id = request.form.value("trainee_id");
    if trainee_id.is_empty() {
        faults.add("trainee_id", "Enter the trainee identifier");
        return Reply::render_faults(&HistoryForm {
            frame,
            form: &request.form,
            faults,
        });
    }
    let Some(history) = session.view_history(operator.actor, trainee_id, MAX_ENTRIES)? else {
        faults.add("trainee_id", "No trainee has this identifier");
        return Reply::render_faults(&HistoryForm {
            frame,
            form: &request.form,
            faults,
        });
    };
    Reply::render(&HistoryPage {
        frame,
        removed_before: history.removed_before,
        trainee_id: history.trainee_id,
        ukprn: history.ukprn,
        erasure: history.erasure,
        entries: history.entries.into_iter().rev().map(Line::from).collect(),
        left_out: history.left_out,
    })
}

impl From<Entry> for Line {
    fn from(entry: Entry) -> Self {
        let by = match (&entry.token, &entry.by) {
            (Some((id, name)), _) => format!("token {id} ({name})"),
            (None, Some(by)) => by.clone(),
            // The change came from the server, or the entry is older than the record of users.
            (None, None) => "operator".to_owned(),
        };
        Self { by, entry }
    }
}
