//! Differences between a small version and others that differ from it in one thing each.

use adapter_kit::body_kind::Direction;
use adapter_kit::version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedShapes, NestedVisibility, Shapes, date,
};
use adapter_kit::{Endpoint, Inputs, Label, Shape, VersionField, Versions, inputs, shape};
use conformance::sample_version::SAMPLE_VERSION;
use domain::rules::{Gate, Rule, Rules, course};
use domain::{
    AcceptedCodes, Degree, DegreeField, Kind, List, Lists, Trainee, TraineeField, Value,
    Withdrawal, WithdrawalField,
};
use serde_json::{Value as Json, json};

use super::{
    Change, ChangeDetail, CodesChangeKind, Difference, Effect, EndpointChangeKind, FieldChangeKind,
    RuleChangeKind, RuleStage,
};

/// The difference from one version to the other, and the way back.
fn both_ways(one: ApiVersion, other: ApiVersion) -> [Difference; 2] {
    let other = ApiVersion {
        label: Label::release(2002, 0),
        ..other
    };
    let versions = Versions::new(&[Box::leak(Box::new(one)), Box::leak(Box::new(other))]);
    let mut served = versions.iter();
    let (from, to) = (served.next().unwrap(), served.next().unwrap());
    let between = |from, to| Difference::between(from, to, Lists::embedded());
    [between(from, to), between(to, from)]
}

/// The difference from the small version to the other one, and the way back.
fn there_and_back(other: ApiVersion) -> [Difference; 2] {
    both_ways(SAMPLE_VERSION, other)
}

/// The one change that there is.
fn only(difference: &Difference) -> &Change {
    assert_eq!(difference.changes.len(), 1, "{difference:#?}");
    &difference.changes[0]
}

/// The one change, next to that of a read-only name which is no longer known.
fn only_next_to_unknown(name: &str, difference: &Difference) -> Difference {
    let mut difference = difference.clone();
    let names = difference.changes.extract_if(.., |change| {
        matches!(change.detail, ChangeDetail::ReadOnlyNames(_))
    });
    let names: Vec<Change> = names.collect();
    let [
        Change {
            effect: Effect::Refused,
            summary,
            ..
        },
    ] = names.as_slice()
    else {
        panic!("{names:#?}")
    };
    assert!(
        summary.contains(&format!("refused: `{name}`.")),
        "{summary}"
    );
    difference
}

fn only_turn(difference: &Difference) -> (Effect, FieldChangeKind) {
    (
        only(difference).effect,
        difference.fields().next().unwrap().kind,
    )
}

/// The small version with another shape of degrees.
const fn with_degree(degree: Shape<Degree>) -> ApiVersion {
    ApiVersion {
        shapes: Shapes {
            degree: NestedShapes::from_shape(degree),
            ..SAMPLE_VERSION.shapes
        },
        ..SAMPLE_VERSION
    }
}

const fn with_withdrawal(withdrawal: Inputs<Withdrawal>) -> ApiVersion {
    ApiVersion {
        inputs: AllInputs {
            withdrawal,
            ..SAMPLE_VERSION.inputs
        },
        ..SAMPLE_VERSION
    }
}

const fn with_trainee_rules(trainee: &'static [Rule<Trainee>]) -> ApiVersion {
    ApiVersion {
        rules: Rules {
            trainee,
            ..SAMPLE_VERSION.rules
        },
        ..SAMPLE_VERSION
    }
}

const fn with_endpoints(
    available: &'static [Endpoint],
    deprecated: &'static [Deprecation],
) -> ApiVersion {
    ApiVersion {
        endpoints: Endpoints {
            available,
            deprecated,
        },
        ..SAMPLE_VERSION
    }
}

#[test]
fn field_that_is_left_out_without_a_value_is_reported() {
    let [there, back] = there_and_back(with_degree(
        const {
            shape! { Degree, DegreeField:
                degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade,
                country when_set,
            }
        },
    ));
    let name = "country";
    assert_eq!(
        only_turn(&there),
        (
            Effect::ReadDifferently,
            FieldChangeKind::LeftOutWhenUnset { name }
        )
    );
    assert_eq!(
        only_turn(&back),
        (Effect::WorthKnowing, FieldChangeKind::AlwaysShown { name })
    );
}

