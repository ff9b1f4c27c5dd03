//! Differences between a small version and versions that differ from it in one point.

use adapter_kit::version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedShapes, NestedVisibility, Shapes, date,
};
use adapter_kit::{
    Endpoint, EndpointRow, Envelope, Inputs, Label, Method, PageMember, PageSize, ProblemForm,
    Shape, VersionField, Versions, Wire, inputs, shape,
};
use conformance::sample_version::SAMPLE_VERSION;
use domain::rules::{Gate, Rule, Rules, course};
use domain::{
    AcceptedCodes, Degree, DegreeField, Kind, List, Lists, Trainee, TraineeField, Value,
    Withdrawal, WithdrawalField,
};

use super::{
    Change, ChangeDetail, CodesChangeKind, Difference, Effect, EndpointChangeKind, Example,
    FieldChangeKind, RuleChangeKind, RuleStage,
};
use crate::openapi;

mod forms;

/// Returns the differences in both directions.
fn both_ways(one: ApiVersion, other: ApiVersion) -> [Difference; 2] {
    let other = ApiVersion {
        label: Label::release(2002, 0),
        ..other
    };
    let versions = Versions::new(&[Box::leak(Box::new(one)), Box::leak(Box::new(other))]);
    let mut served = versions.iter();
    let from = served.next().unwrap();
    let to = served.next().unwrap();
    let between = |from, to| Difference::between(from, to, Lists::embedded());
    [between(from, to), between(to, from)]
}

/// Returns the differences from the small version to the other one and back.
fn there_and_back(other: ApiVersion) -> [Difference; 2] {
    both_ways(
        ApiVersion {
            endpoints: other.endpoints,
            ..SAMPLE_VERSION
        },
        other,
    )
}

/// Returns the only change.
fn only(difference: &Difference) -> &Change {
    assert_eq!(difference.changes.len(), 1, "{difference:#?}");
    &difference.changes[0]
}

/// Removes the change about a read-only name that is no longer known.
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

fn only_field_change(difference: &Difference) -> (Effect, FieldChangeKind) {
    (
        only(difference).effect,
        difference.fields().next().unwrap().kind,
    )
}

/// Returns the small version with another shape of degrees.
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
        endpoints: Endpoints {
            available: &[Endpoint::Withdraw],
            deprecated: &[],
        },
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
fn field_omitted_without_value_is_reported() {
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
        only_field_change(&there),
        (
            Effect::ReadDifferently,
            FieldChangeKind::LeftOutWhenUnset { name }
        )
    );
    assert_eq!(
        only_field_change(&back),
        (Effect::WorthKnowing, FieldChangeKind::AlwaysShown { name })
    );
}

#[test]
fn second_name_of_field_is_reported_with_first() {
    let [there, back] = there_and_back(with_degree(
        const {
            shape! { Degree, DegreeField:
                degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade, country,
                theme = subject,
            }
        },
    ));
    let name = "theme";
    let same_value = Some("topic");
    let back = only_next_to_unknown(name, &back);
    assert_eq!(
        only_field_change(&there),
        (
            Effect::NewlyPossible,
            FieldChangeKind::Added { name, same_value }
        )
    );
    assert_eq!(
        only_field_change(&back),
        (
            Effect::ReadDifferently,
            FieldChangeKind::Removed { name, same_value }
        )
    );
    assert!(
        only(&back).advice.contains("Read `topic` instead"),
        "{}",
        only(&back).advice
    );
}

#[test]
fn field_of_only_one_version_is_reported_with_meaning() {
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
    let name = "weight";
    let same_value = None;
    let back = only_next_to_unknown(name, &back);
    assert_eq!(
        only_field_change(&there),
        (
            Effect::NewlyPossible,
            FieldChangeKind::Added { name, same_value }
        )
    );
    assert_eq!(
        only_field_change(&back),
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
fn field_with_another_type_under_its_name_is_one_change() {
    const MONTHS: VersionField<Degree> =
        VersionField::new("Months since the degree.", Kind::Integer, |_, _| {
            Value::Null
        });
    const YEARS: VersionField<Degree> =
        VersionField::new("Years since the degree.", Kind::Text, |_, _| Value::Null);
    let [there, back] = both_ways(
        with_degree(
            const {
                shape! { Degree, DegreeField: degree_id, age => YEARS, }
            },
        ),
        with_degree(
            const {
                shape! { Degree, DegreeField: degree_id, age => MONTHS, }
            },
        ),
    );
    let (effect, kind) = only_field_change(&there);
    assert_eq!(effect, Effect::ReadDifferently);
    assert!(
        matches!(kind, FieldChangeKind::Redefined { name: "age", .. }),
        "{kind:?}"
    );
    assert_eq!(
        only(&there).summary,
        "`age` keeps its name, but not its value. Before (text): Years since the degree. Now (a \
         whole number): Months since the degree."
    );
    assert!(matches!(
        only_field_change(&back).1,
        FieldChangeKind::Redefined { .. }
    ));
}

#[test]
fn old_name_of_renamed_input_is_refused() {
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
            only_field_change(&difference),
            (Effect::Refused, FieldChangeKind::Renamed { before, after })
        );
        assert_eq!(only(&difference).of, "withdrawal requests");
    }
}

