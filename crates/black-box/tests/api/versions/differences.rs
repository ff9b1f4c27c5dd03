//! What is told about versions: the differences between any two, and what follows from them.

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::read::parse_json;
use adapter_kit::wire::WireNested;
use adapter_kit::{ApiVersion, Endpoint, Served, WireRecord, date, for_record_kind};
use domain::ended_codes::{EndedCode, Successor, successor};
use domain::{List, Lists, Record as _, Trainee, for_each_nested};
use serde_json::json;
use version_tools::Difference;
use version_tools::difference::{
    Change, ChangeDetail, CodesChange, CodesChangeKind, EndpointChangeKind, FieldChange,
    FieldChangeKind, FieldUse, RuleChange, RuleChangeKind, RuleStage, RuleSummary,
};
use version_tools::translate::{BodyKind, TranslationContext, translate};
use versions::all;

use crate::api::support::Register;

fn between(from: &str, to: &str) -> Difference {
    Difference::between(
        all().named(from).unwrap(),
        all().named(to).unwrap(),
        Lists::embedded(),
    )
}

#[test]
fn a_version_does_not_differ_from_itself() {
    for served in all().iter() {
        let difference = Difference::between(served, served, Lists::embedded());
        assert_eq!(difference.changes, Vec::new(), "{}", served.version.label);
    }
}

/// All differences between two versions of the list, each with the way back.
fn there_and_back() -> Vec<(Difference, Difference)> {
    let pairs = all()
        .iter()
        .flat_map(|from| all().iter().map(move |to| (from, to)));
    let between = |from, to| Difference::between(from, to, Lists::embedded());
    pairs
        .map(|(from, to)| (between(from, to), between(to, from)))
        .collect()
}

/// Checks that the changes are the same, in whatever order they stand.
fn same<T: std::fmt::Debug>(one: impl IntoIterator<Item = T>, other: impl IntoIterator<Item = T>) {
    let sorted = |changes: &mut dyn Iterator<Item = T>| {
        let mut told: Vec<String> = changes.map(|change| format!("{change:?}")).collect();
        told.sort();
        told
    };
    assert_eq!(sorted(&mut one.into_iter()), sorted(&mut other.into_iter()));
}

#[test]
fn reverse_difference_swaps_additions_and_removals_and_reverses_renames() {
    let back = |change: &FieldChange| FieldChange {
        kind: match change.kind {
            FieldChangeKind::Added { name, same_value } => {
                FieldChangeKind::Removed { name, same_value }
            }
            FieldChangeKind::Removed { name, same_value } => {
                FieldChangeKind::Added { name, same_value }
            }
            FieldChangeKind::Renamed { before, after } => FieldChangeKind::Renamed {
                before: after,
                after: before,
            },
            FieldChangeKind::Rewritten { before, after } => FieldChangeKind::Rewritten {
                before: after,
                after: before,
            },
            FieldChangeKind::Joined {
                before,
                after,
                separator,
                index,
            } => FieldChangeKind::Split {
                before: after,
                after: before,
                separator,
                index,
            },
            FieldChangeKind::Split {
                before,
                after,
                separator,
                index,
            } => FieldChangeKind::Joined {
                before: after,
                after: before,
                separator,
                index,
            },
            FieldChangeKind::Rejoined {
                before,
                after,
                refused,
            } => FieldChangeKind::Rejoined {
                before: after,
                after: before,
                refused,
            },
            FieldChangeKind::Redefined { .. } => change.kind,
            FieldChangeKind::LeftOutWhenUnset { name } => FieldChangeKind::AlwaysShown { name },
            FieldChangeKind::AlwaysShown { name } => FieldChangeKind::LeftOutWhenUnset { name },
        },
        ..without_forms(change)
    };
    for (there, again) in there_and_back() {
        same(there.fields().map(back), again.fields().map(without_forms));
    }
}

/// A change without the forms before and after: the effect of an old form is not symmetric.
fn without_forms(change: &FieldChange) -> FieldChange {
    FieldChange {
        rewriting: None,
        ..change.clone()
    }
}

