//! Months of the history are archived and removed by commands, and the register stays sound.

use serde_json::Value;
use server::sandbox::demo;
use server::versions;
use test_support::Database;

use super::support::{Ended, Workplace, agent, execute, kinds, texts};

/// The command, and what it printed, when it did what it was asked.
fn done(place: &Workplace, arguments: &[&str]) -> Ended {
    let ended = place.run(arguments, None);
    assert_eq!(ended.status(), 0, "{arguments:?}: {}{}", ended.stdout(), ended.stderr());
    ended
}

/// Which entries are those of a trainee.
fn of(id: &str) -> String {
    format!("trainee_key = (SELECT id FROM trainees WHERE trainee_id = '{id}')")
}

/// A register with a trainee that was registered in January 2024 and changed since, and its identifier.
fn place_with_history(kind: test_support::Kind) -> (Workplace, String) {
    let mut place = Workplace::on_sqlite();
    place.use_database(Database::fresh_on(kind));
    let server = place.serve(&[], None);
    let version = versions::all().newest().unwrap().version;
    let body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    let path = format!("/api/{}/trainees", version.label);
    let (status, created) = server.send(&agent(), "POST", &path, Some(&body));
    assert_eq!(status, 201, "{created}");
    let id = created["data"]["trainee_id"].as_str().unwrap().to_owned();
    let change = serde_json::json!({ "data": { "last_name": "Newname" } });
    assert_eq!(server.send(&agent(), "PATCH", &format!("{path}/{id}"), Some(&change)).0, 200);
    server.stop();
    std::fs::create_dir(place.path("archive")).unwrap();
    // The months go by.
    let url = place.url();
    let of_trainee = of(&id);
    execute(
        &url,
        &format!(
            "UPDATE changes SET changed_at = '2024-01-31 12:00:00' \
             WHERE id = (SELECT min(id) FROM changes WHERE {of_trainee})"
        ),
    );
    let created = match kind {
        test_support::Kind::Sqlite => "json_set(record, '$.created_at', '2024-01-31T12:00:00.000Z')",
        test_support::Kind::Postgres => {
            "jsonb_set(record::jsonb, '{created_at}', '\"2024-01-31T12:00:00.000Z\"'::jsonb)::json"
        }
    };
    execute(
        &url,
        &format!(
            "UPDATE trainees SET record = {created}, created_at = '2024-01-31 12:00:00' WHERE trainee_id = '{id}'"
        ),
    );
    (place, id)
}

#[test]
fn archived_and_removed_months_leave_a_sound_register_and_a_whole_history() {
    for kind in kinds() {
        let (place, id) = place_with_history(kind);
        let whole = done(&place, &["audit", &id]).stdout().to_owned();
        let folder = place.path("archive");
        let folder = folder.to_str().unwrap();
        let before = ["--before", "2024-02", "--archive", folder];

        let refused = place.run(&["archive", "write", "--archive", folder], None);
        assert_eq!(refused.status(), 2, "it does not say up to when");
        let refused = place.run(&["archive", "write", "--before", "2999-01", "--archive", folder], None);
        assert_eq!(refused.status(), 1);
        assert!(refused.stderr().contains(" is not over"), "{}", refused.stderr());

        let written = done(&place, &[&["archive", "write"], &before[..]].concat());
        assert_eq!(written.stdout(), "archived history-2024-01.jsonl  entries 1\n");
        assert_eq!(done(&place, &[&["archive", "write"], &before[..]].concat()).stdout(), "");
        done(&place, &["check"]);
        let removed = done(&place, &[&["archive", "remove"], &before[..]].concat());
        assert_eq!(removed.stdout(), "removed history-2024-01.jsonl  entries 1\n");
        assert_eq!(texts(&place.url(), &format!("SELECT operation AS text FROM changes WHERE {}", of(&id))).len(), 1);

        let checked = done(&place, &["check"]);
        assert!(checked.stderr().contains("months of the history are archived"), "{}", checked.stderr());
        done(&place, &["check", "--archive", folder]);
        done(&place, &["check", "--part", "2/3", "--pause", "1"]);
        let left = done(&place, &["audit", &id]);
        assert!(left.stdout().contains("are archived, see --archive: history-2024-01.jsonl\n"), "{}", left.stdout());
        assert!(left.stdout().contains("Newname") && left.stdout().len() < whole.len());
        assert_eq!(done(&place, &["audit", &id, "--archive", folder]).stdout(), whole);

        let listed = done(&place, &["archive", "list"]);
        let line = listed.stdout().lines().find(|line| line.contains("2024-01")).unwrap();
        assert!(line.starts_with("history  2024-01  0 "), "{line}");

        // A register that was copied knows its archive.
        let copy = Database::fresh_on(kind);
        let copied = place.run(&["copy", "--from", &place.url(), "--to", copy.url()], None);
        assert_eq!(copied.status(), 0, "{}", copied.stderr());
        let on = ["--database-url", copy.url(), "--archive", folder];
        assert_eq!(done(&place, &[&["audit", &id], &on[..]].concat()).stdout(), whole);

        std::fs::write(place.path("archive").join("history-2024-01.jsonl"), "{}\n").unwrap();
        for command in [&["check"][..], &["audit", &id]] {
            let refused = place.run(&[command, &["--archive", folder]].concat(), None);
            assert_eq!(refused.status(), 1, "{command:?}");
            assert!(refused.stderr().contains("its SHA-256 is another one"), "{}", refused.stderr());
        }
    }
}

