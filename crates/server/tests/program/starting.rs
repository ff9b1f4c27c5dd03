//! What a server says when it cannot start, or should not.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;

use super::support::running::Running;
use super::support::{Ended, Workplace};

/// A user whom the mode of a file holds back, as it does not root.
const OTHER_USER: u32 = 65_534;

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Runs a command as a user without root's access to files.
fn run_as_ordinary_user(workplace: &Workplace, line: &str) -> Ended {
    let mut command = workplace.command(line);
    if is_root() {
        command.uid(OTHER_USER);
    }
    Ended(command.output().unwrap())
}

#[test]
fn second_server_on_sqlite_file_is_warned() {
    let workplace = Workplace::on_sqlite();
    let warning = "another server uses the SQLite database";
    let begin = || Running::begin(&workplace, "");
    let mut first = begin();
    assert!(!first.log_until("listening on ").contains(warning));
    let mut second = begin();
    assert!(second.log_until("listening on ").contains(warning));
    first.stop();
    second.stop();
    assert!(!begin().log_until("listening on ").contains(warning));
}

#[test]
fn wrong_listening_address_is_named() {
    let workplace = Workplace::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let in_use = format!("cannot listen on {taken}: ");
    for (options, texts) in [
        (
            format!("--listen {taken}"),
            vec![
                in_use.as_str(),
                "choose another port with --listen (REGISTER_LISTEN)",
            ],
        ),
        (
            format!("--listen 127.0.0.1:0 --operator-listen {taken}"),
            vec![&in_use, "--operator-listen"],
        ),
        (
            "--listen 203.0.113.1:8080".to_owned(),
            vec!["one of this machine's addresses"],
        ),
        ("--listen 8080".to_owned(), vec!["an address and a port"]),
    ] {
        // The registers of organisations are not empty in a sandbox, so nothing else is said.
        workplace
            .run(format!("serve --registry off {options}"))
            .refuses(&texts);
    }
}

#[test]
fn unreachable_database_is_named_without_address() {
    let workplace = Workplace::new();
    let unreachable = "postgres://register:secret@127.0.0.1:1/register";
    for (command, url, texts) in [
        (
            "serve",
            unreachable,
            ["database cannot be reached", "the database must be running"],
        ),
        (
            "check",
            unreachable,
            ["database cannot be reached", "check --database-url"],
        ),
        (
            "migrate --check",
            unreachable,
            ["database cannot be reached", "check --database-url"],
        ),
        (
            "serve",
            "sqlite:///proc/none/register.db",
            [
                "folder of the database file cannot be made",
                "check --database-url",
            ],
        ),
        (
            "serve",
            "mysql://register:secret@host/register",
            ["database address must be", "check --database-url"],
        ),
    ] {
        let ended = workplace.run(format!("{command} --database-url {url}"));
        ended.refuses(&texts);
        assert!(!ended.stderr().contains("secret"), "{}", ended.stderr());
    }
}

