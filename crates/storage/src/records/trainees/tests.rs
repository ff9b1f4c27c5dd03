//! Tests of finding and changing trainees: order, dates and history.

use chrono::{DateTime, TimeDelta};
use domain::fields::value::Year;
use domain::{Degree, State};

use super::*;
use crate::base::cause::Cause;
use crate::testing::{Register, UKPRN};

#[test]
fn degrees_are_ordered_by_year() {
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
        let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        provider.insert_trainee(&trainee)?;
        Ok(provider.find_trainee("trainee")?.unwrap())
    });
    let shown: Vec<_> = found
        .unwrap()
        .record
        .degrees
        .into_iter()
        .map(|degree| degree.degree_id.unwrap())
        .collect();
    assert_eq!(shown, ["degree 1", "degree 3", "degree 2", "degree 0"]);
}

#[test]
fn change_is_dated_after_last_change() {
    let register = Register::with_provider();
    let earlier = register.write(|session| Ok(session.now())).unwrap();
    let last_change = earlier + TimeDelta::milliseconds(900);
    let now = register.write(move |session| {
        let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
        provider.insert_trainee(&Trainee {
            trainee_id: Some("trainee".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: Some(last_change),
            updated_at: Some(last_change),
            ..Trainee::default()
        })?;
        let before = provider.change_date();
        provider.find_trainee("trainee")?;
        Ok((before, provider.change_date()))
    });
    let (before, after) = now.unwrap();
    assert!(before < last_change);
    assert_eq!(after, last_change + TimeDelta::milliseconds(1));
}

#[test]
fn creation_is_stored_without_fields() {
    let register = Register::with_provider();
    let moment = DateTime::from_timestamp(1_770_000_000, 0);
    let trainee = Trainee {
        trainee_id: Some("trainee".to_owned()),
        last_name: Some("Example".to_owned()),
        state: Some(State::SubmittedForTrn),
        created_at: moment,
        updated_at: moment,
        degrees: vec![Degree {
            degree_id: Some("degree".to_owned()),
            created_at: moment,
            ..Degree::default()
        }],
        ..Trainee::default()
    };
    register
        .write(move |session| {
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            provider.insert_trainee(&trainee)?;
            let stored = provider.find_trainee("trainee")?.unwrap();
            provider.update_trainee(
                &stored,
                &Trainee {
                    degrees: Vec::new(),
                    ..stored.record.clone()
                },
            )?;
            let stored = provider.find_trainee("trainee")?.unwrap();
            let changed = Trainee {
                last_name: Some("Other".to_owned()),
                ..stored.record.clone()
            };
            provider.update_trainee(&stored, &changed)
        })
        .unwrap();
    let stored: Vec<String> = register
        .read(|session| {
            use crate::schema::changes;
            Ok(changes::table
                .order(changes::id)
                .select(changes::fields)
                .load(session.connection)?)
        })
        .unwrap();
    assert_eq!(stored[0], "{}");
    let history = register
        .read(|session| session.history_of("trainee"))
        .unwrap()
        .unwrap();
    let created: Vec<_> = history.entries[0]
        .fields
        .iter()
        .map(|field| (&*field.path, field.after().to_string()))
        .collect();
    assert!(
        created.contains(&("last_name", "\"Example\"".to_owned())),
        "{created:?}"
    );
    assert!(
        created.contains(&("degrees.degree.degree_id", "\"degree\"".to_owned())),
        "{created:?}"
    );
    assert!(
        history.entries[0]
            .fields
            .iter()
            .all(|field| field.before().is_null())
    );
    assert_eq!(history.states().unwrap()[0].degrees.len(), 1);
    let history_seen_by = |ukprn: &'static str| {
        let seen = register.read(move |session| {
            session
                .open_provider(ukprn, Cause::new("test"))?
                .unwrap()
                .history_of("trainee")
        });
        seen.unwrap()
    };
    assert_eq!(history_seen_by(UKPRN), Some(history));
    register
        .write(|session| session.add_provider("10000002", "Another University"))
        .unwrap();
    assert_eq!(history_seen_by("10000002"), None);
}

#[test]
fn duplicates_and_history_are_ordered_by_date() {
    let register = Register::with_provider();
    let moment = |day: i64| DateTime::from_timestamp(1_770_000_000 + day * 86_400, 0);
    // Servers may allocate blocks of keys, so a trainee inserted later may have a lower key.
    for (id, day) in [("later", 2), ("earlier", 1)] {
        let trainee = Trainee {
            trainee_id: Some(id.to_owned()),
            last_name: Some("Example".to_owned()),
            first_names: Some("Ann".to_owned()),
            date_of_birth: Some("1999-04-12".parse().unwrap()),
            training_route: Some("assessment_only".to_owned()),
            state: Some(State::SubmittedForTrn),
            created_at: moment(day),
            updated_at: moment(day),
            ..Trainee::default()
        };
        register
            .write(move |session| {
                let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                provider.insert_trainee(&trainee)?;
                let stored = provider
                    .find_trainee(trainee.trainee_id.as_deref().unwrap())?
                    .unwrap();
                let now = provider.change_date();
                let changed = Trainee {
                    email: Some("a@b".to_owned()),
                    updated_at: Some(now),
                    ..stored.record.clone()
                };
                provider.update_trainee(&stored, &changed)?;
                let stored = provider
                    .find_trainee(trainee.trainee_id.as_deref().unwrap())?
                    .unwrap();
                let now = provider.change_date();
                let changed = Trainee {
                    email: Some("c@d".to_owned()),
                    updated_at: Some(now),
                    ..stored.record.clone()
                };
                provider.update_trainee(&stored, &changed)
            })
            .unwrap();
    }
    let moved = register.write(|session| {
        use crate::schema::changes;
        let last = changes::table
            .select(diesel::dsl::max(changes::id))
            .get_result::<Option<i64>>(session.connection)?;
        Ok(diesel::update(changes::table.find(last.unwrap()))
            .set(changes::id.eq(-1))
            .execute(session.connection)?)
    });
    assert_eq!(moved.unwrap(), 1);
    let found = register
        .read(|session| {
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            let like = provider.find_trainee("later")?.unwrap().record;
            let found = provider.duplicates_of(&like)?;
            Ok(found
                .iter()
                .map(|trainee| trainee.parsed().trainee_id.unwrap())
                .collect::<Vec<_>>())
        })
        .unwrap();
    assert_eq!(found, ["earlier", "later"]);
    let history = register
        .read(|session| session.history_of("earlier"))
        .unwrap()
        .unwrap();
    let emails: Vec<_> = history
        .states()
        .unwrap()
        .into_iter()
        .map(|state| state.email)
        .collect();
    assert_eq!(
        emails,
        [None, Some("a@b".to_owned()), Some("c@d".to_owned())]
    );
}
