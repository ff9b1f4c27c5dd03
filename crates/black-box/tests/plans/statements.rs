//! A connection keeps few prepared statements, for all combinations of null fields and of filters.

use std::borrow::Cow;
use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, SecondsFormat, TimeDelta, Utc};
use domain::listing::{Listing, Order, Status};
use domain::{Degree, Kind, Placement, Record, RecordField as _, State, Trainee, Value};
use fixtures::random::Random;
use storage::base::cause::Cause;
use storage::error::StorageError;
use storage::records::organisations::merge::{Organisation as _, PartnerDetails, SchoolDetails};
use storage::records::trainees::ListTotals;
use storage::session::{ProviderSession, Session};

use super::hearing::Hearing;
use crate::api::support::Register;
use crate::api::support::register::UKPRN;

/// Statements for everything that is written and read by key.
const MOST_OF_RECORDS: usize = 40;
/// Statements for lists: one for each combination of conditions and order.
const MOST_OF_LISTS: usize = 120;

/// A record with a value in every field that is stored as itself; about half of the other fields
/// are null. `kept` names the required fields.
fn with_random_nulls<R: Record>(random: &Random, kept: &[&str]) -> R {
    let mut record = R::default();
    for field in R::Field::ALL {
        let info = field.info();
        if !kept.contains(&info.name) && random.chance(50) {
            continue;
        }
        let value = match info.kind {
            Kind::Text => Value::Text(Cow::Borrowed(if info.name == "state" {
                State::TrnReceived.name()
            } else {
                "x"
            })),
            Kind::Integer => Value::Integer(1),
            Kind::Year => Value::Integer(2020),
            Kind::Boolean => Value::Boolean(true),
            Kind::Date => Value::Date(NaiveDate::from_ymd_opt(2026, 9, 1).unwrap()),
            Kind::Timestamp => Value::Timestamp(DateTime::<Utc>::UNIX_EPOCH),
            Kind::TextList => Value::TextList(vec![Cow::Borrowed("x")]),
            Kind::Document => Value::Document(Cow::Borrowed("{}")),
            Kind::Uuid | Kind::Records => continue,
        };
        // What is derived cannot be set.
        let _ = record.set_stored(*field, value);
    }
    record
}

fn placement(random: &Random) -> Placement {
    let placement = with_random_nulls(random, &["created_at", "updated_at"]);
    Placement {
        placement_id: Some(random.identifier()),
        ..placement
    }
}

fn degree(random: &Random) -> Degree {
    let degree = with_random_nulls(random, &["created_at", "updated_at"]);
    Degree {
        degree_id: Some(random.identifier()),
        ..degree
    }
}

fn trainee(random: &Random) -> Trainee {
    let trainee = with_random_nulls(
        random,
        &["state", "created_at", "updated_at", "record_source"],
    );
    Trainee {
        trainee_id: Some(random.identifier()),
        discarded_at: None,
        state: Some(random.one_of([State::TrnReceived, State::Withdrawn])),
        placements: (0..random.below(3)).map(|_| placement(random)).collect(),
        degrees: (0..random.below(3)).map(|_| degree(random)).collect(),
        ..trainee
    }
}

/// Adds a trainee, and changes it and its parts in every way.
fn live(session: &mut ProviderSession<'_>, random: &Random) -> Result<(), StorageError> {
    let new = trainee(random);
    let id = new.trainee_id.clone().unwrap();
    session.insert_trainee(&new)?;
    let find = |session: &mut ProviderSession<'_>| {
        Ok::<_, StorageError>(session.find_trainee(&id)?.unwrap())
    };
    let stored = find(session)?;
    session.duplicates_of(&stored.record)?;
    session.update_trainee(
        &stored,
        &Trainee {
            trainee_id: Some(id.clone()),
            ..trainee(random)
        },
    )?;
    for placements in [
        vec![placement(random)],
        vec![placement(random), placement(random)],
        Vec::new(),
    ] {
        let stored = find(session)?;
        session.update_trainee(
            &stored,
            &Trainee {
                placements,
                ..stored.record.clone()
            },
        )?;
    }
    for degrees in [
        vec![degree(random)],
        vec![degree(random), degree(random)],
        Vec::new(),
    ] {
        let stored = find(session)?;
        session.update_trainee(
            &stored,
            &Trainee {
                degrees,
                ..stored.record.clone()
            },
        )?;
    }
    Ok(())
}

