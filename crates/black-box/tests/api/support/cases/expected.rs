//! What is expected of a reply.

use std::collections::BTreeSet;

use adapter_kit::{ApiVersion, WireRecord};
use domain::{Degree, Placement, Trainee, TraineeField as F};
use serde_json::Value;
use versions::SERVED;

use super::line::{find_field, input_name};
use super::{Step, ensure};
use crate::api::support::{Response, Shown, can_set, has_default, wire_values};

/// The value of a field such as `sex` or `degrees.1.grade`; `None` if the version does not have it.
pub(super) fn shown_in_trainee(version: &ApiVersion, trainee: &Shown, name: &str) -> Option<Value> {
    let mut steps = name.split('.');
    let list = find_field::<Trainee>(steps.next()?).unwrap_or_else(|| panic!("no field {name}"));
    version.shapes.trainee.name_of(list)?;
    let value = trainee.value(list);
    let Some(number) = steps.next() else {
        return Some(value.clone());
    };
    let record = &value[number.parse::<usize>().unwrap() - 1];
    let key = steps.next()?;
    let own = if list == F::degrees {
        let shape = &version.shapes.degree.in_trainee;
        find_field::<Degree>(key).and_then(|field| shape.name_of(field))
    } else {
        let shape = &version.shapes.placement.in_trainee;
        find_field::<Placement>(key).and_then(|field| shape.name_of(field))
    };
    Some(record[own.unwrap_or(key)].clone())
}

/// The value of a field of a nested record; a degree can stand in a list of one.
pub(super) fn shown_in_record<R: WireRecord>(
    version: &ApiVersion,
    data: &Value,
    name: &str,
) -> Value {
    let record = data.get(0).unwrap_or(data);
    let canonical = find_field::<R>(name)
        .and_then(|field| wire_values::canonical::<R>(version, R::shape(version)?, field, record));
    canonical.unwrap_or_else(|| record[name].clone())
}

/// A text that is expected whole, or in part.
pub(super) struct Text {
    text: String,
    is_part: bool,
}

impl Text {
    /// Parses `"text"` or `~"text"`. `{field}` is the name of an input.
    pub(super) fn parse<R: WireRecord>(version: &ApiVersion, word: &str) -> Option<Self> {
        let quoted = word.strip_prefix('~').unwrap_or(word);
        if !quoted.starts_with('"') {
            return None;
        }
        let mut text: String = serde_json::from_str(quoted).unwrap();
        while let Some((before, rest)) = text.split_once('{') {
            let (name, after) = rest.split_once('}').unwrap();
            let own =
                input_name::<R>(version, name).or_else(|| input_name::<Trainee>(version, name));
            text = format!("{before}{}{after}", own.unwrap_or(name));
        }
        Some(Self {
            text,
            is_part: word.starts_with('~'),
        })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        if self.is_part {
            text.contains(&self.text)
        } else {
            text == self.text
        }
    }
}

/// A place of a problem that is expected.
pub(super) struct Place {
    /// The beginning of its message, such as `degrees_attributes 1 grade`.
    words: String,
    /// The path for programs, such as `degrees_attributes[0].grade`.
    path: String,
    error: &'static str,
    code: Option<String>,
    texts: Vec<Text>,
}

/// The places of all problems that are expected.
pub(super) struct Places {
    pub(super) list: Vec<Place>,
    /// Whether places are left out, because the version does not have the field, or sets it by
    /// itself.
    pub(super) are_ignored: bool,
}

impl Places {
    pub(super) fn expected<R: WireRecord>(step: &Step<'_>) -> Self {
        let version = step.api.version;
        let mut places = Self {
            list: Vec::new(),
            are_ignored: false,
        };
        let is_refused = step.expected.first() == Some(&"422");
        let words = step.expected.iter().skip(1).filter(|_| is_refused);
        let mut is_ignored = false;
        for word in words {
            if let Some(text) = Text::parse::<R>(version, word) {
                if !is_ignored {
                    places.list.last_mut().unwrap().texts.push(text);
                }
                continue;
            }
            let (name, code) = word
                .split_once('#')
                .map_or((*word, None), |(name, code)| (name, Some(code.to_owned())));
            let (name, error) = match name.strip_suffix('!') {
                Some(name) => (name, "StateTransitionError"),
                None => (name, "UnprocessableEntity"),
            };
            let is_removed = step.changes.contains(&&*format!("-{name}"));
            is_ignored =
                is_unknown(version, name) || (is_removed && is_set_by_version(version, name));
            places.are_ignored |= is_ignored;
            if !is_ignored {
                let (words, path) = place::<R>(version, name);
                places.list.push(Place {
                    words,
                    path,
                    error,
                    code,
                    texts: Vec::new(),
                });
            }
        }
        places
    }

