//! Tests of the dates of changes on both databases: what polling clients rely on.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::listing::{DEFAULT_PER_PAGE, Listing, Order};
use domain::{State, Trainee};

use crate::accounts::tokens::NewToken;
use crate::base::cause::Cause;
use crate::base::token::TokenDigest;
use crate::error::{Refusal, StorageError};
use crate::records::trainees::ListTotals;
use crate::session::Session;
use crate::testing::{NEW_TOKEN, Register, UKPRN, block_on};

/// The academic cycle of the trainees and of the clock in these tests.
const CYCLE: i32 = 2025;

fn add(
    session: &mut Session<'_>,
    id: &str,
    updated_at: Option<DateTime<Utc>>,
) -> Result<(), StorageError> {
    let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
    let date = updated_at.unwrap_or(provider.change_date());
    provider.insert_trainee(&Trainee {
        trainee_id: Some(id.to_owned()),
        state: Some(State::SubmittedForTrn),
        itt_start_date: "2025-09-01".parse().ok(),
        created_at: Some(date),
        updated_at: Some(date),
        ..Trainee::default()
    })
}

/// Changes a trainee and returns its new date.
fn change(session: &mut Session<'_>, id: &str) -> Result<DateTime<Utc>, StorageError> {
    let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
    let stored = provider.find_trainee(id)?.unwrap();
    let now = provider.change_date();
    let count = stored
        .record
        .course_year
        .as_deref()
        .map_or(0, |count| count.parse::<u32>().unwrap())
        + 1;
    let changed = Trainee {
        course_year: Some(count.to_string()),
        updated_at: Some(now),
        ..stored.record.clone()
    };
    provider.update_trainee(&stored, &changed)?;
    Ok(now)
}

/// A register with the trainees `0` to `count - 1`, inserted by one job.
fn register_with_trainees(count: usize) -> Register {
    let register = Register::with_provider();
    let yesterday = register.store.now() - TimeDelta::days(1);
    register
        .write(move |session| {
            (0..count).try_for_each(|id| add(session, &id.to_string(), Some(yesterday)))
        })
        .unwrap();
    register
}

/// A client that uses the date of the last record on a page as its cursor.
struct Poller {
    cursor: DateTime<Utc>,
    seen: HashMap<String, DateTime<Utc>>,
}

impl Poller {
    fn new(cursor: DateTime<Utc>) -> Self {
        Self {
            cursor,
            seen: HashMap::new(),
        }
    }

    /// Reads all pages of changes since the cursor.
    fn poll(&mut self, register: &Register) {
        let since = Some(self.cursor);
        let mut is_full = true;
        for page in 1.. {
            if !is_full {
                return;
            }
            let listing = Listing {
                cycle: CYCLE,
                status: None,
                since,
                has_trn: None,
                order: Order::OldestFirst,
                page,
                per_page: DEFAULT_PER_PAGE,
            };
            let read = |session: &mut Session<'_>| {
                let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                let standing = provider.standing()?;
                provider.list_trainees(&listing, &standing, &ListTotals::default())
            };
            let trainees = register.read(read).unwrap().trainees;
            is_full = trainees.len() as i64 == DEFAULT_PER_PAGE;
            for trainee in trainees {
                let trainee = trainee.parsed();
                self.cursor = trainee.updated_at.unwrap();
                self.seen.insert(trainee.trainee_id.unwrap(), self.cursor);
            }
        }
    }
}

#[test]
fn polling_client_misses_no_change() {
    const TRAINEES: usize = 120;
    let register = register_with_trainees(TRAINEES);
    let mut poller = Poller::new(register.store.now());
    let mut dates: HashMap<usize, DateTime<Utc>> = HashMap::new();
    let mut next = 0;
    // 5 changes per millisecond: mostly one per job, sometimes 60 in one job.
    for (round, jobs) in [1, 5, 1, 30].into_iter().cycle().take(40).enumerate() {
        let changes = if jobs == 1 { 60 } else { 1 };
        for _ in 0..jobs {
            let ids: Vec<usize> = (0..changes)
                .map(|step| (next + step) * 7 % TRAINEES)
                .collect();
            next += changes;
            let job = ids.clone();
            let changed = register
                .write(move |session| {
                    job.iter()
                        .map(|id| change(session, &id.to_string()))
                        .collect::<Result<Vec<_>, _>>()
                })
                .unwrap();
            for (id, date) in ids.into_iter().zip(changed) {
                assert!(dates.insert(id, date).is_none_or(|last| last < date));
                assert!(date - register.store.now() <= TimeDelta::seconds(1));
            }
        }
        register
            .clock
            .advance(TimeDelta::milliseconds((jobs * changes / 5) as i64));
        if round % 3 == 0 {
            poller.poll(&register);
        }
    }
    poller.poll(&register);
    let seen: HashMap<usize, _> = poller
        .seen
        .iter()
        .map(|(id, date)| (id.parse().unwrap(), *date))
        .collect();
    assert_eq!(seen, dates);
}

