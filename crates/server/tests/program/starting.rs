//! What a server says when it cannot start, or should not.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use super::support::running::Running;
use super::support::{Ended, Workplace, execute};

/// A user whom the mode of a file holds back, as it does not root.
const OTHER_USER: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The command as a user without root's access to files.
fn as_ordinary_user(mut command: Command) -> Command {
    if is_root() {
        command.uid(OTHER_USER);
    }
    command
}

/// Requires that a command ended with one line that has these texts.
fn require_one_line(ended: &Ended, texts: &[&str]) {
    let said = ended.stderr();
    assert_eq!(ended.status(), 1, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for text in texts {
        assert!(said.contains(text), "{text:?} is not in {said}");
    }
}

#[test]
fn second_server_on_one_sqlite_file_is_warned_of() {
    let workplace = Workplace::on_sqlite();
    let warning = "another server uses the SQLite database";
    let mut first = Running::begin(&workplace, &[]);
    assert!(!first.log_until("listening on ").contains(warning));
    let mut second = Running::begin(&workplace, &[]);
    assert!(second.log_until("listening on ").contains(warning));
    first.signal("TERM");
    assert!(first.wait().success());
    second.signal("TERM");
    assert!(second.wait().success());
    let mut next = Running::begin(&workplace, &[]);
    assert!(!next.log_until("listening on ").contains(warning));
}

#[test]
fn an_address_that_cannot_be_listened_on_is_named() {
    let workplace = Workplace::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    // The registers of organisations are not empty in a sandbox, so nothing else is said.
    let serve =
        |address: &str| workplace.run(&["serve", "--registry", "off", "--listen", address], None);
    require_one_line(
        &serve(&address),
        &[
            &format!("cannot listen on {address}"),
            "choose another port with --listen (REGISTER_LISTEN)",
        ],
    );
    require_one_line(
        &serve("203.0.113.1:8080"),
        &["one of this machine's addresses"],
    );
    require_one_line(&serve("8080"), &["an address and a port"]);
}

#[test]
fn database_that_cannot_be_used_is_named_without_its_address() {
    let workplace = Workplace::new();
    for (url, texts) in [
        (
            "postgres://register:secret@127.0.0.1:1/register",
            ["database cannot be reached", "the database must be running"],
        ),
        (
            "sqlite:///proc/none/register.db",
            [
                "folder of the database file cannot be made",
                "check --database-url",
            ],
        ),
        (
            "mysql://register:secret@host/register",
            ["database address must be", "check --database-url"],
        ),
    ] {
        let ended = workplace.run(&["serve", "--database-url", url], None);
        require_one_line(&ended, &texts);
        assert!(!ended.stderr().contains("secret"), "{}", ended.stderr());
    }
}

#[test]
fn every_command_advises_on_a_database_it_cannot_use() {
    let workplace = Workplace::on_sqlite();
    let file = workplace.write(
        "text.db",
        "this is no database, whatever its name is\n".repeat(100),
    );
    let text = format!("sqlite://{}", file.display());
    let postgres = "postgres://register:secret@127.0.0.1:1/register";
    for command in [
        &["provider", "list"][..],
        &["migrate"],
        &["migrate", "--check"],
        &["check"],
    ] {
        let run = |url| workplace.run(&[command, &["--database-url", url]].concat(), None);
        require_one_line(
            &run(&text),
            &[
                file.to_str().unwrap(),
                "not a database",
                "check --database-url",
            ],
        );
        require_one_line(
            &run(postgres),
            &["database cannot be reached", "check --database-url"],
        );
        assert!(!run(postgres).stderr().contains("secret"));
    }
}

#[test]
fn another_users_command_names_the_file_and_the_right_user() {
    let workplace = Workplace::on_sqlite();
    assert_eq!(workplace.run(&["migrate"], None).status(), 0);
    let (folder, file) = (workplace.path(""), workplace.path("register.db"));
    for (path, mode) in [(&folder, 0o555), (&file, 0o444)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let copy = folder.join("copy.db").display().to_string();
    for arguments in [&["provider", "list"][..], &["migrate"], &["backup", &copy]] {
        let ended = Ended(
            as_ordinary_user(workplace.command(arguments, None))
                .output()
                .unwrap(),
        );
        require_one_line(
            &ended,
            &[
                file.to_str().unwrap(),
                "run the command as the service user",
            ],
        );
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn unwritable_sqlite_file_stops_the_start_and_writing_commands() {
    let workplace = Workplace::on_sqlite();
    // A killed server leaves the files beside the database that SQLite needs to read it.
    drop(workplace.serve(&[], None));
    let file = workplace.path("register.db");
    give_to_ordinary_user(&workplace);
    fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
    for arguments in [
        // Whatever it says of the address comes later.
        &["serve", "--listen", "203.0.113.1:8080"][..],
        &["migrate"],
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ],
        &["provider", "close", "10000001"],
        &[
            "token",
            "issue",
            "--provider",
            "10000001",
            "--name",
            "Records",
        ],
        &["token", "revoke", "1"],
        &["user", "sign-out", "--all"],
        &["registry", "apply", "award", "awards.csv"],
        &[
            "sandbox",
            "seed",
            "--provider",
            "10000001",
            "--trainees",
            "1",
        ],
        &[
            "trainee",
            "erase",
            "3xampleTra1neeWh1sNotTh1",
            "--provider",
            "10000001",
            "--ground",
            "case 17",
            "--yes",
        ],
        &["history", "remove", "--before", "2026-01"],
    ] {
        let ended = Ended(
            as_ordinary_user(workplace.command(arguments, None))
                .output()
                .unwrap(),
        );
        let texts = [
            file.to_str().unwrap(),
            "database is read-only",
            "run the command as the service user",
        ];
        require_one_line(&ended, &texts);
    }
    // One that only reads does not mind.
    let listed = as_ordinary_user(workplace.command(&["provider", "list"], None))
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
}

/// Gives the files of a workplace to the user of [`as_ordinary_user`].
fn give_to_ordinary_user(workplace: &Workplace) {
    if is_root() {
        let folder = workplace.path("");
        let files = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files
            .chain([folder])
            .for_each(|path| chown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap());
    }
}

#[test]
fn a_folder_of_lists_that_cannot_be_read_is_named() {
    let workplace = Workplace::new();
    let missing = workplace.path("missing");
    let ended = workplace.run(&["serve", "--reference-data"], Some(&missing));
    require_one_line(
        &ended,
        &[
            missing.to_str().unwrap(),
            "`reference-data export` to write a folder of lists",
        ],
    );
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let workplace = Workplace::new();
    let certified = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (one, other) = (certified(), certified());
    let chain = workplace.write("chain.pem", one.cert.pem());
    let key = workplace.write("key.pem", one.signing_key.serialize_pem());
    let other_key = workplace.write("other.pem", other.signing_key.serialize_pem());
    let none = workplace.write("none.pem", "nothing");
    let missing = workplace.path("missing.pem");
    let serve = |chain: &Path, key: &Path| {
        let [chain, key] = [chain, key].map(|path| path.to_str().unwrap().to_owned());
        workplace.run(
            &["serve", "--tls-certificate", &chain, "--tls-key", &key],
            None,
        )
    };
    for (chain, key, texts) in [
        (&missing, &key, ["cannot read", "missing.pem"]),
        (&chain, &missing, ["cannot read", "missing.pem"]),
        (&none, &key, ["none.pem holds no certificate", "PEM"]),
        (&chain, &none, ["none.pem holds no private key", "PEM"]),
        (&key, &key, ["key.pem holds no certificate", "PEM"]),
        (
            &chain,
            &other_key,
            ["other.pem is not the key of", "chain.pem"],
        ),
    ] {
        require_one_line(&serve(chain, key), &texts);
    }
    // One is of no use without the other.
    let half = workplace.run(&["serve", "--tls-certificate"], Some(&chain));
    assert_eq!(half.status(), 2, "{}", half.stderr());
}

#[test]
fn a_clock_that_is_behind_the_register_refuses_the_start() {
    let workplace = Workplace::new();
    for arguments in [
        "provider add --ukprn 10000001 --name University",
        "sandbox seed --provider 10000001 --trainees 1",
    ] {
        let ended = workplace.run(&arguments.split(' ').collect::<Vec<_>>(), None);
        assert_eq!(ended.status(), 0, "{}", ended.stderr());
    }
    Running::start(&workplace, &[]);
    execute(
        &workplace.url(),
        "UPDATE changes SET changed_at = '2999-01-01 00:00:00'",
    );
    let ended = workplace.run(&["serve", "--listen", "127.0.0.1:0"], None);
    require_one_line(
        &ended,
        &[
            "the register was last changed at 2999-01-01T00:00:00Z",
            "--clock-check warn",
        ],
    );
    let mut server = Running::begin(&workplace, &["--clock-check", "warn"]);
    server.wait_for("the register was last changed at 2999-01-01T00:00:00Z");
    server.wait_until_it_listens();
}

#[test]
fn pages_of_operators_that_nothing_serves_end_the_start() {
    let workplace = Workplace::new();
    let refused = |arguments: &[&str], text: &str| {
        let ended = workplace.run(
            &[&["serve", "--listen", "127.0.0.1:0"], arguments].concat(),
            None,
        );
        require_one_line(&ended, &[text]);
    };
    refused(
        &["--settings", "off", "--operator-pages", "settings"],
        "--operator-pages settings (REGISTER_OPERATOR_PAGES) needs the settings pages",
    );
    let production = [
        "--environment",
        "production",
        "--operator-pages",
        "settings",
    ];
    refused(&production, "which are off: see --settings");
    refused(
        &["--operator-pages", "operator-listener"],
        "which is off: see --operator-listen",
    );
}

#[test]
fn settings_pages_without_https_are_warned_of() {
    let workplace = Workplace::new();
    let log = |options: &[&str]| {
        let serve = [
            "serve",
            "--environment",
            "production",
            "--listen",
            "127.0.0.1:0",
        ];
        Running::begin_with(&workplace, &[&serve, options].concat()).log_until("listening on ")
    };
    let warning = "the settings pages need HTTPS, and answer 403";
    let off = log(&["--trusted-proxies", ""]);
    assert!(
        off.contains("settings pages: off; operators' pages: off"),
        "{off}"
    );
    assert!(!off.contains(warning), "{off}");
    let on = [
        "--settings",
        "on",
        "--settings-url",
        "https://register.example",
    ];
    let direct = log(&on);
    assert!(
        direct.contains("settings pages: https://register.example/settings; "),
        "{direct}"
    );
    assert!(direct.contains(warning), "{direct}");
    let proxied = log(&[&on[..], &["--trusted-proxies", "192.0.2.7"]].concat());
    assert!(!proxied.contains(warning), "{proxied}");
}

#[test]
fn invalid_values_are_rejected_in_command_line_terms() {
    let workplace = Workplace::migrated();
    for (arguments, text) in [
        (
            &["serve", "--settings", "yes"][..],
            "possible values: on, off",
        ),
        (
            &["serve", "--settings-url", "register.example"],
            "must be a scheme and a host",
        ),
        (
            &["serve", "--body-timeout", "0"],
            "must be a whole number from 1",
        ),
        (
            &["serve", "--rate-window", "0"],
            "'--rate-window <SECONDS> (REGISTER_RATE_WINDOW)': must be a whole number from 1",
        ),
        (
            &["serve", "--max-connections", "0"],
            "must be a whole number from 1",
        ),
        (
            &["serve", "--rate-limit", "abc"],
            "must be a whole number from 0",
        ),
        (
            &["serve", "--shadow-share", "abc"],
            "must be a whole number from 0 to 100",
        ),
        (
            &["version", "readiness", "--days", "0"],
            "must be a whole number from 1 to ",
        ),
        (&["token", "revoke", "x"], "must be a whole number from 1"),
        (&["user", "remove", "0"], "must be a whole number from 1"),
        (
            &[
                "token",
                "issue",
                "--provider",
                "10000001",
                "--name",
                "a",
                "--expires",
                "2026-02-30",
            ],
            "the date does not exist",
        ),
        (
            &["usage", "--since", "2026-13-01"],
            "the date does not exist",
        ),
        (
            &["usage", "--since", "1.3.2026"],
            "must have the form YYYY-MM-DD",
        ),
        (
            &["history", "remove", "--before", "2026-13"],
            "'--before <YYYY-MM>': the month does not exist",
        ),
        (
            &["history", "remove", "--before", "2026-1"],
            "'--before <YYYY-MM>': must have the form YYYY-MM",
        ),
        (
            &["history", "remove", "--before", "2999-01"],
            " is not over, and is the latest month that can be given",
        ),
        (&["audit", "none"], "must be 24 characters"),
        (
            &[
                "trainee",
                "erase",
                "none",
                "--provider",
                "10000001",
                "--ground",
                "a",
            ],
            "must be 24 characters",
        ),
        (
            &["provider", "add", "--ukprn", "1000001", "--name", "a"],
            "must be 8 digits",
        ),
        (&["provider", "close", "1000001"], "must be 8 digits"),
        (&["usage", "--provider", "1000001"], "must be 8 digits"),
        (
            &["request", "list", "--provider", "1000001"],
            "must be 8 digits",
        ),
    ] {
        let ended = workplace.run(arguments, None);
        assert_eq!(
            (ended.status(), ended.stdout()),
            (2, ""),
            "{arguments:?}: {}",
            ended.stderr()
        );
        assert!(
            ended.stderr().contains(text),
            "{arguments:?}: {}",
            ended.stderr()
        );
    }
}
