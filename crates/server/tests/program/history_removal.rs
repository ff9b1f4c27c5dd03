//! The history of past months is removed, and the register stays sound.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use chrono::{TimeDelta, Utc};

use super::support::{Server, Workplace, kinds};

/// Registers a trainee in January 2024, changes it today, and returns its identifier.
fn register_in_2024(place: &Workplace, server: &Server) -> String {
    let id = server.register("Example");
    assert_eq!(server.change(&id, "last_name", "Newname"), 200);
    let created_at = match place.url().starts_with("sqlite:") {
        true => "json_set(record, '$.created_at', '2024-01-31T12:00:00.000Z')",
        false => {
            "jsonb_set(record::jsonb, '{created_at}', '\"2024-01-31T12:00:00.000Z\"'::jsonb)::json"
        }
    };
    place.execute(&format!(
        "UPDATE changes SET changed_at = '2024-01-31 12:00:00' WHERE id = (SELECT min(id) FROM changes WHERE {of});
         UPDATE trainees SET record = {created_at}, created_at = '2024-01-31 12:00:00' WHERE trainee_id = '{id}'",
        of = entries_condition(&id)
    ));
    id
}

/// The condition for the entries of a trainee.
fn entries_condition(id: &str) -> String {
    format!("trainee_key = (SELECT id FROM trainees WHERE trainee_id = '{id}')")
}

/// How many entries a trainee has.
fn entries(place: &Workplace, id: &str) -> usize {
    let condition = entries_condition(id);
    let entries = place.texts(&format!(
        "SELECT operation AS text FROM changes WHERE {condition}"
    ));
    entries.len()
}

#[test]
fn removed_history_is_named_and_accepted() {
    for kind in kinds() {
        let [place, copy] = [(); 2].map(|()| Workplace::on(kind));
        let server = place.serve("");
        let id = register_in_2024(&place, &server);
        let later = server.register("Later");
        server.stop();
        let audit = |place: &Workplace, id: &str| place.done(format!("audit {id}"));
        let whole = audit(&place, &id);
        assert!(!whole.contains("were removed"), "{whole}");

        let remove = |month: &str| place.run(format!("history remove --before {month}"));
        remove("2024-02").prints(0, "history before 2024-02-01 removed; entries: 1\n");
        assert_eq!(entries(&place, &id), 1);
        for month in ["2024-02", "2023-12"] {
            let expected = format!("nothing to remove: there is no history before {month}-01\n");
            remove(month).prints(0, &expected);
        }

        let left = audit(&place, &id);
        assert!(
            left.contains("\nentries before 2024-02-01 were removed\n"),
            "{left}"
        );
        assert!(left.contains("\"Example\" -> \"Newname\""), "{left}");
        let of_later = audit(&place, &later);
        assert!(!of_later.contains("were removed"), "{of_later}");
        let checked = place.run("check");
        checked.ends(0, &["history before 2024-02-01 was removed"]);

        // A copy names the gap too.
        place.done(format!("copy --from {} --to {}", place.url(), copy.url()));
        assert_eq!(audit(&copy, &id), left);

        let damage = "UPDATE changes SET fields = '{\"last_name\":[\"Example\",\"Secret\"]}'";
        place.execute(&format!("{damage} WHERE {}", entries_condition(&id)));
        let checked = place.run("check");
        let line = format!("trainee {id}: does not match its history\n");
        let printed = checked.stdout();
        assert!(
            checked.status() == 1 && printed.contains(&line),
            "{printed}"
        );
    }
}

#[test]
fn server_writes_while_history_is_removed() {
    for kind in kinds() {
        let place = Workplace::on(kind);
        let server = place.serve("");
        let id = register_in_2024(&place, &server);
        let is_over = AtomicBool::new(false);
        let month = (Utc::now() - TimeDelta::hours(2)).format("%Y-%m");
        let statuses = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let names = ["Ash", "Beech"]
                    .into_iter()
                    .cycle()
                    .take_while(|_| !is_over.load(Ordering::SeqCst));
                names
                    .map(|name| server.change(&id, "last_name", name))
                    .collect::<Vec<_>>()
            });
            let removed = place.run(format!("history remove --before {month}"));
            is_over.store(true, Ordering::SeqCst);
            removed.done();
            writer.join().unwrap()
        });
        assert!(
            !statuses.is_empty() && statuses.iter().all(|status| *status == 200),
            "{kind:?}: {statuses:?}"
        );
        assert_eq!(entries(&place, &id), 1 + statuses.len());
        assert_eq!(server.change(&id, "last_name", "Cedar"), 200);
        place.done("check");
    }
}
