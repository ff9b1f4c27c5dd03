//! Translations between a small version and a version with other names, fields and inputs.

use adapter_kit::form::{Form, FormField, Sample, plain};
use adapter_kit::version::{AllInputs, ApiVersion, Shapes};
use adapter_kit::{Envelope, Inputs, Label, Shape, VersionField, Versions, Wire, inputs, shape};
use conformance::form_version::FORM_VERSION;
use conformance::sample_version::{SAMPLE_VERSION, TODAY};
use conformance::wire_version::WIRE_VERSION;
use domain::rules::{Rule, Rules, required};
use domain::{AcceptedCodes, Trainee, TraineeField, Withdrawal, WithdrawalField};
use serde_json::json;

use super::*;

const OWN: VersionField<Trainee> =
    VersionField::new("A word.", domain::Kind::Text, |_, _| domain::Value::Null);
const SHAPE: Shape<Trainee> = shape! { Trainee, TraineeField:
    trainee_id, forenames = first_names, last_name, email, course_subject_1, iqts_country, itt_start_date, itt_end_date,
    planned_end = itt_end_date, word => OWN, placements, degrees,
};
const INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField:
    forenames = first_names, last_name, email, course_subject_1, course_age_range, iqts_country, itt_start_date,
    itt_end_date, placements, diplomas = degrees,
};
const RULES: &[Rule<Trainee>] = &[
    domain::rules::dates::END_AFTER_START,
    domain::rules::course::PRIMARY_SUBJECT,
    required::FIRST_NAMES,
    required::LAST_NAME,
    required::EMAIL,
    required::ITT_START_DATE,
];

/// Serves two versions side by side.
fn serve(older: ApiVersion, newer: ApiVersion) -> [&'static Served; 2] {
    let list =
        [older, newer].map(|version| -> &'static ApiVersion { Box::leak(Box::new(version)) });
    let versions = Box::leak(Box::new(Versions::new(&list)));
    [0, 1].map(|at| versions.iter().nth(at).unwrap())
}

/// Returns the small version and the other one.
fn versions() -> [&'static Served; 2] {
    let other = ApiVersion {
        label: Label::release(2002, 0),
        shapes: Shapes {
            trainee: SHAPE,
            ..SAMPLE_VERSION.shapes
        },
        inputs: AllInputs {
            trainee: INPUTS,
            ..SAMPLE_VERSION.inputs
        },
        rules: Rules {
            trainee: RULES,
            ..SAMPLE_VERSION.rules
        },
        accepted_codes: AcceptedCodes {
            accepted: &[(domain::List::CourseSubject, &["100403"])],
            funding_exception_years: &[],
        },
        ..SAMPLE_VERSION
    };
    serve(SAMPLE_VERSION, other)
}

fn context() -> TranslationContext<'static> {
    TranslationContext {
        today: TODAY,
        lists: Lists::embedded(),
        choices: &[],
    }
}

fn translated(body: &Value, older_first: bool, body_kind: &BodyKind) -> Translation {
    let [older, newer] = versions();
    let (from, to) = if older_first {
        (older, newer)
    } else {
        (newer, older)
    };
    translate(&body.clone().into(), from, to, body_kind, context())
}

fn onwards(body: &Value) -> Translation {
    translated(body, true, &BodyKind::default())
}

fn backwards(body: &Value) -> Translation {
    translated(body, false, &BodyKind::default())
}

fn codes(translation: &Translation) -> Vec<(&str, &str)> {
    let located = translation
        .problems
        .iter()
        .filter_map(|problem| problem.located.as_ref());
    located
        .map(|located| (located.code, located.field.as_str()))
        .collect()
}

#[test]
fn value_without_input_in_target_version_is_lost() {
    let translation = backwards(&json!({"data": {"forenames": "A", "iqts_country": "FR"}}));
    let [loss] = translation.lost.as_slice() else {
        panic!("{:?}", translation.lost)
    };
    assert_eq!(
        (loss.path.as_str(), &loss.value, loss.why),
        ("iqts_country", &json!("FR"), LossReason::NotSet)
    );
    assert_eq!(translation.data, json!({"data": {"given_names": "A"}}));
    assert_eq!(backwards(&json!({"iqts_country": null})).lost, []);
}

