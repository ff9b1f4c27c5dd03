//! What the program prints of the history of a trainee.

use std::process::Command;

use super::support::{Workplace, newest};

#[test]
fn history_names_author_and_time_of_changes() {
    let place = Workplace::new();
    let server = place.serve("");
    let id = server.register("Example");
    assert_eq!(server.change(&id, "last_name", "Newname"), 200);

    let audit = place.done(format!("audit {id}"));
    let entries: Vec<&str> = audit.split("\n\n").collect();
    let [trainee, created, changed] = entries[..] else {
        panic!("{audit}")
    };
    let of = format!("trainee {id} of provider 1");
    assert!(trainee.starts_with(&of), "{trainee}");
    let heading = format!("POST /trainees  {}  token 1 (demo of ", newest().label);
    for text in [&heading, "  last_name", " null -> \"Example\"\n"] {
        assert!(created.contains(text), "{text}: {created}");
    }
    let [heading, name, time] = changed.lines().collect::<Vec<_>>()[..] else {
        panic!("{changed}")
    };
    for text in ["PUT or PATCH /trainees/{trainee_id}", "  request "] {
        assert!(heading.contains(text), "{text}: {heading}");
    }
    assert_eq!(name, "  last_name   \"Example\" -> \"Newname\"");
    assert!(time.starts_with("  updated_at  "), "{time}");

    let absent = "3xampleTra1neeWh1sNotTh1";
    let unknown = place.run(format!("audit {absent}"));
    let told = format!("trainee-register: no trainee has the identifier {absent}\n");
    unknown.refuses(&[&told]);
}

#[test]
fn change_by_command_is_recorded_with_author() {
    let place = Workplace::new();
    let server = place.serve("");
    let id = server.register("Example");
    let id_program = Command::new("id").arg("-un").output().unwrap();
    let user = str::from_utf8(&id_program.stdout).unwrap().trim();
    let run = |line: &str, variables: &[(&str, &str)]| {
        let mut command = place.command(line);
        command
            .env_remove("SUDO_USER")
            .envs(variables.iter().copied());
        let ended = command.env("RUST_LOG", "info").output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    };
    place.write("rows.csv", format!("trainee_id,trn\n{id},1234567\n"));
    let sudo = [("SUDO_USER", "operator1")];
    let logged = run("registry apply issue-trn rows.csv", &[]);
    for text in ["command=registry apply", &format!("by={user}")] {
        assert!(logged.contains(text), "{text}: {logged}");
    }
    run("registry apply discard rows.csv --by 'B. Operator'", &sudo);
    let audit = place.done(format!("audit {id}"));
    for heading in [
        &*format!("  registry issue-trn  by {user}\n"),
        "  registry discard  by B. Operator\n",
    ] {
        assert!(audit.contains(heading), "{heading}: {audit}");
    }

    let logged = run("provider add --ukprn 10067890 --name Another", &sudo);
    for text in ["command=provider add", "by=operator1"] {
        assert!(logged.contains(text), "{text}: {logged}");
    }
    // What changes nothing and shows no record is not recorded.
    assert!(!run("provider list", &[]).contains("by="));
    // A blank name is none.
    place.done("provider close 10067890 --by ' '");
}
