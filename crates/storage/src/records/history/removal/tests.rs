//! Tests of removing past months of the history, also after an interruption.

use database::catalog;
use diesel::connection::SimpleConnection as _;
use domain::{State, Trainee};

use super::*;
use crate::base::cause::Cause;
use crate::records::history::TraineeHistory;
use crate::testing::{Register, UKPRN};

const YEAR: &str = "2026";

fn month(text: &str) -> Month {
    text.parse().unwrap()
}

fn create(register: &Register, id: &'static str) {
    let job = move |session: &mut Session<'_>| {
        let now = session.now();
        let mut provider = session.open_provider(UKPRN, Cause::new("create"))?.unwrap();
        provider.insert_trainee(&Trainee {
            trainee_id: Some(id.to_owned()),
            ukprn: Some(UKPRN.to_owned()),
            last_name: Some("Example".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: Some(now),
            updated_at: Some(now),
            ..Trainee::default()
        })
    };
    register.write(job).unwrap();
}

fn update(register: &Register, id: &'static str, email: &'static str) {
    let job = move |session: &mut Session<'_>| {
        let mut provider = session.open_provider(UKPRN, Cause::new("update"))?.unwrap();
        let stored = provider.find_trainee(id)?.unwrap();
        let changed = Trainee {
            email: Some(email.to_owned()),
            updated_at: Some(provider.change_date()),
            ..stored.record.clone()
        };
        provider.update_trainee(&stored, &changed)
    };
    register.write(job).unwrap();
}

/// A register with entries in June, July and August of [`YEAR`], and the clock in September.
fn register() -> Register {
    let register = Register::with_provider();
    register.clock.set("2026-06-10");
    create(&register, "one");
    register.clock.set("2026-07-31");
    update(&register, "one", "july@example.com");
    register.clock.set("2026-08-01");
    update(&register, "one", "august@example.com");
    create(&register, "two");
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

fn history(register: &Register, id: &str) -> TraineeHistory {
    register
        .read(|session| session.history_of(id))
        .unwrap()
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
fn removal_leaves_later_entries_and_names_the_date() {
    let register = register();
    let before = history(&register, "one");
    assert_eq!((before.removed_before, recorded(&register)), (None, None));

    let end = format!("{YEAR}-08");
    let removed = remove_before(&register, &end);
    assert_eq!(removed, 2);
    assert_eq!(
        (entries(&register), recorded(&register)),
        (2, Some(format!("{end}-01")))
    );
    assert!(agrees(&register));

    let left = history(&register, "one");
    assert_eq!(
        left.removed_before.map(|day| day.to_string()),
        recorded(&register)
    );
    assert_eq!(left.entries, before.entries[2..]);
    assert_eq!(left.states().unwrap(), before.states().unwrap()[2..]);
    assert_eq!(
        history(&register, "two").removed_before,
        None,
        "the trainee was registered after the removed months"
    );

    // The comparison with the record includes the remaining entries.
    let damage = "UPDATE changes SET fields = '{\"email\":[null,\"other@example.com\"]}' \
                  WHERE trainee_key = (SELECT id FROM trainees WHERE trainee_id = 'one')";
    register.second_connection().batch_execute(damage).unwrap();
    assert!(!agrees(&register));
}

#[test]
fn repeated_removal_of_same_or_earlier_month_removes_nothing() {
    let register = register();
    remove_before(&register, &format!("{YEAR}-08"));
    for end in ["08", "07"] {
        assert_eq!(remove_before(&register, &format!("{YEAR}-{end}")), 0);
        assert_eq!(
            (entries(&register), recorded(&register)),
            (2, Some(format!("{YEAR}-08-01")))
        );
    }
    remove_before(&register, &format!("{YEAR}-09"));
    assert_eq!(
        (entries(&register), recorded(&register)),
        (0, Some(format!("{YEAR}-09-01")))
    );
    assert!(agrees(&register));
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
}

#[test]
fn month_that_ended_less_than_one_hour_ago_is_refused() {
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
