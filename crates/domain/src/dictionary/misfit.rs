//! What every input must satisfy by itself, as the description of its field says.

use crate::dictionary::{Codes, FieldInfo};
use crate::lists::Lists;
use crate::problem::ProblemKind;
use crate::rules::Terms;
use crate::value::Value;

/// What is wrong with a value, as far as the field by itself can tell: its length and its code.
/// The codes of a list can be narrowed by the terms of a version.
#[must_use]
pub fn misfit(info: &FieldInfo, value: &Value<'_>, lists: &Lists, terms: &Terms) -> Option<ProblemKind> {
    let text = value.as_text()?;
    if info.max.is_some_and(|max| text.chars().nth(max).is_some()) {
        return info.max.map(|max| ProblemKind::TooLong { max });
    }
    let known = match info.codes? {
        Codes::Listed(list) => lists.contains(list, text) && terms.accepts(list, text),
        Codes::OneOf(words) => words.contains(&text),
    };
    (!known).then(|| match info.codes {
        Some(Codes::Listed(list)) => ProblemKind::UnknownCode {
            value: text.to_owned(),
            accepted: lists.codes(list).filter(|code| terms.accepts(list, code)).map(str::to_owned).collect(),
        },
        Some(Codes::OneOf(words)) => ProblemKind::UnknownCode {
            value: text.to_owned(),
            accepted: words.iter().map(|word| (*word).to_owned()).collect(),
        },
        None => ProblemKind::Blank,
    })
}