#[test]
fn lost_copies_and_own_fields_have_their_reason() {
    let reply = json!({"data": {"trainee_id": "x", "itt_end_date": "2027-07-16", "planned_end": "2027-07-16", "word": "w"}});
    let translation = backwards(&reply);
    let lost: Vec<_> = translation
        .lost
        .iter()
        .map(|loss| (loss.why, loss.same_as.as_deref()))
        .collect();
    assert_eq!(
        lost,
        [
            (LossReason::Copy, Some("itt_end_date")),
            (LossReason::VersionField, None)
        ]
    );
    assert_eq!(translation.body_kind.direction, Some(Direction::Reply));
    assert_eq!(translation.problems, []);
}

#[test]
fn record_in_change_or_batch_result_is_translated() {
    let changed = json!({"trainee_id": "x", "removed_at": null, "trainee": {"trainee_id": "x", "given_names": "A"}});
    let removed =
        json!({"trainee_id": "y", "removed_at": "2026-11-20T10:15:00.000Z", "trainee": null});
    let meta = json!({"after": "hR4z", "has_more": false});
    let translation = onwards(&json!({"data": [changed, removed], "meta": meta}));
    let expected = json!({"trainee_id": "x", "removed_at": null, "trainee": {"trainee_id": "x", "forenames": "A"}});
    assert_eq!(
        translation.data,
        json!({"data": [expected, removed], "meta": meta})
    );
    assert_eq!(translation.notices, []);
    let result = |name: &str| json!({"idempotency_key": "k", "status": 201, "data": {"trainee_id": "x", name: "A"}});
    let translation = onwards(&json!({"data": [result("given_names")]}));
    assert_eq!(translation.data, json!({"data": [result("forenames")]}));
    assert_eq!(
        (translation.notices.len(), translation.renames.len()),
        (0, 1)
    );
}

#[test]
fn identifier_of_change_has_the_form_of_the_target_version() {
    let removed = |id| {
        json!({"data": [
            {"trainee_id": id, "removed_at": "2026-11-20T10:15:00.000Z", "trainee": null}
        ]})
    };
    let there = translated_between(&removed("a1"), &SAMPLE_VERSION, &FORM_VERSION);
    assert_eq!(there.data, removed("trainee_a1"));
    let back = translated_between(&there.data, &FORM_VERSION, &SAMPLE_VERSION);
    assert_eq!(back.data, removed("a1"));
}

#[test]
fn target_name_in_body_yields_to_source_name() {
    let alone = onwards(&json!({"forenames": "A"}));
    assert_eq!(
        (alone.data, alone.notices[0].code),
        (json!({"forenames": "A"}), "foreign_name")
    );
    let twice = onwards(&json!({"forenames": "A", "given_names": "A"}));
    assert_eq!(
        (twice.data, twice.notices[0].code),
        (json!({"forenames": "A"}), "said_twice")
    );
    let differing = onwards(&json!({"forenames": "A", "given_names": "B"}));
    assert_eq!(differing.data, json!({"forenames": "B"}));
    assert_eq!(
        (differing.lost[0].why, &differing.lost[0].value),
        (LossReason::NameTaken, &json!("A"))
    );
}

#[test]
fn request_with_most_required_fields_is_a_creation() {
    let body = json!({"data": {"given_names": "A", "last_name": "B", "email": "a@b.cd", "course_subject_1": "100511"}});
    let translation = onwards(&body);
    assert_eq!(translation.body_kind.purpose, Some(Purpose::Create));
    assert_eq!(
        codes(&translation),
        [
            ("unknown_code", "course_subject_1"),
            ("blank", "itt_start_date")
        ]
    );
    let update = translated(
        &body,
        true,
        &BodyKind {
            purpose: Some(Purpose::Update),
            ..BodyKind::default()
        },
    );
    assert_eq!(codes(&update), [("unknown_code", "course_subject_1")]);
}