#[test]
fn an_erasure_cleans_the_database_also_when_the_folder_of_the_archive_is_another_one() {
    let (place, id) = place_with_history(test_support::Kind::Sqlite);
    let (folder, mistyped) = (place.path("archive"), place.path("mistyped"));
    done(&place, &["archive", "write", "--before", "2024-02", "--archive", folder.to_str().unwrap()]);
    let provider =
        texts(&place.url(), "SELECT ukprn AS text FROM providers JOIN trainees ON provider_id = providers.id");
    let erase = ["trainee", "erase", &id, "--provider", &provider[0], "--ground", "case 17", "--yes"];
    let refused = place.run(&[&erase[..], &["--archive", mistyped.to_str().unwrap()]].concat(), None);
    assert_eq!(refused.status(), 1);
    assert!(refused.stderr().contains("is missing") && !mistyped.exists(), "{}", refused.stderr());
    let bytes = std::fs::read(place.url().strip_prefix("sqlite://").unwrap()).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("CREATE TABLE") && !text.contains("Newname"), "traces are left");
    let again = done(&place, &[&erase[..], &["--archive", folder.to_str().unwrap()]].concat());
    assert!(again.stdout().contains("archived months: 1\n"), "{}", again.stdout());
}

#[test]
fn unfinished_files_of_commands_that_were_ended_are_removed_from_the_folder_of_the_archive() {
    let (place, id) = place_with_history(test_support::Kind::Sqlite);
    let folder = place.path("archive");
    let before = ["--before", "2024-02", "--archive", folder.to_str().unwrap()];
    let provider =
        texts(&place.url(), "SELECT ukprn AS text FROM providers JOIN trainees ON provider_id = providers.id");
    let erase = ["trainee", "erase", &id, "--provider", &provider[0], "--ground", "case 17", "--yes"];
    let write = [&["archive", "write"], &before[..]].concat();
    let remove = [&["archive", "remove"], &before[..]].concat();
    let erase = [&erase[..], &before[2..]].concat();
    let line = format!("{{\"trainee_id\":\"{id}\",\"fields\":{{\"last_name\":[\"Example\",\"Newname\"]}}}}\n");
    let part = |name: &str| {
        let file = folder.join(name);
        std::fs::write(&file, &line).unwrap();
        file
    };
    // Of the second `archive write` there is nothing to do.
    for command in [&write, &write, &remove, &erase, &erase] {
        let (left, used) = (part(".archive-AbCd12.part"), part(".archive-InUse1.part"));
        let kept = [part(".archive-notes.part"), part("archive.part")];
        let in_use = std::fs::File::open(&used).unwrap();
        in_use.lock().unwrap();
        let ended = place.run(command, None);
        assert!(!left.exists(), "{command:?} left it");
        assert!(used.exists() && kept.iter().all(|file| file.exists()), "{command:?} removed what is in use");
        // Nobody knows whom a file in use holds.
        let is_erasure = command == &erase;
        assert_eq!(ended.status(), i32::from(is_erasure), "{}", ended.stderr());
        assert_eq!(ended.stderr().contains(used.to_str().unwrap()), is_erasure, "{}", ended.stderr());
        // The other command has ended.
        drop(in_use);
        done(&place, command);
        assert!(!used.exists(), "{command:?} left it");
    }
}

#[test]
fn what_is_left_of_a_history_is_held_against_the_record() {
    for kind in kinds() {
        let (place, id) = place_with_history(kind);
        let folder = place.path("archive");
        let before = ["--older-than", "1", "--kind", "history", "--archive", folder.to_str().unwrap()];
        done(&place, &[&["archive", "write"], &before[..]].concat());
        done(&place, &[&["archive", "remove"], &before[..]].concat());
        let damage = "UPDATE changes SET fields = '{\"last_name\":[\"Example\",\"Secret\"]}'";
        execute(&place.url(), &format!("{damage} WHERE {}", of(&id)));
        let checked = place.run(&["check"], None);
        assert_eq!(checked.status(), 1, "{kind:?}");
        assert!(checked.stdout().contains(&format!("trainee {id}: is not what its history leads to\n")));
    }
}