#[test]
fn another_users_command_names_the_file() {
    let workplace = Workplace::on_sqlite();
    workplace.done("migrate");
    let (folder, file) = (workplace.path(""), workplace.path("register.db"));
    for (path, mode) in [(&folder, 0o555), (&file, 0o444)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    for line in ["provider list", "migrate", "backup copy.db"] {
        let texts = [
            file.to_str().unwrap(),
            "run the command as the service user",
        ];
        run_as_ordinary_user(&workplace, line).refuses(&texts);
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
}

/// Commands that write.
const WRITING: &str = "
serve --listen 203.0.113.1:8080
migrate
provider add --ukprn 10000001 --name Ashdown
provider close 10000001
token issue --provider 10000001 --name Records
token revoke 1
user sign-out --all
registry apply award awards.csv
sandbox seed --provider 10000001 --trainees 1
trainee erase 3xampleTra1neeWh1sNotTh1 --provider 10000001 --ground 'case 17' --yes
history remove --before 2026-01
";

#[test]
fn unwritable_sqlite_file_stops_writing_commands() {
    let workplace = Workplace::on_sqlite();
    // A killed server leaves the files beside the database that SQLite needs to read it.
    drop(workplace.serve(""));
    let file = workplace.path("register.db");
    give_to_ordinary_user(&workplace);
    fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
    let texts = [
        file.to_str().unwrap(),
        "database is read-only",
        "run the command as the service user",
    ];
    for line in WRITING.trim().lines() {
        run_as_ordinary_user(&workplace, line).refuses(&texts);
    }
    // One that only reads does not mind.
    run_as_ordinary_user(&workplace, "provider list").done();
}

/// Gives the files of a workplace to the user of [`run_as_ordinary_user`].
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
fn certificate_that_cannot_be_used_is_named() {
    let workplace = Workplace::new();
    let certified = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (one, other) = (certified(), certified());
    workplace.write("chain.pem", one.cert.pem());
    workplace.write("key.pem", one.signing_key.serialize_pem());
    workplace.write("other.pem", other.signing_key.serialize_pem());
    workplace.write("none.pem", "nothing");
    for (chain, key, texts) in [
        ("missing.pem", "key.pem", ["cannot read", "missing.pem"]),
        ("chain.pem", "missing.pem", ["cannot read", "missing.pem"]),
        (
            "none.pem",
            "key.pem",
            ["none.pem holds no certificate", "PEM"],
        ),
        (
            "chain.pem",
            "none.pem",
            ["none.pem holds no private key", "PEM"],
        ),
        (
            "key.pem",
            "key.pem",
            ["key.pem holds no certificate", "PEM"],
        ),
        (
            "chain.pem",
            "other.pem",
            ["other.pem is not the key of", "chain.pem"],
        ),
    ] {
        let line = format!("serve --tls-certificate {chain} --tls-key {key}");
        workplace.run(line).refuses(&texts);
    }
    // One is of no use without the other.
    workplace
        .run("serve --tls-certificate chain.pem")
        .ends(2, &[]);
}

#[test]
fn clock_behind_the_register_refuses_the_start() {
    let workplace = Workplace::new();
    workplace.done("provider add --ukprn 10000001 --name University");
    workplace.done("sandbox seed --provider 10000001 --trainees 1");
    Running::start(&workplace, "");
    workplace.execute("UPDATE changes SET changed_at = '2999-01-01 00:00:00'");
    let told = "the register was last changed at 2999-01-01T00:00:00Z";
    let ended = workplace.run("serve --listen 127.0.0.1:0");
    ended.refuses(&[told, "--clock-check warn"]);
    let mut server = Running::begin(&workplace, "--clock-check warn");
    server.wait_for(told);
    server.wait_until_it_listens();
}

#[test]
fn settings_pages_without_https_are_warned_of() {
    let workplace = Workplace::new();
    let log = |options: &str| {
        let options = format!("--environment production {options}");
        Running::begin_command(Running::command(&workplace, &options)).log_until("listening on ")
    };
    let warning = "the settings pages need HTTPS, and answer 403";
    let off = log("--trusted-proxies ''");
    assert!(
        off.contains("settings pages: off; operators' pages: off") && !off.contains(warning),
        "{off}"
    );
    let on = "--settings on --settings-url https://register.example";
    let direct = log(on);
    assert!(
        direct.contains("settings pages: https://register.example/settings; "),
        "{direct}"
    );
    assert!(direct.contains(warning), "{direct}");
    let proxied = log(&format!("{on} --trusted-proxies 192.0.2.7"));
    assert!(!proxied.contains(warning), "{proxied}");
}

/// Options that contradict each other, and what is said about them.
const CONTRADICTORY: &str = "
--settings off --operator-pages settings | --operator-pages settings (REGISTER_OPERATOR_PAGES) needs the settings pages
--environment production --operator-pages settings | which are off: see --settings
--operator-pages operator-listener | which is off: see --operator-listen
--reference-data absent-lists | absent-lists
--reference-data absent-lists | `reference-data export` to write a folder of lists
";

#[test]
fn contradictory_options_end_the_start() {
    let workplace = Workplace::new();
    for (options, text) in CONTRADICTORY
        .trim()
        .lines()
        .map(|line| line.split_once(" | ").unwrap())
    {
        let ended = workplace.run(format!("serve --listen 127.0.0.1:0 {options}"));
        ended.refuses(&[text]);
    }
}

/// Command lines with a wrong value, and what is said about it.
const INVALID: &str = "
serve --settings yes | possible values: on, off
serve --settings-url register.example | must be a scheme and a host
serve --body-timeout 0 | must be a whole number from 1
serve --rate-window 0 | '--rate-window <SECONDS> (REGISTER_RATE_WINDOW)': must be a whole number from 1
serve --max-connections 0 | must be a whole number from 1
serve --rate-limit abc | must be a whole number from 0
serve --shadow-share abc | must be a whole number from 0 to 100
version readiness --days 0 | must be a whole number from 1 to
token revoke x | must be a whole number from 1
token revoke 1 --by 'A\tB' |
user remove 0 | must be a whole number from 1
user sign-out |
user invite --email a@example.com |
user invite --email a@example.com --operator --provider 10000001 |
user invite --email a@example.com --provider 10000001 --role operator |
user invite --email a@example.com --operator --settings-url register.example | must be a scheme and a host
user invite --email a@example.com --operator --settings-url https://h/settings | must be a scheme and a host
user invite --email a@example.com --operator --operator-pages-url https://h/x?y=z | must be a scheme and a host
user invite --email a@example.com --operator --operator-pages-url ftp://h | must be a scheme and a host
user invite --email a@example.com --operator --operator-pages-url '' | must be a scheme and a host
token issue --provider 10000001 --name a --expires 2026-02-30 | the date does not exist
usage --since 2026-13-01 | the date does not exist
usage --since 1.3.2026 | must have the form YYYY-MM-DD
history remove --before 2026-13 | '--before <YYYY-MM>': the month does not exist
history remove --before 2026-1 | '--before <YYYY-MM>': must have the form YYYY-MM
history remove --before 2999-01 |  is not over, and is the latest month that can be given
audit none | must be 24 characters
trainee erase none --provider 10000001 --ground a | must be 24 characters
provider add --ukprn 1000001 --name a | must be 8 digits
provider close 1000001 | must be 8 digits
usage --provider 1000001 | must be 8 digits
request list --provider 1000001 | must be 8 digits
request list | --provider
request refused | --provider
request list --provider 10000001 --status 6xx | --status
request list --provider 10000001 --from yesterday | --from
request list --provider 10000001 --endpoint 'GET /nothing' | --endpoint
request list --provider 10000001 --token x | --token
request list --provider 10000001 --after x | --after
request list --provider 10000001 --outcome lost | --outcome
";

#[test]
fn invalid_values_are_rejected_by_option_name() {
    let workplace = Workplace::migrated();
    for (line, text) in INVALID
        .trim()
        .lines()
        .map(|line| line.split_once(" |").unwrap())
    {
        let ended = workplace.run(line);
        ended.ends(2, &[text.trim_start()]);
        assert_eq!(ended.stdout(), "", "{line}");
    }
}
