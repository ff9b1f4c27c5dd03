//! Bodies without `data`.

use crate::api::support::every_version;

/// Bodies that are JSON, or nothing at all, and have no record in `data`.
const WITHOUT_DATA: [&str; 17] = [
    "",
    "null",
    "{}",
    "[]",
    "\"text\"",
    "7",
    "true",
    r#"{"data":null}"#,
    r#"{"data":{}}"#,
    r#"{"data":[]}"#,
    r#"{"data":[{"email":"a@b.cd"}]}"#,
    r#"{"data":"text"}"#,
    r#"{"data":7}"#,
    r#"{"data":false}"#,
    r#"{"Data":{"email":"a@b.cd"}}"#,
    r#"{"trainee":{"email":"a@b.cd"}}"#,
    r#"[{"data":{"email":"a@b.cd"}}]"#,
];

#[test]
fn a_body_without_data_is_one_problem_whatever_its_form() {
    every_version(|api| {
        let created = api.create(api.example());
        let paths = [
            ("POST", "/trainees".to_owned()),
            ("PUT", created.path()),
            ("PATCH", created.path()),
            ("POST", format!("{}/withdraw", created.path())),
        ];
        for (method, path) in &paths {
            for body in WITHOUT_DATA {
                let request = api
                    .request(method, path)
                    .bytes(body)
                    .header("Content-Type", "application/json");
                request.send().problems(&["data"]);
            }
            api.request(method, path).send().problems(&["data"]);
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}
