//! Tests adding, finding, counting and removing requests.

use chrono::{DateTime, Utc};

use super::runs::RunCounts;
use super::*;
use crate::accounts::tokens::NewToken;
use crate::accounts::users::{Actor, NewInvitation, Origin, SecretDigest, UserRole};
use crate::base::cause::Cause;
use crate::base::sender::Sender;
use crate::observations::usage::Seen;
use crate::session::ProviderSession;
use crate::testing::{NEW_TOKEN, Register, UKPRN};

const OTHER_UKPRN: &str = "10000002";

/// A register with two providers with one token each, numbered 1 and 2.
fn two_providers() -> Register {
    let register = Register::with_provider();
    register
        .write(|session| session.add_provider(OTHER_UKPRN, "Brackwater College"))
        .unwrap();
    register.issue_token(NEW_TOKEN).unwrap();
    register
        .issue_token(NewToken {
            provider_ukprn: OTHER_UKPRN,
            ..NEW_TOKEN
        })
        .unwrap();
    register
}

fn at(second: i64) -> DateTime<Utc> {
    let noon: DateTime<Utc> = "2026-03-02T12:00:00Z".parse().unwrap();
    noon + TimeDelta::seconds(second)
}

fn request(second: i64, status: u16) -> NewLoggedRequest {
    let request = LoggedRequest {
        answered_at: at(second),
        sender: Sender::Token(1),
        version: "v1".to_owned(),
        endpoint: "POST /trainees".to_owned(),
        method: "POST".to_owned(),
        status,
        item: None,
        request_id: format!("r{second}"),
        problems: Vec::new(),
        problems_left_out: 0,
        record_key: None,
    };
    NewLoggedRequest {
        provider_id: 1,
        request,
        run: None,
        trainee_id: None,
    }
}

fn with_problems(second: i64, problems: &[(&str, &str)]) -> NewLoggedRequest {
    let problem = |(code, field): &(&str, &str)| LoggedProblem {
        code: (*code).to_owned(),
        field: (*field).to_owned(),
    };
    let mut new = request(second, 422);
    new.request.problems = problems.iter().map(problem).collect();
    new
}

fn other_provider_request(second: i64) -> NewLoggedRequest {
    let mut new = request(second, 422);
    new.provider_id = 2;
    new.request.sender = Sender::Token(2);
    new
}

fn add(register: &Register, requests: Vec<NewLoggedRequest>) {
    let entries = NewLogEntries {
        requests,
        ..NewLogEntries::default()
    };
    add_entries(register, entries);
}

fn add_entries(register: &Register, entries: NewLogEntries) {
    register
        .write(move |session| session.add_requests(&entries))
        .unwrap();
}

fn page(register: &Register, filter: &RequestFilter, after: Option<LogPosition>) -> RequestPage {
    let filter = filter.clone();
    register
        .read(move |session| {
            session
                .open_provider(UKPRN, Cause::new("test"))?
                .unwrap()
                .requests(&filter, after)
        })
        .unwrap()
}

fn ids(register: &Register, filter: &RequestFilter) -> Vec<String> {
    page(register, filter, None)
        .requests
        .into_iter()
        .map(|request| request.request_id)
        .collect()
}

#[test]
fn request_is_read_as_added() {
    let register = two_providers();
    let mut item = with_problems(
        1,
        &[
            ("blank", "email"),
            ("unknown_code", "placements[1].\"urn\""),
            ("", "status"),
        ],
    );
    item.request.item = Some(3);
    item.request.problems_left_out = 7;
    add(&register, vec![item.clone(), request(0, 200)]);
    let found = page(&register, &RequestFilter::default(), None);
    assert_eq!(
        found,
        RequestPage {
            requests: vec![item.request, request(0, 200).request],
            next: None
        }
    );
}

