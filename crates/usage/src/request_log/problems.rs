//! The problems of a refused request as they are logged: codes, and fields as the version of the
//! request spells them. Values, and names that only the client has chosen, are left out.

use storage::observations::request_log::LoggedProblem;

/// The maximum number of logged problems of a request.
const MAX_PROBLEMS: usize = 50;

/// The problems of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestProblems {
    /// Codes and fields of the first problems.
    first: Vec<(&'static str, String)>,
    left_out: u32,
}

impl RequestProblems {
    /// Keeps the first of these problems.
    #[must_use]
    pub fn from_problems(problems: impl ExactSizeIterator<Item = (&'static str, String)>) -> Self {
        let left_out = problems.len().saturating_sub(MAX_PROBLEMS);
        Self {
            first: problems.take(MAX_PROBLEMS).collect(),
            left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
        }
    }

    /// Keeps the first of these names: the refused parameters of a request, or the fields that match
    /// an existing record. They have no code.
    #[must_use]
    pub fn from_names(names: impl Iterator<Item = &'static str>) -> Self {
        Self {
            first: names
                .take(MAX_PROBLEMS)
                .map(|name| ("", name.to_owned()))
                .collect(),
            left_out: 0,
        }
    }

    /// The kept problems in the form of the store.
    #[must_use]
    pub fn logged(&self) -> Vec<LoggedProblem> {
        let logged = |(code, field): &(&str, String)| LoggedProblem {
            code: (*code).to_owned(),
            field: field.clone(),
        };
        self.first.iter().map(logged).collect()
    }

    /// The number of problems beyond the kept ones.
    #[must_use]
    pub const fn left_out(&self) -> u32 {
        self.left_out
    }
}
