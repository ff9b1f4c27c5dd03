//! The body of an error reply grouped by field: `{message, errors: {field: [...]}}`. Clients select
//! this form in the request.

use std::collections::BTreeMap;

use domain::{Lists, Path, Problem};

use super::{link_to_list, message};
use crate::error_body::{ErrorsByField, FieldErrors};
use crate::names::{field, list, path};
use crate::read::client_text::truncated;
use crate::version::{ApiVersion, NestedErrors};
use crate::versions::Served;

/// The key of problems of a whole nested array if its items have problems, too.
const AS_A_WHOLE: &str = "base";

impl ErrorsByField {
    /// Returns a body with all problems. The form of problems in nested records depends on
    /// [`ApiVersion::nested_errors`].
    #[must_use]
    pub fn from_problems(served: &Served, lists: &Lists, problems: &[Problem]) -> Self {
        let version = served.version;
        let mut here = BTreeMap::<String, Vec<String>>::new();
        let mut inside = BTreeMap::<String, BTreeMap<String, Vec<String>>>::new();
        for problem in problems {
            let text = message(version, lists, problem) + &link_to_list(served, problem);
            match inner(version, &problem.at) {
                Some((array, item, Some(field))) => {
                    let fields = inside.entry(array).or_default();
                    fields
                        .entry(field)
                        .or_default()
                        .push(prefix_item_number(item, &text));
                }
                Some((array, item, None)) => here
                    .entry(array)
                    .or_default()
                    .push(prefix_item_number(item, &text)),
                None => here
                    .entry(path(version, &problem.at))
                    .or_default()
                    .push(text),
            }
        }
        // An array with problems in its items has one object for all of its problems.
        for (array, fields) in &mut inside {
            if let Some(texts) = here.remove(array) {
                fields
                    .entry(AS_A_WHOLE.to_owned())
                    .or_default()
                    .extend(texts);
            }
        }
        let here = here
            .into_iter()
            .map(|(place, texts)| (place, FieldErrors::Messages(texts)));
        let inside = inside
            .into_iter()
            .map(|(array, fields)| (array, FieldErrors::Nested(fields)));
        Self {
            message: counted(problems.len()),
            errors: here.chain(inside).collect(),
        }
    }
}

/// Splits a path in a nested array into the name of the array, the number of the item (from 1) and
/// the name of the field, if any. Returns `None` for other paths, and for all paths if the version
/// reports nested problems [flat](NestedErrors::Flat).
fn inner(version: &ApiVersion, at: &Path) -> Option<(String, usize, Option<String>)> {
    if version.nested_errors == NestedErrors::Flat {
        return None;
    }
    let (array, position, field) = match at {
        Path::Nested {
            list: array,
            position,
            field: inner,
        } => (array, position, Some(field(version, *inner).to_owned())),
        Path::NestedKey {
            list: array,
            position,
            key,
        } => (array, position, Some(truncated(key))),
        Path::Position {
            list: array,
            position,
        } => (array, position, None),
        Path::Data | Path::Field(_) | Path::List(_) | Path::Key(_) => return None,
    };
    Some((list(version, *array).to_owned(), position + 1, field))
}

/// Adds the number of the item to a message, because several items can have a problem in the same
/// field.
fn prefix_item_number(number: usize, text: &str) -> String {
    format!("item {number}: {text}")
}

/// Returns a sentence with the number of problems.
fn counted(problems: usize) -> String {
    match problems {
        1 => "the request has 1 problem".to_owned(),
        several => format!("the request has {several} problems"),
    }
}
