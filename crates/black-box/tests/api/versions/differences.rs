//! What is told about versions: the differences between any two, and what follows from them.

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::read::parse_json;
use adapter_kit::{Served, date};
use domain::ended_codes::{EndedCode, Successor, successor};
use domain::{List, Lists, Record as _, Trainee};
use version_tools::Difference;
use version_tools::difference::ChangeDetail;
use version_tools::translate::{BodyKind, TranslationContext, translate};
use versions::all;

use crate::api::versions::snapshots;

/// The differences between any two versions of the list.
fn differences() -> impl Iterator<Item = Difference> {
    let pairs = all()
        .iter()
        .flat_map(|from| all().iter().map(move |to| (from, to)));
    pairs.map(|(from, to)| Difference::between(from, to, Lists::embedded()))
}

#[test]
fn a_version_does_not_differ_from_itself() {
    for difference in differences().filter(|difference| difference.from == difference.to) {
        assert_eq!(difference.changes, Vec::new(), "{}", difference.from);
    }
}

/// The documents have the differences on the way to newer versions.
#[test]
fn differences_from_newer_versions_are_as_committed() {
    let back = differences().filter(|difference| difference.from > difference.to);
    let texts: Vec<String> = back.map(|difference| difference.markdown()).collect();
    snapshots::matches("", "differences-to-older", &texts.join("\n"));
}

#[test]
fn ended_code_has_a_successor_or_a_contact_to_ask() {
    let lists = Lists::embedded();
    let mut ended = 0;
    for older in all().iter() {
        for newer in all()
            .iter()
            .filter(|newer| newer.version.label > older.version.label)
        {
            let (from, to) = (older.version.label, newer.version.label);
            let markdown = Difference::between(older, newer, lists).markdown();
            for list in List::ALL {
                for code in lists.codes(*list) {
                    let accepts =
                        |served: &Served| served.version.accepted_codes.accepts(*list, code);
                    if !accepts(older) || accepts(newer) {
                        continue;
                    }
                    ended += 1;
                    let successor = successor(*list, code);
                    let successor = successor.unwrap_or_else(|| {
                        panic!(
                            "{code} of {} ended between {from} and {to}: what takes its place?",
                            list.name()
                        )
                    });
                    if let Successor::Code(code) = successor {
                        assert!(
                            newer.version.accepted_codes.accepts(*list, code),
                            "{successor:?} in {to}"
                        );
                    }
                    let advice = EndedCode::find(*list, code).unwrap().advice();
                    assert!(markdown.contains(&advice), "{markdown}");
                }
            }
        }
    }
    assert!(ended > 0, "no code ended");
}

#[test]
fn breaking_changes_come_first_and_all_changes_give_instructions() {
    for there in differences() {
        assert!(there.changes.is_sorted_by_key(|change| change.effect));
        assert!(there.changes.is_sorted_by_key(|change| !change.breaking));
        for change in &there.changes {
            for text in [&change.summary, &change.advice] {
                assert!(
                    text.ends_with('.') && text.trim() == text && !text.contains("  "),
                    "{text:?}"
                );
            }
        }
    }
}

#[test]
fn examples_are_bodies_that_their_versions_accept() {
    let mut checked = 0;
    for (from, to) in all()
        .iter()
        .flat_map(|from| all().iter().map(move |to| (from, to)))
    {
        let difference = Difference::between(from, to, Lists::embedded());
        for change in difference.changes {
            // Examples of other changes are cut from the documented examples, or are of replies.
            let (Some(example), ChangeDetail::Rule(_)) = (change.example, &change.detail) else {
                continue;
            };
            assert_eq!(change.of, Trainee::NAME, "read this record here too");
            assert!(is_accepted(from, &example.before), "{example:?}");
            assert!(is_accepted(to, &example.after), "{example:?}");
            assert!(!is_accepted(to, &example.before), "{example:?}");
            checked += 1;
        }
    }
    assert!(checked > 0);
}

/// Whether a version accepts a body as an update of a trainee.
fn is_accepted(served: &Served, body: &str) -> bool {
    let body = parse_json(body.as_bytes()).unwrap();
    let kind = BodyKind {
        record: Some(RecordKind::Trainee),
        direction: Some(Direction::Request),
        purpose: Some(Purpose::Update),
    };
    let context = TranslationContext {
        today: date(2026, 10, 5),
        lists: Lists::embedded(),
        choices: &[],
    };
    let translation = translate(&body, served, served, &kind, context);
    translation.problems.is_empty() && translation.lost.is_empty()
}
