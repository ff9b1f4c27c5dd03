//! The problems of a refused request, as they are logged: codes, and fields as the version of the request spells them.
//!
//! No value and no name that only the client knows is among them.

use adapter_kit::{Served, names};
use storage::request_log::LoggedProblem;

use crate::http::error::ApiError;

/// The most problems that are logged of a request.
const MAX_PROBLEMS: usize = 50;

/// What was wrong with a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestProblems {
    /// Codes and fields.
    first: Vec<(&'static str, String)>,
    left_out: u32,
}

impl RequestProblems {
    /// Those for which a request was refused; none where the status says everything.
    #[must_use]
    pub fn of(failure: &ApiError, served: &Served) -> Self {
        if let ApiError::Invalid(problems) = failure {
            let spelled = |problem| names::path_without_unknown_keys(served.version, problem);
            let first = problems.iter().take(MAX_PROBLEMS);
            let first = first.map(|problem| (problem.kind.code().name(), spelled(problem))).collect();
            let left_out = problems.len().saturating_sub(MAX_PROBLEMS);
            return Self { first, left_out: u32::try_from(left_out).unwrap_or(u32::MAX) };
        }
        if let ApiError::Filters(errors) = failure {
            // What is wrong with a parameter has no code.
            let first = errors.known_parameters().take(MAX_PROBLEMS).map(|name| ("", name.to_owned())).collect();
            return Self { first, left_out: 0 };
        }
        Self::default()
    }

    /// The first ones, as they are stored.
    #[must_use]
    pub fn logged(&self) -> Vec<LoggedProblem> {
        let logged = |(code, field): &(&str, String)| LoggedProblem { code: (*code).to_owned(), field: field.clone() };
        self.first.iter().map(logged).collect()
    }

    /// How many more there were.
    #[must_use]
    pub const fn left_out(&self) -> u32 {
        self.left_out
    }
}
