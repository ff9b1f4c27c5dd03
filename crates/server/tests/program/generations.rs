//! The cursors of changes and lists after a register was started again, restored, copied or moved
//! to another server.

use serde_json::Value;
use test_support::{Cluster, Kind, Settings, Tool, all_kinds, has_tools};

use super::support::{DEMO, Server, Workplace, agent, execute, kinds, path, texts, wait_until};

const TRAINEES: usize = 40;

/// The status and the changes behind a cursor, or from the beginning.
fn changes(server: &Server, after: Option<&str>) -> (u16, Value) {
    let after = after.map_or_else(String::new, |after| format!("&after={after}"));
    server.get(&format!("/changes?limit=500{after}"))
}

/// The status of a page of a list behind a cursor.
fn page(server: &Server, cursor: &str) -> u16 {
    server
        .get(&format!("/trainees?per_page=1&cursor={cursor}"))
        .0
}

/// The cursor behind the first trainee of a list.
fn list_cursor(server: &Server) -> String {
    let url = format!(
        "http://{}{}",
        server.address(),
        path("/trainees?per_page=1")
    );
    let reply = agent()
        .get(url)
        .header("Authorization", format!("Bearer {}", server.token()))
        .call()
        .unwrap();
    let link = reply.headers()["link"].to_str().unwrap();
    let (_, cursor) = link.split_once("cursor=").unwrap();
    cursor.split('>').next().unwrap().to_owned()
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

fn seed(place: &Workplace, options: &str) {
    place.done(format!("provider add --ukprn {DEMO} --name Demo {options}"));
    place.done(format!(
        "sandbox seed --provider {DEMO} --trainees {TRAINEES} {options}"
    ));
}

#[test]
fn cursor_survives_restart_and_no_restore() {
    let place = Workplace::on_sqlite();
    seed(&place, "");
    let server = place.serve("");
    let (known, of_list) = (cursor(&server), list_cursor(&server));
    server.stop();
    let server = place.serve("");
    let statuses = (changes(&server, Some(&known)).0, page(&server, &of_list));
    assert_eq!(statuses, (200, 200));
    server.stop();
    place.done("backup backup.db");
    place.done("restore --force backup.db");
    let server = place.serve("");
    begins_again(&server, &known);
    assert_eq!(page(&server, &of_list), 410);
}

#[test]
fn copied_register_begins_another_generation() {
    for (from, to) in all_kinds()
        .into_iter()
        .flat_map(|from| kinds().into_iter().map(move |to| (from, to)))
    {
        let [source, target] = [from, to].map(Workplace::on);
        seed(&source, "");
        let known = cursor(&source.serve(""));
        source.done(format!(
            "copy --from {} --to {}",
            source.url(),
            target.url()
        ));
        let server = target.serve("");
        let renewed = begins_again(&server, &known);
        server.stop();
        let server = target.serve("");
        let status = changes(&server, Some(&renewed)).0;
        assert_eq!(status, 200, "{from:?} to {to:?}");
    }
}

#[test]
fn restored_dump_begins_another_generation() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let place = Workplace::on(Kind::Postgres);
    seed(&place, "");
    let known = cursor(&place.serve(""));
    // As if it came from another server, with positions that are far ahead.
    place.execute(
        "UPDATE register_settings SET value = '0000000000000000 1' WHERE name = 'change_generation';
         UPDATE trainees SET position = 900000000000000 + id;
         UPDATE provider_positions SET position = 900000000001000 WHERE provider_id > 0",
    );
    let server = place.serve("");
    let known = begins_again(&server, &known);
    server.stop();
    // As if it were restored on the same server, where the table is another one.
    place.execute(
        "UPDATE register_settings SET value = regexp_replace(value, '[0-9]+$', '1') WHERE name = 'change_generation'",
    );
    begins_again(&place.serve(""), &known);
}

#[test]
fn promoted_standby_accepts_no_earlier_cursor() {
    if !kinds().contains(&Kind::Postgres) || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let (place, mut primary) = (Workplace::on_sqlite(), Cluster::start(Settings::Durable));
    let primary_url = primary.url("postgres");
    seed(&place, &format!("--database-url {primary_url}"));
    let mut standby = primary.standby();
    let standby_url = standby.url("postgres");
    let both = format!(
        "{},{}",
        primary_url.trim_end_matches("/postgres"),
        standby_url.trim_start_matches("postgres://postgres@")
    );
    let server = place.serve(format!("--database-url {both}"));
    wait_until("the standby has the token of the server", || {
        let tokens = |url| texts(url, "SELECT digest AS text FROM tokens ORDER BY digest");
        tokens(&standby_url) == tokens(&primary_url)
    });
    let (_, all) = changes(&server, None);
    let id = all["data"][0]["trainee_id"].as_str().unwrap();
    let change = |email: &str| server.change(id, "email", email);
    let (replicated, replicated_page) = (cursor(&server), list_cursor(&server));

    standby.stop_immediately();
    assert_eq!(change("lost@example.com"), 200);
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
    let outdated = [&replicated, &lost, &from_standby];
    let outdated_pages = [&replicated_page, &lost_page, &page_from_standby];
    let statuses = outdated.map(|after| changes(&server, Some(after)).0);
    let page_statuses = outdated_pages.map(|cursor| page(&server, cursor));
    assert_eq!((statuses, page_statuses), ([503; 3], [503; 3]));

    execute(&standby_url, "SELECT pg_promote()");
    // The positions of the lost changes are given to others.
    for number in 0..5 {
        let email = format!("{number}@example.com");
        wait_until("the promoted standby takes a change", || {
            change(&email) == 200
        });
    }
    for outdated in outdated {
        let renewed = begins_again(&server, outdated);
        assert_eq!(changes(&server, Some(&renewed)).0, 200);
    }
    for outdated in outdated_pages {
        assert_eq!(page(&server, outdated), 410);
    }
    assert_eq!(page(&server, &list_cursor(&server)), 200);
}
