//! Bodies of one version in the names of another, from files.

use serde_json::{Value, json};
use server::sandbox::demo;
use versions::SERVED;

use super::support::{Ended, Workplace};

/// Translates a file from the first version to a newer one.
fn translate(place: &Workplace, file: &str, text: &str, options: &str) -> Ended {
    place.write(file, text);
    place.run(format!(
        "version translate --from v2025.0 --to v2026.1 {options} {file}"
    ))
}

#[test]
fn bodies_are_printed_in_other_names() {
    let place = Workplace::on_sqlite();
    let ended = translate(&place, "body.json", demo::example(SERVED[0]).as_str(), "");
    assert_eq!(
        ended.stderr(),
        "renamed: course_subject_one is now course_subject_1\n"
    );
    let body: Value = serde_json::from_str(&ended.done()).unwrap();
    assert_eq!(body["data"]["course_subject_1"], "100403");

    let reply = r#"[{"withdraw_date": "2026-10-01"}]"#;
    let ended = translate(
        &place,
        "body.json",
        reply,
        "--output json --direction reply",
    );
    assert_eq!(ended.stderr(), "");
    let translation: Value = serde_json::from_str(&ended.done()).unwrap();
    let expected = json!([{"withdrawal_date": "2026-10-01"}]);
    assert_eq!(translation["data"], expected);
}

#[test]
fn problems_are_reported_by_line_or_name() {
    let place = Workplace::on_sqlite();
    let lines = "{\"data\":{\"course_subject_one\":\"0\"}}\n\n{\"trainee_id\":\"x\",\"bursary_level\":\"6\"}\n";
    let ended = translate(&place, "bodies.ndjson", lines, "");
    ended.prints(
        1,
        "{\"data\":{\"course_subject_1\":\"0\"}}\n{\"trainee_id\":\"x\"}\n",
    );
    ended.ends(
        1,
        &[
            "line 1: renamed: course_subject_one is now course_subject_1\n",
            "line 1: problem: course_subject_1 \"0\" is not in the list",
            "line 3: lost: bursary_level \"6\": v2026.1 has no such copy of funding_method\n",
            "values lost: 1; problems: 1\n",
        ],
    );
    let body = r#"{"data": {"sex": "10", "sex": "11", "training_route": "02"}}"#;
    translate(&place, "body.json", body, "").ends(
        1,
        &[
            "problem: sex is sent more than once (repeated_key at sex)\n",
            "read as a request, but can also be a reply; give --direction\n",
            "as a reply: problem: training_route \"02\" is not in the list",
        ],
    );
    translate(&place, "bodies.ndjson", "{}\n{\n", "").ends(1, &["bodies.ndjson, line 2: "]);
    let pair = |from: &str| format!("version translate --from {from} --to v2026.1 absent.json");
    place.run(pair("v2025.0")).ends(1, &["absent.json"]);
    place.run(pair("v1999.0")).ends(2, &["v2025.0"]);
}
