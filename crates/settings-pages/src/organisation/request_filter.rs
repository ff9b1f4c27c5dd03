//! The search form of recorded requests: its values, faults and choices. An invalid form finds no
//! requests and keeps its values.

use adapter_kit::{Endpoint, Label, Versions};
use form_urlencoded::Serializer;
use http_kit::paths;
use http_kit::requests::request_id;
use storage::observations::requests::listing::RequestFilter;

use crate::request::form::{Faults, Form};
use crate::request_report as filter;

const FIELDS: [&str; 9] = [
    "outcome",
    "status",
    "endpoint",
    "version",
    "token",
    "code",
    "from",
    "until",
    "request_id",
];
/// The parameter with the position before a page.
pub(crate) const AFTER: &str = "after";

pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) is_chosen: bool,
}

/// Reads the filter from the form. Adds a fault for each invalid field.
pub(crate) fn read(query: &Form, faults: &mut Faults) -> RequestFilter {
    let mut reader = Reader { query, faults };
    let filter = RequestFilter {
        is_refused: reader.read("outcome", parse_outcome),
        statuses: reader.read("status", |text| {
            filter::parse_statuses(text)
                .map_err(|_| "Enter a status from 100 to 599, such as 422, or a class such as 4xx")
        }),
        endpoint: reader.read("endpoint", |text| {
            filter::parse_endpoint(text).map_err(|_| "Choose an endpoint from the list")
        }),
        version: reader.read("version", |text| {
            text.parse::<Label>()
                .map(|label| label.to_string())
                .map_err(|_| "Choose a version from the list")
        }),
        token_id: reader.read("token", |text| {
            text.parse().map_err(|_| "Enter a token number, such as 3")
        }),
        code: reader.read("code", |text| {
            filter::parse_code(text).map_err(|_| "Enter a problem code, such as blank")
        }),
        from: reader.read("from", |text| filter::parse_time(text).map_err(|_| NO_TIME)),
        until: reader.read("until", |text| {
            filter::parse_time(text).map_err(|_| NO_TIME)
        }),
        request_id: reader.read("request_id", |text| {
            request_id::is_well_formed(text).then(|| text.to_owned()).ok_or(
                "Enter the X-Request-Id of the reply: letters, digits, and the characters - _ .",
            )
        }),
    };
    if filter
        .from
        .zip(filter.until)
        .is_some_and(|(from, until)| from >= until)
    {
        faults.add("until", "Enter a time after the \"From\" time");
    }
    filter
}

const NO_TIME: &str =
    "Enter a date such as 2026-10-05, or a date and time such as 2026-10-05T09:00:00Z";

/// Reads the fields of a form and collects their faults.
struct Reader<'a> {
    query: &'a Form,
    faults: &'a mut Faults,
}

impl Reader<'_> {
    /// Parses a field. Returns `None` if the field is empty or invalid.
    fn read<T>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let text = self.query.value(name);
        if text.is_empty() {
            return None;
        }
        self.faults.keep(name, read(text).map_err(str::to_owned))
    }
}

fn parse_outcome(text: &str) -> Result<bool, &'static str> {
    match text {
        "refused" => Ok(true),
        "accepted" => Ok(false),
        _ => Err("Choose refused or accepted requests"),
    }
}

pub(crate) fn is_set(query: &Form) -> bool {
    FIELDS.iter().any(|name| !query.value(name).is_empty())
}

pub(crate) fn list_endpoints(query: &Form) -> Vec<Choice> {
    list_choices(
        Endpoint::ALL.iter().map(ToString::to_string),
        query.value("endpoint"),
    )
}

pub(crate) fn list_versions(query: &Form, versions: &Versions) -> Vec<Choice> {
    list_choices(
        versions
            .iter()
            .rev()
            .map(|served| served.version.label.to_string()),
        query.value("version"),
    )
}

fn list_choices(known: impl Iterator<Item = String>, chosen: &str) -> Vec<Choice> {
    let mut values: Vec<String> = known.collect();
    // A chosen value that is not known, such as a removed version, stays chosen.
    if !chosen.is_empty() && !values.iter().any(|value| value == chosen) {
        values.push(chosen.to_owned());
    }
    values
        .into_iter()
        .map(|value| Choice {
            is_chosen: value == chosen,
            value,
        })
        .collect()
}

pub(crate) fn build_address_after(query: &Form, position: &str) -> String {
    let typed = FIELDS.map(|name| (name, query.value(name)));
    build_address(typed.into_iter().chain([(AFTER, position)]))
}

pub(crate) fn build_address<'a>(
    fields: impl IntoIterator<Item = (&'static str, &'a str)>,
) -> String {
    let filled = fields.into_iter().filter(|(_, value)| !value.is_empty());
    format!(
        "{}/requests/search?{}",
        paths::SETTINGS,
        Serializer::new(String::new()).extend_pairs(filled).finish()
    )
}