#[test]
fn pages_return_all_requests_once_newest_first() {
    let register = two_providers();
    let count = i64::try_from(PAGE).unwrap() * 2 + 3;
    // Some requests have the same time, and every fourth one is accepted.
    let status = |number: i64| if number % 4 == 0 { 200 } else { 404 };
    let all = (0..count).map(|number| {
        let mut new = request(number / 3, status(number));
        new.request.request_id = number.to_string();
        new
    });
    add(&register, all.chain([other_provider_request(0)]).collect());
    for outcome in [None, Some(Outcome::Refused), Some(Outcome::Accepted)] {
        let filter = RequestFilter {
            outcome,
            ..RequestFilter::default()
        };
        let mut seen = Vec::new();
        let mut after = None;
        loop {
            let page = page(&register, &filter, after);
            seen.extend(page.requests);
            let Some(next) = page.next else { break };
            let sent: LogPosition = next.to_string().parse().unwrap();
            assert_eq!(sent, next);
            after = Some(sent);
        }
        assert!(seen.is_sorted_by(|one, other| one.answered_at >= other.answered_at));
        let mut numbers: Vec<i64> = seen
            .iter()
            .map(|request| request.request_id.parse().unwrap())
            .collect();
        numbers.sort_unstable();
        let expected = (0..count).filter(|number| {
            outcome.is_none_or(|outcome| outcome == Outcome::from_status(status(*number)))
        });
        assert_eq!(numbers, expected.collect::<Vec<_>>());
    }
}

#[test]
fn each_filter_narrows_list() {
    let register = two_providers();
    let mut other_version = with_problems(3, &[("blank_", "x"), ("b%", "x")]);
    other_version.request.version = "v2".to_owned();
    other_version.request.endpoint = "GET /info".to_owned();
    register.issue_token(NEW_TOKEN).unwrap();
    let mut other_token = request(4, 404);
    other_token.request.sender = Sender::Token(3);
    add(
        &register,
        vec![
            request(1, 200),
            with_problems(2, &[("blank", "email")]),
            other_version,
            other_token,
            other_provider_request(5),
        ],
    );
    let all = RequestFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, expected) in [
        (all(), vec!["r4", "r3", "r2", "r1"]),
        (
            RequestFilter {
                from: Some(at(3)),
                ..all()
            },
            vec!["r4", "r3"],
        ),
        (
            RequestFilter {
                until: Some(at(3)),
                ..all()
            },
            vec!["r2", "r1"],
        ),
        (
            RequestFilter {
                outcome: Some(Outcome::Accepted),
                ..all()
            },
            vec!["r1"],
        ),
        (
            RequestFilter {
                statuses: Some(422..=422),
                ..all()
            },
            vec!["r3", "r2"],
        ),
        (
            RequestFilter {
                statuses: Some(400..=499),
                ..all()
            },
            vec!["r4", "r3", "r2"],
        ),
        (
            RequestFilter {
                endpoint: text("GET /info"),
                ..all()
            },
            vec!["r3"],
        ),
        (
            RequestFilter {
                version: text("v1"),
                ..all()
            },
            vec!["r4", "r2", "r1"],
        ),
        (
            RequestFilter {
                token_id: Some(3),
                ..all()
            },
            vec!["r4"],
        ),
        (
            RequestFilter {
                token_id: Some(2),
                ..all()
            },
            vec![],
        ),
        (
            RequestFilter {
                code: text("blank"),
                ..all()
            },
            vec!["r2"],
        ),
        (
            RequestFilter {
                code: text("blank_"),
                ..all()
            },
            vec!["r3"],
        ),
        (
            RequestFilter {
                code: text("email"),
                ..all()
            },
            vec![],
        ),
        (
            RequestFilter {
                code: text("%"),
                ..all()
            },
            vec![],
        ),
        (
            RequestFilter {
                request_id: text("r2"),
                ..all()
            },
            vec!["r2"],
        ),
    ] {
        assert_eq!(ids(&register, &filter), expected, "{filter:?}");
    }
}