#[test]
fn second_name_of_a_field_is_reported_with_the_first() {
    let [there, back] = there_and_back(with_degree(
        const {
            shape! { Degree, DegreeField:
                degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade, country,
                theme = subject,
            }
        },
    ));
    let (name, same_value) = ("theme", Some("topic"));
    let back = only_next_to_unknown(name, &back);
    assert_eq!(
        only_turn(&there),
        (
            Effect::NewlyPossible,
            FieldChangeKind::Added { name, same_value }
        )
    );
    assert_eq!(
        only_turn(&back),
        (
            Effect::ReadDifferently,
            FieldChangeKind::Removed { name, same_value }
        )
    );
    assert!(
        only(&back).advice.contains("read `topic` instead"),
        "{}",
        only(&back).advice
    );
}

#[test]
fn field_of_one_version_alone_is_reported_with_its_meaning() {
    const WEIGHT: VersionField<Degree> =
        VersionField::new("Weight of the paper.", Kind::Integer, |_, _| Value::Null);
    let [there, back] = there_and_back(with_degree(
        const {
            shape! { Degree, DegreeField:
                degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade, country,
                weight => WEIGHT,
            }
        },
    ));
    let (name, same_value) = ("weight", None);
    let back = only_next_to_unknown(name, &back);
    assert_eq!(
        only_turn(&there),
        (
            Effect::NewlyPossible,
            FieldChangeKind::Added { name, same_value }
        )
    );
    assert_eq!(
        only_turn(&back),
        (
            Effect::ReadDifferently,
            FieldChangeKind::Removed { name, same_value }
        )
    );
    assert_eq!(
        back.fields().next().map(|field| field.meaning),
        Some(WEIGHT.meaning)
    );
}

#[test]
fn a_renamed_input_is_refused_by_its_other_name() {
    let [there, back] = there_and_back(with_withdrawal(
        const {
            inputs! { Withdrawal, WithdrawalField:
                gone_on = withdrawal_date, trigger, future_interest, reasons, another_reason, safeguarding_concern_reasons,
            }
        },
    ));
    for (difference, before, after) in [(there, "left_on", "gone_on"), (back, "gone_on", "left_on")]
    {
        assert_eq!(
            only_turn(&difference),
            (Effect::Refused, FieldChangeKind::Renamed { before, after })
        );
        let change = difference.fields().next().unwrap();
        assert_eq!(
            (change.record, change.direction),
            ("withdrawal", Direction::Request)
        );
    }
}

#[test]
fn a_name_that_has_come_to_stand_for_another_field_is_not_said_to_be_refused() {
    let [there, _] = there_and_back(with_withdrawal(
        const {
            inputs! { Withdrawal, WithdrawalField:
                trigger = withdrawal_date, left_on = trigger, future_interest, reasons, another_reason,
                safeguarding_concern_reasons,
            }
        },
    ));
    let effects: Vec<Effect> = there.changes.iter().map(|change| change.effect).collect();
    assert_eq!(effects, [Effect::RecordedDifferently; 2]);
}

#[test]
fn text_that_joins_its_values_in_another_way_is_reported_once() {
    const HYPHEN: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, wish = trigger + "-" + future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    const SLASH: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, wish = trigger + "/" + future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    const SWAPPED: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, wish = future_interest + "-" + trigger, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    for (other, effect) in [
        (SLASH, Effect::Refused),
        (SWAPPED, Effect::RecordedDifferently),
    ] {
        for difference in both_ways(with_withdrawal(HYPHEN), with_withdrawal(other)) {
            let refused = effect == Effect::Refused;
            let kind = FieldChangeKind::Rejoined {
                before: "wish",
                after: "wish",
                refused,
            };
            assert_eq!(only_turn(&difference), (effect, kind));
            assert_eq!(
                only(&difference).summary,
                "In requests, `wish` joins its values in another way."
            );
        }
    }
}

fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

#[test]
fn examples_of_a_group_have_objects_and_no_paths() {
    const LEFT: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left { day = withdrawal_date, by = trigger }, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    const LEAVING: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        leaving { on = withdrawal_date, cause = trigger as Text }, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    let [there, _] = both_ways(with_withdrawal(LEFT), with_withdrawal(LEAVING));
    let examples = there
        .changes
        .iter()
        .filter_map(|change| change.example.as_ref());
    let examples: Vec<[Json; 2]> = examples
        .map(|example| [parsed(&example.before), parsed(&example.after)])
        .collect();
    let grouped = [
        json!({ "left": { "day": "...", "by": "..." } }),
        json!({ "leaving": { "on": "...", "cause": "..." } }),
    ];
    let typed = [
        json!({ "leaving": { "cause": 12 } }),
        json!({ "leaving": { "cause": "12" } }),
    ];
    assert_eq!(examples, [grouped, typed], "{there:#?}");
}

#[test]
fn an_input_that_has_gone_is_no_longer_recorded() {
    let [there, back] = there_and_back(with_withdrawal(
        const {
            inputs! { Withdrawal, WithdrawalField:
                left_on = withdrawal_date, trigger, future_interest, reasons, another_reason,
            }
        },
    ));
    let (name, same_value) = ("safeguarding_concern_reasons", None);
    assert_eq!(
        only_turn(&there),
        (
            Effect::RecordedDifferently,
            FieldChangeKind::Removed { name, same_value }
        )
    );
    assert_eq!(
        only_turn(&back),
        (
            Effect::NewlyPossible,
            FieldChangeKind::Added { name, same_value }
        )
    );
}

#[test]
fn a_rule_with_an_exception_refuses_nobody_whom_the_one_before_accepted() {
    let [eased, tightened] = both_ways(
        with_trainee_rules(&[course::STUDY_MODE]),
        with_trainee_rules(&[course::STUDY_MODE_BY_ROUTE]),
    );
    for (difference, effect) in [(eased, Effect::NewlyPossible), (tightened, Effect::Refused)] {
        assert_eq!(only(&difference).effect, effect);
        assert!(matches!(
            difference.rules().next().unwrap().kind,
            RuleChangeKind::Replaced { .. }
        ));
    }
}

#[test]
fn a_rule_is_described_in_the_names_of_the_version_that_has_it() {
    const INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        given_names = first_names, last_name, email, date_of_birth, disability1, disability2, disability3,
        mode = study_mode, training_route, course_subject_1, course_age_range, itt_start_date, itt_end_date,
        trainee_start_date, schools = placements, awards = degrees,
    };
    let older = with_trainee_rules(&[course::STUDY_MODE]);
    let inputs = AllInputs {
        trainee: INPUTS,
        ..older.inputs
    };
    let [unchanged, _] = both_ways(
        older,
        ApiVersion {
            inputs,
            ..with_trainee_rules(&[course::STUDY_MODE])
        },
    );
    assert_eq!(unchanged.rules().count(), 0, "{unchanged:#?}");
    let older = with_trainee_rules(&[course::STUDY_MODE]);
    let inputs = AllInputs {
        trainee: INPUTS,
        ..older.inputs
    };
    let [there, _] = both_ways(
        older,
        ApiVersion {
            inputs,
            ..with_trainee_rules(&[course::STUDY_MODE_BY_ROUTE])
        },
    );
    let replaced = there
        .changes
        .iter()
        .find(|change| matches!(change.detail, ChangeDetail::Rule(_)))
        .unwrap();
    let RuleChangeKind::Replaced { before, after } = &there.rules().next().unwrap().kind else {
        panic!("{there:#?}")
    };
    assert_eq!((before.reads[0], after.reads[0]), ("study_mode", "mode"));
    assert!(
        replaced.summary.contains("`mode` must be there, except"),
        "{}",
        replaced.summary
    );
    assert!(
        replaced
            .summary
            .ends_with("In v2001.0: `study_mode` must be there."),
        "{}",
        replaced.summary
    );
}