#[test]
fn update_is_evaluated_by_its_own_fields() {
    let dates =
        onwards(&json!({"data": {"itt_start_date": "2026-09-01", "itt_end_date": "2026-08-01"}}));
    assert_eq!(dates.body_kind.purpose, Some(Purpose::Update));
    assert_eq!(codes(&dates), [("not_after", "itt_end_date")]);
    assert_eq!(
        codes(&onwards(&json!({"data": {"itt_end_date": "2026-08-01"}}))),
        []
    );
    assert_eq!(
        codes(&onwards(&json!({"data": {"email": null}}))),
        [("blank", "email")]
    );
}

#[test]
fn rule_of_only_target_version_may_refuse_an_update() {
    for (field, code, others) in [
        (
            "course_age_range",
            "13914",
            "course_subject_1, training_route",
        ),
        (
            "course_subject_1",
            "100403",
            "course_age_range, training_route",
        ),
    ] {
        let update = json!({ "data": { field: code } });
        let translation = onwards(&update);
        assert_eq!(codes(&translation), []);
        let [notice] = translation.notices.as_slice() else {
            panic!("{:?}", translation.notices)
        };
        assert_eq!(
            (notice.path.as_str(), notice.code),
            (field, "may_be_refused")
        );
        for part in [others, "primary_subject", "course_subject_1 is 100511"] {
            assert!(notice.message.contains(part), "{}", notice.message);
        }
        assert_eq!(backwards(&update).notices, []);
    }
    // Both versions have this rule.
    assert_eq!(
        onwards(&json!({"data": {"itt_end_date": "2026-08-01"}})).notices,
        []
    );
    // Rules that read a field with a problem are skipped.
    let invalid = onwards(&json!({"data": {"course_subject_1": "100511"}}));
    assert_eq!(
        (codes(&invalid), invalid.notices.len()),
        (vec![("unknown_code", "course_subject_1")], 0)
    );
}

#[test]
fn rule_with_added_exception_is_not_reported_for_update() {
    let older = ApiVersion {
        rules: Rules {
            trainee: &[domain::rules::course::STUDY_MODE],
            ..SAMPLE_VERSION.rules
        },
        ..SAMPLE_VERSION
    };
    let newer = ApiVersion {
        label: Label::release(2002, 0),
        rules: Rules {
            trainee: &[domain::rules::course::STUDY_MODE_BY_ROUTE],
            ..SAMPLE_VERSION.rules
        },
        ..SAMPLE_VERSION
    };
    let [older, newer] = serve(older, newer);
    let notices = |from, to| {
        let update = json!({"data": {"training_route": "11"}});
        let kind = BodyKind::default();
        let translation = translate(&update.into(), from, to, &kind, context());
        translation.notices.len()
    };
    assert_eq!((notices(older, newer), notices(newer, older)), (0, 1));
}

#[test]
fn only_records_in_error_replies_are_translated() {
    let error = json!({"errors": [{"error": "NotFound", "message": "not found"}]});
    let translation = onwards(&error);
    assert_eq!(
        (translation.data, translation.body_kind),
        (error, BodyKind::default())
    );
    let conflict = json!({"errors": [{"error": "Conflict", "message": "m"}], "data": [{"trainee_id": "x", "given_names": "A"}]});
    assert_eq!(
        onwards(&conflict).data["data"][0],
        json!({"trainee_id": "x", "forenames": "A"})
    );
}

/// Bodies, and the record and direction that are guessed from their keys.
const GUESSES: &str = r#"
{"left_on": "2026-01-01", "trigger": "trainee"} | withdrawal | Request
{"left_on": "2026-01-01"} | withdrawal | Request
{"urn": "990001"} | placement | Request
{"degree_id": "x", "topic": "100485"} | degree | Reply
{"topic": "100485", "grade": "02"} | degree | Request
{"defer_date": "2026-01-01"} | deferral | Request
{"qts_standards_met_date": "2026-01-01"} | recommendation | Request
{"trainee_id": "x", "email": "a@b.cd"} | trainee | Reply
{"nothing": 1} | trainee | Request
{"word": "w", "planned_end": "2027-07-16"} | trainee | Request
{"placements": [], "degrees": []} | trainee | Request
[{"data": {"word": "w"}}] | trainee | Request
{"data": [{"email": "a@b.cd"}]} | trainee | Request
{"data": {"trainee_id": "x"}} | trainee | Reply
{"data": [{"trainee_id": "x"}]} | trainee | Reply
{"data": {"topic": "100485"}} | degree | Request
"#;

