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
    check(
        there_and_back(with_degree(YEARS_AS_MONTHS)),
        r#"
ReadDifferently degree responses: `graduation_year` is written in months. Example: `{"graduation_year":2021}` becomes `{"graduation_year":24252}`. Read `graduation_year` in months.
back
ReadDifferently degree responses: `graduation_year` is no longer written in months. Example: `{"graduation_year":24252}` becomes `{"graduation_year":2021}`. Read `graduation_year` as in the example.
"#,
    );
}

#[test]
fn form_of_identifiers_also_changes_their_paths() {
    const DEGREE_ID: Prefix = Prefix("degree_");
    let common = with_endpoints(&[Endpoint::ShowDegree], &[]);
    let endpoints = common.endpoints;
    let prefixed = with_degree(shape! { Degree, DegreeField:
        degree_id as DEGREE_ID, uk_degree, non_uk_degree, topic = subject, institution,
        graduation_year, grade, other_grade, country,
    });
    check(
        both_ways(
            common,
            ApiVersion {
                endpoints,
                ..prefixed
            },
        ),
        r#"
Refused paths: In paths, `degree_id` is written with the prefix `degree_`. Example: `"/api/v2001.0/trainees/2gVcJz8rTq5XwBnM4hKdYs7P/degrees/Lx6MtRb2VwHf9KzPq4YcGnJd"` becomes `"/api/v2002.0/trainees/2gVcJz8rTq5XwBnM4hKdYs7P/degrees/degree_Lx6MtRb2VwHf9KzPq4YcGnJd"`. Send identifiers as replies show them. For other texts, the reply is a 404.
ReadDifferently degree responses: `degree_id` is written with the prefix `degree_`. Example: `{"degree_id":"1234567"}` becomes `{"degree_id":"degree_1234567"}`. Read `degree_id` with the prefix `degree_`.
back
Refused paths: In paths, `degree_id` is no longer written with the prefix `degree_`. Example: `"/api/v2002.0/trainees/2gVcJz8rTq5XwBnM4hKdYs7P/degrees/degree_Lx6MtRb2VwHf9KzPq4YcGnJd"` becomes `"/api/v2001.0/trainees/2gVcJz8rTq5XwBnM4hKdYs7P/degrees/Lx6MtRb2VwHf9KzPq4YcGnJd"`. Send identifiers as replies show them. For other texts, the reply is a 404.
ReadDifferently degree responses: `degree_id` is no longer written with the prefix `degree_`. Example: `{"degree_id":"degree_1234567"}` becomes `{"degree_id":"1234567"}`. Read `degree_id` as in the example.
"#,
    );
}

#[test]
fn form_of_filter_is_reported_if_its_text_changes() {
    const WITH_OR_WITHOUT: ThreeWords = ThreeWords {
        yes: "with",
        no: "without",
        unknown: "any",
    };
    let inputs = AllInputs {
        // As text, a year as a number is the same.
        filters: &[
            (Filter::HasTrn, &WITH_OR_WITHOUT),
            (Filter::AcademicCycle, &NUMBER),
        ],
        ..SAMPLE_VERSION.inputs
    };
    check(
        there_and_back(ApiVersion {
            inputs,
            ..SAMPLE_VERSION
        }),
        r#"
Refused lists of trainees: The filter `has_trn` is written as `with`, `without` or `any`. Example: `"has_trn=true"` becomes `"has_trn=with"`. Send `has_trn=with` instead of `has_trn=true`. The old values are refused.
back
Refused lists of trainees: The filter `has_trn` is no longer written as `with`, `without` or `any`. Example: `"has_trn=with"` becomes `"has_trn=true"`. Send `has_trn=true` instead of `has_trn=with`. The old values are refused.
"#,
    );
}

#[test]
fn flag_instead_of_text_is_refused() {
    const FLAG: Flag = Flag {
        yes: "provider",
        no: "trainee",
    };
    const AS_FLAG: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, trigger = trigger as FLAG, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    check(
        there_and_back(with_withdrawal(AS_FLAG)),
        r#"
Refused withdrawal requests: `trigger` is written as `true` for `provider` and `false` for `trainee`. Example: `{"trigger":"provider"}` becomes `{"trigger":true}`. Send `trigger` as `true` for `provider` and `false` for `trainee`. Other codes stay codes.
back
Refused withdrawal requests: `trigger` is no longer written as `true` for `provider` and `false` for `trainee`. Example: `{"trigger":true}` becomes `{"trigger":"provider"}`. Send `trigger` as in the example.
"#,
    );
}

#[test]
fn object_instead_of_text_is_only_new() {
    const AS_OBJECT: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, trigger = trigger as LABELLED, future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    check(
        there_and_back(with_withdrawal(AS_OBJECT)),
        r#"
WorthKnowing withdrawal requests: `trigger` is written as an object with `code` and `label`. Example: `{"trigger":"provider"}` becomes `{"trigger":{"code":"provider","label":"provider"}}`. Send `trigger` as an object with `code` and `label`. The earlier form is also accepted.
back
Refused withdrawal requests: `trigger` is no longer written as an object with `code` and `label`. Example: `{"trigger":{"code":"provider","label":"provider"}}` becomes `{"trigger":"provider"}`. Send `trigger` as in the example.
"#,
    );
}

#[test]
fn split_field_is_one_change_with_all_members() {
    const SPLIT: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, trigger, future_interest, reasons, reason_word = another_reason[0] as FirstWord,
        reason_rest = another_reason[1] as FirstWord, safeguarding_concern_reasons,
    };
    check(
        there_and_back(with_withdrawal(SPLIT)),
        r#"
Refused withdrawal requests: `another_reason` is split into `reason_word`, `reason_rest`, and written as two members: the first word, and the other words. Example: `{"another_reason":"Jane Mary Ann"}` becomes `{"reason_word":"Jane","reason_rest":"Mary Ann"}`. Send `reason_word`, `reason_rest` as two members: the first word, and the other words. White space between words becomes one space.
back
Refused withdrawal requests: `reason_word`, `reason_rest` are merged into `another_reason`, which is no longer written as two members: the first word, and the other words. Example: `{"reason_word":"Jane","reason_rest":"Mary Ann"}` becomes `{"another_reason":"Jane Mary Ann"}`. Send `another_reason` as in the example.
"#,
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