#[test]
fn a_gate_refuses_what_was_accepted() {
    const GATE: Gate = Gate {
        name: "closed",
        description: "refuses all changes",
        section: "3",
        refuses: |_, _| true,
    };
    let [there, back] = there_and_back(ApiVersion {
        rules: Rules {
            gates: &[GATE],
            ..SAMPLE_VERSION.rules
        },
        ..SAMPLE_VERSION
    });
    assert_eq!(
        (only(&there).effect, only(&back).effect),
        (Effect::Refused, Effect::NewlyPossible)
    );
    let RuleChangeKind::Added { after } = &there.rules().next().unwrap().kind else {
        panic!("{there:#?}")
    };
    assert_eq!(
        (after.name, after.stage, after.reads.as_slice()),
        ("closed", RuleStage::Gate, &["state"][..])
    );
}

#[test]
fn a_list_that_is_not_named_is_accepted_whole() {
    let accepted_codes = AcceptedCodes {
        accepted: &[(List::Sex, &["10", "11", "12", "96"])],
        funding_exception_years: &[],
    };
    let [there, back] = there_and_back(ApiVersion {
        accepted_codes,
        ..SAMPLE_VERSION
    });
    for (difference, kind, effect) in [
        (there, CodesChangeKind::Refused, Effect::Refused),
        (back, CodesChangeKind::Accepted, Effect::NewlyPossible),
    ] {
        assert_eq!(only(&difference).effect, effect);
        let codes = difference.codes().next().unwrap();
        assert_eq!((codes.list, codes.change), ("sex", kind));
        assert_eq!(
            codes
                .codes
                .iter()
                .map(|code| code.code.as_str())
                .collect::<Vec<_>>(),
            ["99"]
        );
    }
}

#[test]
fn nested_records_that_come_into_lists_and_leave_them_are_reported() {
    let shapes = Shapes {
        nested_in_lists: NestedVisibility::Shown,
        ..SAMPLE_VERSION.shapes
    };
    let [there, back] = there_and_back(ApiVersion {
        shapes,
        ..SAMPLE_VERSION
    });
    assert_eq!(only(&there).effect, Effect::NewlyPossible);
    assert_eq!(
        (only(&back).effect, only(&back).breaking),
        (Effect::ReadDifferently, true)
    );
}

#[test]
fn removed_endpoint_names_its_replacement_also_across_two_steps() {
    const DEPRECATED: Deprecation = Deprecation {
        endpoint: Endpoint::RecommendForQts,
        since: date(2001, 2, 3),
        removed_in: Label::release(2003, 0),
    };
    let (older, newer) = (Endpoint::RecommendForQts, Endpoint::UpdateQtsOrEytsStatus);
    let deprecating = || with_endpoints(&[Endpoint::UpdateQtsOrEytsStatus], &[DEPRECATED]);
    let gone = |difference: &Difference| {
        difference.endpoints().find_map(|change| match change.kind {
            EndpointChangeKind::Removed { replaced_by } => Some((change.endpoint, replaced_by)),
            EndpointChangeKind::Added
            | EndpointChangeKind::Deprecated { .. }
            | EndpointChangeKind::NoLongerDeprecated => None,
        })
    };
    let [_, back] = both_ways(
        with_endpoints(&[Endpoint::RecommendForQts], &[]),
        deprecating(),
    );
    assert_eq!(gone(&back), Some((newer, Some(older))));
    let [onward, _] = both_ways(
        deprecating(),
        with_endpoints(&[Endpoint::UpdateQtsOrEytsStatus], &[]),
    );
    assert_eq!(gone(&onward), Some((older, Some(newer))));
    // Neither of the two versions deprecates it: the one between them did.
    let [across, _] = both_ways(
        with_endpoints(&[Endpoint::RecommendForQts], &[]),
        with_endpoints(&[Endpoint::UpdateQtsOrEytsStatus], &[]),
    );
    assert_eq!(gone(&across), Some((older, Some(newer))));
}
