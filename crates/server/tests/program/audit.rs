//! What the program prints of the history of a trainee.

use std::process::Command;

use serde_json::{Value, json};
use server::sandbox::demo;

use super::support::{Workplace, agent};

#[test]
fn trainee_history_says_who_changed_what_and_when() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let version = versions::all().newest().unwrap().version;
    let path = format!("/api/{}/trainees", version.label);
    let body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    let (status, created) = server.send(&agent(), "POST", &path, Some(&body));
    assert_eq!(status, 201, "{created}");
    let id = created["data"]["trainee_id"].as_str().unwrap();
    let update = json!({ "data": { "last_name": "Newname" } });
    assert_eq!(
        server
            .send(&agent(), "PATCH", &format!("{path}/{id}"), Some(&update))
            .0,
        200
    );

    let audit = place.run(&["audit", id], None);
    assert_eq!(audit.status(), 0, "{}", audit.stderr());
    let entries: Vec<&str> = audit.stdout().split("\n\n").collect();
    assert_eq!(entries.len(), 3, "{}", audit.stdout());
    assert!(
        entries[0].starts_with(&format!("trainee {id} of provider 1")),
        "{}",
        entries[0]
    );
    assert!(
        entries[1].contains(&format!(
            "POST /trainees  {}  token 1 (demo of ",
            version.label
        )),
        "{}",
        entries[1]
    );
    assert!(
        entries[1].contains("  last_name") && entries[1].contains(" null -> \"Example\"\n"),
        "{}",
        entries[1]
    );
    let lines: Vec<&str> = entries[2].lines().collect();
    assert!(
        lines[0].contains("PUT or PATCH /trainees/{trainee_id}") && lines[0].contains("  request "),
        "{}",
        lines[0]
    );
    assert_eq!(lines[1], "  last_name   \"Example\" -> \"Newname\"");
    assert!(
        lines[2].starts_with("  updated_at  ") && lines.len() == 3,
        "{lines:?}"
    );

    let absent = "3xampleTra1neeWh1sNotTh1";
    let unknown = place.run(&["audit", absent], None);
    let told = format!("trainee-register: no trainee has the identifier {absent}\n");
    assert_eq!((unknown.status(), unknown.stderr()), (1, told.as_str()));
}

#[test]
fn what_a_command_changes_is_recorded_with_who_ran_it() {
    let place = Workplace::new();
    let server = place.serve(&[], None);
    let version = versions::all().newest().unwrap().version;
    let body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    let (status, created) = server.send(
        &agent(),
        "POST",
        &format!("/api/{}/trainees", version.label),
        Some(&body),
    );
    assert_eq!(status, 201, "{created}");
    let id = created["data"]["trainee_id"].as_str().unwrap();
    let id_program = Command::new("id").arg("-un").output().unwrap();
    let user = str::from_utf8(&id_program.stdout).unwrap().trim();
    let run = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command(arguments, None);
        command
            .env_remove("SUDO_USER")
            .envs(variables.iter().copied());
        let ended = command.env("RUST_LOG", "info").output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    };
    let file = place.write("rows.csv", format!("trainee_id,trn\n{id},1234567\n"));
    let file = file.to_str().unwrap();
    let logged = run(&["registry", "apply", "issue-trn", file], &[]);
    assert!(
        logged.contains("command=registry apply") && logged.contains(&format!("by={user}")),
        "{logged}"
    );
    run(
        &["registry", "apply", "discard", file, "--by", "B. Operator"],
        &[("SUDO_USER", "operator1")],
    );
    let audit = place.run(&["audit", id], None);
    for heading in [
        &*format!("  registry issue-trn  by {user}\n"),
        "  registry discard  by B. Operator\n",
    ] {
        assert!(
            audit.stdout().contains(heading),
            "{heading}: {}",
            audit.stdout()
        );
    }

    let logged = run(
        &[
            "provider", "add", "--ukprn", "10067890", "--name", "Another",
        ],
        &[("SUDO_USER", "operator1")],
    );
    assert!(
        logged.contains("command=provider add") && logged.contains("by=operator1"),
        "{logged}"
    );
    // What changes nothing and shows no record is not recorded.
    assert!(!run(&["provider", "list"], &[]).contains("by="));
    let refused = place.run(&["provider", "close", "10067890", "--by", "A\nB"], None);
    assert_eq!(refused.status(), 2, "{}", refused.stderr());
    // A blank name is none.
    let closed = place.run(&["provider", "close", "10067890", "--by", " "], None);
    assert_eq!(closed.status(), 0, "{}", closed.stderr());
}