#[test]
fn refusals_count_each_field_once_per_request() {
    let register = two_providers();
    let positions = [
        ("blank", "placements[0].urn"),
        ("blank", "placements[12].urn"),
        ("blank", "email"),
    ];
    let mut requests = vec![
        with_problems(-1, &[("blank", "email")]),
        request(5, 404),
        request(6, 404),
        other_provider_request(7),
    ];
    requests.extend((0..3).map(|second| with_problems(second, &positions)));
    requests.push(request(8, 200));
    add(&register, requests);
    let found = register
        .read(|session| {
            session
                .open_provider(UKPRN, Cause::new("test"))?
                .unwrap()
                .refused_most(at(0))
        })
        .unwrap();
    assert_eq!((found.counted, found.is_complete), (5, true));
    let kinds: Vec<_> = found
        .kinds
        .iter()
        .map(|kind| {
            (
                kind.status,
                kind.code.as_str(),
                kind.field.as_str(),
                kind.requests,
                kind.newest.clone(),
            )
        })
        .collect();
    let newest = |second: i64| Seen {
        at: at(second),
        request_id: format!("r{second}").into(),
    };
    assert_eq!(
        kinds,
        [
            (422, "blank", "email", 3, newest(2)),
            (422, "blank", "placements[].urn", 3, newest(2)),
            (404, "", "", 2, newest(6)),
        ]
    );
}

#[test]
fn requests_over_limits_are_removed_oldest_first() {
    let register = two_providers();
    let mut requests: Vec<_> = (0..8).map(|second| request(second / 2, 422)).collect();
    requests.extend((10..14).map(|second| request(second, 200)));
    requests.extend((0..4).map(other_provider_request));
    add(&register, requests);
    let newest = |outcome, limit| {
        register
            .read(move |session| session.newest_surplus_request(1, outcome, limit))
            .unwrap()
    };
    let remove = |outcome, newest| {
        register
            .write(move |session| session.remove_surplus_requests(1, outcome, newest, 2))
            .unwrap()
    };
    let refused = newest(Outcome::Refused, 3).unwrap();
    let accepted = newest(Outcome::Accepted, 2).unwrap();
    add(&register, vec![request(4, 422)]);
    assert_eq!(
        [0; 4].map(|_| remove(Outcome::Refused, refused)),
        [2, 2, 1, 0],
        "later requests must stay"
    );
    assert_eq!([0; 2].map(|_| remove(Outcome::Accepted, accepted)), [2, 0]);
    assert_eq!(
        (newest(Outcome::Refused, 4), newest(Outcome::Accepted, 2)),
        (None, None)
    );
    assert_eq!(
        ids(&register, &RequestFilter::default()),
        ["r13", "r12", "r4", "r3", "r3", "r2"]
    );
    let others = register
        .read(|session| {
            let mut other = session
                .open_provider(OTHER_UKPRN, Cause::new("test"))?
                .unwrap();
            other.requests(&RequestFilter::default(), None)
        })
        .unwrap();
    assert_eq!(
        others.requests.len(),
        4,
        "requests of another provider must stay"
    );
}

#[test]
fn old_requests_of_all_providers_are_removed_in_steps() {
    let register = two_providers();
    add(
        &register,
        vec![
            request(0, 422),
            request(0, 200),
            other_provider_request(0),
            request(60, 422),
        ],
    );
    let remove = |most| {
        register
            .write(move |session| session.remove_old_requests(most))
            .unwrap()
    };
    register.clock.advance(TimeDelta::days(KEPT_DAYS));
    assert_eq!(remove(10), 0);
    register.clock.advance(TimeDelta::seconds(1));
    assert_eq!((remove(2), remove(2), remove(2)), (2, 1, 0));
    assert_eq!(ids(&register, &RequestFilter::default()), ["r60"]);
}

#[test]
fn removal_of_old_requests_keeps_newer_ones() {
    let register = two_providers();
    add(
        &register,
        (0..5)
            .flat_map(|second| {
                [
                    request(second, 422),
                    request(second, 200),
                    other_provider_request(second),
                ]
            })
            .collect(),
    );
    add(
        &register,
        vec![
            request(60, 422),
            request(61, 200),
            other_provider_request(60),
        ],
    );
    register
        .clock
        .advance(TimeDelta::days(KEPT_DAYS) + TimeDelta::seconds(5));
    let remove = |most| {
        register
            .write(move |session| session.remove_old_requests(most))
            .unwrap()
    };
    assert_eq!([4, 4, 4, 4, 4].map(remove), [4, 4, 4, 3, 0]);
    assert_eq!(ids(&register, &RequestFilter::default()), ["r61", "r60"]);
    let others = register
        .read(|session| {
            let mut other = session
                .open_provider(OTHER_UKPRN, Cause::new("test"))?
                .unwrap();
            other.requests(&RequestFilter::default(), None)
        })
        .unwrap();
    assert_eq!(others.requests.len(), 1);
}

