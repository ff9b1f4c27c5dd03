//! The registry queue: trainees waiting for a teacher reference number or an award, and since when.

use askama::Template;
use chrono::{DateTime, Utc};
use form_urlencoded::Serializer;
use http_kit::paths;
use storage::error::{Refusal, StorageError};
use storage::records::trainees::{Awaited, QueueEntry, QueuePosition};
use storage::session::Session;

use crate::request::context::OperatorContext;
use crate::request::form::{Faults, Form};
use crate::request::page::{Frame, PageError, Reply, SettingsSection};
use crate::request::page_request::PageRequest;

/// The entries on a page.
const PAGE: usize = 50;
/// The fields of the query.
const AWAITED: &str = "for";
const ORGANISATION: &str = "organisation";
const AFTER: &str = "after";
/// The value of [`AWAITED`] for trainees waiting for an award.
const AWARD: &str = "award";

#[derive(Template)]
#[template(path = "settings/registry_queue.html")]
struct Queue<'a> {
    frame: Frame,
    query: &'a Form,
    faults: Faults,
    awaits_award: bool,
    entries: Vec<Line>,
    next: Option<String>,
}

struct Line {
    entry: QueueEntry,
    /// Whole days of waiting.
    days: i64,
    /// The address of the form that performs the registry action.
    form: String,
}

/// Shows a page of the queue, longest wait first.
pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    operator: &OperatorContext<'_>,
) -> Result<Reply, PageError> {
    let query = &request.query;
    let mut faults = Faults::default();
    let awaited = match query.value(AWAITED) {
        "" | "trn" => Awaited::Trn,
        AWARD => Awaited::Award,
        _ => return Err(PageError::NotFound),
    };
    let behind = match query.value(AFTER) {
        "" => None,
        text => Some(
            text.parse::<QueuePosition>()
                .map_err(|_| PageError::NotFound)?,
        ),
    };
    let organisation = Some(query.value(ORGANISATION)).filter(|ukprn| !ukprn.is_empty());
    // One more than a page, to find out whether more trainees are waiting.
    let most = i64::try_from(PAGE + 1).unwrap_or(i64::MAX);
    let mut entries = match session.registry_queue(awaited, organisation, behind, most) {
        Ok(entries) => entries,
        Err(StorageError::Refused(Refusal::UnknownProvider)) => {
            faults.add(
                ORGANISATION,
                "Enter the UKPRN of an organisation, or leave the field empty",
            );
            Vec::new()
        }
        Err(error) => return Err(error.into()),
    };
    let has_more = entries.len() > PAGE;
    entries.truncate(PAGE);
    let next = entries.last().filter(|_| has_more).map(|last| {
        let after = last.position().to_string();
        build_address_with(
            "",
            [
                (AWAITED, query.value(AWAITED)),
                (ORGANISATION, query.value(ORGANISATION)),
                (AFTER, &after),
            ],
        )
    });
    let now = session.now();
    let action = match awaited {
        Awaited::Trn => "issue-trn",
        Awaited::Award => "award",
    };
    let is_valid = faults.is_empty();
    let page = Queue {
        frame: Frame::new(request, operator.signed_in, SettingsSection::Registry),
        query,
        faults,
        awaits_award: awaited == Awaited::Award,
        entries: entries
            .into_iter()
            .map(|entry| Line::new(entry, action, now))
            .collect(),
        next,
    };
    if is_valid {
        Reply::render(&page)
    } else {
        Reply::render_faults(&page)
    }
}

impl Line {
    fn new(entry: QueueEntry, action: &str, now: DateTime<Utc>) -> Self {
        Self {
            days: (now - entry.since).num_days(),
            form: build_address_with(
                "/trainee",
                [("action", action), ("trainee_id", &entry.trainee_id)],
            ),
            entry,
        }
    }
}

pub(crate) fn build_address(page: &str) -> String {
    format!("{}/registry{page}", paths::SETTINGS)
}

fn build_address_with<'a>(
    page: &str,
    fields: impl IntoIterator<Item = (&'static str, &'a str)>,
) -> String {
    let filled = fields.into_iter().filter(|(_, value)| !value.is_empty());
    format!(
        "{}?{}",
        build_address(page),
        Serializer::new(String::new()).extend_pairs(filled).finish()
    )
}
