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
fn listening_address_in_use_is_named() {
    let workplace = Workplace::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (options, option) in [
        ("--listen", "--listen (REGISTER_LISTEN)"),
        (
            "--listen 127.0.0.1:0 --operator-listen",
            "--operator-listen (REGISTER_OPERATOR_LISTEN)",
        ),
    ] {
        // A sandbox that fills its registers would log lines before.
        let refused = workplace.run(format!("serve --registry off {options} {taken}"));
        refused.refuses_with(&format!(
            "cannot listen on {taken}: Address already in use (os error 98); stop the program that \
             uses this port, or choose another port with {option}"
        ));
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

/// Commands that end at the start, and the whole line that tells why.
const REFUSED: &str = "
{serve} --settings off --operator-pages settings | --operator-pages settings (REGISTER_OPERATOR_PAGES) needs the settings pages, which are off: see --settings (REGISTER_SETTINGS)
{serve} --environment production --operator-pages settings | --operator-pages settings (REGISTER_OPERATOR_PAGES) needs the settings pages, which are off: see --settings (REGISTER_SETTINGS)
{serve} --operator-pages operator-listener | --operator-pages operator-listener (REGISTER_OPERATOR_PAGES) needs the operator listener, which is off: see --operator-listen (REGISTER_OPERATOR_LISTEN)
{serve} --reference-data absent | absent: No such file or directory (os error 2); run `reference-data export` to write a folder of lists
serve --registry off --listen 203.0.113.1:8080 | cannot listen on 203.0.113.1:8080: Cannot assign requested address (os error 99); choose one of this machine's addresses, such as 127.0.0.1:8080, with --listen (REGISTER_LISTEN)
serve --listen 8080 | cannot listen on 8080: invalid socket address; set an address and a port, such as 127.0.0.1:8080, with --listen (REGISTER_LISTEN)
{serve} --database-url postgres://register:zqxsecret@127.0.0.1:1/register | database cannot be reached: 127.0.0.1:1: error connecting to server: Connection refused (os error 111); check --database-url (REGISTER_DATABASE_URL); the database must be running, and this user must have access
check --database-url postgres://register:zqxsecret@127.0.0.1:1/register | database cannot be reached: 127.0.0.1:1: error connecting to server: Connection refused (os error 111); check --database-url (REGISTER_DATABASE_URL); the database must be running, and this user must have access
migrate --check --database-url postgres://register:zqxsecret@127.0.0.1:1/register | database cannot be reached: 127.0.0.1:1: error connecting to server: Connection refused (os error 111); check --database-url (REGISTER_DATABASE_URL); the database must be running, and this user must have access
{serve} --database-url sqlite:///proc/none/register.db | folder of the database file cannot be made: /proc/none: No such file or directory (os error 2); check --database-url (REGISTER_DATABASE_URL), or create the folder
{serve} --database-url mysql://register:zqxsecret@host/register | database address must be sqlite://PATH, postgres://USER@HOST/NAME or postgresql://USER@HOST/NAME; check --database-url (REGISTER_DATABASE_URL)
{mail} smtp://mail.example:587 | --smtp-url (REGISTER_SMTP_URL) must use TLS: smtps://, or smtp:// with ?tls=required; without TLS only for a mail server on this machine
{mail} https://mail.example | --smtp-url (REGISTER_SMTP_URL) must be like smtps://USER:PASSWORD@HOST:465 or smtp://USER@HOST:587?tls=required
{mail} smtps://:zqxsecret@mail.example | --smtp-url (REGISTER_SMTP_URL) has a password but no user name
{mail} smtps://me@mail.example --smtp-password-file empty | --smtp-password-file (REGISTER_SMTP_PASSWORD_FILE) empty: the file is empty
{mail} smtps://mail.example --settings off | --smtp-url (REGISTER_SMTP_URL) needs the settings pages, which are off: see --settings (REGISTER_SETTINGS)
{mail} smtps://mail.example --settings on --environment production | --smtp-url (REGISTER_SMTP_URL) needs --settings-url (REGISTER_SERVE_SETTINGS_URL) in production: links in mails begin with it
{oidc} http://id.example | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST, optionally with a port and a path; in a sandbox also http on this machine
{oidc} id.example | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST, optionally with a port and a path; in a sandbox also http on this machine
{oidc} https://me:zqxsecret@id.example | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST, optionally with a port and a path; in a sandbox also http on this machine
{oidc} http://127.0.0.1:1 --settings on --environment production | --oidc-issuer (REGISTER_OIDC_ISSUER) must be https://HOST, optionally with a port and a path; in a sandbox also http on this machine
{oidc} https://id.example --oidc-client-secret-file empty | --oidc-client-secret-file (REGISTER_OIDC_CLIENT_SECRET_FILE) empty: the file is empty
{oidc} https://id.example --oidc-client-secret-file absent | --oidc-client-secret-file (REGISTER_OIDC_CLIENT_SECRET_FILE) absent: No such file or directory (os error 2)
{oidc} https://id.example --settings off | --oidc-issuer (REGISTER_OIDC_ISSUER) needs the settings pages, which are off: see --settings (REGISTER_SETTINGS)
serve --tls-certificate missing.pem --tls-key key.pem | cannot read missing.pem: No such file or directory (os error 2); check --tls-certificate (REGISTER_TLS_CERTIFICATE), --tls-key (REGISTER_TLS_KEY) and who may read the files
serve --tls-certificate chain.pem --tls-key missing.pem | cannot read missing.pem: No such file or directory (os error 2); check --tls-certificate (REGISTER_TLS_CERTIFICATE), --tls-key (REGISTER_TLS_KEY) and who may read the files
serve --tls-certificate none.pem --tls-key key.pem | none.pem holds no certificate in PEM form; give a file that does
serve --tls-certificate chain.pem --tls-key none.pem | none.pem holds no private key in PEM form; give a file that does
serve --tls-certificate key.pem --tls-key key.pem | key.pem holds no certificate in PEM form; give a file that does
serve --tls-certificate chain.pem --tls-key other.pem | other.pem is not the key of chain.pem; use the key that the certificate was requested with
";

#[test]
fn refused_start_is_explained_in_one_line() {
    let workplace = Workplace::new();
    workplace.write("empty", " \n");
    let certified = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (one, other) = (certified(), certified());
    workplace.write("chain.pem", one.cert.pem());
    workplace.write("key.pem", one.signing_key.serialize_pem());
    workplace.write("other.pem", other.signing_key.serialize_pem());
    workplace.write("none.pem", "nothing");
    let serve = "serve --listen 127.0.0.1:0";
    for case in REFUSED.trim().lines() {
        let (line, expected) = case.split_once(" | ").unwrap();
        let line = line
            .replace("{serve}", serve)
            .replace(
                "{mail}",
                &format!("{serve} --mail-from a@register.example --smtp-url"),
            )
            .replace(
                "{oidc}",
                &format!("{serve} --oidc-client-id register --oidc-issuer"),
            );
        workplace.run(line).refuses_with(expected);
    }
}

/// Command lines with a wrong value or too few, and the end of the message.
const INVALID: &str = r"
serve --settings yes | '--settings <on|off> (REGISTER_SETTINGS)'\n  [possible values: on, off]
serve --settings-url register.example | '--settings-url <URL> (REGISTER_SERVE_SETTINGS_URL)': must be a scheme and a host, optionally with a port, such as https://register.example
serve --body-timeout 0 | '--body-timeout <SECONDS> (REGISTER_BODY_TIMEOUT)': must be a whole number from 1
serve --rate-window 0 | '--rate-window <SECONDS> (REGISTER_RATE_WINDOW)': must be a whole number from 1
serve --max-connections 0 | '--max-connections <N> (REGISTER_MAX_CONNECTIONS)': must be a whole number from 1
serve --rate-limit abc | '--rate-limit <N> (REGISTER_RATE_LIMIT)': must be a whole number from 0
serve --shadow-share abc | '--shadow-share <PERCENT> (REGISTER_SHADOW_SHARE)': must be a whole number from 0 to 100
version readiness --days 0 | '--days <N>': must be a whole number from 1 to 400
token revoke x | '<ID>': must be a whole number from 1
token revoke 1 --by 'A\tB' | '--by <NAME>': must be one line of 1 to 200 characters
user remove 0 | '<ID>': must be a whole number from 1
user sign-out | arguments were not provided:\n  <ID>
user invite --email a@example.com | arguments were not provided:\n  --provider <UKPRN>
user invite --email a@example.com --operator --provider 10000001 | the argument '--operator' cannot be used with '--provider <UKPRN>'
user invite --email a@example.com --provider 10000001 --role operator | '--role <ROLE>': must be admin, editor or viewer
user invite --email a@example.com --operator --settings-url register.example | '--settings-url <URL>': must be a scheme and a host, optionally with a port, such as https://register.example
user invite --email a@example.com --operator --settings-url https://h/settings | '--settings-url <URL>': must be a scheme and a host, optionally with a port, such as https://register.example
user invite --email a@example.com --operator --operator-pages-url https://h/x?y=z | '--operator-pages-url <URL>': must be a scheme and a host, optionally with a port, such as https://register.example
user invite --email a@example.com --operator --operator-pages-url ftp://h | '--operator-pages-url <URL>': must be a scheme and a host, optionally with a port, such as https://register.example
user invite --email a@example.com --operator --operator-pages-url '' | '--operator-pages-url <URL>': must be a scheme and a host, optionally with a port, such as https://register.example
token issue --provider 10000001 --name a --expires 2026-02-30 | '--expires <YYYY-MM-DD>': the date does not exist
usage --since 2026-13-01 | '--since <YYYY-MM-DD>': the date does not exist
usage --since 1.3.2026 | '--since <YYYY-MM-DD>': must have the form YYYY-MM-DD
history remove --before 2026-13 | '--before <YYYY-MM>': the month does not exist
history remove --before 2026-1 | '--before <YYYY-MM>': must have the form YYYY-MM
history remove --before 2999-01 | is not over, and is the latest month that can be given
audit none | '<TRAINEE_ID>': must be 24 characters
trainee erase none --provider 10000001 --ground a | '[TRAINEE_ID]...': must be 24 characters
provider add --ukprn 1000001 --name a | '--ukprn <UKPRN>': must be 8 digits
provider close 1000001 | '<UKPRN>': must be 8 digits
usage --provider 1000001 | '--provider <UKPRN>': must be 8 digits
request list --provider 1000001 | '--provider <UKPRN>': must be 8 digits
request list | arguments were not provided:\n  --provider <UKPRN>
request refused | arguments were not provided:\n  --provider <UKPRN>
request list --provider 10000001 --status 6xx | '--status <STATUS>': a status is a number from 100 to 599, such as 422, or a class such as 4xx
request list --provider 10000001 --from yesterday | '--from <TIME>': a time is an ISO 8601 date, or a date and time such as 2026-10-05T09:00:00Z
request list --provider 10000001 --endpoint 'GET /nothing' | '--endpoint <ENDPOINT>': an endpoint is a method and a path, such as POST /trainees
request list --provider 10000001 --token x | '--token <ID>': must be a whole number from 1
request list --provider 10000001 --after x | '--after <POSITION>': not a position in the list of requests
request list --provider 10000001 --outcome lost | '--outcome <OUTCOME>'\n  [possible values: refused, accepted]
serve --oidc-issuer https://id.example | arguments were not provided:\n  --oidc-client-id <ID> (REGISTER_OIDC_CLIENT_ID)
serve --oidc-client-id register | arguments were not provided:\n  --oidc-issuer <URL> (REGISTER_OIDC_ISSUER)
serve --oidc-provider-claim ukprn | arguments were not provided:\n  --oidc-client-id <ID> (REGISTER_OIDC_CLIENT_ID)\n  --oidc-issuer <URL> (REGISTER_OIDC_ISSUER)
serve --oidc-operator-value staff | arguments were not provided:\n  --oidc-issuer <URL> (REGISTER_OIDC_ISSUER)\n  --oidc-client-id <ID> (REGISTER_OIDC_CLIENT_ID)\n  --oidc-role-claim <NAME> (REGISTER_OIDC_ROLE_CLAIM)
serve --smtp-url smtp://localhost | arguments were not provided:\n  --mail-from <ADDRESS> (REGISTER_MAIL_FROM)
serve --tls-certificate chain.pem | arguments were not provided:\n  --tls-key <FILE> (REGISTER_TLS_KEY)
";

#[test]
fn invalid_values_are_rejected_by_option_name() {
    let workplace = Workplace::migrated();
    for case in INVALID.trim().lines() {
        let (line, expected) = case.split_once(" | ").unwrap();
        let ended = workplace.run(line.replace("\\t", "\t"));
        ended.ends(2, &[]);
        let message = ended.stderr().split("\n\n").next().unwrap();
        let is_expected = message.ends_with(&expected.replace("\\n", "\n"));
        assert!(
            is_expected && ended.stdout().is_empty(),
            "{line}: {message}"
        );
    }
}
