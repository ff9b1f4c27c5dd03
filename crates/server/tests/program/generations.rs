//! The cursors of changes and lists after a register was started again, restored, copied or moved
//! to another server.

use serde_json::{Value, json};
use test_support::{Cluster, Database, Kind, Settings, Tool, all_kinds, has_tools};

use super::support::{Server, Workplace, agent, execute, kinds, texts, wait_until};

/// The provider of the demo.
const DEMO: &str = "10099999";
const TRAINEES: usize = 40;

/// The status and the changes behind a cursor, or from the beginning.
fn changes(server: &Server, after: Option<&str>) -> (u16, Value) {
    let label = versions::all().newest().unwrap().version.label;
    let after = after.map_or_else(String::new, |after| format!("&after={after}"));
    server.send(
        &agent(),
        "GET",
        &format!("/api/{label}/changes?limit=500{after}"),
        None,
    )
}

/// The status of a page of a list behind a cursor.
fn page(server: &Server, cursor: &str) -> (u16, Value) {
    let label = versions::all().newest().unwrap().version.label;
    server.send(
        &agent(),
        "GET",
        &format!("/api/{label}/trainees?per_page=1&cursor={cursor}"),
        None,
    )
}

/// The cursor behind the first trainee of a list.
fn list_cursor(server: &Server) -> String {
    let label = versions::all().newest().unwrap().version.label;
    let url = format!(
        "http://{}/api/{label}/trainees?per_page=1",
        server.address()
    );
    let reply = agent()
        .get(url)
        .header("Authorization", format!("Bearer {}", server.token()))
        .call()
        .unwrap();
    let link = reply.headers()["link"].to_str().unwrap().to_owned();
    link.split("cursor=")
        .nth(1)
        .unwrap()
        .split('>')
        .next()
        .unwrap()
        .to_owned()
}

/// A cursor behind all changes.
fn cursor(server: &Server) -> String {
    let mut after = String::new();
    // They are shown when the transactions of other tests on the same server have ended.
    wait_until("all changes are shown", || {
        let (status, reply) = changes(server, None);
        assert_eq!(status, 200, "{reply}");
        reply["meta"]["after"]
            .as_str()
            .unwrap()
            .clone_into(&mut after);
        reply["data"].as_array().unwrap().len() == TRAINEES
    });
    after
}

/// Checks that the cursor is refused as outdated, and that a copy can begin.
#[track_caller]
fn begins_again(server: &Server, outdated: &str) -> String {
    let (status, reply) = changes(server, Some(outdated));
    let message = reply["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(
        status == 410 && message.contains("start again without"),
        "{status}: {reply}"
    );
    cursor(server)
}

fn run(place: &Workplace, arguments: &[&str]) {
    let ended = place.run(arguments, None);
    assert_eq!(ended.status(), 0, "{}{}", ended.stdout(), ended.stderr());
}

fn seed(place: &Workplace, url: &str) {
    let trainees = TRAINEES.to_string();
    run(
        place,
        &[
            "provider",
            "add",
            "--ukprn",
            DEMO,
            "--name",
            "Demo",
            "--database-url",
            url,
        ],
    );
    run(
        place,
        &[
            "sandbox",
            "seed",
            "--provider",
            DEMO,
            "--trainees",
            &trainees,
            "--database-url",
            url,
        ],
    );
}

#[test]
fn a_cursor_outlives_a_restart_and_no_restored_backup() {
    let place = Workplace::on_sqlite();
    seed(&place, &place.url());
    let server = place.serve(&[], None);
    let (known, of_list) = (cursor(&server), list_cursor(&server));
    server.stop();
    let server = place.serve(&[], None);
    assert_eq!(
        (changes(&server, Some(&known)).0, page(&server, &of_list).0),
        (200, 200)
    );
    server.stop();
    let file = place.path("backup.db");
    assert_eq!(place.run(&["backup"], Some(&file)).status(), 0);
    assert_eq!(place.run(&["restore", "--force"], Some(&file)).status(), 0);
    let server = place.serve(&[], None);
    begins_again(&server, &known);
    assert_eq!(page(&server, &of_list).0, 410);
}