#[test]
fn record_and_direction_are_guessed_from_keys() {
    for line in GUESSES.trim().lines() {
        let [body, record, direction] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let body: Value = serde_json::from_str(body).unwrap();
        let guessed = onwards(&body).body_kind;
        assert_eq!(guessed.record, record.parse().ok(), "{line}");
        assert_eq!(
            format!("{:?}", guessed.direction.unwrap()),
            direction,
            "{line}"
        );
        let reply = BodyKind {
            direction: Some(Direction::Reply),
            ..BodyKind::default()
        };
        let given = translated(&body, true, &reply);
        assert_eq!(given.body_kind.direction, Some(Direction::Reply), "{line}");
        assert_eq!(given.otherwise, None, "{line}");
    }
}

#[test]
fn body_refused_as_both_kinds_has_both_results() {
    let both = onwards(&json!({"data": {"course_subject_1": "0"}}));
    let otherwise = both.otherwise.as_deref().unwrap();
    assert_eq!(
        (both.body_kind.direction, otherwise.body_kind.direction),
        (Some(Direction::Request), Some(Direction::Reply))
    );
    assert_eq!(codes(&both), [("unknown_code", "course_subject_1")]);
    assert_eq!(codes(otherwise), [("unknown_code", "course_subject_1")]);
    for body in [
        json!({"data": {"email": null}}),
        json!({"data": {"email": "a@b.cd"}}),
        json!({"defer_date": "x"}),
    ] {
        assert_eq!(onwards(&body).otherwise, None, "{body}");
    }
}

#[test]
fn repeated_key_is_a_problem_and_its_first_value_counts() {
    for (body, paths) in [
        (r#"{"email": "a@b.cd", "email": "b@b.cd"}"#, vec!["email"]),
        (
            r#"{"data": {"email": "a@b.cd", "email": "b@b.cd", "degrees": [{"topic": 1, "topic": 2}]}, "data": 1}"#,
            vec!["degrees[0].topic", "email", "data"],
        ),
        (
            r#"[{"data": {"email": "a@b.cd", "email": 1}}, {"email": "a@b.cd", "email": 1}]"#,
            vec!["[0].email", "[1].email"],
        ),
        (
            r#"{"data": [{"email": "a@b.cd", "email": 1}]}"#,
            vec!["[0].email"],
        ),
    ] {
        let [from, to] = versions();
        let body = adapter_kit::read::parse_json(body.as_bytes()).unwrap();
        let kind = BodyKind {
            purpose: Some(Purpose::Update),
            ..BodyKind::default()
        };
        let translation = translate(&body, from, to, &kind, context());
        let repeated: Vec<_> = codes(&translation)
            .into_iter()
            .filter(|(code, _)| *code == "repeated_key")
            .map(|(_, path)| path)
            .collect();
        assert_eq!(repeated, paths);
        assert!(
            translation.problems[0]
                .message
                .ends_with("is sent more than once"),
            "{}",
            translation.problems[0].message
        );
        let text = translation.data.to_string();
        assert!(
            text.contains("a@b.cd") && !text.contains("b@b.cd"),
            "{text}"
        );
    }
}

/// Translates a body from one version into another.
fn translated_between(body: &Value, from: &ApiVersion, to: &ApiVersion) -> Translation {
    let [from, to] = [(from, 2001), (to, 2002)].map(|(version, year)| ApiVersion {
        label: Label::release(year, 0),
        ..*version
    });
    let [from, to] = serve(from, to);
    translate_names(body, from, to, &BodyKind::default())
}

#[test]
fn values_in_forms_are_translated_there_and_back() {
    let common = json!({"data": {
        "given_names": "Jane Mary Ann", "last_name": "B", "date_of_birth": "1999-04-12",
        "course_subject_1": "100403",
        "awards": [{"topic": "100485", "graduation_year": "2021", "grade": "02"}],
    }});
    let there = translated_between(&common, &SAMPLE_VERSION, &FORM_VERSION);
    assert_eq!(there.lost, []);
    let data = &there.data["data"];
    assert_eq!(
        [&data["given_name"], &data["other_given_names"]],
        ["Jane", "Mary Ann"]
    );
    assert_eq!(data["date_of_birth"], 923_875_200);
    assert_eq!(data["course"]["subject"]["code"], "100403");
    assert_eq!(data["awards"][0]["graduation_year"], 2021);
    assert_eq!(data["awards"][0]["grade"]["code"], "02");
    let renames: Vec<_> = there
        .renames
        .iter()
        .filter(|rename| rename.from == "given_names")
        .map(|rename| rename.to)
        .collect();
    assert_eq!(renames, ["given_name", "other_given_names"]);
    let back = translated_between(&there.data, &FORM_VERSION, &SAMPLE_VERSION);
    assert_eq!(back.lost, []);
    assert_eq!(back.data, common);
}

/// Writes a list of codes as one text.
#[derive(Debug)]
struct Spaced;

impl Form for Spaced {
    fn says(&self) -> String {
        "with spaces between the codes".to_owned()
    }

    fn expected(&self) -> String {
        "a text".to_owned()
    }

    fn schema(&self, _: &FormField) -> Value {
        json!({ "type": "string" })
    }

    fn write(&self, value: &domain::Value<'_>, _: &FormField) -> Value {
        if let domain::Value::TextList(codes) = value {
            codes.join(" ").into()
        } else {
            plain(value)
        }
    }

    fn read(&self, written: &Value, _: &FormField) -> Option<domain::Value<'static>> {
        let codes = written.as_str()?.split(' ');
        let codes = codes.map(|code| code.to_owned().into());
        Some(domain::Value::TextList(codes.collect()))
    }

    fn samples(&self, _: &FormField) -> Vec<Sample> {
        Vec::new()
    }
}