#[test]
fn many_changes_are_dated_within_one_second() {
    const TRAINEES: usize = 600;
    let register = register_with_trainees(TRAINEES);
    let dates = register
        .write(|session| {
            (0..TRAINEES)
                .map(|id| change(session, &id.to_string()))
                .collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
    assert!(dates.is_sorted());
    assert!(*dates.last().unwrap() - register.store.now() <= TimeDelta::seconds(1));
    let mut poller = Poller::new(register.store.now());
    poller.poll(&register);
    assert_eq!(poller.seen.len(), TRAINEES);
}

#[test]
fn refused_jobs_do_not_advance_dates() {
    let register = register_with_trainees(1);
    for _ in 0..300 {
        let refused = register.write(|session| {
            change(session, "0")?;
            Err::<(), _>(Refusal::UnknownProvider.into())
        });
        assert!(matches!(refused, Err(StorageError::Refused(_))));
    }
    let date = register.write(|session| change(session, "0")).unwrap();
    // A refused job may use up at most one millisecond.
    assert!(
        date - register.store.now() <= TimeDelta::milliseconds(300),
        "{date}"
    );
    let refused = register.write(|session| {
        session
            .open_provider(UKPRN, Cause::new("test"))?
            .unwrap()
            .find_trainee("0")?;
        Err::<(), _>(Refusal::UnknownProvider.into())
    });
    assert!(matches!(refused, Err(StorageError::Refused(_))));
    assert_eq!(
        register.write(|session| change(session, "0")).unwrap(),
        date + TimeDelta::milliseconds(1)
    );
}

/// Jumps of the clock in both directions.
fn jumps() -> impl Iterator<Item = TimeDelta> {
    let lengths = [
        TimeDelta::seconds(3),
        TimeDelta::hours(2),
        TimeDelta::days(3),
        TimeDelta::days(365),
    ];
    lengths.into_iter().flat_map(|length| [length, -length])
}

/// Adds a trainee and returns its date.
fn add_now(session: &mut Session<'_>, id: &str) -> Result<DateTime<Utc>, StorageError> {
    let date = session
        .open_provider(UKPRN, Cause::new("test"))?
        .unwrap()
        .change_date();
    add(session, id, Some(date))?;
    Ok(date)
}

#[test]
fn dates_follow_clock_through_a_jump() {
    for (jump, writes) in jumps().flat_map(|jump| [(jump, false), (jump, true)]) {
        let register = register_with_trainees(1);
        let require_near = |date: DateTime<Utc>| {
            let lead = date - register.store.now();
            let is_near = TimeDelta::zero() <= lead && lead <= TimeDelta::seconds(1);
            assert!(is_near, "jump of {jump}, writes: {writes}: {lead} ahead");
        };
        require_near(register.write(|session| change(session, "0")).unwrap());
        register.clock.advance(jump);
        let during = if writes {
            let date = register
                .write(|session| add_now(session, "during"))
                .unwrap();
            require_near(date);
            Some(date)
        } else {
            // Refused jobs and jobs that write no trainee do not use their dates.
            let refused = register.write(|session| {
                session
                    .open_provider(UKPRN, Cause::new("test"))?
                    .unwrap()
                    .find_trainee("0")?;
                Err::<(), _>(Refusal::UnknownProvider.into())
            });
            assert!(
                matches!(refused, Err(StorageError::Refused(_))),
                "{refused:?}"
            );
            register
                .write(|session| session.rename_provider(UKPRN, "Ashdown"))
                .unwrap();
            None
        };
        register.clock.advance(-jump);
        require_near(register.write(|session| add_now(session, "after")).unwrap());
        let Some(during) = during else { continue };
        // A record changed under a clock that was ahead follows the present clock too.
        let date = register.write(|session| change(session, "during")).unwrap();
        require_near(date);
        assert!(jump > TimeDelta::zero() || date > during);
        require_near(register.write(|session| change(session, "0")).unwrap());
        block_on(register.store.probe().ask_to_write()).unwrap();
    }
}

#[test]
fn token_expiry_follows_clock_after_jump() {
    for jump in jumps() {
        let register = register_with_trainees(1);
        let expires_on = (register.store.now() + TimeDelta::days(2)).date_naive();
        let (token, _) = register
            .issue_token(NewToken {
                expires_on: Some(expires_on),
                ..NEW_TOKEN
            })
            .unwrap();
        let accepts = || {
            let digest = TokenDigest::from_text(token.reveal());
            register
                .write(move |session| {
                    Ok(session.authenticate(&digest, Cause::new("test"))?.is_some())
                })
                .unwrap()
        };
        register.clock.advance(jump);
        assert_eq!(
            accepts(),
            jump < TimeDelta::days(2),
            "during a jump of {jump}"
        );
        register.write(|session| change(session, "0")).unwrap();
        register.clock.advance(-jump);
        assert!(accepts(), "after a jump of {jump}");
        // A record dated ahead of the clock does not change `now` of its job.
        let today = register.write(|session| {
            change(session, "0")?;
            let provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            Ok((provider.today(), provider.now()))
        });
        assert_eq!(
            today.unwrap(),
            (register.store.now().date_naive(), register.store.now())
        );
    }
}

#[test]
fn processes_date_changes_after_committed_changes() {
    let register = register_with_trainees(2);
    let before = register.write(|session| change(session, "0")).unwrap();
    register.clock.advance(-TimeDelta::milliseconds(500));
    let other = register.another_store();
    let change = |id: &'static str| move |session: &mut Session<'_>| change(session, id);
    let after = other.write_blocking(change("1")).unwrap();
    assert!(after >= before, "{after} is before {before}");
    // A process that starts after the clock was set back by minutes follows the clock.
    register.clock.advance(-TimeDelta::minutes(3));
    let date = register
        .another_store()
        .write_blocking(change("1"))
        .unwrap();
    assert!(date <= before + TimeDelta::milliseconds(2), "{date}");
}
