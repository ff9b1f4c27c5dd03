//! The parts of a line: choices, words, conditions, values.

use adapter_kit::{ApiVersion, Label, WireRecord};
use domain::{DegreeField, RecordField as _, Trainee};
use serde_json::Value;

use crate::api::support::{can_set, takes_numbers_alone};

/// The lines that a line with choices stands for.
pub(super) fn expand(line: &str) -> Vec<String> {
    let parts: Vec<&str> = line.split(['(', ')']).collect();
    let Some(first) = parts.get(1).filter(|choices| choices.contains('|')) else {
        return vec![line.to_owned()];
    };
    let choose = |(at, choice): (usize, &str)| {
        let chosen = parts.iter().enumerate().map(|(part, text)| {
            let is_choice = part % 2 == 1;
            let choice = text.split('|').nth(at).filter(|_| is_choice);
            choice.unwrap_or(text)
        });
        chosen.collect::<String>().replace("<>", choice)
    };
    first.split('|').enumerate().map(choose).collect()
}

/// The words of a line. White space in quotes and brackets separates none.
pub(super) fn words(line: &str) -> Vec<&str> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    let is_outer_space = |c: char| {
        match c {
            _ if is_escaped => {}
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_escaped = is_quoted && c == '\\' && !is_escaped;
        c == ' ' && depth == 0 && !is_quoted
    };
    line.split(is_outer_space)
        .filter(|word| !word.is_empty())
        .collect()
}

/// Whether a condition such as `[>=v2026.0]` holds for a version.
pub(super) fn holds(version: &ApiVersion, condition: &str) -> bool {
    let condition = condition.trim_matches(['[', ']']);
    let label = |text: &str| text.parse::<Label>().unwrap();
    if let Some(first) = condition.strip_prefix(">=") {
        version.label >= label(first)
    } else if let Some(end) = condition.strip_prefix('<') {
        version.label < label(end)
    } else if let Some(only) = condition.strip_prefix('=') {
        version.label == label(only)
    } else if let Some(name) = condition.strip_prefix("has ") {
        can_set(version, find_field::<Trainee>(name).unwrap())
    } else {
        match condition {
            "years as text" => !takes_numbers_alone(version, DegreeField::graduation_year),
            "by field" => version.wire.problems.is_common(),
            "closed" => !version.rules.gates.is_empty(),
            _ => panic!("no condition {condition}"),
        }
    }
}

pub(super) fn is_condition(word: &str) -> bool {
    word.starts_with('[')
}

pub(super) fn find_field<R: WireRecord>(name: &str) -> Option<R::Field> {
    let mut fields = R::Field::ALL.iter();
    fields.find(|field| field.info().name == name).copied()
}

/// The name of an input of a version, if a field has this canonical name.
pub(super) fn input_name<R: WireRecord>(version: &ApiVersion, name: &str) -> Option<&'static str> {
    R::inputs(version).name_of(find_field::<R>(name)?)
}

/// A text with a repeated character for each `x{3}`.
pub(super) fn repeat(text: &str) -> String {
    let mut repeated = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        repeated += before;
        let count = after
            .split_once('}')
            .and_then(|(count, end)| Some((count.parse::<usize>().ok()?, end)));
        match (before.chars().next_back(), count) {
            (Some(character), Some((count, end))) => {
                repeated.extend((1..count).map(|_| character));
                rest = end;
            }
            _ => {
                repeated.push('{');
                rest = after;
            }
        }
    }
    repeated + rest
}

/// A name and a value, from `name=text` or `name:=JSON`.
pub(super) fn assignment(word: &str) -> Option<(&str, Value)> {
    let (name, text) = word.split_once('=')?;
    let text = repeat(text);
    Some(match name.strip_suffix(':') {
        Some(name) => (name, serde_json::from_str(&text).unwrap()),
        None if text.starts_with('"') => (name, serde_json::from_str(&text).unwrap()),
        None => (name, Value::from(text)),
    })
}

/// The text of a word, which can stand in quotes.
pub(super) fn unquote(word: &str) -> String {
    serde_json::from_str(word).unwrap_or_else(|_| word.to_owned())
}
