//! Tests of removing past months of the history, also after an interruption.

use database::catalog;
use diesel::connection::SimpleConnection as _;

use super::*;
use crate::testing::Register;

fn month(text: &str) -> Month {
    text.parse().unwrap()
}

/// A register with entries in June, July and August, and the clock in September.
fn register() -> Register {
    let register = Register::with_provider();
    register.clock.set("2026-06-10");
    register.add_trainee("one");
    register.clock.set("2026-07-31");
    register.update("one", |trainee| trainee.email = Some("a@b".to_owned()));
    register.clock.set("2026-08-01");
    register.update("one", |trainee| trainee.email = Some("c@d".to_owned()));
    register.add_trainee("two");
    register.clock.set("2026-09-15");
    register
}

fn remove_before(register: &Register, end: &str) -> usize {
    remove(
        &register.store,
        PastMonths::before(month(end), register.store.now()).unwrap(),
    )
    .unwrap()
}

fn entries(register: &Register) -> i64 {
    catalog::count(&mut register.second_connection(), "changes").unwrap()
}

fn recorded(register: &Register) -> Option<String> {
    let day = register
        .read(|session| session.history_removed_before())
        .unwrap();
    day.map(|day| day.to_string())
}

/// Whether all records equal the states that their histories lead to.
fn agrees(register: &Register) -> bool {
    let found = register
        .read(|session| session.trainees_after(None, 10))
        .unwrap();
    assert_eq!(found.len(), 2);
    found.iter().all(|trainee| trainee.follows_from_history)
}

#[test]
fn interrupted_removal_has_recorded_date_and_continues() {
    let register = register();
    // Keys have gaps, and an entry of a removed month may have a higher key than later entries.
    let insert = "INSERT INTO changes (id, trainee_key, changed_at, operation, fields) VALUES";
    for id in [1_000, 1_500, 90_000] {
        let entry = format!(
            "({id}, (SELECT id FROM trainees WHERE trainee_id = 'one'), '2026-06-20 12:00:00', 'update', '{{}}')"
        );
        register
            .second_connection()
            .batch_execute(&format!("{insert} {entry}"))
            .unwrap();
    }
    let end = month("2026-08");
    let portion = register
        .write(move |session| session.remove_portion(i64::MIN, 90_000, end))
        .unwrap();
    assert!(portion.entries == 2 && portion.next.is_some());
    assert_eq!(
        (entries(&register), recorded(&register).as_deref()),
        (5, Some("2026-08-01"))
    );
    assert_eq!(remove_before(&register, "2026-08"), 3);
    assert_eq!(entries(&register), 2);
    assert!(agrees(&register));
    assert_eq!(remove_before(&register, "2026-09"), 2);
    assert!(agrees(&register));
}

#[test]
fn month_ended_within_an_hour_is_refused() {
    let before = |end: &str, now: &str| PastMonths::before(month(end), now.parse().unwrap());
    assert_eq!(
        before("2026-08", "2026-08-01T01:00:00Z").map(PastMonths::end),
        Ok("2026-08-01".parse().unwrap())
    );
    for (end, now) in [
        ("2026-08", "2026-08-01T00:59:59Z"),
        ("2026-09", "2026-07-31T12:00:00Z"),
    ] {
        assert_eq!(
            before(end, now),
            Err(MonthNotOver(month("2026-07"))),
            "{end}"
        );
    }
}