#[test]
fn invalid_position_is_rejected() {
    for text in [
        "",
        "-",
        "1",
        "1-",
        "-1",
        "x-1",
        "1-x",
        "99999999999999999999-1",
        "9223372036854775807-1",
    ] {
        assert_eq!(
            text.parse::<LogPosition>(),
            Err(UnreadablePosition),
            "{text}"
        );
    }
}

fn run_key(batch: Option<&str>) -> RunKey {
    RunKey {
        provider_id: 1,
        sender: Sender::Token(1),
        version: "v1".to_owned(),
        batch: batch.map(str::to_owned),
    }
}

/// A run with one refused record at a second.
fn run_at(second: i64, batch: Option<&str>) -> NewRun {
    NewRun {
        key: run_key(batch),
        started_at: at(second),
        ended_at: at(second),
        counts: RunCounts {
            refused: 1,
            ..RunCounts::default()
        },
    }
}

fn add_runs(register: &Register, runs: Vec<NewRun>) {
    let requests = Vec::new();
    add_entries(register, NewLogEntries { runs, requests });
}

fn in_provider<T: Send + 'static>(
    register: &Register,
    mut job: impl FnMut(&mut ProviderSession<'_>) -> Result<T, StorageError> + Send + 'static,
) -> T {
    register
        .read(move |session| job(&mut session.open_provider(UKPRN, Cause::new("test"))?.unwrap()))
        .unwrap()
}

/// The start, the end and the number of refused records of each run.
fn runs(register: &Register) -> Vec<(DateTime<Utc>, DateTime<Utc>, i64)> {
    let page = in_provider(register, |session| session.runs(None));
    let runs = page.runs.into_iter();
    runs.map(|run| (run.started_at, run.ended_at, run.counts.refused))
        .collect()
}

#[test]
fn pause_of_more_than_ten_minutes_starts_another_run() {
    let register = two_providers();
    for second in [0, 600, 300, 1201] {
        add_runs(&register, vec![run_at(second, None)]);
    }
    assert_eq!(
        runs(&register),
        [(at(1201), at(1201), 1), (at(0), at(600), 3)]
    );
}

#[test]
fn rows_of_upload_are_a_run_of_their_user() {
    let register = two_providers();
    let user = register
        .write(|session| {
            let new = NewInvitation {
                provider_ukprn: Some(UKPRN),
                email: "a@example.com",
                role: UserRole::Editor,
            };
            let invited = session.invite_user(Actor::operator("o"), new)?;
            let digest = SecretDigest::from_text(invited.secret.reveal());
            let cookie = SecretDigest::from_text("cookie");
            session.accept_invitation(&digest, &cookie, None, Origin::default())?;
            Ok(session.list_users(Some(UKPRN))?[0].id)
        })
        .unwrap();
    let of_user = RunKey {
        sender: Sender::User(user),
        ..run_key(Some("upload-1"))
    };
    for second in [0, 60] {
        let mut run = run_at(second, Some("upload-1"));
        run.key = of_user.clone();
        let mut refused = request(second, 422);
        refused.request.sender = Sender::User(user);
        refused.run = Some(of_user.clone());
        let entries = NewLogEntries {
            runs: vec![run, run_at(second, None)],
            requests: vec![refused],
        };
        add_entries(&register, entries);
    }
    let page = in_provider(&register, |session| session.runs(None));
    let found: Vec<_> = page
        .runs
        .iter()
        .map(|run| (run.sender, run.user_email.as_deref(), run.counts.refused))
        .collect();
    let expected = [
        (Sender::Token(1), None, 2),
        (Sender::User(user), Some("a@example.com"), 2),
    ];
    assert_eq!(found, expected);
    let logged = in_provider(&register, |session| {
        session.requests(&RequestFilter::default(), None)
    });
    assert_eq!(logged.requests[0].sender, Sender::User(user));
    let of_token = RequestFilter {
        token_id: Some(1),
        ..RequestFilter::default()
    };
    assert_eq!(ids(&register, &of_token), Vec::<String>::new());
}

