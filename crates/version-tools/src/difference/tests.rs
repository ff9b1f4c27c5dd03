//! Differences between a small version and versions that differ from it in one point.

use adapter_kit::version::{
    AllInputs, ApiVersion, Deprecation, Endpoints, NestedErrors, NestedShapes, NestedVisibility,
    Shapes, Vocabulary, date,
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

use super::Difference;
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

/// Checks the changes there and back, each with its effect, its subject, its summary and its advice.
#[track_caller]
fn check(differences: [Difference; 2], expected: &str) {
    let texts = differences.map(|difference| {
        let changes = difference.changes.iter();
        let lines = changes.map(|change| {
            let (effect, of) = (change.effect, &change.of);
            let summary = change.summary_with_example();
            format!("{effect:?} {of}: {summary} {}\n", change.advice)
        });
        lines.collect::<String>()
    });
    let told = format!("\n{}back\n{}", texts[0], texts[1]);
    assert_eq!(told, expected, "{told}");
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
    check(
        there_and_back(with_degree(
            const {
                shape! { Degree, DegreeField:
                    degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade,
                    country when_set,
                }
            },
        )),
        r"
ReadDifferently degree responses: `country` is omitted if it has no value. Treat a missing `country` as null.
back
WorthKnowing degree responses: `country` is present even if it has no value. Treat null in `country` as no value.
",
    );
}

#[test]
fn second_name_of_field_is_reported_with_first() {
    check(
        there_and_back(with_degree(
            const {
                shape! { Degree, DegreeField:
                    degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade,
                    country, theme = subject,
                }
            },
        )),
        r"
NewlyPossible degree responses: `theme` is new, with the value of `topic`. You can read `theme`.
back
Refused degree: With `Prefer: handling=strict`, degree requests with these names are refused: `theme`. These names are read-only in v2002.0, which ignores them. They are unknown in v2001.0. Omit these names when you send a degree back. Without this preference, the `Warning` header lists them.
ReadDifferently degree responses: `theme` is removed. `topic` has the same value. Read `topic` instead of `theme`.
",
    );
}

#[test]
fn field_of_only_one_version_is_reported_with_meaning() {
    const WEIGHT: VersionField<Degree> =
        VersionField::new("Weight of the paper.", Kind::Integer, |_, _| Value::Null);
    check(
        there_and_back(with_degree(
            const {
                shape! { Degree, DegreeField:
                    degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year, grade, other_grade,
                    country, weight => WEIGHT,
                }
            },
        )),
        r"
NewlyPossible degree responses: `weight` is new. Weight of the paper. You can read `weight`.
back
Refused degree: With `Prefer: handling=strict`, degree requests with these names are refused: `weight`. These names are read-only in v2002.0, which ignores them. They are unknown in v2001.0. Omit these names when you send a degree back. Without this preference, the `Warning` header lists them.
ReadDifferently degree responses: `weight` is removed. Weight of the paper. Stop reading `weight`. No single field in v2001.0 replaces it.
",
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
    const IN_MONTHS: Shape<Degree> = shape! { Degree, DegreeField: degree_id, age => MONTHS, };
    const IN_YEARS: Shape<Degree> = shape! { Degree, DegreeField: degree_id, age => YEARS, };
    check(
        both_ways(with_degree(IN_YEARS), with_degree(IN_MONTHS)),
        r"
ReadDifferently degree responses: `age` keeps its name, but not its value. Before (text): Years since the degree. Now (a whole number): Months since the degree. Read `age` in its new form.
back
ReadDifferently degree responses: `age` keeps its name, but not its value. Before (a whole number): Months since the degree. Now (text): Years since the degree. Read `age` in its new form.
",
    );
}

#[test]
fn old_name_of_renamed_input_is_refused() {
    check(
        there_and_back(with_withdrawal(
            const {
                inputs! { Withdrawal, WithdrawalField:
                    gone_on = withdrawal_date, trigger, future_interest, reasons, another_reason, safeguarding_concern_reasons,
                }
            },
        )),
        r"
Refused withdrawal requests: `left_on` is renamed to `gone_on`. Send `gone_on`. Requests with `left_on` are refused.
back
Refused withdrawal requests: `gone_on` is renamed to `left_on`. Send `left_on`. Requests with `gone_on` are refused.
",
    );
}

#[test]
fn name_reused_for_another_field_is_not_refused() {
    check(
        there_and_back(with_withdrawal(
            const {
                inputs! { Withdrawal, WithdrawalField:
                    trigger = withdrawal_date, left_on = trigger, future_interest, reasons, another_reason, safeguarding_concern_reasons,
                }
            },
        )),
        r"
RecordedDifferently withdrawal requests: `left_on` is renamed to `trigger`. Send `trigger`. In requests, `left_on` no longer sets this field.
RecordedDifferently withdrawal requests: `trigger` is renamed to `left_on`. Send `left_on`. In requests, `trigger` no longer sets this field.
back
RecordedDifferently withdrawal requests: `trigger` is renamed to `left_on`. Send `left_on`. In requests, `trigger` no longer sets this field.
RecordedDifferently withdrawal requests: `left_on` is renamed to `trigger`. Send `trigger`. In requests, `left_on` no longer sets this field.
",
    );
}

const HYPHEN: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
    left_on = withdrawal_date, wish = trigger + "-" + future_interest, reasons, another_reason,
    safeguarding_concern_reasons,
};

#[test]
fn text_with_other_separator_is_reported_once() {
    const SLASH: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, wish = trigger + "/" + future_interest, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    check(
        both_ways(with_withdrawal(HYPHEN), with_withdrawal(SLASH)),
        r"
Refused withdrawal requests: `wish` joins its parts differently. Send `wish` as described in the OpenAPI document.
back
Refused withdrawal requests: `wish` joins its parts differently. Send `wish` as described in the OpenAPI document.
",
    );
}

#[test]
fn text_with_other_order_is_reported_once() {
    const SWAPPED: Inputs<Withdrawal> = inputs! { Withdrawal, WithdrawalField:
        left_on = withdrawal_date, wish = future_interest + "-" + trigger, reasons, another_reason,
        safeguarding_concern_reasons,
    };
    check(
        both_ways(with_withdrawal(HYPHEN), with_withdrawal(SWAPPED)),
        r"
RecordedDifferently withdrawal requests: `wish` joins its parts differently. Send `wish` as described in the OpenAPI document.
back
RecordedDifferently withdrawal requests: `wish` joins its parts differently. Send `wish` as described in the OpenAPI document.
",
    );
}

#[test]
fn fields_joined_into_text_are_reported() {
    check(
        there_and_back(with_withdrawal(HYPHEN)),
        r#"
Refused withdrawal requests: `trigger` is part 1 of the text in `wish`, separated by `-`. Example: `{"trigger":"trainee"}` becomes `{"wish":"trainee-unknown"}`. Send `wish` instead of `trigger`.
Refused withdrawal requests: `future_interest` is part 2 of the text in `wish`, separated by `-`. Example: `{"future_interest":"unknown"}` becomes `{"wish":"trainee-unknown"}`. Send `wish` instead of `future_interest`.
back
Refused withdrawal requests: `trigger` was part 1 of the text in `wish`, separated by `-`. Example: `{"wish":"trainee-unknown"}` becomes `{"trigger":"trainee"}`. Send `trigger` instead of `wish`.
Refused withdrawal requests: `future_interest` was part 2 of the text in `wish`, separated by `-`. Example: `{"wish":"trainee-unknown"}` becomes `{"future_interest":"unknown"}`. Send `future_interest` instead of `wish`.
"#,
    );
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
    check(
        both_ways(with_withdrawal(LEFT), with_withdrawal(LEAVING)),
        r#"
Refused withdrawal: In requests, `leaving` is an object with `on`, `cause`. Example: `{"left":{"day":"2026-10-23","by":"trainee"}}` becomes `{"leaving":{"on":"2026-10-23","cause":"trainee"}}`. Send these fields in `leaving`. An update keeps fields that the object omits. To clear all of its fields, send null instead of the object.
RecordedDifferently withdrawal requests: `left.day` is renamed to `leaving.on`. Send `leaving.on`. In requests, `left.day` no longer sets this field.
RecordedDifferently withdrawal requests: `left.by` is renamed to `leaving.cause`. Send `leaving.cause`. In requests, `left.by` no longer sets this field.
back
Refused withdrawal: In requests, `left` is an object with `day`, `by`. Example: `{"leaving":{"on":"2026-10-23","cause":"trainee"}}` becomes `{"left":{"day":"2026-10-23","by":"trainee"}}`. Send these fields in `left`. An update keeps fields that the object omits. To clear all of its fields, send null instead of the object.
RecordedDifferently withdrawal requests: `leaving.on` is renamed to `left.day`. Send `left.day`. In requests, `leaving.on` no longer sets this field.
RecordedDifferently withdrawal requests: `leaving.cause` is renamed to `left.by`. Send `left.by`. In requests, `leaving.cause` no longer sets this field.
"#,
    );
}

#[test]
fn removed_input_is_no_longer_recorded() {
    check(
        there_and_back(with_withdrawal(
            const {
                inputs! { Withdrawal, WithdrawalField:
                    left_on = withdrawal_date, trigger, future_interest, reasons, another_reason,
                }
            },
        )),
        r"
RecordedDifferently withdrawal requests: `safeguarding_concern_reasons` is removed. What the concerns were, when safeguarding concerns are among the reasons. Stop sending `safeguarding_concern_reasons`. v2002.0 does not store it.
back
NewlyPossible withdrawal requests: `safeguarding_concern_reasons` is new. What the concerns were, when safeguarding concerns are among the reasons. You can send `safeguarding_concern_reasons`.
",
    );
}

#[test]
fn added_exception_is_a_new_possibility() {
    check(
        both_ways(
            with_trainee_rules(&[course::STUDY_MODE]),
            with_trainee_rules(&[course::STUDY_MODE_BY_ROUTE]),
        ),
        r"
NewlyPossible trainee: New rule `study_mode_required_by_route` (section 2.4): `study_mode` is required, except on the two assessment only routes. In v2001.0: `study_mode` is required. You can omit values that are no longer required.
back
Refused trainee: New rule `study_mode_required` (section 2.1): `study_mode` is required. In v2002.0: `study_mode` is required, except on the two assessment only routes. Send only values that follow this rule. The rule also reads `training_route`.
",
    );
}

/// Returns a version with this rule and other names of inputs.
fn with_other_names(rule: &'static [Rule<Trainee>]) -> ApiVersion {
    const INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField:
        given_names = first_names, last_name, email, date_of_birth, disability1, disability2, disability3,
        mode = study_mode, training_route, course_subject_1, course_age_range, itt_start_date, itt_end_date,
        trainee_start_date, schools = placements, awards = degrees,
    };
    ApiVersion {
        inputs: AllInputs {
            trainee: INPUTS,
            ..SAMPLE_VERSION.inputs
        },
        ..with_trainee_rules(rule)
    }
}

