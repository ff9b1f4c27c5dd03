//! The report on a run of requests: what the run did, and its refused records with sentences for
//! their problems. The page and the command show the same words.

use std::io;

use domain::Code;
use domain::values::iso_8601::timestamp;
use storage::observations::request_log::runs::{Run, RunCounts};
use storage::observations::request_log::{LoggedProblem, LoggedRequest};
use trainee_file::add_apostrophe;

/// The headings of the file of refused records.
const HEADINGS: [&str; 7] = [
    "record",
    "field",
    "problem",
    "code",
    "status",
    "request_id",
    "answered_at",
];

/// A problem of a refused record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemSentence {
    /// The field, as the version of the request spells it; empty if there is none.
    pub field: String,
    /// The sentence, without the field.
    pub sentence: String,
    /// The code; empty if there is none.
    pub code: String,
}

/// The kind of a run: `batch`, `single requests`, or `upload by` and the e-mail address of the
/// user.
#[must_use]
pub fn run_kind(run: &Run) -> String {
    match (&run.user_email, run.sender.user_id(), &run.batch) {
        (Some(email), ..) if !email.is_empty() => format!("upload by {email}"),
        (_, Some(user), _) => format!("upload by user {user}"),
        (_, None, Some(_)) => "batch".to_owned(),
        (_, None, None) => "single requests".to_owned(),
    }
}

/// The counts of a run: `12 records: 1 registered, 8 refused`. Counts of zero are left out.
#[must_use]
pub fn count_text(counts: &RunCounts) -> String {
    let parts = [
        (counts.registered, "registered"),
        (counts.changed, "changed"),
        (counts.refused, "refused"),
        (counts.already_registered, "already registered"),
        (counts.checked, "checked only"),
        (counts.repeated, "sent again"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let total = counts.total();
    let records = if total == 1 { "record" } else { "records" };
    format!("{total} {records}: {}", parts.join(", "))
}

/// The name of a refused record: the key of the provider, or else the number of the item in its
/// batch or upload from 1, or else the identifier of the request.
#[must_use]
pub fn record_name(request: &LoggedRequest) -> String {
    match (&request.record_key, request.item) {
        (Some(key), _) => key.clone(),
        (None, Some(position)) => format!("item {}", u64::from(position) + 1),
        (None, None) => format!("request {}", request.request_id),
    }
}

/// The problems of a refused record as sentences. At least one.
#[must_use]
pub fn problem_sentences(request: &LoggedRequest) -> Vec<ProblemSentence> {
    if request.problems.is_empty() {
        return vec![ProblemSentence {
            field: String::new(),
            sentence: status_sentence(request.status),
            code: String::new(),
        }];
    }
    if request.status == 409 {
        return vec![duplicate_sentence(&request.problems)];
    }
    let problems = request.problems.iter();
    problems
        .map(|problem| ProblemSentence {
            field: problem.field.clone(),
            sentence: sentence(&problem.code),
            code: problem.code.clone(),
        })
        .collect()
}

/// The sentence for a duplicate, whose problems are the matching fields.
fn duplicate_sentence(problems: &[LoggedProblem]) -> ProblemSentence {
    let fields: Vec<&str> = problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    ProblemSentence {
        field: String::new(),
        sentence: format!(
            "The record is already registered. Equal fields: {}.",
            fields.join(", ")
        ),
        code: String::new(),
    }
}

/// The sentence for a problem by its code. A problem without a known code is about a parameter.
fn sentence(code: &str) -> String {
    match Code::ALL.iter().find(|known| known.name() == code) {
        Some(code) => code.meaning().to_owned(),
        None => "The parameter of the request is invalid.".to_owned(),
    }
}

/// The sentence for a refused request by its status alone.
#[must_use]
pub fn status_sentence(status: u16) -> String {
    let sentence = match status {
        400 => "The body of the request is not valid JSON.",
        404 => "No record with this identifier exists.",
        409 => "Another request changed the record at the same time.",
        412 => "The record has changed since it was read.",
        413 => "The body of the request is too large.",
        415 => "The body of the request is not JSON.",
        422 => "The content of the request is invalid.",
        429 => "There were too many requests in a short time.",
        500.. => "The register could not answer. Send the request again.",
        _ => "The request was refused.",
    };
    sentence.to_owned()
}

/// The refused records as a CSV file, one row for each problem.
///
/// # Errors
///
/// When a row cannot be written.
pub fn refused_csv(requests: &[LoggedRequest]) -> io::Result<String> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(HEADINGS)?;
    for request in requests {
        let record = add_apostrophe(record_name(request));
        let status = request.status.to_string();
        let answered_at = timestamp(request.answered_at);
        for problem in problem_sentences(request) {
            file.write_record([
                record.as_str(),
                &add_apostrophe(problem.field),
                &problem.sentence,
                &problem.code,
                &status,
                &request.request_id,
                &answered_at,
            ])?;
        }
    }
    String::from_utf8(file.into_inner().map_err(|error| error.into_error())?)
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use storage::base::sender::Sender;

    use super::*;

    fn refused(problems: &[(&str, &str)]) -> LoggedRequest {
        let problems = problems.iter().map(|(code, field)| LoggedProblem {
            code: (*code).to_owned(),
            field: (*field).to_owned(),
        });
        LoggedRequest {
            answered_at: DateTime::UNIX_EPOCH,
            sender: Sender::Token(1),
            version: "v2025.0".to_owned(),
            endpoint: "POST /trainees".to_owned(),
            method: "POST".to_owned(),
            status: 422,
            item: None,
            request_id: "r1".to_owned(),
            problems: problems.collect(),
            problems_left_out: 0,
            record_key: None,
        }
    }

    #[test]
    fn counts_of_zero_are_left_out() {
        let counts = RunCounts {
            registered: 1,
            refused: 8,
            already_registered: 3,
            ..RunCounts::default()
        };
        assert_eq!(
            count_text(&counts),
            "12 records: 1 registered, 8 refused, 3 already registered"
        );
    }

    #[test]
    fn record_is_named_by_key_else_item_else_request() {
        let mut request = refused(&[]);
        assert_eq!(record_name(&request), "request r1");
        request.item = Some(0);
        assert_eq!(record_name(&request), "item 1");
        request.record_key = Some("26-000019".to_owned());
        assert_eq!(record_name(&request), "26-000019");
    }

    #[test]
    fn every_status_and_code_has_a_sentence() {
        for code in Code::ALL {
            let problems = problem_sentences(&refused(&[(code.name(), "email")]));
            assert!(
                problems
                    .iter()
                    .all(|problem| problem.sentence.ends_with('.'))
            );
        }
        for status in 400..600 {
            let sentence = status_sentence(status);
            assert!(sentence.ends_with('.'), "{sentence}");
        }
    }

    #[test]
    fn file_has_one_row_per_problem_and_no_formula() {
        let mut request = refused(&[("not_email", "email"), ("blank", "sex")]);
        request.record_key = Some("=1+1".to_owned());
        let file = refused_csv(&[request]).unwrap();
        let rows: Vec<&str> = file.lines().collect();
        assert_eq!(rows.len(), 3, "{file}");
        assert!(
            rows[1].starts_with("'=1+1,email,The text is not an e-mail address.,not_email,422")
        );
    }
}
