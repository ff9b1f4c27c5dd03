//! Codes that ended, each with what to send in its place.
//!
//! A version ends a code by leaving it out of its [`crate::fields::accepted_codes`]; records keep
//! it. What takes its place is a fact of the sector and is the same for every version that no
//! longer accepts it.

use std::fmt;

use crate::lists::List;
use crate::rules::{course, funding};

/// A code that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCode {
    /// Its list.
    pub list: List,
    /// The code.
    pub code: &'static str,
    /// What takes its place.
    pub successor: Successor,
}

/// What takes the place of a code that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Successor {
    /// Another code of the list.
    Code(&'static str),
    /// The sector names no other code.
    None {
        /// Whom to ask, and what, behind "ask".
        ask: &'static str,
    },
}

impl fmt::Display for Successor {
    /// Writes what to do, as a clause.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "send `{code}` in its place"),
            Self::None { ask } => write!(formatter, "no code takes its place; ask {ask}"),
        }
    }
}

/// All codes that ended. A code that a version ends gets a line here.
const ENDED_CODES: &[EndedCode] = &[EndedCode {
    list: List::TrainingRoute,
    code: "02",
    successor: Successor::None {
        ask: "the operator of the register which route the trainee is on",
    },
}];

/// What to send where a rule refuses values that were accepted without it, by the name of the rule.
const VALUES_IN_PLACE: &[(&str, &str)] = &[
    (
        course::PRIMARY_SUBJECT.name,
        "Send `100511` as the first subject, and the others behind it.",
    ),
    (
        course::COURSE_YEAR_NUMBER.name,
        "Send the year as digits, such as `1` in place of `first`.",
    ),
    (
        funding::ADDITIONAL_INITIATIVE.name,
        "No initiative takes the place of one that ended: leave the field out, or ask the operator of the register.",
    ),
];

/// What takes the place of a code; `None` for a code that has not ended.
#[must_use]
pub fn successor(list: List, code: &str) -> Option<Successor> {
    ENDED_CODES
        .iter()
        .find(|ended| ended.list == list && ended.code == code)
        .map(|ended| ended.successor)
}

/// What to send in place of values that the rule of this name refuses, in Markdown; `None` where
/// the demand of the rule says it all.
#[must_use]
pub fn value_in_place(rule: &str) -> Option<&'static str> {
    VALUES_IN_PLACE
        .iter()
        .find(|(name, _)| *name == rule)
        .map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::Lists;

    #[test]
    fn ended_codes_and_their_successors_are_codes_of_their_list() {
        let lists = Lists::embedded();
        for ended in ENDED_CODES {
            assert!(lists.contains(ended.list, ended.code), "{ended:?}");
            match ended.successor {
                Successor::Code(code) => assert!(
                    code != ended.code && lists.contains(ended.list, code),
                    "{ended:?}"
                ),
                Successor::None { ask } => assert!(!ask.is_empty(), "{ended:?}"),
            }
        }
    }
}
