use chrono::TimeDelta;

use super::runs::{PAGE, Run};
use super::*;
use crate::base::cause::Cause;
use crate::session::ProviderSession;
use crate::testing::{NEW_TOKEN, Register, UKPRN};

/// A refused request with a key.
pub(crate) fn refused(key: &str, trainee_id: Option<&str>) -> NewRequest {
    let problem = RecordedProblem {
        code: "unknown_code".to_owned(),
        field: "sex".to_owned(),
        message: "\"17\" is not in the list".to_owned(),
        without_value: Some("The code is not in the list.".to_owned()),
    };
    NewRequest {
        provider_id: 1,
        trainee_id: trainee_id.map(str::to_owned),
        request: RecordedRequest {
            answered_at: "2026-03-02T12:00:00Z".parse().unwrap(),
            sender: Sender::Token(1),
            version: "v1".to_owned(),
            endpoint: "POST /trainees".to_owned(),
            status: 422,
            result: RecordResult::Refused,
            request_id: "r1".to_owned(),
            in_batch: false,
            item: None,
            record_key: Some(key.to_owned()),
            names: vec!["ukprn".to_owned()],
            problems: vec![problem],
            problems_left_out: 2,
            newest_problems: None,
        },
    }
}

/// A request that was answered some minutes after noon.
fn at(minutes: i64, sender: Sender, batch: Option<&str>) -> NewRequest {
    let mut new = refused("key", None);
    new.request.answered_at += TimeDelta::minutes(minutes);
    new.request.sender = sender;
    new.request.in_batch = batch.is_some();
    new.request.request_id = batch.unwrap_or("r1").to_owned();
    new
}

fn register(requests: Vec<NewRequest>) -> Register {
    let register = Register::with_provider();
    register.issue_token(NEW_TOKEN).unwrap();
    register.issue_token(NEW_TOKEN).unwrap();
    register
        .write(move |session| session.record_requests(&requests, &[]))
        .unwrap();
    register
}

fn read<T: Send + 'static>(
    register: &Register,
    mut job: impl FnMut(&mut ProviderSession<'_>) -> Result<T, StorageError> + Send + 'static,
) -> T {
    let in_provider = move |session: &mut Session<'_>| {
        job(&mut session.open_provider(UKPRN, Cause::new("test"))?.unwrap())
    };
    register.read(in_provider).unwrap()
}

/// All runs, page by page: the first and the last minute after noon, and the number of records.
fn runs(register: &Register) -> Vec<(i64, i64, i64)> {
    let noon: DateTime<Utc> = "2026-03-02T12:00:00Z".parse().unwrap();
    let minutes = |time: DateTime<Utc>| (time - noon).num_minutes();
    let all = read(register, |session| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = session.runs(after, PAGE)?;
            assert!(page.is_complete);
            for run in &page.runs {
                // A run that is opened by its number is the same.
                assert_eq!(session.run(run.id)?.map(|run| run.counts), Some(run.counts));
            }
            found.extend(page.runs);
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    });
    let shown = |run: &Run| {
        (
            minutes(run.started_at),
            minutes(run.ended_at),
            run.counts.total(),
        )
    };
    all.iter().map(shown).collect()
}

#[test]
fn run_ends_with_batch_token_or_pause() {
    let (one, two) = (Sender::Token(1), Sender::Token(2));
    let register = register(vec![
        at(0, one, None),
        at(1, two, None),
        at(10, one, None),
        at(15, one, Some("batch")),
        at(15, one, Some("batch")),
        at(20, one, None),
        // A pause of more than ten minutes.
        at(31, one, None),
    ]);
    assert_eq!(
        runs(&register),
        [(31, 31, 1), (0, 20, 3), (15, 15, 2), (1, 1, 1)]
    );
}

#[test]
fn pages_have_each_run_once() {
    let long = (0..60).map(|minute| at(minute, Sender::Token(1), None));
    let batches =
        (0..PAGE as i64 + 5).map(|batch| at(batch, Sender::Token(2), Some(&batch.to_string())));
    let register = register(long.chain(batches).collect());
    let found = runs(&register);
    assert_eq!(found.len(), PAGE + 6);
    assert_eq!(found[0], (0, 59, 60));
    assert!(found[1..].iter().all(|(_, _, records)| *records == 1));
}

#[test]
fn refused_requests_are_listed_in_order() {
    let mut accepted = at(2, Sender::Token(1), None);
    accepted.request.result = RecordResult::Registered;
    let register = register(vec![
        at(3, Sender::Token(1), None),
        at(1, Sender::Token(1), None),
        accepted,
        at(2, Sender::Token(2), None),
    ]);
    let found = read(&register, |session| {
        let run = session.runs(None, PAGE)?.runs.remove(0);
        let first = session.refused_in_run(&run, None, 1)?;
        let rest = session.refused_in_run(&run, first.next, 1)?;
        assert_eq!((run.counts.registered, rest.next), (1, None));
        Ok([first.requests, rest.requests].concat())
    });
    let times: Vec<_> = found.iter().map(|request| request.answered_at).collect();
    assert_eq!(times[1] - times[0], TimeDelta::minutes(2));
    assert_eq!(times.len(), 2);
}
