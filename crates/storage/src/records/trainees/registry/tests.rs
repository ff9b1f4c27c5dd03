//! Tests of the queries of the registry: waiting trainees, holders of a TRN, withdrawals.

use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use database::connection::DatabaseConnection;
use diesel::connection::{Connection as _, InstrumentationEvent};
use domain::Trainee;

use super::*;
use crate::base::cause::Cause;
use crate::testing::{OTHER, Register, UKPRN};

/// Adds a trainee to a provider. The trainee was submitted, and in some states also recommended and
/// awarded, `seconds` ago.
fn add(register: &Register, ukprn: &'static str, id: &'static str, state: State, seconds: i64) {
    let then = Some(register.store.now() - TimeDelta::seconds(seconds));
    let recommended = matches!(state, State::RecommendedForAward | State::Awarded);
    let trainee = Trainee {
        trainee_id: Some(id.to_owned()),
        last_name: Some(id.to_owned()),
        state: Some(state),
        submitted_for_trn_at: then,
        recommended_for_award_at: then.filter(|_| recommended),
        awarded_at: then.filter(|_| state == State::Awarded),
        ..Trainee::default()
    };
    register.insert(ukprn, trainee);
}

/// Changes a trainee of any provider.
fn change(register: &Register, id: &'static str, change: fn(&mut Trainee)) {
    let write = move |session: &mut Session<'_>| {
        let mut provider = session.open_trainee(id, Cause::new("test"))?.unwrap();
        let stored = provider.find_hidden_trainee(id)?.unwrap();
        let mut record = stored.record.clone();
        change(&mut record);
        provider.update_trainee(&stored, &record)
    };
    register.write(write).unwrap();
}

/// The identifiers of all waiting trainees, read in pages of two.
fn all(mut next: impl FnMut(Option<&Waiting>) -> Vec<Waiting>) -> Vec<String> {
    let mut found: Vec<Waiting> = Vec::new();
    loop {
        let page = next(found.last());
        let is_last = page.len() < 2;
        found.extend(page);
        if is_last {
            return found
                .into_iter()
                .map(|waiting| waiting.trainee_id)
                .collect();
        }
    }
}

fn awaiting_trn(register: &Register) -> Vec<String> {
    all(|after| {
        register
            .read(|session| session.awaiting_trn(session.now() - TimeDelta::seconds(10), after, 2))
            .unwrap()
    })
}

fn awaiting_award(register: &Register) -> Vec<String> {
    all(|after| {
        register
            .read(|session| {
                session.awaiting_award(session.now() - TimeDelta::seconds(10), after, 2)
            })
            .unwrap()
    })
}

#[test]
fn waiting_trainees_are_found_longest_first() {
    let register = Register::with_two_providers();
    add(&register, UKPRN, "new", State::SubmittedForTrn, 5);
    add(&register, OTHER, "second", State::Deferred, 20);
    add(&register, UKPRN, "first", State::Withdrawn, 30);
    add(&register, UKPRN, "third", State::SubmittedForTrn, 20);
    add(&register, UKPRN, "fourth", State::RecommendedForAward, 15);
    add(&register, UKPRN, "draft", State::Draft, 40);
    add(&register, UKPRN, "awarded", State::Awarded, 40);
    assert_eq!(
        awaiting_trn(&register),
        ["first", "second", "third", "fourth"]
    );
    assert_eq!(awaiting_award(&register), ["fourth"]);
    change(&register, "second", |record| {
        record.trn = Some("1234567".to_owned());
    });
    change(&register, "third", |record| {
        record.discarded_at = record.updated_at;
    });
    change(&register, "fourth", |record| {
        record.recommended_for_award_at = None;
        record.state = Some(State::SubmittedForTrn);
    });
    assert_eq!(awaiting_trn(&register), ["first", "fourth"]);
    assert!(awaiting_award(&register).is_empty());
}

#[test]
fn queue_lists_providers_from_a_position() {
    let register = Register::with_two_providers();
    add(&register, OTHER, "second", State::SubmittedForTrn, 20);
    add(&register, UKPRN, "first", State::SubmittedForTrn, 30);
    add(&register, UKPRN, "third", State::SubmittedForTrn, 20);
    add(&register, OTHER, "new", State::RecommendedForAward, 0);
    let queue = |awaited: Awaited, ukprn: Option<&'static str>| {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let entries = register
                .read(move |session| session.registry_queue(awaited, ukprn, after, 1))
                .unwrap();
            let Some(entry) = entries.into_iter().next() else {
                return found;
            };
            // Addresses of pages contain the position as text.
            after = Some(entry.position().to_string().parse().unwrap());
            found.push((entry.trainee_id, entry.provider_ukprn));
        }
    };
    let entries = |ukprn: &str, ids: &[&str]| {
        ids.iter()
            .map(|id| ((*id).to_owned(), ukprn.to_owned()))
            .collect::<Vec<_>>()
    };
    let ids: Vec<_> = queue(Awaited::Trn, None)
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(ids, ["first", "second", "third", "new"]);
    assert_eq!(
        queue(Awaited::Trn, Some(UKPRN)),
        entries(UKPRN, &["first", "third"])
    );
    assert_eq!(queue(Awaited::Award, None), entries(OTHER, &["new"]));
    assert_eq!(queue(Awaited::Award, Some(UKPRN)), []);
    assert!("1-x".parse::<QueuePosition>().is_err() && "nothing".parse::<QueuePosition>().is_err());
}