#[test]
fn batch_is_a_run_of_its_requests_only() {
    let register = two_providers();
    for batch in [Some("b1"), None, Some("b2"), Some("b1")] {
        add_runs(&register, vec![run_at(0, batch)]);
    }
    let page = in_provider(&register, |session| session.runs(None));
    let found: Vec<_> = page
        .runs
        .iter()
        .map(|run| (run.batch.as_deref(), run.counts.refused))
        .collect();
    assert_eq!(found, [(Some("b2"), 1), (None, 1), (Some("b1"), 2)]);
}

#[test]
fn pages_return_all_runs_once_latest_first() {
    let register = two_providers();
    let count = i64::try_from(2 * runs::PAGE + 1).unwrap();
    for number in 0..count {
        add_runs(&register, vec![run_at(number * 700, None)]);
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = in_provider(&register, move |session| session.runs(after));
        seen.extend(page.runs.iter().map(|run| run.started_at));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expected: Vec<_> = (0..count).rev().map(|number| at(number * 700)).collect();
    assert_eq!(seen, expected);
}

fn refused_with_key(second: i64, key: &str) -> NewLoggedRequest {
    let mut new = request(second, 422);
    new.request.record_key = Some(key.to_owned());
    new.run = Some(run_key(None));
    new
}

fn keys_of_first_run(register: &Register) -> Vec<Option<String>> {
    let page = in_provider(register, |session| {
        let run = session.runs(None)?.runs.remove(0);
        session.refused_in_run(&run, None, runs::PAGE)
    });
    let requests = page.requests.into_iter();
    requests.map(|request| request.record_key).collect()
}

#[test]
fn refused_requests_of_run_are_listed_oldest_first() {
    let register = two_providers();
    let entries = NewLogEntries {
        runs: vec![run_at(0, None), {
            let mut other = run_at(9, None);
            other.key.version = "v2".to_owned();
            other
        }],
        requests: vec![refused_with_key(2, "b"), refused_with_key(1, "a")],
    };
    add_entries(&register, entries);
    add_runs(&register, vec![run_at(10, None)]);
    let found = keys_of_first_run(&register);
    assert_eq!(found, ["a", "b"].map(|key| Some(key.to_owned())));
}

#[test]
fn run_of_another_provider_is_not_found() {
    let register = two_providers();
    add_runs(&register, vec![run_at(0, None)]);
    let id = in_provider(&register, |session| session.runs(None)).runs[0].id;
    let other = register
        .read(move |session| {
            let mut other = session
                .open_provider(OTHER_UKPRN, Cause::new("test"))?
                .unwrap();
            Ok((other.run(id)?, other.runs(None)?.runs))
        })
        .unwrap();
    assert_eq!(other, (None, Vec::new()));
    assert!(in_provider(&register, move |session| session.run(id)).is_some());
}

#[test]
fn switched_off_keys_are_removed_and_no_longer_stored() {
    let register = two_providers();
    let entries = |second, key| NewLogEntries {
        runs: vec![run_at(second, None)],
        requests: vec![refused_with_key(second, key)],
    };
    add_entries(&register, entries(0, "before"));
    let switch = |is_on| {
        register
            .write(move |session| {
                session.set_record_key_logging(Actor::operator("operator"), UKPRN, is_on)
            })
            .unwrap();
    };
    switch(false);
    assert!(!in_provider(&register, |session| session.logs_record_keys()));
    add_entries(&register, entries(1, "off"));
    assert_eq!(keys_of_first_run(&register), [None, None]);
    switch(true);
    add_entries(&register, entries(2, "on"));
    let found = keys_of_first_run(&register);
    assert_eq!(found, [None, None, Some("on".to_owned())]);
}

#[test]
fn old_runs_are_removed_up_to_a_number() {
    let register = two_providers();
    let old = -(KEPT_DAYS + 1) * 86_400;
    for number in 0..3 {
        add_runs(&register, vec![run_at(old + number * 700, None)]);
    }
    add_runs(&register, vec![run_at(0, None)]);
    let remove = |most| {
        register
            .write(move |session| session.remove_old_runs(most))
            .unwrap()
    };
    assert_eq!([remove(2), remove(2), remove(2)], [2, 1, 0]);
    assert_eq!(runs(&register).len(), 1);
}
