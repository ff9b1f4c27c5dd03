//! Ended codes and their replacements.
//!
//! A version ends a code by removing it from its [`crate::fields::accepted_codes`]. Records keep
//! the code. The sector defines the replacement, which is the same in all versions without the
//! code.

use std::fmt;

use crate::lists::List;
use crate::records::trainee::TraineeField;
use crate::rules::{course, funding};

/// A code that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCode {
    /// The list of the code.
    pub list: List,
    /// The code.
    pub code: &'static str,
    /// The replacement.
    pub successor: Successor,
}

/// The replacement of an ended code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Successor {
    /// Another code of the list.
    Code(&'static str),
    /// The sector names no other code. The client chooses from the accepted codes.
    None {
        /// The end of a sentence that begins with "send": how to choose the code.
        send: &'static str,
        /// The end of a sentence that begins with "ask": the contact of a client that cannot
        /// choose.
        ask: &'static str,
    },
}

impl fmt::Display for Successor {
    /// Writes advice for clients as a clause.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "send `{code}` in its place"),
            Self::None { send, ask } => write!(
                formatter,
                "no code replaces it; send {send}; if you cannot tell, ask {ask}"
            ),
        }
    }
}

impl EndedCode {
    /// Returns the ended code, or `None` for a code that has not ended.
    #[must_use]
    pub fn find(list: List, code: &str) -> Option<Self> {
        let mut ended = ENDED_CODES.iter().copied();
        ended.find(|ended| ended.list == list && ended.code == code)
    }

    /// Returns advice for clients as sentences in Markdown.
    #[must_use]
    pub fn advice(self) -> String {
        let Self {
            code, successor, ..
        } = self;
        match successor {
            Successor::Code(other) => format!("Send `{other}` instead of `{code}`."),
            Successor::None { send, ask } => {
                format!("No code replaces `{code}`. Send {send}. If you cannot tell, ask {ask}.")
            }
        }
    }
}

/// All ended codes. Add an entry when a version ends a code.
const ENDED_CODES: &[EndedCode] = &[EndedCode {
    list: List::TrainingRoute,
    code: "02",
    successor: Successor::None {
        send: "the code of the route that the trainee is on now",
        ask: "the operator of the register",
    },
}];

/// Advice for clients whose values a new rule refuses.
#[derive(Debug, Clone, Copy)]
pub struct RefusedValues {
    /// The name of the rule.
    rule: &'static str,
    /// The advice in Markdown.
    pub advice: &'static str,
    /// A field with a value that the rule refuses and the value to send instead.
    pub example: Option<(TraineeField, [&'static str; 2])>,
}

/// All advice about refused values.
const REFUSED_VALUES: &[RefusedValues] = &[
    RefusedValues {
        rule: course::PRIMARY_SUBJECT.name,
        advice: "Send `100511` as the first subject, and the other subjects after it.",
        example: None,
    },
    RefusedValues {
        rule: course::COURSE_YEAR_NUMBER.name,
        advice: "Send the year as digits.",
        example: Some((TraineeField::course_year, ["one", "1"])),
    },
    RefusedValues {
        rule: funding::ADDITIONAL_INITIATIVE.name,
        advice: "Ended initiatives have no replacement: omit the field, or ask the register's operator.",
        example: None,
    },
];

/// Returns the replacement of a code, or `None` for a code that has not ended.
#[must_use]
pub fn successor(list: List, code: &str) -> Option<Successor> {
    EndedCode::find(list, code).map(|ended| ended.successor)
}

/// Returns the advice for values that a rule refuses, by the name of the rule. Returns `None` if the
/// description of the rule is sufficient.
#[must_use]
pub fn refused_values(rule: &str) -> Option<RefusedValues> {
    REFUSED_VALUES.iter().copied().find(|one| one.rule == rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lists::Lists;

    #[test]
    fn ended_codes_and_successors_are_listed() {
        let lists = Lists::embedded();
        for ended in ENDED_CODES {
            assert!(lists.contains(ended.list, ended.code), "{ended:?}");
            match ended.successor {
                Successor::Code(code) => assert!(
                    code != ended.code && lists.contains(ended.list, code),
                    "{ended:?}"
                ),
                Successor::None { send, ask } => {
                    assert!(!send.is_empty() && !ask.is_empty(), "{ended:?}");
                }
            }
        }
    }
}