#[test]
fn name_reused_for_another_field_is_not_refused() {
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
fn text_with_other_join_is_reported_once() {
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
            assert_eq!(only_field_change(&difference), (effect, kind));
            assert_eq!(
                only(&difference).summary,
                "`wish` joins its parts differently."
            );
        }
    }
}

#[test]
fn examples_of_groups_use_nested_objects() {
    const LEFT: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left { day = withdrawal_date, by = trigger }, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    const LEAVING: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        leaving { on = withdrawal_date, cause = trigger }, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    let [there, _] = both_ways(with_withdrawal(LEFT), with_withdrawal(LEAVING));
    let examples: Vec<&Example> = there
        .changes
        .iter()
        .filter_map(|change| change.example.as_ref())
        .collect();
    let [example] = examples.as_slice() else {
        panic!("{there:#?}")
    };
    // The values are those of the example bodies.
    assert_eq!(
        example.before,
        r#"{"left":{"day":"2026-10-23","by":"trainee"}}"#
    );
    assert_eq!(
        example.after,
        r#"{"leaving":{"on":"2026-10-23","cause":"trainee"}}"#
    );
}

#[test]
fn removed_input_is_no_longer_recorded() {
    let [there, back] = there_and_back(with_withdrawal(
        const {
            inputs! { Withdrawal, WithdrawalField:
                left_on = withdrawal_date, trigger, future_interest, reasons, another_reason,
            }
        },
    ));
    let name = "safeguarding_concern_reasons";
    let same_value = None;
    assert_eq!(
        only_field_change(&there),
        (
            Effect::RecordedDifferently,
            FieldChangeKind::Removed { name, same_value }
        )
    );
    assert_eq!(
        only_field_change(&back),
        (
            Effect::NewlyPossible,
            FieldChangeKind::Added { name, same_value }
        )
    );
}

#[test]
fn added_exception_is_a_new_possibility() {
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
fn rule_is_described_with_names_of_its_version() {
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
        replaced.summary.contains("`mode` is required, except"),
        "{}",
        replaced.summary
    );
    assert!(
        replaced
            .summary
            .ends_with("In v2001.0: `study_mode` is required."),
        "{}",
        replaced.summary
    );
}

