//! Finding trainees, and what is dated and locked meanwhile.

use chrono::{DateTime, TimeDelta};
use domain::value::Year;
use domain::{Degree, State};

use super::*;
use crate::history::Cause;
use crate::testing::{Register, UKPRN};

#[test]
fn degrees_are_shown_by_year_and_those_without_one_first() {
    let register = Register::with_provider();
    let moment = DateTime::from_timestamp(1_770_000_000, 0);
    let degree = |(number, year): (usize, Option<i64>)| Degree {
        degree_id: Some(format!("degree {number}")),
        graduation_year: year.map(Year),
        created_at: moment,
        updated_at: moment,
        ..Degree::default()
    };
    let years = [Some(2021), None, Some(1999), None];
    let trainee = Trainee {
        trainee_id: Some("trainee".to_owned()),
        state: Some(State::SubmittedForTrn),
        created_at: moment,
        updated_at: moment,
        degrees: years.into_iter().enumerate().map(degree).collect(),
        ..Trainee::default()
    };
    let found = register.write(move |session| {
        let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
        provider.insert_trainee(&trainee)?;
        Ok(provider.find_trainee("trainee")?.unwrap())
    });
    let shown: Vec<_> = found.unwrap().record.degrees.into_iter().map(|degree| degree.degree_id.unwrap()).collect();
    assert_eq!(shown, ["degree 1", "degree 3", "degree 2", "degree 0"]);
}

#[test]
fn no_trainee_is_found_by_what_no_identifier_has() {
    let register = Register::with_provider();
    let found = register.read(|session| session.open_provider(UKPRN, Cause::of("test"))?.unwrap().find_trainee("a\0b"));
    assert!(found.unwrap().is_none());
}

#[test]
fn what_changes_a_trainee_is_dated_after_its_last_change_also_where_the_clock_is_behind() {
    let register = Register::with_provider();
    let earlier = register.write(|session| Ok(session.now())).unwrap();
    let last_change = earlier + TimeDelta::hours(1);
    let now = register.write(move |session| {
        let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
        provider.insert_trainee(&Trainee {
            trainee_id: Some("trainee".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: Some(last_change),
            updated_at: Some(last_change),
            ..Trainee::default()
        })?;
        let before = provider.now();
        provider.find_trainee("trainee")?;
        Ok((before, provider.now()))
    });
    let (before, after) = now.unwrap();
    assert!(before < last_change);
    assert_eq!(after, last_change + TimeDelta::milliseconds(1));
    let seen = register.read(|session| {
        let mut provider = session.open_provider(UKPRN, Cause::of("test"))?.unwrap();
        provider.find_trainee("trainee")?;
        Ok(provider.now())
    });
    // Who only reads changes nothing that would have to come after.
    assert!(seen.unwrap() < last_change);
}
