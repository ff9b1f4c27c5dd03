//! What holds for any body: a valid one is read back as it was sent, and a spoilt one gets a
//! success or a refusal that names what was spoilt, or a field whose rule reads it.
//!
//! `PROPERTY_CASES` sets how many bodies are tried in each version.

use std::collections::BTreeSet;

use adapter_kit::compose::Request;
use adapter_kit::{ApiVersion, Status};
use conformance::paths;
use domain::rules::Rule;
use domain::{Context, Kind, Lists, RecordField as _, Trainee, TraineeField as F};
use fixtures::TraineeGenerator;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use versions::SERVED;

use crate::api::support::register::{BEGINNING, UKPRN};
use crate::api::support::{Api, Register};

/// Default number of bodies in each version.
const CASES: u32 = 60;

/// Bodies in each version.
pub(crate) fn cases() -> u32 {
    std::env::var("PROPERTY_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(CASES)
}

fn runner() -> TestRunner {
    TestRunner::new(Config {
        cases: cases(),
        failure_persistence: None,
        ..Config::default()
    })
}

/// Runs a property over bodies that the version accepts, on one register.
fn for_each_body(
    property: impl Fn(&Api<'_>, Map<String, Value>, u64) -> Result<(), TestCaseError>,
) {
    for version in SERVED {
        let register = Register::start();
        let api = register.api(version);
        let ran = runner().run(&(any::<u64>(), any::<u64>()), |(seed, choice)| {
            property(&api, body(version, &register, seed), choice)
        });
        if let Err(error) = ran {
            panic!("{}: {error}", version.label);
        }
    }
}

/// A body made from an invented trainee of the version's own.
fn body(version: &ApiVersion, register: &Register, seed: u64) -> Map<String, Value> {
    let organisations = register.operate(|session| session.first_organisations(200));
    let today = BEGINNING
        .parse::<chrono::DateTime<chrono::Utc>>()
        .unwrap()
        .date_naive();
    let lists = Lists::embedded();
    let context = Context {
        today,
        lists,
        accepted_codes: &version.accepted_codes,
        organisations: &organisations,
    };
    // A version that is not released may have rules that the generator does not know.
    let attempts = if version.publication.status == Status::Released {
        1
    } else {
        100
    };
    let invent = |seed| TraineeGenerator::new(seed, &version.rules, context).trainee(UKPRN);
    let trainee: Trainee = (0..attempts)
        .find_map(|further| invent(seed.wrapping_add(further)).ok())
        .unwrap();
    let request = serde_json::to_value(Request {
        version,
        record: &trainee,
        lists,
    })
    .unwrap();
    request.as_object().unwrap().clone()
}

/// The field that a rule about it can name instead: any that is read together with it.
fn read_together(version: &ApiVersion, field: F) -> BTreeSet<F> {
    let reads = |rule: &&Rule<Trainee>| rule.reads.contains(&field);
    version
        .rules
        .trainee
        .iter()
        .filter(reads)
        .flat_map(|rule| rule.reads.iter().copied())
        .chain([field])
        .collect()
}

#[test]
fn valid_body_is_read_back_as_sent() {
    for_each_body(|api, body, _| {
        let reply = api.send("POST", "/trainees", json!({ "data": body }));
        // The same person may have been drawn before.
        if reply.status == 409 {
            return Ok(());
        }
        prop_assert_eq!(reply.status, 201, "{:#} {:#}", reply.body, json!(body));
        let created = api.shown(&reply);
        let read = api.read(created.id());
        prop_assert_eq!(&read.data, &created.data);
        for input in api.version.inputs.trainee.entries {
            let (name, field) = (input.name, input.field);
            let Some(sent) = paths::get(&body, name) else {
                continue;
            };
            if field.info().kind == Kind::Records {
                prop_assert_eq!(
                    read.value(field).as_array().map(Vec::len),
                    sent.as_array().map(Vec::len),
                    "{}",
                    name
                );
            } else if api.version.shapes.trainee.shows(name) {
                prop_assert_eq!(
                    paths::get(read.data.as_object().unwrap(), name),
                    Some(sent),
                    "{}",
                    name
                );
            }
        }
        Ok(())
    });
}

/// What a value is spoilt with.
fn spoilt(choice: u64, value: &Value) -> Value {
    let spoils = [
        Value::Null,
        json!(""),
        json!(0),
        json!(1.5),
        json!(true),
        json!({}),
        json!("x".repeat(300)),
        json!("zz"),
        json!("1900-01-01"),
        json!("2035-12-31"),
        json!("100511"),
        json!("900020"),
        json!(["x"]),
        value.clone(),
    ];
    spoils[usize::try_from(choice).unwrap_or(usize::MAX) % spoils.len()].clone()
}

#[test]
fn one_spoilt_value_is_accepted_or_named() {
    for_each_body(|api, body, choice| {
        let inputs = api.version.inputs.trainee.entries;
        let input = inputs[usize::try_from(choice >> 8).unwrap_or(usize::MAX) % inputs.len()];
        let mut data = body.clone();
        let value = spoilt(
            choice & 0xff,
            paths::get(&data, input.name).unwrap_or(&Value::Null),
        );
        paths::put(&mut data, input.name, value.clone());
        let reply = api
            .request("POST", "/trainees")
            .header("Prefer", "validate-only")
            .json(json!({ "data": data }))
            .send();
        let told = format!(
            "{} = {value}: {:#} {:#}",
            input.name,
            reply.body,
            json!(body)
        );
        prop_assert!([201, 409, 422].contains(&reply.status), "{}", told);
        if reply.status == 422 {
            let expected = read_together(api.version, input.field);
            for (_, message) in reply.errors() {
                let name = message.split(' ').next().unwrap();
                let field = api.version.inputs.trainee.field(name);
                prop_assert!(
                    field.is_some_and(|field| expected.contains(&field)),
                    "{}",
                    told
                );
            }
        }
        Ok(())
    });
}