#[test]
fn on_the_way_back_an_endpoint_that_came_has_gone() {
    for (there, again) in there_and_back() {
        let came = there
            .endpoints()
            .filter(|change| change.kind == EndpointChangeKind::Added);
        let gone = again
            .endpoints()
            .filter(|change| matches!(change.kind, EndpointChangeKind::Removed { .. }));
        same(
            came.map(|change| change.endpoint),
            gone.map(|change| change.endpoint),
        );
    }
}

#[test]
fn on_the_way_back_a_rule_that_came_has_gone() {
    let name =
        |rule: Option<&RuleSummary>| rule.map(|rule| (rule.name, rule.description, rule.stage));
    let turned = |change: &RuleChange| match &change.kind {
        RuleChangeKind::Added { after } => (change.record, None, name(Some(after))),
        RuleChangeKind::Dropped { before } => (change.record, name(Some(before)), None),
        RuleChangeKind::Replaced { before, after } => {
            (change.record, name(Some(before)), name(Some(after)))
        }
    };
    for (there, again) in there_and_back() {
        let back = again
            .rules()
            .map(turned)
            .map(|(record, before, after)| (record, after, before));
        same(there.rules().map(turned), back);
    }
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
fn on_the_way_back_codes_and_words_are_turned_round() {
    let turned = |change: CodesChangeKind| match change {
        CodesChangeKind::Accepted => CodesChangeKind::Refused,
        CodesChangeKind::Refused => CodesChangeKind::Accepted,
    };
    for (there, again) in there_and_back() {
        // Each ended code has its own change.
        let single = |codes: &CodesChange| {
            let (list, change) = (codes.list, codes.change);
            let codes = codes.codes.clone().into_iter();
            codes
                .map(move |code| (list, change, code))
                .collect::<Vec<_>>()
        };
        let there_codes = there.codes().flat_map(single);
        same(
            there_codes.map(|(list, change, code)| (list, turned(change), code)),
            again.codes().flat_map(single),
        );
        let others = |difference: &Difference, back: bool| -> Vec<String> {
            let told = |change: &Change| match &change.detail {
                ChangeDetail::Vocabulary(word) if back => {
                    Some(format!("{} {}", word.after, word.before))
                }
                ChangeDetail::Vocabulary(word) => Some(format!("{} {}", word.before, word.after)),
                ChangeDetail::NestedErrors(form) if back => {
                    Some(format!("{} {}", form.after, form.before))
                }
                ChangeDetail::NestedErrors(form) => Some(format!("{} {}", form.before, form.after)),
                ChangeDetail::NestedInLists(change) => {
                    Some(format!("nested in lists {}", change.shown != back))
                }
                ChangeDetail::ExceptionYears(years) if back => {
                    Some(format!("{:?} {:?}", turned(years.change), years.years))
                }
                ChangeDetail::ExceptionYears(years) => {
                    Some(format!("{:?} {:?}", years.change, years.years))
                }
                ChangeDetail::Field(_)
                | ChangeDetail::ReadOnlyNames(_)
                | ChangeDetail::Endpoint(_)
                | ChangeDetail::Rule(_)
                | ChangeDetail::Codes(_)
                | ChangeDetail::Wire(_) => None,
            };
            difference.changes.iter().filter_map(told).collect()
        };
        same(others(&there, true), others(&again, false));
    }
}

/// The names of a nested record in its trainee.
fn in_trainee<R: WireNested>(version: &'static ApiVersion) -> (&'static str, Vec<&'static str>) {
    (
        R::NAME,
        R::shapes(version)
            .in_trainee
            .entries
            .iter()
            .map(|entry| entry.name)
            .collect(),
    )
}

/// The names of a record in the requests or the responses of a version.
fn names(version: &'static ApiVersion, body: &FieldUse) -> Vec<&'static str> {
    fn record_names<R: WireRecord>(
        version: &'static ApiVersion,
        direction: Direction,
    ) -> Vec<&'static str> {
        let shown = R::shape(version).map_or([].as_slice(), |shape| shape.entries);
        match direction {
            Direction::Request => R::inputs(version)
                .entries
                .iter()
                .map(|input| input.name)
                .collect(),
            Direction::Reply => shown.iter().map(|entry| entry.name).collect(),
        }
    }
    if body.nested {
        return for_each_nested!(in_trainee(version))
            .into_iter()
            .find(|(name, _)| *name == body.record)
            .unwrap()
            .1;
    }
    let kind = body.record.parse::<RecordKind>().unwrap();
    for_record_kind!(kind, record_names(version, body.direction))
}

#[test]
fn every_changed_name_exists_in_its_stated_version() {
    for (there, _) in there_and_back() {
        let uses = |change: &FieldChange| {
            let kind = change.kind;
            let uses = change.uses.clone().into_iter();
            uses.map(move |body| (kind, body)).collect::<Vec<_>>()
        };
        for (kind, body) in there.fields().flat_map(uses) {
            let version = |label| all().find(label).unwrap().version;
            let (before, after) = (
                names(version(there.from), &body),
                names(version(there.to), &body),
            );
            let has = |names: &[&str], name| names.contains(&name);
            let right = match kind {
                FieldChangeKind::Added { name, same_value } => {
                    has(&after, name) && same_value.is_none_or(|other| has(&before, other))
                }
                FieldChangeKind::Removed { name, same_value } => {
                    has(&before, name) && same_value.is_none_or(|other| has(&after, other))
                }
                FieldChangeKind::Renamed {
                    before: old,
                    after: new,
                }
                | FieldChangeKind::Rewritten {
                    before: old,
                    after: new,
                }
                | FieldChangeKind::Rejoined {
                    before: old,
                    after: new,
                    ..
                }
                | FieldChangeKind::Joined {
                    before: old,
                    after: new,
                    ..
                }
                | FieldChangeKind::Split {
                    before: old,
                    after: new,
                    ..
                } => has(&before, old) && has(&after, new),
                FieldChangeKind::Redefined { name, .. } => has(&before, name) && has(&after, name),
                FieldChangeKind::LeftOutWhenUnset { name }
                | FieldChangeKind::AlwaysShown { name } => has(&after, name),
            };
            assert!(right, "{kind:?} from {} to {}", there.from, there.to);
        }
        let has_other_name = |label, rule: &RuleSummary| {
            let other_names = &all().find(label).unwrap().other_names.trainee.refused;
            other_names
                .iter()
                .any(|(name, _)| rule.reads.contains(name))
        };
        for rule in there.rules().filter(|rule| rule.record == Trainee::NAME) {
            let (before, after) = match &rule.kind {
                RuleChangeKind::Added { after } => (None, Some(after)),
                RuleChangeKind::Dropped { before } => (Some(before), None),
                RuleChangeKind::Replaced { before, after } => (Some(before), Some(after)),
            };
            assert!(
                !before.is_some_and(|rule| has_other_name(there.from, rule)),
                "{rule:?} from {}",
                there.from
            );
            assert!(
                !after.is_some_and(|rule| has_other_name(there.to, rule)),
                "{rule:?} to {}",
                there.to
            );
        }
    }
}

#[test]
fn breaking_changes_come_first_and_all_changes_give_instructions() {
    for (there, _) in there_and_back() {
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
fn names_only_shown_by_first_version_are_unknown_in_newest() {
    let register = Register::start();
    let api = register.api(all().named("v2026.1").unwrap().version);
    let trainee = api.create(api.example());
    let path = format!("/trainees/{}", trainee.id());
    let update = |name: &str| {
        // A name of replies is ignored if its value is the one that is shown.
        let body = json!({ "data": { name: trainee.data[name] } });
        api.request("PATCH", &path)
            .header("Prefer", "handling=strict")
            .json(body)
            .send()
            .status
    };
    let difference = between("v2025.0", "v2026.1");
    let mut of_records = difference.changes.iter().filter_map(|change| {
        if let ChangeDetail::ReadOnlyNames(names) = &change.detail {
            Some(names)
        } else {
            None
        }
    });
    let names = &of_records
        .find(|names| names.record == Trainee::NAME)
        .unwrap()
        .names;
    for expected in [
        "lead_partner_not_applicable",
        "withdraw_date",
        "withdraw_reasons",
        "bursary_level",
    ] {
        assert!(names.contains(&expected), "{names:?}");
    }
    for name in names {
        assert_eq!(update(name), 422, "{name}");
    }
    for name in [
        "state",
        "training_partner_not_applicable",
        "withdrawal_date",
        "withdrawal_reasons",
    ] {
        assert_eq!(update(name), 200, "{name}");
    }
}

#[test]
fn the_recommendation_moves_to_another_endpoint_and_back() {
    let turns = |difference: &Difference| -> Vec<(Endpoint, EndpointChangeKind)> {
        difference
            .endpoints()
            .map(|change| (change.endpoint, change.kind))
            .collect()
    };
    let (older, newer) = (Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus);
    let there = turns(&between("v2026.0", "v2026.1"));
    assert!(there.contains(&(newer, EndpointChangeKind::Added)));
    let deprecated = there
        .iter()
        .find(|(endpoint, _)| *endpoint == older)
        .unwrap();
    let EndpointChangeKind::Deprecated {
        replaced_by,
        removed_in,
        ..
    } = deprecated.1
    else {
        panic!("{deprecated:?}")
    };
    assert_eq!(
        (replaced_by, removed_in.to_string()),
        (Some(newer), "v2027.0".to_owned())
    );
    let difference = between("v2026.0", "v2026.1");
    let advice = format!("Use `{newer}` with the same body instead of `{older}`.");
    let mut changes = difference.changes.iter();
    assert!(changes.any(|change| change.advice == advice));
    let back = turns(&between("v2026.1", "v2026.0"));
    assert!(back.contains(&(
        newer,
        EndpointChangeKind::Removed {
            replaced_by: Some(older)
        }
    )));
    assert!(back.contains(&(
        Endpoint::ReferenceData,
        EndpointChangeKind::Removed { replaced_by: None }
    )));
}

#[test]
fn client_of_the_previous_version_meets_one_breaking_change() {
    let steps = between("v2026.0", "v2026.1");
    let breaking: Vec<&Change> = steps.breaking().collect();
    assert_eq!(breaking.len(), 1, "{breaking:#?}");
    let ChangeDetail::Rule(RuleChange {
        kind: RuleChangeKind::Added { after },
        ..
    }) = &breaking[0].detail
    else {
        panic!("{breaking:#?}")
    };
    assert_eq!(
        (after.name, after.stage),
        ("finished_records", RuleStage::Gate)
    );
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

#[test]
fn what_is_written_about_versions_is_shown_as_pages() {
    let register = Register::start();
    let (oldest, newest) = (
        all().iter().next().unwrap().version.label,
        all().newest().unwrap().version.label,
    );
    for name in [
        newest.to_string(),
        oldest.to_string(),
        format!("migrating-from-{oldest}"),
    ] {
        let page = register
            .request("GET", &format!("/docs/versions/{name}"))
            .page()
            .is(200);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert!(
            page.text.contains("<h1>") && !page.text.contains("make docs"),
            "{name}"
        );
        assert!(
            page.header("content-security-policy")
                .unwrap()
                .starts_with("default-src 'none'")
        );
    }
    let page = register
        .request("GET", &format!("/docs/versions/migrating-from-{oldest}"))
        .page()
        .is(200);
    assert!(page.text.contains("<table class=\"stack\">") && page.text.contains("How to check"));
    // The texts refer to one another as files, and on a page that leads on too.
    let other = register
        .request("GET", &format!("/docs/versions/{newest}.md"))
        .page()
        .is(200);
    assert!(other.text.contains(&format!("<h1>{newest}</h1>")));
    register
        .request("GET", "/docs/versions/v1999.0")
        .send()
        .error(404, "NotFound");
    register
        .request("GET", &format!("/docs/versions/migrating-from-{newest}"))
        .send()
        .error(404, "NotFound");
}

#[test]
fn the_explorer_of_a_version_asks_no_other_host() {
    let register = Register::start();
    for served in all().iter() {
        let label = served.version.label;
        let lead = register
            .request("GET", &format!("/docs/{label}/"))
            .page()
            .is(200);
        assert!(
            lead.text.contains("swagger-ui-bundle.js") && !lead.text.contains("//"),
            "{}",
            lead.text
        );
        let document = format!("data-openapi=\"/api/{label}/openapi.json\"");
        assert!(lead.text.contains(&document), "{}", lead.text);
        let policy = lead.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("http"),
            "{policy}"
        );
        let script = register
            .request("GET", &format!("/docs/{label}/explorer.js"))
            .page()
            .is(200);
        assert!(
            script.text.contains("validatorUrl: \"none\""),
            "{}",
            script.text
        );
        register
            .request("GET", &format!("/docs/{label}/nothing"))
            .send()
            .error(404, "NotFound");
    }
}
