//! The problems of a refused request, as they are logged: codes, and fields as the version of the
//! request spells them.
//!
//! No value and no name that only the client knows is among them.

use storage::observations::request_log::LoggedProblem;

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
    /// The first of these problems, as codes and fields.
    #[must_use]
    pub fn from_problems(problems: impl ExactSizeIterator<Item = (&'static str, String)>) -> Self {
        let left_out = problems.len().saturating_sub(MAX_PROBLEMS);
        Self {
            first: problems.take(MAX_PROBLEMS).collect(),
            left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
        }
    }

    /// The first of these names of parameters. What is wrong with a parameter has no code.
    #[must_use]
    pub fn from_parameters(names: impl Iterator<Item = &'static str>) -> Self {
        Self {
            first: names
                .take(MAX_PROBLEMS)
                .map(|name| ("", name.to_owned()))
                .collect(),
            left_out: 0,
        }
    }

    /// The first ones, as they are stored.
    #[must_use]
    pub fn logged(&self) -> Vec<LoggedProblem> {
        let logged = |(code, field): &(&str, String)| LoggedProblem {
            code: (*code).to_owned(),
            field: field.clone(),
        };
        self.first.iter().map(logged).collect()
    }

    /// How many more there were.
    #[must_use]
    pub const fn left_out(&self) -> u32 {
        self.left_out
    }
}