#[test]
fn rule_over_renamed_field_is_unchanged() {
    check(
        both_ways(
            with_trainee_rules(&[course::STUDY_MODE]),
            with_other_names(&[course::STUDY_MODE]),
        ),
        r"
NewlyPossible trainee requests: `mode` is new. Full time or part time. You can send `mode`.
back
RecordedDifferently trainee requests: `mode` is removed. Full time or part time. Stop sending `mode`. v2001.0 does not store it.
",
    );
}

#[test]
fn rule_is_described_with_names_of_its_version() {
    check(
        both_ways(
            with_trainee_rules(&[course::STUDY_MODE]),
            with_other_names(&[course::STUDY_MODE_BY_ROUTE]),
        ),
        r"
NewlyPossible trainee requests: `mode` is new. Full time or part time. You can send `mode`.
NewlyPossible trainee: New rule `study_mode_required_by_route` (section 2.4): `mode` is required, except on the two assessment only routes. In v2001.0: `study_mode` is required. You can omit values that are no longer required.
back
Refused trainee: New rule `study_mode_required` (section 2.1): `study_mode` is required. In v2002.0: `mode` is required, except on the two assessment only routes. Send only values that follow this rule. The rule also reads `training_route`.
RecordedDifferently trainee requests: `mode` is removed. Full time or part time. Stop sending `mode`. v2001.0 does not store it.
",
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
    let rules = Rules {
        gates: &[GATE],
        ..SAMPLE_VERSION.rules
    };
    check(
        there_and_back(ApiVersion {
            rules,
            ..SAMPLE_VERSION
        }),
        r"
Refused trainee: New gate `closed` (section 3): v2002.0 refuses all changes. Check `state` before you request such a change.
back
NewlyPossible trainee: Removed gate `closed` (section 3): v2002.0 refuses all changes. You can request such a change in v2001.0.
",
    );
}

#[test]
fn unrestricted_list_accepts_all_codes() {
    let accepted_codes = AcceptedCodes {
        accepted: &[(List::Sex, &["10", "11", "12", "96"])],
        funding_exception_years: &[],
    };
    check(
        there_and_back(ApiVersion {
            accepted_codes,
            ..SAMPLE_VERSION
        }),
        r"
Refused list sex: v2002.0 no longer accepts `99` (Not available) in . No code of v2002.0 replaces `99`. Keep using v2001.0 for records with this code.
back
NewlyPossible list sex: v2001.0 accepts this code in : `99` (Not available). You can send this code.
",
    );
}

#[test]
fn visibility_of_nested_records_in_lists_is_reported() {
    let shapes = Shapes {
        nested_in_lists: NestedVisibility::Shown,
        ..SAMPLE_VERSION.shapes
    };
    check(
        there_and_back(ApiVersion {
            shapes,
            ..SAMPLE_VERSION
        }),
        r"
NewlyPossible lists of trainees: Trainee lists include placements and degrees. You can read placements and degrees from the list instead of requesting each trainee.
back
ReadDifferently lists of trainees: Trainee lists no longer include placements and degrees. Request each trainee to read its placements and degrees.
",
    );
}

#[test]
fn terms_and_nested_errors_of_messages_are_reported() {
    let vocabulary = Vocabulary {
        training_partner: "friend",
    };
    check(
        there_and_back(ApiVersion {
            vocabulary,
            nested_errors: NestedErrors::Flat,
            ..SAMPLE_VERSION
        }),
        r#"
ReadDifferently problems by field: In problems by field, problems in nested items have the path of the field as their key. If you request problems by field, look up problems in nested items by path.
WorthKnowing messages: Messages use the term "friend" instead of "partner". Show messages to people only. Do not parse them in your client.
back
ReadDifferently problems by field: In problems by field, problems in nested items are in an object under the array's name. If you request problems by field, look up problems in nested items under the array's name.
WorthKnowing messages: Messages use the term "partner" instead of "friend". Show messages to people only. Do not parse them in your client.
"#,
    );
}

const OLDER: &[Endpoint] = &[Endpoint::RecommendForQts];
const NEWER: &[Endpoint] = &[Endpoint::UpdateQtsOrEytsStatus];
const DEPRECATED: &[Deprecation] = &[Deprecation {
    endpoint: Endpoint::RecommendForQts,
    since: date(2001, 2, 3),
    removed_in: Label::release(2003, 0),
}];

#[test]
fn deprecated_endpoint_is_reported_with_replacement() {
    check(
        both_ways(
            with_endpoints(OLDER, &[]),
            with_endpoints(NEWER, DEPRECATED),
        ),
        r"
WorthKnowing endpoint: `POST /trainees/{trainee_id}/recommend-for-qts` is deprecated from 2001-02-03 and removed in v2003.0. Use `POST /trainees/{trainee_id}/update-qts-or-eyts-status` with the same body instead of `POST /trainees/{trainee_id}/recommend-for-qts`.
NewlyPossible endpoint: New endpoint `POST /trainees/{trainee_id}/update-qts-or-eyts-status`. Recommends a trainee for the award. Use this endpoint instead of the deprecated `POST /trainees/{trainee_id}/recommend-for-qts`.
back
Refused endpoint: Removed endpoint `POST /trainees/{trainee_id}/update-qts-or-eyts-status`. Use `POST /trainees/{trainee_id}/recommend-for-qts` with the same body instead of `POST /trainees/{trainee_id}/update-qts-or-eyts-status`.
WorthKnowing endpoint: `POST /trainees/{trainee_id}/recommend-for-qts` is no longer deprecated. You do not need to do anything.
",
    );
}

#[test]
fn removed_endpoint_is_reported_with_replacement() {
    check(
        both_ways(
            with_endpoints(NEWER, DEPRECATED),
            with_endpoints(NEWER, &[]),
        ),
        r"
Refused endpoint: Removed endpoint `POST /trainees/{trainee_id}/recommend-for-qts`. Use `POST /trainees/{trainee_id}/update-qts-or-eyts-status` with the same body instead of `POST /trainees/{trainee_id}/recommend-for-qts`.
back
WorthKnowing endpoint: `POST /trainees/{trainee_id}/recommend-for-qts` is deprecated from 2001-02-03 and removed in v2003.0. Use `POST /trainees/{trainee_id}/update-qts-or-eyts-status` with the same body instead of `POST /trainees/{trainee_id}/recommend-for-qts`.
NewlyPossible endpoint: New endpoint `POST /trainees/{trainee_id}/recommend-for-qts`. Recommends a trainee for the award, by the older name. You can use this endpoint.
",
    );
}

/// Only the version between the two deprecates the endpoint.
#[test]
fn replacement_is_found_across_versions() {
    check(
        both_ways(with_endpoints(OLDER, &[]), with_endpoints(NEWER, &[])),
        r"
Refused endpoint: Removed endpoint `POST /trainees/{trainee_id}/recommend-for-qts`. Use `POST /trainees/{trainee_id}/update-qts-or-eyts-status` with the same body instead of `POST /trainees/{trainee_id}/recommend-for-qts`.
NewlyPossible endpoint: New endpoint `POST /trainees/{trainee_id}/update-qts-or-eyts-status`. Recommends a trainee for the award. You can use this endpoint.
back
Refused endpoint: Removed endpoint `POST /trainees/{trainee_id}/update-qts-or-eyts-status`. Use `POST /trainees/{trainee_id}/recommend-for-qts` with the same body instead of `POST /trainees/{trainee_id}/update-qts-or-eyts-status`.
NewlyPossible endpoint: New endpoint `POST /trainees/{trainee_id}/recommend-for-qts`. Recommends a trainee for the award, by the older name. You can use this endpoint.
",
    );
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
    check(
        both_ways(usual, own),
        r"
Refused endpoint: `GET /trainees/{trainee_id}` is `POST /people/{trainee_id}`. A successful reply of `POST /people/{trainee_id}` has the status 203 instead of 200. Use `POST /people/{trainee_id}` instead of `GET /trainees/{trainee_id}`.
back
Refused endpoint: `POST /people/{trainee_id}` is `GET /trainees/{trainee_id}`. A successful reply of `GET /trainees/{trainee_id}` has the status 200 instead of 203. Use `GET /trainees/{trainee_id}` instead of `POST /people/{trainee_id}`.
",
    );
}

#[test]
fn other_keys_and_sizes_of_pages_are_reported() {
    let envelope = Envelope {
        list: "items",
        page: ("", &[("next", PageMember::Next)]),
        page_size: PageSize::new(20, 100),
        ..Envelope::COMMON
    };
    check(
        there_and_back(ApiVersion {
            wire: Wire {
                envelope,
                ..SAMPLE_VERSION.wire
            },
            ..SAMPLE_VERSION
        }),
        r#"
ReadDifferently lists of trainees: Lists of records are in `items` instead of `data`. A page has 20 trainees by default, and at most 100; before 50 and 500. Trainee lists have page details next to the list instead of in `meta`. `current_page` is removed. `total_pages` is removed. `total_count` is removed. `per_page` is removed. `next` is new: the path and query of the next page, with a cursor; null on the last page. Example: `{"data":["..."],"meta":{"current_page":1,"total_pages":3,"total_count":120,"per_page":50}}` becomes `{"items":["..."],"next":"/api/v2002.0/trainees?cursor=..."}`. Read the records from `items`, and the page details next to the list.
back
ReadDifferently lists of trainees: Lists of records are in `data` instead of `items`. A page has 50 trainees by default, and at most 500; before 20 and 100. Trainee lists have page details in `meta` instead of next to the list. `next` is removed. `current_page` is new: the page number, from 1. `total_pages` is new: the number of pages. `total_count` is new: the total number of records. `per_page` is new: the maximum number of records on a page. Example: `{"items":["..."],"next":"/api/v2002.0/trainees?cursor=..."}` becomes `{"data":["..."],"meta":{"current_page":1,"total_pages":3,"total_count":120,"per_page":50}}`. Read the records from `data`, and the page details in `meta`.
"#,
    );
}

#[test]
fn other_keys_of_records_and_form_of_errors_are_reported() {
    let envelope = Envelope {
        record: "record",
        request: "values",
        ..Envelope::COMMON
    };
    check(
        there_and_back(ApiVersion {
            wire: Wire {
                envelope,
                problems: ProblemForm::BY_POINTER,
                ..SAMPLE_VERSION.wire
            },
            ..SAMPLE_VERSION
        }),
        r#"
Refused records: In request bodies, and in the items of a batch, the record is in `values` instead of `data`. Example: `{"data":{}}` becomes `{"values":{}}`. Send the record in `values`. A request without it is refused.
ReadDifferently records: In a response with one record, and in the results of a batch, the record is in `record` instead of `data`. Example: `{"data":{}}` becomes `{"record":{}}`. Read the record from `record`.
ReadDifferently errors: All errors are objects with `error` and `message`. The problems of a body are in `errors`, by JSON pointer (RFC 6901). Problems by field are not available. Example: `{"errors":[{"error":"UnprocessableEntity","message":"email cannot be blank","code":"blank","field":"email"}]}` becomes `{"error":"UnprocessableEntity","message":"email cannot be blank","errors":{"/values/email":[{"code":"blank","message":"email cannot be blank"}]}}`. For each JSON pointer into the body, `errors` has a list of problems with `code` and `message`. For each parameter of a query, `parameters` has a list of messages. Other errors, such as `404`, have neither. A batch item's result has its error in `problem`, with pointers relative to the item.
back
Refused records: In request bodies, and in the items of a batch, the record is in `data` instead of `values`. Example: `{"values":{}}` becomes `{"data":{}}`. Send the record in `data`. A request without it is refused.
ReadDifferently records: In a response with one record, and in the results of a batch, the record is in `data` instead of `record`. Example: `{"record":{}}` becomes `{"data":{}}`. Read the record from `data`.
ReadDifferently errors: Errors are JSON with a list of `errors`. Example: `{"error":"UnprocessableEntity","message":"email cannot be blank","errors":{"/values/email":[{"code":"blank","message":"email cannot be blank"}]}}` becomes `{"errors":[{"error":"UnprocessableEntity","message":"email cannot be blank","code":"blank","field":"email"}]}`. For each problem, read `error`, `message`, `code` and `field` from its entry in `errors`.
"#,
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
