//! The environment of a register: recorded when it is created. [`super::opening`] has the commands
//! that ask for another one.

use versions::SERVED;

use super::support::Workplace;
use super::support::running::{Running, ask};

const PROVIDER: &str = "provider add --ukprn 10000001 --name Ashdown";
const ISSUE: &str = "token issue --provider 10000001 --name Records";
const SEED: &str = "sandbox seed --provider 10000001 --trainees";
const RECORD: &str = "SELECT value AS text FROM register_settings WHERE name = 'environment'";

/// Adds trainees, and makes the register one of this environment.
fn with_trainees(place: &Workplace, trainees: u32, environment: &str) {
    place.done(PROVIDER);
    place.done(format!("{SEED} {trainees}"));
    place.execute(&format!(
        "UPDATE register_settings SET value = '{environment}' WHERE name = 'environment'"
    ));
}

#[test]
fn production_register_is_served_without_option() {
    let place = Workplace::new();
    place.done("migrate --environment production");
    place.done(PROVIDER);
    let token = place.done(ISSUE);
    assert!(token.starts_with("production_"), "{token}");
    for (option, told) in [
        ("--registry-delay 0", "work in the sandbox environment only"),
        ("--registry on", "work in the sandbox environment only"),
        (
            "--registry on --environment production",
            "work in the sandbox environment only",
        ),
        ("--registry off", "work in the sandbox environment only"),
        ("--demo", "sandbox environment only"),
    ] {
        let refused = place.run(format!("serve --listen 127.0.0.1:0 {option}"));
        refused.refuses(&[told]);
    }
    let mut server = Running::begin_command(Running::command(&place, ""));
    server.wait_for("environment: production");
    server.wait_until_it_listens();
    assert_eq!(place.texts("SELECT name AS text FROM schools"), [""; 0]);
    let label = SERVED.last().unwrap().label;
    for (path, status) in [("account", "405"), ("sandbox/reset", "404")] {
        let request = format!(
            "POST /api/{label}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n"
        );
        let reply = ask(&mut server.connect(), &request);
        let expected = format!("HTTP/1.1 {status} ");
        assert!(reply.starts_with(&expected), "{path}: {reply}");
    }
}

#[test]
fn new_register_is_a_sandbox_by_default() {
    for (environment, expected) in [
        (None, "sandbox"),
        (Some("sandbox"), "sandbox"),
        (Some("production"), "production"),
    ] {
        let place = Workplace::new();
        let mut command = place.command(PROVIDER);
        // As an option or as a variable, it is the same.
        environment.map(|environment| command.env("REGISTER_ENVIRONMENT", environment));
        assert!(command.status().unwrap().success());
        assert_eq!(place.texts(RECORD), [expected]);
        let token = place.done(ISSUE);
        assert!(token.starts_with(&format!("{expected}_")), "{token}");
    }
}

#[test]
fn nothing_is_invented_in_production() {
    let place = Workplace::new();
    // Enough trainees that some of them wait for a number.
    with_trainees(&place, 40, "production");
    let waiting = "SELECT trainee_id AS text FROM trainees \
                   WHERE trn IS NULL AND state = 'submitted_for_trn' ORDER BY id";
    let id = place.texts(waiting).remove(0);
    let seeded = place.run(format!("{SEED} 1 --seed 2"));
    seeded.refuses(&["works in the sandbox environment only"]);
    let refused = place.apply("issue-trn", &format!("trainee_id,trn\n{id},\n"), "");
    let expected = format!(
        "done       0\nunchanged  0\nrefused    1\nline 2: trainee {id}: a TRN is required: "
    );
    let printed = refused.stdout();
    assert!(
        refused.status() == 1 && printed.starts_with(&expected),
        "{printed}"
    );
    let numbered = format!("trainee_id,trn\n{id},1234567\n");
    place.apply("issue-trn", &numbered, "").done();
}

#[test]
fn copy_has_the_environment_of_its_source() {
    let [place, target, other] = [(); 3].map(|()| Workplace::new());
    with_trainees(&place, 3, "production");
    let copy = |to: &Workplace| place.run(format!("copy --from {} --to {}", place.url(), to.url()));
    copy(&target).done();
    assert_eq!(target.texts(RECORD), ["production"]);
    other.done("migrate");
    copy(&other).refuses(&[
        "copy from is a production register, and database to copy to is a sandbox register",
    ]);
    // The empty register is as usable as before.
    other.done("provider list");
}

#[test]
fn restored_register_has_environment_of_backup() {
    let [place, other, sandbox] = [(); 3].map(|()| Workplace::on_sqlite());
    with_trainees(&place, 3, "production");
    let file = place.path("backup.db").display().to_string();
    place.done(format!("backup --environment production {file}"));
    let wrong = ["the environment of this register is production, not sandbox"];
    let backup = place.run(format!("backup --force --environment sandbox {file}"));
    backup.refuses(&wrong);
    let restored = other.run(format!("restore --environment sandbox {file}"));
    restored.refuses(&wrong);
    assert!(!other.path("register.db").exists());
    other.done(format!("restore {file}"));
    assert_eq!(other.texts(RECORD), ["production"]);

    with_trainees(&sandbox, 3, "sandbox");
    let trainees = || sandbox.texts("SELECT trainee_id AS text FROM trainees");
    let before = trainees();
    let restored = sandbox.run(format!("restore --force {file}"));
    restored.refuses(&["is a backup of a production register, and"]);
    assert_eq!(trainees(), before);
}