#[test]
fn list_of_codes_in_a_form_is_translated_there_and_back() {
    const REASONS: Inputs<Withdrawal> =
        inputs! { Withdrawal, WithdrawalField: trigger, reasons as Spaced };
    let spaced = ApiVersion {
        inputs: AllInputs {
            withdrawal: REASONS,
            ..SAMPLE_VERSION.inputs
        },
        ..SAMPLE_VERSION
    };
    let body =
        json!({"data": {"trigger": "provider", "reasons": ["unacceptable_behaviour", "died"]}});
    let there = translated_between(&body, &SAMPLE_VERSION, &spaced);
    assert_eq!(there.data["data"]["reasons"], "unacceptable_behaviour died");
    let back = translated_between(&there.data, &spaced, &SAMPLE_VERSION);
    assert_eq!(back.data, body);
}

#[test]
fn list_gets_page_members_of_other_version() {
    let record = json!({"trainee_id": "Fs4G74pwBJ1WWa15FMzZsQKn"});
    let members = json!({"current_page": 2, "total_pages": 2, "total_count": 51, "per_page": 50});
    let page = json!({"data": [record], "meta": members});
    let there = translated_between(&page, &SAMPLE_VERSION, &WIRE_VERSION).data;
    let expected = json!({"data": [record], "pagination": {"page": 2, "next": null}});
    assert_eq!(there, expected);
    let back = translated_between(&there, &WIRE_VERSION, &SAMPLE_VERSION).data;
    assert_eq!(back, json!({"data": [record], "meta": {"current_page": 2}}));
}

#[test]
fn value_that_no_form_reads_stays_unchanged() {
    let body = json!({"data": {"date_of_birth": "soon"}});
    let there = translated_between(&body, &SAMPLE_VERSION, &FORM_VERSION);
    assert_eq!(there.data, body);
    let back = translated_between(&there.data, &FORM_VERSION, &SAMPLE_VERSION);
    assert_eq!(back.data, body);
}

