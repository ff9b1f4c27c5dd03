//! Differences in the forms of fields, identifiers and filters.

use adapter_kit::Filter;
use adapter_kit::form::{FirstWord, Flag, LABELLED, NUMBER, Prefix, Scaled, ThreeWords};

use super::*;
use crate::shape_document::describe;

#[test]
fn form_change_is_one_change_with_example() {
    const MONTHS: Scaled = Scaled::new(12, "months");
    const YEARS_AS_MONTHS: Shape<Degree> = shape! { Degree, DegreeField:
        degree_id, uk_degree, non_uk_degree, topic = subject, institution,
        graduation_year as MONTHS, grade, other_grade, country,
    };
    let [there, back] = there_and_back(with_degree(YEARS_AS_MONTHS));
    let change = only(&there);
    assert_eq!(change.effect, Effect::ReadDifferently);
    assert_eq!(change.summary, "`graduation_year` is written in months.");
    let example = change.example.as_ref().unwrap();
    assert_eq!(example.before, r#"{"graduation_year":2021}"#);
    assert_eq!(example.after, r#"{"graduation_year":24252}"#);
    let change = only(&back);
    assert_eq!(
        change.summary,
        "`graduation_year` is no longer written in months."
    );
}

#[test]
fn form_of_identifiers_also_changes_their_paths() {
    const DEGREE_ID: Prefix = Prefix("degree_");
    let common = with_endpoints(&[Endpoint::ShowDegree], &[]);
    let prefixed = with_degree(shape! { Degree, DegreeField:
        degree_id as DEGREE_ID, uk_degree, non_uk_degree, topic = subject, institution,
        graduation_year, grade, other_grade, country,
    });
    let endpoints = common.endpoints;
    let [there, back] = both_ways(
        common,
        ApiVersion {
            endpoints,
            ..prefixed
        },
    );
    let summaries: Vec<&str> = there
        .changes
        .iter()
        .map(|change| change.summary.as_str())
        .collect();
    assert_eq!(
        summaries,
        [
            "In paths, `degree_id` is written with the prefix `degree_`.",
            "`degree_id` is written with the prefix `degree_`."
        ]
    );
    let change = &there.changes[0];
    assert_eq!(change.effect, Effect::Refused);
    let example = change.example.as_ref().unwrap();
    assert!(
        example.after.contains("/degrees/degree_") && !example.before.contains("degree_"),
        "{example:?}"
    );
    assert_eq!(
        back.changes[0].summary,
        "In paths, `degree_id` is no longer written with the prefix `degree_`."
    );
}

#[test]
fn form_of_filter_is_reported_if_its_text_changes() {
    const WITH_OR_WITHOUT: ThreeWords = ThreeWords {
        yes: "with",
        no: "without",
        unknown: "any",
    };
    let [there, back] = there_and_back(ApiVersion {
        inputs: AllInputs {
            // As text, a year as a number is the same.
            filters: &[
                (Filter::HasTrn, &WITH_OR_WITHOUT),
                (Filter::AcademicCycle, &NUMBER),
            ],
            ..SAMPLE_VERSION.inputs
        },
        ..SAMPLE_VERSION
    });
    let change = only(&there);
    assert_eq!(change.effect, Effect::Refused);
    assert_eq!(
        change.summary,
        "The filter `has_trn` is written as `with`, `without` or `any`."
    );
    let example = change.example.as_ref().unwrap();
    assert_eq!(example.before, r#""has_trn=true""#);
    assert_eq!(example.after, r#""has_trn=with""#);
    assert!(only(&back).advice.starts_with("Send `has_trn=true`"));
}

#[test]
fn effect_in_requests_depends_on_what_is_still_read() {
    const FLAG: Flag = Flag {
        yes: "provider",
        no: "trainee",
    };
    const AS_FLAG: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, trigger = trigger as FLAG, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    const AS_OBJECT: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, trigger = trigger as LABELLED, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    for (inputs, effect) in [
        (AS_FLAG, Effect::Refused),
        (AS_OBJECT, Effect::WorthKnowing),
    ] {
        let [there, back] = there_and_back(with_withdrawal(inputs));
        let name = "trigger";
        let (before, after) = (name, name);
        let kind = FieldChangeKind::Rewritten { before, after };
        assert_eq!(only_field_change(&there), (effect, kind));
        assert_eq!(only_field_change(&back), (Effect::Refused, kind));
    }
}

#[test]
fn split_field_is_one_change_with_all_members() {
    const SPLIT: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, trigger, future_interest, reasons, reason_word = another_reason[0] as FirstWord,
        reason_rest = another_reason[1] as FirstWord, safeguarding_concern_reasons,
    };
    let [there, back] = there_and_back(with_withdrawal(SPLIT));
    let change = only(&there);
    assert!(
        change.summary.starts_with(
            "`another_reason` is split into `reason_word`, `reason_rest`, and written as two members"
        ),
        "{}",
        change.summary
    );
    let example = change.example.as_ref().unwrap();
    assert_eq!(
        [example.before.as_str(), example.after.as_str()],
        [
            r#"{"another_reason":"Jane Mary Ann"}"#,
            r#"{"reason_word":"Jane","reason_rest":"Mary Ann"}"#
        ]
    );
    assert!(
        only(&back)
            .summary
            .starts_with("`reason_word`, `reason_rest` are merged into `another_reason`"),
        "{}",
        only(&back).summary
    );
}

#[test]
fn changed_form_changes_the_shape_document() {
    const MONTHS: Scaled = Scaled::new(12, "months");
    const QUARTERS: Scaled = Scaled::new(4, "quarters");
    const AS_MONTHS: Inputs<Degree> = inputs! { Degree, DegreeField: graduation_year as MONTHS };
    const AS_QUARTERS: Inputs<Degree> =
        inputs! { Degree, DegreeField: graduation_year as QUARTERS };
    let document = |degree| {
        let inputs = AllInputs {
            degree,
            ..SAMPLE_VERSION.inputs
        };
        let version = ApiVersion {
            inputs,
            ..SAMPLE_VERSION
        };
        describe(&version, Lists::embedded())
    };
    assert_ne!(document(AS_MONTHS), document(AS_QUARTERS));
}
