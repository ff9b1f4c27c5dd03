//! Bodies of one version in the names of another, from files.

use serde_json::{Value, json};
use server::sandbox::demo;
use versions::SERVED;

use super::support::Workplace;

const PAIR: [&str; 6] = [
    "version",
    "translate",
    "--from",
    "v2025.0",
    "--to",
    "v2026.1",
];

#[test]
fn translatable_body_is_printed_in_the_other_versions_names() {
    let place = Workplace::new();
    let file = place.write("body.json", demo::example(SERVED[0]));
    let ended = place.run(&PAIR, Some(&file));
    assert_eq!(
        (ended.status(), ended.stderr()),
        (0, "renamed: course_subject_one is now course_subject_1\n")
    );
    let body: Value = serde_json::from_str(ended.stdout()).unwrap();
    assert_eq!(body["data"]["course_subject_1"], "100403");
}

#[test]
fn bodies_on_lines_are_printed_and_problems_reported_by_line() {
    let place = Workplace::new();
    let lines = "{\"data\":{\"course_subject_one\":\"0\"}}\n\n{\"trainee_id\":\"x\",\"bursary_level\":\"6\"}\n";
    let file = place.write("bodies.ndjson", lines);
    let ended = place.run(&PAIR, Some(&file));
    assert_eq!(
        ended.stdout(),
        "{\"data\":{\"course_subject_1\":\"0\"}}\n{\"trainee_id\":\"x\"}\n"
    );
    assert_eq!(ended.status(), 1);
    for told in [
        "line 1: renamed: course_subject_one is now course_subject_1\n",
        "line 1: problem: course_subject_1 \"0\" is not in the list",
        "line 3: lost: bursary_level \"6\": v2026.1 has no such copy of funding_method\n",
        "values lost: 1; problems: 1\n",
    ] {
        assert!(
            ended.stderr().contains(told),
            "{told} in {}",
            ended.stderr()
        );
    }
}

#[test]
fn whole_translation_is_printed_as_json_on_request() {
    let place = Workplace::new();
    let file = place.write("body.json", r#"[{"withdraw_date": "2026-10-01"}]"#);
    let ended = place.run(
        &[&PAIR[..], &["--output", "json", "--direction", "reply"]].concat(),
        Some(&file),
    );
    let translation: Value = serde_json::from_str(ended.stdout()).unwrap();
    assert_eq!(
        translation["data"],
        json!([{"withdrawal_date": "2026-10-01"}])
    );
    assert_eq!((ended.status(), ended.stderr()), (0, ""));
}

#[test]
fn repeated_keys_and_both_kinds_of_a_body_are_reported() {
    let place = Workplace::new();
    let file = place.write(
        "body.json",
        r#"{"data": {"sex": "10", "sex": "11", "training_route": "02"}}"#,
    );
    let ended = place.run(&PAIR, Some(&file));
    assert_eq!(ended.status(), 1);
    for told in [
        "problem: sex is sent more than once (repeated_key at sex)\n",
        "read as a request, but can also be a reply; give --direction\n",
        "as a reply: problem: training_route \"02\" is not in the list",
    ] {
        assert!(
            ended.stderr().contains(told),
            "{told} in {}",
            ended.stderr()
        );
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let place = Workplace::new();
    let file = place.write("bodies.ndjson", "{}\n{\n");
    let ended = place.run(&PAIR, Some(&file));
    assert!(
        ended.status() == 1 && ended.stderr().contains("bodies.ndjson, line 2: "),
        "{}",
        ended.stderr()
    );
    let absent = place.run(&PAIR, Some(&place.path("absent.json")));
    assert!(
        absent.status() == 1 && absent.stderr().contains("absent.json"),
        "{}",
        absent.stderr()
    );
    let unknown = place.run(
        &[
            "version",
            "translate",
            "--from",
            "v1999.0",
            "--to",
            "v2026.1",
        ],
        Some(&file),
    );
    assert!(
        unknown.status() == 2 && unknown.stderr().contains("v2025.0"),
        "{}",
        unknown.stderr()
    );
}