#[test]
fn new_gate_refuses_requests() {
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
fn unrestricted_list_accepts_all_codes() {
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
fn visibility_of_nested_records_in_lists_is_reported() {
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
fn removed_endpoint_names_replacement_across_versions() {
    const DEPRECATED: Deprecation = Deprecation {
        endpoint: Endpoint::RecommendForQts,
        since: date(2001, 2, 3),
        removed_in: Label::release(2003, 0),
    };
    let older = Endpoint::RecommendForQts;
    let newer = Endpoint::UpdateQtsOrEytsStatus;
    let deprecating = || with_endpoints(&[Endpoint::UpdateQtsOrEytsStatus], &[DEPRECATED]);
    let gone = |difference: &Difference| {
        difference.endpoints().find_map(|change| match change.kind {
            EndpointChangeKind::Removed { replaced_by } => Some((change.endpoint, replaced_by)),
            EndpointChangeKind::Added
            | EndpointChangeKind::Changed { .. }
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
    // Only the version between the two deprecates the endpoint.
    let [across, _] = both_ways(
        with_endpoints(&[Endpoint::RecommendForQts], &[]),
        with_endpoints(&[Endpoint::UpdateQtsOrEytsStatus], &[]),
    );
    assert_eq!(gone(&across), Some((older, Some(newer))));
}

#[test]
fn endpoint_with_other_method_path_and_status_is_reported_once() {
    const OWN: &[(Endpoint, EndpointRow)] = &[(
        Endpoint::ShowTrainee,
        EndpointRow {
            method: Method::Post,
            path: "/people/{trainee_id}",
            status: 203,
            ..*Endpoint::ShowTrainee.row()
        },
    )];
    let usual = with_endpoints(&[Endpoint::ShowTrainee], &[]);
    let own = ApiVersion {
        wire: Wire {
            endpoints: OWN,
            ..SAMPLE_VERSION.wire
        },
        ..usual
    };
    let [there, back] = both_ways(usual, own);
    let change = only(&there);
    assert_eq!(change.effect, Effect::Refused);
    assert_eq!(
        change.summary,
        "`GET /trainees/{trainee_id}` is `POST /people/{trainee_id}`. A successful reply of \
         `POST /people/{trainee_id}` has the status 203 instead of 200."
    );
    assert_eq!(
        only(&back).advice,
        "Use `GET /trainees/{trainee_id}` instead of `POST /people/{trainee_id}`."
    );
}

#[test]
fn other_keys_and_sizes_of_pages_are_reported() {
    let [there, back] = there_and_back(ApiVersion {
        wire: Wire {
            envelope: Envelope {
                list: "items",
                page: ("", &[("next", PageMember::Next)]),
                page_size: PageSize::new(20, 100),
                ..Envelope::COMMON
            },
            ..SAMPLE_VERSION.wire
        },
        ..SAMPLE_VERSION
    });
    let change = only(&there);
    for part in [
        "Lists of records are in `items` instead of `data`.",
        "A page has 20 trainees by default, and at most 100; before 50 and 500.",
        "Trainee lists have page details next to the list instead of in `meta`.",
        "`total_count` is removed.",
        "`next` is new:",
    ] {
        assert!(change.summary.contains(part), "{part} {}", change.summary);
    }
    let example = change.example.as_ref().unwrap();
    assert_eq!(
        example.after,
        r#"{"items":["..."],"next":"/api/v2002.0/trainees?cursor=..."}"#
    );
    assert!(only(&back).advice.contains("from `data`"));
}

#[test]
fn other_keys_of_records_and_form_of_errors_are_reported() {
    let [there, back] = there_and_back(ApiVersion {
        wire: Wire {
            envelope: Envelope {
                record: "record",
                request: "values",
                ..Envelope::COMMON
            },
            problems: ProblemForm::BY_POINTER,
            ..SAMPLE_VERSION.wire
        },
        ..SAMPLE_VERSION
    });
    let told = |difference: &Difference| -> Vec<(Effect, String, String)> {
        let changes = difference.changes.iter();
        changes
            .map(|change| {
                let example = change.example.clone().unwrap();
                (change.effect, example.before, example.after)
            })
            .collect()
    };
    let common = r#"{"errors":[{"error":"UnprocessableEntity","message":"email cannot be blank","code":"blank","field":"email"}]}"#;
    let by_pointer = r#"{"error":"UnprocessableEntity","message":"email cannot be blank","errors":{"/values/email":[{"code":"blank","message":"email cannot be blank"}]}}"#;
    let row = |effect, before: &str, after: &str| (effect, before.to_owned(), after.to_owned());
    assert_eq!(
        told(&there),
        [
            row(Effect::Refused, r#"{"data":{}}"#, r#"{"values":{}}"#),
            row(
                Effect::ReadDifferently,
                r#"{"data":{}}"#,
                r#"{"record":{}}"#
            ),
            row(Effect::ReadDifferently, common, by_pointer),
        ]
    );
    assert_eq!(
        told(&back),
        [
            row(Effect::Refused, r#"{"values":{}}"#, r#"{"data":{}}"#),
            row(
                Effect::ReadDifferently,
                r#"{"record":{}}"#,
                r#"{"data":{}}"#
            ),
            row(Effect::ReadDifferently, by_pointer, common),
        ]
    );
}

#[test]
fn list_that_a_version_computes_is_a_list_or_null() {
    const WORDS: VersionField<Degree> =
        VersionField::new("Words.", Kind::TextList, |_, _| domain::Value::Null);
    let version = with_degree(shape! { Degree, DegreeField: degree_id, words => WORDS });
    let versions = Versions::new(&[Box::leak(Box::new(version))]);
    let served = versions.iter().next().unwrap();
    let document = serde_json::to_value(openapi::document(served, Lists::embedded())).unwrap();
    let words = &document["components"]["schemas"]["Degree"]["properties"]["words"];
    assert_eq!(words["type"].as_array().unwrap(), &["array", "null"]);
    assert_eq!(words["items"]["type"], "string");
}
