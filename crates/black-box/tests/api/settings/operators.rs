//! What operators of the service do on their pages to organisations, and what is there to see of
//! it.

use std::collections::BTreeSet;
use std::io::{self, Read};

use registry::import::{ImportError, import};
use storage::accounts::users::{Actor, NewInvitation, UserRole};
use storage::observations::imports::{ImportCounts, ImportKind, NewImport, RefusedLine};
use storage::records::organisations::merge::PartnerDetails;
use test_support::{Kind, execute};

use super::browser::{Browser, link, text_after};
use super::pages::{SCRIPT, are_safe};
use crate::api::support::register::UKPRN;
use crate::api::support::{Register, TextChecks as _};

const NEW: &str = "10000009";

#[test]
fn an_organisation_is_added_renamed_closed_and_reopened() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    for (ukprn, name, fault) in [
        ("1", "Ash", "a UKPRN of 8 digits"),
        (
            UKPRN,
            "Ash",
            "An organisation with this UKPRN already exists",
        ),
        (NEW, " ", "Enter a name"),
        ("\0", "Ash", "a UKPRN of 8 digits"),
    ] {
        let page = operator
            .send(
                "/settings/organisations/add",
                &[("ukprn", ukprn), ("name", name)],
            )
            .is(422);
        page.shows(&[fault, "There is a problem"]);
    }
    let added = operator
        .send(
            "/settings/organisations/add",
            &[("ukprn", NEW), ("name", "Cedar College")],
        )
        .is(303);
    let home = format!("/settings/organisations/{NEW}");
    assert_eq!(added.header("location"), Some(home.as_str()));
    operator.see(&home, &["<h1>Cedar College</h1>"]);
    operator
        .send(&format!("{home}/rename"), &[("name", "")])
        .is(422);
    operator
        .send(&format!("{home}/rename"), &[("name", "Cedar University")])
        .is(303);
    operator.see("/settings", &["Cedar University"]);

    let admin = Browser::signed_in(&register, Some(NEW), "a@example.com", UserRole::Admin);
    admin.open("/settings").is(200);
    operator.see(&format!("{home}/close"), &["Close Cedar University?"]);
    operator.send(&format!("{home}/close"), &[]).is(303);
    operator.see(&home, &["closed on 5 October 2026"]);
    // A refused page for a closed organisation does not sign the operator out.
    let page = operator
        .send(&format!("{home}/tokens"), &[("name", "Records")])
        .is(409);
    page.shows(&["The organisation is closed"]);
    operator
        .send(
            &format!("{home}/people"),
            &[("email", "c@example.com"), ("role", "admin")],
        )
        .is(409);
    operator.send(&format!("{home}/reopen"), &[]).is(303);
    // Its people were signed out, and stay so.
    admin.open("/settings").is(303);
    operator
        .send(&format!("{home}/tokens"), &[("name", "Records")])
        .is(200);

    let log = operator
        .open(&format!("/settings/activity?organisation={NEW}"))
        .is(200)
        .text;
    log.shows(&[
        "added an organisation",
        "Cedar College to Cedar University",
        "closed an",
        "reopened an",
        "o@example.com",
    ]);
    operator
        .open("/settings/activity?organisation=unknown")
        .is(404);
}

