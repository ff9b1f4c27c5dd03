//! Tests of all updates between the two kinds of degrees. Each update results in a whole degree or
//! is refused with the missing fields.

use super::*;
use crate::fields::field::RecordField as _;
use crate::fields::value::Input;
use crate::lists::Lists;
use crate::records::degree::DegreeChanges;
use crate::rules::Rule;
use crate::rules::testing::{apply, paths};

const RULES: &[Rule<Degree>] = &[
    KIND,
    GRADE_RECORDED,
    SUBJECT,
    COUNTRY,
    UK_DEGREE,
    NON_UK_DEGREE,
    COUNTRY_REQUIRED,
    GRADE,
];

fn find_field(name: &str) -> F {
    let mut fields = F::ALL.iter();
    *fields.find(|field| field.info().name == name).unwrap()
}

/// Parses an update from words such as `country=FR`.
fn parse_changes(words: &str) -> DegreeChanges {
    let mut changes = DegreeChanges::default();
    for word in words.split_whitespace() {
        match word.split_once('=') {
            Some((name, "")) => changes.blank(find_field(name)),
            Some((name, value)) => {
                assert!(changes.set(find_field(name), Input::Text(value.into())));
            }
            None => changes.clear(find_field(&word[1..])),
        }
    }
    changes
}

/// Parses a degree from its kind and the changes to it.
fn parse_degree(text: &str) -> Degree {
    let (kind, changes) = text.split_once(' ').unwrap_or((text, ""));
    let fields = match kind {
        "uk" => "subject=100485 uk_degree=083 institution=0117 grade=02",
        "foreign" => "subject=100485 country=FR non_uk_degree=051",
        _ => panic!("no kind {kind}"),
    };
    let kind = apply::<Degree>((), None, parse_changes(fields), &[]).record;
    apply::<Degree>((), Some(&kind), parse_changes(changes), &[]).record
}

#[test]
fn update_leaves_whole_degree_or_is_refused() {
    for line in include_str!("kinds.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (request, expected) = line.split_once(" -> ").unwrap();
        let (stored, sent) = request.split_once(" | ").unwrap();
        let stored = parse_degree(stored);
        let candidate = apply((), Some(&stored), parse_changes(sent), RULES);
        if let Some(names) = expected.strip_prefix("refused ") {
            let fields: Vec<_> = names
                .split(' ')
                .map(|name| find_field(name).into())
                .collect();
            assert_eq!(paths(&candidate), fields, "{line}");
        } else {
            assert_eq!(candidate.problems(), [], "{line}");
            assert_eq!(candidate.record, parse_degree(expected), "{line}");
            let is_whole = candidate.record.is_whole(Lists::embedded());
            assert!(is_whole || candidate.record == stored, "{line}");
        }
    }
}

#[test]
fn mixed_degree_can_be_sent_back() {
    for stored in [
        "foreign -country",
        "uk -uk_degree",
        "uk country=FR non_uk_degree=051",
    ] {
        let stored = parse_degree(stored);
        let mut whole = DegreeChanges::default();
        for field in [
            F::country,
            F::uk_degree,
            F::non_uk_degree,
            F::institution,
            F::grade,
            F::subject,
        ] {
            match stored.stored(field).as_text() {
                Some(text) => assert!(whole.set(field, Input::Text(text.into()))),
                None => whole.clear(field),
            }
        }
        let candidate = apply((), Some(&stored), whole, RULES);
        assert_eq!(
            (candidate.problems(), &candidate.record),
            (&[][..], &stored)
        );
    }
}