    /// Fails unless the problems of a reply are those of the places.
    pub(super) fn check(&self, reply: &Response) -> Result<(), String> {
        let errors = reply.body["errors"].as_array().ok_or("no errors")?;
        ensure(errors.len() == self.list.len(), || reply.body.to_string())?;
        for place in &self.list {
            let start = format!("{} ", place.words);
            let found = errors.iter().find_map(|entry| {
                let text = entry["message"].as_str()?.strip_prefix(&start)?;
                Some((entry, text))
            });
            let (entry, message) =
                found.ok_or_else(|| format!("nothing about {start}: {}", reply.body))?;
            let is_expected = entry["error"] == place.error
                && entry["field"] == *place.path
                && place
                    .code
                    .as_ref()
                    .is_none_or(|code| entry["code"] == **code)
                && place.texts.iter().all(|text| text.matches(message));
            ensure(is_expected, || entry.to_string())?;
        }
        Ok(())
    }
}

/// Whether a version has a default for a field.
fn is_set_by_version(version: &ApiVersion, name: &str) -> bool {
    find_field::<Trainee>(name).is_some_and(|field| has_default(version, field))
}

/// Whether only other versions have a field.
fn is_unknown(version: &ApiVersion, name: &str) -> bool {
    find_field::<Trainee>(name).is_some_and(|field| {
        !can_set(version, field) && SERVED.iter().any(|other| can_set(other, field))
    })
}

/// How a message and a program name a place.
fn place<R: WireRecord>(version: &ApiVersion, name: &str) -> (String, String) {
    if let Some(key) = name.strip_prefix('.') {
        return (key.to_owned(), key.to_owned());
    }
    let own = |name: &str| {
        let found = input_name::<R>(version, name).or_else(|| input_name::<Trainee>(version, name));
        found.unwrap_or(name).to_owned()
    };
    let mut steps = name.splitn(3, '.');
    let list = steps.next().unwrap_or_default();
    let Some(number) = steps.next() else {
        return (own(list), own(list));
    };
    let (words, at) = (own(list), number.parse::<usize>().unwrap() - 1);
    let key = steps.next().map(|key| match list {
        "degrees" => input_name::<Degree>(version, key).unwrap_or(key),
        _ => input_name::<Placement>(version, key).unwrap_or(key),
    });
    match key {
        Some(key) => (
            format!("{words} {number} {key}"),
            format!("{words}[{at}].{key}"),
        ),
        None => (format!("{words} {number}"), format!("{words}[{at}]")),
    }
}

/// Checks the name of the one error, and its message.
pub(super) fn check_error(words: &[&str], reply: &Response) -> Result<(), String> {
    let errors = reply.errors();
    let [(error, message)] = errors[..] else {
        return Err(format!("{errors:?}"));
    };
    let entry = reply.body["errors"][0].as_object().unwrap();
    let has_name_and_message = entry.keys().eq(["error", "message"]);
    let is_expected = |word: &&str| match Text::parse::<Trainee>(SERVED[0], word) {
        Some(text) => text.matches(message),
        None => error == *word,
    };
    ensure(
        has_name_and_message && words.iter().all(is_expected),
        || format!("{entry:?}"),
    )
}

/// Checks which fields or parameters are refused by their names, and what is said of them.
pub(super) fn check_by_name<R: WireRecord>(
    version: &ApiVersion,
    words: &[&str],
    reply: &Response,
) -> Result<(), String> {
    let errors = reply.body["errors"].as_object().ok_or("no names")?;
    let mut named = BTreeSet::new();
    let mut message = "";
    for word in words {
        if let Some(text) = Text::parse::<R>(version, word) {
            ensure(text.matches(message), || format!("{word} is {message}"))?;
        } else {
            let (_, name) = place::<R>(version, word);
            message = errors
                .get(&name)
                .and_then(|texts| texts[0].as_str())
                .unwrap_or_default();
            named.insert(name);
        }
    }
    let is_named = named == errors.keys().cloned().collect();
    let count = format!("{} ", errors.len());
    let is_counted = reply.body["message"]
        .as_str()
        .is_some_and(|text| text.contains(&count));
    ensure(is_named && is_counted, || reply.body.to_string())
}