#[test]
fn operator_manages_tokens_and_users_of_an_organisation() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let operator = Browser::operator(&register);
    let home = format!("/settings/organisations/{UKPRN}");
    let tokens = format!("{home}/tokens");
    operator.send(&tokens, &[("name", "")]).is(422);
    let made = operator
        .send(&tokens, &[("name", "Made for them")])
        .is(200)
        .text;
    assert!(text_after(&made, "autocomplete=\"off\" value=\"", "\"").starts_with("sandbox_"));
    made.shows(&[&format!("href=\"{tokens}\"")]);
    operator.see(&tokens, &["an operator (user 2)"]);
    operator.open(&format!("{tokens}/2/rotate")).is(200);
    operator
        .send(&format!("{tokens}/2/rotate"), &[("overlap", "7")])
        .is(200);
    let revoked = operator.send(&format!("{tokens}/2/revoke"), &[]).is(303);
    assert_eq!(revoked.header("location"), Some(tokens.as_str()));

    let people = format!("{home}/people");
    let invited = operator
        .send(&people, &[("email", "b@example.com"), ("role", "viewer")])
        .is(200)
        .text;
    invited.shows(&["Ashdown University", "/settings/sign-in/"]);
    // Operators alone may send another link to a user with access, and remove the last admin.
    let again = operator
        .send(&people, &[("email", "a@example.com"), ("role", "viewer")])
        .is(200)
        .text;
    again.shows(&["as admin"]);
    operator
        .send(&format!("{people}/1/role"), &[("role", "x")])
        .is(422);
    let changed = operator
        .send(&format!("{people}/1/role"), &[("role", "viewer")])
        .is(303);
    assert_eq!(changed.header("location"), Some(people.as_str()));
    admin
        .open("/settings/tokens")
        .is(200)
        .lacks(&["Create token"]);

    operator
        .send(&format!("{home}/rename"), &[("name", "Ashdown College")])
        .is(303);
    register.operate(|session| {
        let request = NewInvitation {
            provider_ukprn: Some(UKPRN),
            email: "d@example.com",
            role: UserRole::Viewer,
        };
        session
            .invite_user(Actor::operator("A. Person"), request)
            .map(drop)
    });
    // The organisation sees what was done, and not who of the operators did it, or where.
    let log = admin.open("/settings/activity").is(200).text;
    log.shows(&[
        "created a token",
        "replaced a token",
        "revoked a token",
        "changed a role",
        "renamed an",
        "an operator (user 2)",
        "the service (command)",
    ]);
    log.lacks(&["o@example.com", "A. Person"]);
    let from = |log: &str, who: &str| {
        let entries = log
            .split("<tr>")
            .filter(|entry| entry.contains(&format!("data-name=\"Who\">{who} ")));
        entries
            .map(|entry| text_after(entry, "data-name=\"From\">", "<").to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        from(&log, "an operator"),
        BTreeSet::from(["not shown".to_owned()])
    );
    assert_eq!(
        from(&log, "a@example.com"),
        BTreeSet::from(["127.0.0.1".to_owned()])
    );
    let whole = operator.open("/settings/activity").text;
    assert_eq!(
        from(&whole, "o@example.com"),
        BTreeSet::from(["127.0.0.1".to_owned()])
    );
    whole.shows(&["A. Person (command)"]);
    operator.send(&format!("{people}/1/remove"), &[]).is(303);
    admin.open("/settings").is(303);
    let other = Browser::other_admin(&register);
    other.open("/settings/activity").lacks(&["a token"]);
}

fn record_import(register: &Register, by: &'static str, problem: &'static str) {
    register.operate(move |session| {
        let import = NewImport {
            kind: ImportKind::Schools,
            operation: "school import".to_owned(),
            counts: ImportCounts {
                added: 3,
                changed: 2,
                unchanged: 1,
            },
            refused: vec![RefusedLine {
                line: 7,
                problem: problem.to_owned(),
            }],
            stopped_at_line: None,
        };
        session.record_import(Actor::operator(by), &import)
    });
}

#[test]
fn imports_are_listed_page_by_page_with_their_reports() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    operator.see("/settings/imports", &["There are no imports"]);
    for _ in 0..51 {
        record_import(&register, "A. Operator", "URN must be 6 digits");
    }
    let first = operator.open("/settings/imports").is(200).text;
    assert_eq!(first.matches("data-name=\"Import\"").count(), 50);
    let older = text_after(&first, "<a class=\"button second\" href=\"", "\"").to_owned();
    let older = operator.open(&older).is(200).text;
    assert_eq!(older.matches("data-name=\"Import\"").count(), 1);
    let report = operator.open("/settings/imports/51").is(200).text;
    report.shows(&[
        "schools (school import)",
        "A. Operator",
        "URN must be 6 digits",
        "data-name=\"Line\">7<",
    ]);
    operator.open("/settings/imports/52").is(404);
}