/// Runs a job on SQLite and returns the SQL of its first query of trainees.
fn record_trainee_query(
    register: &Register,
    job: fn(&mut Session<'_>) -> Result<(), StorageError>,
) -> String {
    let queries = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&queries);
    register
        .read(move |session| {
            let recorded = Arc::clone(&recorded);
            sqlite(session).set_instrumentation(move |event: InstrumentationEvent<'_>| {
                if let InstrumentationEvent::StartQuery { query, .. } = event {
                    recorded.lock().unwrap().push(query.to_string());
                }
            });
            job(session)?;
            sqlite(session).set_instrumentation(|_: InstrumentationEvent<'_>| {});
            Ok(())
        })
        .unwrap();
    let queries = queries.lock().unwrap();
    let sql = queries.iter().find(|sql| sql.contains("trainees")).unwrap();
    sql.split(" -- binds").next().unwrap().to_owned()
}

fn sqlite<'a>(session: &'a mut Session<'_>) -> &'a mut SqliteConnection {
    let DatabaseConnection::Sqlite(inner) = &mut *session.connection else {
        panic!("another database was opened")
    };
    inner
}

#[test]
fn queries_of_the_registry_use_their_indexes() {
    // The plans of SQLite do not depend on the rows.
    let register = Register::on_sqlite();
    register.add_provider();
    #[derive(QueryableByName)]
    struct Step {
        #[diesel(sql_type = diesel::sql_types::Text)]
        detail: String,
    }
    type Job = fn(&mut Session<'_>) -> Result<(), StorageError>;
    let jobs: [(Job, &str); 7] = [
        (
            |session| session.awaiting_trn(session.now(), None, 2).map(drop),
            "trainees_awaiting_trn",
        ),
        (
            |session| session.awaiting_award(session.now(), None, 2).map(drop),
            "trainees_awaiting_award",
        ),
        (
            |session| {
                session
                    .registry_queue(Awaited::Trn, None, None, 2)
                    .map(drop)
            },
            "trainees_awaiting_trn",
        ),
        (
            |session| {
                session
                    .registry_queue(Awaited::Award, None, None, 2)
                    .map(drop)
            },
            "trainees_awaiting_award",
        ),
        (
            |session| {
                session
                    .registry_queue(Awaited::Trn, Some(UKPRN), None, 2)
                    .map(drop)
            },
            "trainees_awaiting_trn",
        ),
        (
            |session| {
                session
                    .registry_queue(Awaited::Award, Some(UKPRN), None, 2)
                    .map(drop)
            },
            "trainees_awaiting_award",
        ),
        (
            |session| holders_of(session, "1234567", "").map(drop),
            "trainees_by_trn",
        ),
    ];
    let mut connection = register.second_connection();
    for (job, index) in jobs {
        let sql = record_trainee_query(&register, job);
        let plan: Vec<Step> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}"))
            .load(&mut connection)
            .unwrap();
        let plan: Vec<&str> = plan.iter().map(|step| &*step.detail).collect();
        assert!(
            plan[0].starts_with("SEARCH trainees") && plan[0].contains(&format!("INDEX {index} ")),
            "{plan:?}"
        );
        assert!(
            !plan.iter().any(|step| step.contains("TEMP B-TREE")),
            "{plan:?}"
        );
    }
}

fn holders_of(
    session: &mut Session<'_>,
    trn: &str,
    except: &str,
) -> Result<Vec<Holder>, StorageError> {
    let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
    provider.holders_of(&trn.parse().unwrap(), except)
}

#[test]
fn drawn_trns_are_well_formed_and_differ() {
    let register = Register::with_two_providers();
    let draw = |_| register.in_provider(UKPRN, |session| session.draw_trn());
    let drawn: Vec<Trn> = (0..20).map(draw).collect();
    assert!(drawn.iter().any(|trn| *trn != drawn[0]), "{drawn:?}");
    assert!(
        drawn
            .iter()
            .all(|trn| trn.as_str().len() == 7 && !trn.as_str().starts_with('0')),
        "{drawn:?}"
    );
}
