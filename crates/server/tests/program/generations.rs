//! What becomes of the cursors of the changes when a register is started again, restored, copied or moved to another server.

use serde_json::Value;
use server::versions;
use test_support::{Database, Kind};

use super::support::{Server, Workplace, agent, execute, kinds};

/// The provider of the demo.
const DEMO: &str = "10099999";
const TRAINEES: usize = 40;

/// The status and the changes behind a cursor, or from the beginning.
fn changes(server: &Server, after: Option<&str>) -> (u16, Value) {
    let label = versions::all().newest().unwrap().version.label;
    let after = after.map_or_else(String::new, |after| format!("&after={after}"));
    server.send(&agent(), "GET", &format!("/api/{label}/changes?limit=500{after}"), None)
}

/// A cursor behind all changes.
fn cursor(server: &Server) -> String {
    let (status, reply) = changes(server, None);
    assert_eq!((status, reply["data"].as_array().unwrap().len()), (200, TRAINEES), "{reply}");
    reply["meta"]["after"].as_str().unwrap().to_owned()
}

/// Checks that the cursor is refused as outdated, and that a copy can begin.
#[track_caller]
fn begins_again(server: &Server, outdated: &str) -> String {
    let (status, reply) = changes(server, Some(outdated));
    let message = reply["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(status == 410 && message.contains("start again without"), "{status}: {reply}");
    cursor(server)
}

fn run(place: &Workplace, arguments: &[&str]) {
    let ended = place.run(arguments, None);
    assert_eq!(ended.status(), 0, "{}{}", ended.stdout(), ended.stderr());
}

fn seed(place: &Workplace, url: &str) {
    let trainees = TRAINEES.to_string();
    run(place, &["provider", "add", "--ukprn", DEMO, "--name", "Demo", "--database-url", url]);
    run(place, &["sandbox", "seed", "--provider", DEMO, "--trainees", &trainees, "--database-url", url]);
}

#[test]
fn a_cursor_outlives_a_restart_and_no_restored_backup() {
    let place = Workplace::on_sqlite();
    seed(&place, &place.url());
    let server = place.serve(&[], None);
    let known = cursor(&server);
    server.stop();
    let server = place.serve(&[], None);
    assert_eq!(changes(&server, Some(&known)).0, 200);
    server.stop();
    let file = place.path("backup.db");
    assert_eq!(place.run(&["backup"], Some(&file)).status(), 0);
    assert_eq!(place.run(&["restore", "--force"], Some(&file)).status(), 0);
    begins_again(&place.serve(&[], None), &known);
}

#[test]
fn a_copied_register_begins_another_generation() {
    for (from, to) in kinds().into_iter().flat_map(|from| kinds().into_iter().map(move |to| (from, to))) {
        let place = Workplace::on_sqlite();
        let [source, target] = [from, to].map(Database::fresh_on);
        seed(&place, source.url());
        let known = cursor(&place.serve(&["--database-url", source.url()], None));
        run(&place, &["copy", "--from", source.url(), "--to", target.url()]);
        let server = place.serve(&["--database-url", target.url()], None);
        let renewed = begins_again(&server, &known);
        server.stop();
        let server = place.serve(&["--database-url", target.url()], None);
        assert_eq!(changes(&server, Some(&renewed)).0, 200, "{from:?} to {to:?}");
    }
}

#[test]
fn a_dump_that_is_restored_to_another_server_begins_another_generation() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(Kind::Postgres));
    seed(&place, database.url());
    let known = cursor(&place.serve(&["--database-url", database.url()], None));
    // As if it came from a server with other transactions, whose numbers are far ahead.
    execute(
        database.url(),
        "UPDATE register_settings SET value = '0000000000000000 1' WHERE name = 'change_generation';
         UPDATE trainees SET changed_in = 900000000000000 + id",
    );
    let server = place.serve(&["--database-url", database.url()], None);
    begins_again(&server, &known);
}