#[test]
fn operator_pages_are_safe_with_planted_scripts() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    let home = format!("/settings/organisations/{NEW}");
    Browser::admin(&register);
    link(&register, Some(UKPRN), "b@example.com", UserRole::Viewer);
    record_import(&register, SCRIPT, SCRIPT);
    operator
        .send(
            "/settings/organisations/add",
            &[("ukprn", NEW), ("name", SCRIPT)],
        )
        .is(303);
    let made = operator
        .send(&format!("{home}/tokens"), &[("name", SCRIPT)])
        .is(200);
    let token = operator.open(&format!("{home}/tokens")).text;
    let token = text_after(&token, "id=\"token-", "\"").to_owned();
    let mut pages = vec![made];
    for path in [
        "/settings".to_owned(),
        "/settings/organisations".to_owned(),
        "/settings/organisations/add".to_owned(),
        home.clone(),
        format!("{home}/close"),
        format!("{home}/tokens"),
        format!("{home}/tokens/{token}/rotate"),
        format!("{home}/tokens/{token}/revoke"),
        format!("{home}/people"),
        format!("/settings/organisations/{UKPRN}/people/2"),
        "/settings/registry".to_owned(),
        "/settings/registry?for=award".to_owned(),
        "/settings/registry/trainee".to_owned(),
        "/settings/registry/file".to_owned(),
        "/settings/history".to_owned(),
        "/settings/imports".to_owned(),
        "/settings/imports/1".to_owned(),
        "/settings/activity".to_owned(),
        format!("/settings/activity?organisation={NEW}"),
    ] {
        pages.push(
            operator
                .request("GET", &path)
                .header("Accept-Encoding", "gzip")
                .page()
                .is(200),
        );
    }
    pages.push(
        operator
            .open("/settings/registry?organisation=%3Cscript%3E")
            .is(422),
    );
    for (path, fields) in [
        (
            "/settings/organisations/add",
            vec![("ukprn", SCRIPT), ("name", SCRIPT)],
        ),
        (
            "/settings/registry/trainee",
            vec![("trainee_id", SCRIPT), ("action", "award"), ("trn", SCRIPT)],
        ),
        (
            "/settings/registry/file",
            vec![("action", "award"), ("rows", SCRIPT)],
        ),
        ("/settings/history", vec![("trainee_id", SCRIPT)]),
    ] {
        pages.push(operator.send(path, &fields).is(422));
    }
    let rows = format!("trainee_id\n{}", SCRIPT.replace(['"', ','], ""));
    pages.push(
        operator
            .send(
                "/settings/registry/file",
                &[("action", "award"), ("rows", &rows)],
            )
            .is(200),
    );
    are_safe(&pages);
}

#[test]
fn a_character_that_postgresql_refuses_is_found_nowhere() {
    let register = Register::start();
    let operator = Browser::operator(&register);
    operator
        .send("/settings/history", &[("trainee_id", "a\0")])
        .is(422);
    let fields = [("trainee_id", "a\0"), ("action", "issue-trn")];
    operator.send("/settings/registry/trainee", &fields).is(422);
    for path in [
        "/settings/registry?organisation=%00",
        "/settings/activity?organisation=%00",
        "/settings/requests?a=%00",
    ] {
        let page = operator.open(path);
        let status = page.status;
        assert!([404, 422].contains(&status), "{path}: {status}");
    }
}

/// A file that cannot be read to its end.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

/// SQL that refuses a partner of the second transaction of an import.
fn refusing_trigger() -> &'static str {
    match Kind::from_environment() {
        Kind::Sqlite => {
            "CREATE TRIGGER refuse BEFORE INSERT ON training_partners WHEN NEW.urn = '300550'
             BEGIN SELECT RAISE(ABORT, 'refused'); END"
        }
        Kind::Postgres => {
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON training_partners FOR EACH ROW
                 WHEN (NEW.urn = '300550') EXECUTE FUNCTION refuse()"
        }
    }
}

#[test]
fn import_that_stops_half_way_is_listed_with_the_line() {
    let register = Register::start();
    let mut file = "URN,UKPRN,Name\n1,,No partner\n".to_owned();
    for number in 0..600 {
        file += &format!("{},,Partner {number}\n", 300_000 + number);
    }
    execute(register.database().url(), refusing_trigger());
    let report =
        import::<PartnerDetails>(&register.store(), file.as_bytes(), "A. Operator").unwrap();
    let stopped = report.stopped.unwrap();
    // The first 500 partners, on the lines from 3 on, were written together.
    assert_eq!(
        (stopped.line, report.merged.added, report.refused.len()),
        (503, 500, 1)
    );
    assert!(matches!(stopped.reason, ImportError::Storage(_)) && report.stored.is_ok());
    let shown = Browser::operator(&register)
        .open("/settings/imports/1")
        .is(200)
        .text;
    shown.shows(&[
        "<dt>Added</dt><dd>500</dd>",
        "<dt>Stopped</dt><dd>at line 503",
        "URN must be 6 digits",
    ]);
    let headless = import::<PartnerDetails>(&register.store(), Broken, "A. Operator");
    assert!(matches!(headless, Err(ImportError::Unreadable(_))));
    let imports = register.operate(|session| session.list_imports(None, 10));
    assert_eq!(imports.len(), 1);
}