#[test]
fn a_copied_register_begins_another_generation() {
    for (from, to) in all_kinds()
        .into_iter()
        .flat_map(|from| kinds().into_iter().map(move |to| (from, to)))
    {
        let place = Workplace::on_sqlite();
        let [source, target] = [from, to].map(Database::fresh_on);
        seed(&place, source.url());
        let known = cursor(&place.serve(&["--database-url", source.url()], None));
        run(
            &place,
            &["copy", "--from", source.url(), "--to", target.url()],
        );
        let server = place.serve(&["--database-url", target.url()], None);
        let renewed = begins_again(&server, &known);
        server.stop();
        let server = place.serve(&["--database-url", target.url()], None);
        assert_eq!(
            changes(&server, Some(&renewed)).0,
            200,
            "{from:?} to {to:?}"
        );
    }
}

#[test]
fn a_restored_dump_begins_another_generation() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(Kind::Postgres));
    seed(&place, database.url());
    let known = cursor(&place.serve(&["--database-url", database.url()], None));
    // As if it came from another server, with positions that are far ahead.
    execute(
        database.url(),
        "UPDATE register_settings SET value = '0000000000000000 1' WHERE name = 'change_generation';
         UPDATE trainees SET position = 900000000000000 + id;
         UPDATE provider_positions SET position = 900000000001000 WHERE provider_id > 0",
    );
    let server = place.serve(&["--database-url", database.url()], None);
    let known = begins_again(&server, &known);
    server.stop();
    // As if it were restored on the same server, where the table is another one.
    execute(
        database.url(),
        "UPDATE register_settings SET value = regexp_replace(value, '[0-9]+$', '1') WHERE name = 'change_generation'",
    );
    begins_again(
        &place.serve(&["--database-url", database.url()], None),
        &known,
    );
}

/// Changes a trainee; the status of the reply.
fn change(server: &Server, id: &str, email: &str) -> u16 {
    let path = format!(
        "/api/{}/trainees/{id}",
        versions::all().newest().unwrap().version.label
    );
    server
        .send(
            &agent(),
            "PATCH",
            &path,
            Some(&json!({ "data": { "email": email } })),
        )
        .0
}

#[test]
fn promoted_standby_without_the_last_changes_accepts_no_earlier_cursor() {
    if !kinds().contains(&Kind::Postgres) || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let (place, mut primary) = (Workplace::on_sqlite(), Cluster::start(Settings::Durable));
    let primary_url = primary.url("postgres");
    seed(&place, &primary_url);
    let mut standby = primary.standby();
    let standby_url = standby.url("postgres");
    let primary_host = primary_url.trim_end_matches("/postgres");
    let both = format!(
        "{primary_host},{}",
        standby_url.trim_start_matches("postgres://postgres@")
    );
    let server = place.serve(&["--database-url", &both], None);
    wait_until("the standby has the token of the server", || {
        let tokens = |url| texts(url, "SELECT digest AS text FROM tokens ORDER BY digest");
        tokens(&standby_url) == tokens(&primary_url)
    });
    let id = changes(&server, None).1["data"][0]["trainee_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (replicated, replicated_page) = (cursor(&server), list_cursor(&server));

    standby.stop_immediately();
    assert_eq!(change(&server, &id, "lost@example.com"), 200);
    let mut lost = String::new();
    wait_until("the change is shown", || {
        let (status, reply) = changes(&server, Some(&replicated));
        assert_eq!(status, 200, "{reply}");
        reply["meta"]["after"]
            .as_str()
            .unwrap()
            .clone_into(&mut lost);
        reply["data"].as_array().unwrap().len() == 1
    });
    let lost_page = list_cursor(&server);

    primary.stop_immediately();
    standby.start_again();
    // The timeline of a standby is not known.
    wait_until("the server reads from the standby", || {
        changes(&server, None).0 == 200
    });
    let (from_standby, page_from_standby) = (cursor(&server), list_cursor(&server));
    let statuses = [&replicated, &lost, &from_standby].map(|after| changes(&server, Some(after)).0);
    let page_statuses =
        [&replicated_page, &lost_page, &page_from_standby].map(|cursor| page(&server, cursor).0);
    assert_eq!((statuses, page_statuses), ([503; 3], [503; 3]));

    execute(&standby_url, "SELECT pg_promote()");
    // The positions of the lost changes are given to others.
    for number in 0..5 {
        let email = format!("{number}@example.com");
        wait_until("the promoted standby takes a change", || {
            change(&server, &id, &email) == 200
        });
    }
    for outdated in [&replicated, &lost, &from_standby] {
        let renewed = begins_again(&server, outdated);
        assert_eq!(changes(&server, Some(&renewed)).0, 200);
    }
    for outdated in [&replicated_page, &lost_page, &page_from_standby] {
        assert_eq!(page(&server, outdated).0, 410);
    }
    assert_eq!(page(&server, &list_cursor(&server)).0, 200);
}