#[test]
fn missing_member_of_split_value_is_reported() {
    let body = json!({"data": {"given_name": "Jane"}});
    let translation = translated_between(&body, &FORM_VERSION, &SAMPLE_VERSION);
    assert_eq!(translation.data, json!({"data": {"given_names": "Jane"}}));
    let codes: Vec<_> = translation
        .notices
        .iter()
        .map(|notice| notice.code)
        .collect();
    assert_eq!(codes, ["part_missing"]);
    let same = translated_between(&body, &FORM_VERSION, &FORM_VERSION);
    assert_eq!((same.data, same.notices), (body, Vec::new()));
}

#[test]
fn unreadable_members_of_split_value_are_lost_and_not_written() {
    for body in [
        json!({"data": {"other_given_names": "Mary"}}),
        json!({"data": {"given_name": "Jane Mary", "other_given_names": "Ann"}}),
    ] {
        let translation = translated_between(&body, &FORM_VERSION, &SAMPLE_VERSION);
        assert_eq!(translation.data, json!({"data": {}}));
        let members = body["data"].as_object().unwrap();
        let lost: Vec<_> = translation
            .lost
            .iter()
            .map(|loss| (loss.name.as_str(), &loss.value, loss.why))
            .collect();
        let expected: Vec<_> = members
            .iter()
            .map(|(name, value)| (name.as_str(), value, LossReason::VersionField))
            .collect();
        assert_eq!(lost, expected);
        let same = translated_between(&body, &FORM_VERSION, &FORM_VERSION);
        assert_eq!((same.data, same.lost), (body, Vec::new()));
    }
}

/// A version with its own keys around records.
fn versions_with_own_keys() -> [&'static Served; 2] {
    let other = ApiVersion {
        label: Label::release(2002, 0),
        wire: Wire {
            envelope: Envelope {
                record: "record",
                request: "values",
                list: "items",
                ..Envelope::COMMON
            },
            ..Wire::COMMON
        },
        ..SAMPLE_VERSION
    };
    serve(SAMPLE_VERSION, other)
}

#[test]
fn keys_around_records_are_translated() {
    let [common, own] = versions_with_own_keys();
    let request = json!({ "email": "a@b.cd" });
    let reply = json!({ "trainee_id": "x", "email": "a@b.cd" });
    let change = json!({ "trainee_id": "x", "removed_at": null, "trainee": reply });
    let conflict =
        |data: Value| json!({ "errors": [{ "error": "Conflict", "message": "m" }], "data": data });
    let cases = [
        (json!({ "data": request }), json!({ "values": request })),
        (json!({ "data": reply }), json!({ "record": reply })),
        (json!({ "data": [reply] }), json!({ "items": [reply] })),
        (json!({ "data": [change] }), json!({ "data": [change] })),
        (conflict(json!([reply])), conflict(json!([reply]))),
        (
            json!({ "data": [{ "idempotency_key": "k", "status": 201, "data": reply }] }),
            json!({ "data": [{ "idempotency_key": "k", "status": 201, "record": reply }] }),
        ),
        (
            json!([{ "idempotency_key": "k", "data": request }]),
            json!([{ "idempotency_key": "k", "values": request }]),
        ),
    ];
    for (body, expected) in cases {
        let kind = BodyKind::default();
        let there = translate_names(&body, common, own, &kind);
        assert_eq!((&there.data, there.lost.len()), (&expected, 0), "{body}");
        let back = translate_names(&expected, own, common, &kind);
        assert_eq!((&back.data, back.lost.len()), (&body, 0), "{expected}");
    }
}

#[test]
fn key_around_record_decides_direction() {
    let [common, own] = versions_with_own_keys();
    let record = json!({ "trainee_id": "x", "email": "a@b.cd" });
    for (key, direction) in [("values", Direction::Request), ("record", Direction::Reply)] {
        let kind = BodyKind::default();
        let translation = translate_names(&json!({ key: record }), own, common, &kind);
        assert_eq!(translation.body_kind.direction, Some(direction), "{key}");
    }
}

#[test]
fn path_of_nested_field_becomes_json_pointer() {
    assert_eq!(
        pointer("degrees_attributes[1].grade"),
        "/degrees_attributes/1/grade"
    );
    assert_eq!(pointer("training_route"), "/training_route");
}