/// Adds and changes organisations with and without what they may lack.
fn organise(session: &mut Session<'_>, number: usize) -> Result<(), StorageError> {
    let text = |is_there: bool| is_there.then(|| format!("{number:08}"));
    let [bit, next] = [2, 3].map(|divisor| number.is_multiple_of(divisor));
    let school = SchoolDetails {
        urn: format!("{number:06}"),
        name: "x".to_owned(),
        postcode: text(bit),
        open: next,
    };
    school.add(session)?;
    school.replace(1, session)?;
    let partner = PartnerDetails {
        urn: text(!bit || next),
        ukprn: text(bit),
        name: "x".to_owned(),
    };
    partner.add(session)?;
    PartnerDetails {
        urn: None,
        ..partner
    }
    .replace(1, session)
}

/// Trainees and organisations, some in each transaction.
fn write(register: &Register, seed: u64, count: usize) {
    const BATCH: usize = 50;
    for batch in 0..count / BATCH {
        // A date is at most a second ahead of the clock, and each change of one record has a later
        // one.
        let now = register.store().now() + TimeDelta::minutes(1);
        register
            .clock
            .set(&now.to_rfc3339_opts(SecondsFormat::Millis, true));
        register.operate(move |session| {
            let random = Random::new(seed + batch as u64);
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            (0..BATCH).try_for_each(|_| live(&mut provider, &random))?;
            drop(provider);
            let first = usize::try_from(seed).unwrap() + batch * 10;
            (first..first + 10).try_for_each(|number| organise(session, number))
        });
    }
}

#[test]
fn record_writes_with_any_fields_share_their_statements() {
    let hearing = Hearing::begin();
    let register = Register::start();
    // The first transaction finds a register without a change, the second one does not.
    write(&register, 1_000, 100);
    let few = hearing.cached();
    write(&register, 100_000, 250);
    let many = hearing.cached();
    let more: BTreeSet<_> = many.difference(&few).collect();
    assert!(more.is_empty(), "{} statements more: {more:#?}", more.len());
    eprintln!("{} statements for records", many.len());
    assert!(
        (10..=MOST_OF_RECORDS).contains(&many.len()),
        "{} statements: {many:#?}",
        many.len()
    );
}

#[test]
fn what_changes_a_trainee_stays_prepared() {
    let hearing = Hearing::begin();
    let register = Register::start();
    // The first transaction finds a register without a change, the second one does not.
    write(&register, 1_000, 100);
    let kept = hearing.cached();
    hearing.forget();
    write(&register, 100_000, 50);
    let heard = hearing.heard();
    let of_trainees: BTreeSet<_> = heard
        .iter()
        .filter(|sql| sql.contains("trainees") || sql.contains("changes"))
        .collect();
    let repeated: Vec<_> = of_trainees
        .iter()
        .filter(|sql| !kept.contains(**sql))
        .collect();
    assert!(
        repeated.is_empty(),
        "prepared again at each execution: {repeated:#?}"
    );
    assert!(
        of_trainees.iter().any(|sql| sql.starts_with("UPDATE")),
        "nothing was changed: {of_trainees:#?}"
    );
}

#[test]
fn lists_have_one_statement_per_combination_of_conditions() {
    let hearing = Hearing::begin();
    let register = Register::start();
    register.sow(100);
    let before = hearing.cached();
    let list = |days: i64, per_page: i64| {
        let statuses = [None]
            .into_iter()
            .chain(Status::ALL.iter().copied().map(Some));
        for status in statuses {
            for has_trn in [None, Some(true), Some(false)] {
                for since in [None, Some(register.store().now() - TimeDelta::days(days))] {
                    for order in [Order::NewestFirst, Order::OldestFirst] {
                        for page in [1, 2, 20] {
                            let cycle = 2026;
                            let listing = Listing {
                                cycle,
                                status,
                                since,
                                has_trn,
                                order,
                                page,
                                per_page,
                            };
                            register
                                .store()
                                .read_blocking(|session| -> Result<_, StorageError> {
                                    let mut provider =
                                        session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
                                    let standing = provider.standing()?;
                                    provider.list_trainees(
                                        &listing,
                                        &standing,
                                        &ListTotals::default(),
                                    )
                                })
                                .unwrap();
                        }
                    }
                }
            }
        }
    };
    list(400, 5);
    let few = hearing.cached();
    for days in [1, 10] {
        list(days, 3 * days + 1);
    }
    let all = hearing.cached();
    let of_lists = all.difference(&before).count();
    eprintln!("{of_lists} statements for lists");
    assert!(of_lists <= MOST_OF_LISTS, "{of_lists} statements: {all:#?}");
    // Other values can meet other conditions, such as a page from the other end, and none that is
    // not counted above.
    assert!(
        few.len() <= all.len() && of_lists > 10,
        "{of_lists} statements"
    );
}
