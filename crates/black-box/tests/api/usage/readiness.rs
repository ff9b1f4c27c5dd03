//! Whether what is written in a version would be accepted in the newest one, and what is told of
//! it.

use adapter_kit::body_kind::RecordKind;
use adapter_kit::{ApiVersion, Endpoint, Label, Versions};
use domain::rules::{Rule, Rules, Run};
use domain::{Trainee, TraineeField as F};
use fixtures::example::AFTERWARDS;
use serde_json::{Value, json};
use storage::base::cause::Cause;
use storage::observations::requests::listing::RequestFilter;
use usage::readiness::VersionReadiness;
use version_tools::openapi::examples;
use version_tools::translate::{BodyKind, translate_names};
use versions::SERVED;

use crate::api::support::register::UKPRN;
use crate::api::support::shown::path_of;
use crate::api::support::versions::{methods, recommendation};
use crate::api::support::{Api, Body, Register, Setup};

/// A rule that no version has.
const MIDDLE_NAMES_REQUIRED: Rule<Trainee> = Rule {
    name: "middle_names_required",
    description: "must be there, as a test wants",
    section: "2.1",
    reads: &[F::middle_names],
    run: Run::Require,
};

/// All versions, and one that is newer and demands what none of them does.
fn with_a_stricter_one() -> &'static Versions {
    let newest = *SERVED.last().unwrap();
    let rules: Vec<_> = newest
        .rules
        .trainee
        .iter()
        .copied()
        .chain([MIDDLE_NAMES_REQUIRED])
        .collect();
    let rules = Rules {
        trainee: rules.leak(),
        ..newest.rules
    };
    let label = Label::release(newest.label.year + 1, 0);
    let stricter: &ApiVersion = Box::leak(Box::new(ApiVersion {
        label,
        rules,
        ..*newest
    }));
    let list: Vec<_> = SERVED.iter().copied().chain([stricter]).collect();
    Box::leak(Box::new(Versions::new(&list)))
}

fn register_with_versions(versions: &'static Versions) -> Register {
    Register::with_setup(Setup {
        versions,
        shadow_share: 100,
        ..Setup::default()
    })
}

fn readiness(api: &Api<'_>, versions: &'static Versions) -> VersionReadiness {
    api.register.write_record();
    let label = api.version.label;
    api.register.operate(move |session| {
        let served = [versions.find(label).unwrap()];
        let mut reports = VersionReadiness::load(session, served, 30, None, versions)?;
        Ok(reports.remove(0))
    })
}

/// The field, the code, and how many writes have the problem.
type Problem = (String, String, i64);

/// How many writes were tried and how many were valid, and what stood against the others.
fn tried(api: &Api<'_>, versions: &'static Versions) -> ((i64, i64), Vec<Problem>) {
    let readiness = readiness(api, versions);
    let problems = readiness
        .providers
        .iter()
        .flat_map(|provider| &provider.problems);
    let problems = problems
        .map(|found| (found.field.clone(), found.code.clone(), found.writes))
        .collect();
    ((readiness.writes.checked, readiness.writes.valid), problems)
}

#[test]
fn write_the_newest_version_rejects_counts_with_field_and_rule() {
    let versions = with_a_stricter_one();
    for version in SERVED {
        let register = register_with_versions(versions);
        let api = register.api(version);
        let without = api.example().with(F::middle_names, Value::Null);
        let created = api.create(without);
        let problem = |writes| vec![("middle_names".to_owned(), "blank".to_owned(), writes)];
        assert_eq!(
            tried(&api, versions),
            ((1, 0), problem(1)),
            "{}",
            version.label
        );
        for (field, value, counts, problems) in [
            // An update that changes another field does not ask for this one.
            (F::first_names, json!("Another"), (2, 1), 1),
            (F::middle_names, json!("Given"), (3, 2), 1),
            // It is taken away again: seen on the record as it was, and not as it is then.
            (F::middle_names, Value::Null, (4, 2), 2),
        ] {
            api.update(created.id(), Body::new(version).with(field, value));
            assert_eq!(tried(&api, versions), (counts, problem(problems)));
        }
        let told = readiness(&api, versions);
        let [provider] = &told.providers[..] else {
            panic!("one provider")
        };
        assert_eq!(
            provider.problems[0].rules,
            [MIDDLE_NAMES_REQUIRED.description]
        );
        assert_eq!(
            (provider.writes.percent, provider.writes.few),
            (Some(50.0), true)
        );
        // The same is known of each single write.
        let page = register.operate(|session| {
            let provider = session.open_provider(UKPRN, Cause::new("test"))?;
            provider.unwrap().requests(&RequestFilter::default(), None)
        });
        let blank = vec![("blank".to_owned(), "middle_names".to_owned())];
        let found: Vec<_> = page
            .requests
            .into_iter()
            .map(|request| request.newest_problems)
            .collect();
        let accepted = Some(Vec::new());
        let expected = [Some(blank.clone()), accepted.clone(), accepted, Some(blank)];
        assert_eq!(found, expected);
    }
}

#[test]
fn every_example_write_is_accepted_by_the_newest_version() {
    let newest = versions::all().newest().unwrap().version.label;
    for version in SERVED.iter().filter(|version| version.label != newest) {
        let singles = version.endpoints.all().filter(|one| !one.row().is_batch());
        for endpoint in singles {
            let Some(body) = examples::request(version, endpoint) else {
                continue;
            };
            let register = register_with_versions(versions::all());
            register.clock.set(&format!("{AFTERWARDS}T09:00:00Z"));
            let api = register.api(version);
            let example = examples::request(version, Endpoint::CreateTrainee).unwrap();
            let created = api.send("POST", "/trainees", example).is(201);
            if endpoint != Endpoint::CreateTrainee {
                let path = path_of(endpoint, created.data());
                let reply = api.send(methods(endpoint)[0], &path, body);
                assert!(reply.status < 300, "{endpoint}: {:#}", reply.body);
            }
            let ((checked, valid), problems) = tried(&api, versions::all());
            let expected = 1 + i64::from(endpoint != Endpoint::CreateTrainee);
            assert!(checked >= expected, "{endpoint} in {}", version.label);
            assert_eq!((valid, problems), (checked, vec![]), "{endpoint}");
        }
    }
}

/// Changes of the example that a version may refuse.
const CHANGES: [(F, &str); 10] = [
    (F::itt_end_date, "2029-07-31"),
    (F::itt_end_date, "2036-07-31"),
    (F::training_route, "02"),
    (F::training_route, "03"),
    (F::course_year, "2026"),
    (F::course_year, "twenty"),
    (F::course_age_range, "13915"),
    (F::course_age_range, "13918"),
    (F::additional_training_initiative, "025"),
    (F::fund_code, "2"),
];

#[test]
fn the_verdict_is_what_the_newest_version_really_answers() {
    let newest = versions::all().newest().unwrap();
    let older = versions::all()
        .iter()
        .filter(|served| served.version.label != newest.version.label);
    let mut refused = 0;
    for served in older {
        let (register, other) = (register_with_versions(versions::all()), Register::start());
        let (api, judge) = (register.api(served.version), other.api(newest.version));
        let (mut accepted, mut valid) = (0, 0);
        for (number, (field, value)) in CHANGES.iter().enumerate() {
            // Each is another person, so that none is a duplicate.
            let body = Value::from(
                api.example()
                    .with(F::last_name, format!("Number {number}"))
                    .with(*field, *value),
            );
            if api.send("POST", "/trainees", body.clone()).status != 201 {
                continue;
            }
            let body_kind = BodyKind {
                record: Some(RecordKind::Trainee),
                ..BodyKind::default()
            };
            let spelt = translate_names(&body, served, newest, &body_kind).data;
            accepted += 1;
            valid += i64::from(judge.send("POST", "/trainees", spelt).status == 201);
        }
        let (counts, problems) = tried(&api, versions::all());
        assert_eq!(
            counts,
            (accepted, valid),
            "{}: {problems:?}",
            served.version.label
        );
        refused += accepted - valid;
    }
    assert!(
        refused > 0,
        "the newest version refuses nothing of what the others accept"
    );
}

#[test]
fn only_executed_writes_of_older_versions_are_tried() {
    let versions = versions::all();
    let register = register_with_versions(versions);
    let api = register.api(SERVED[0]);
    let newest = register.api(versions.newest().unwrap().version);
    let repeated = |body: Body| {
        api.request("POST", "/trainees")
            .header("Idempotency-Key", "once")
            .json(body)
            .send()
            .is(201);
    };
    repeated(api.example());
    repeated(api.example());
    assert_eq!(
        tried(&api, versions).0,
        (1, 1),
        "what is answered from memory is no new write"
    );
    api.send("POST", "/trainees", api.example()).is(409);
    api.send(
        "POST",
        "/trainees",
        api.example().with(F::email, Value::Null),
    )
    .is(422);
    let tried_out = api
        .request("POST", "/trainees")
        .header("Prefer", "validate-only");
    tried_out
        .json(api.example().with(F::last_name, "Tried"))
        .send()
        .is(201);
    api.get("/trainees").is(200);
    newest.create(newest.example().with(F::last_name, "Newer"));
    assert_eq!(tried(&api, versions).0, (1, 1));
    assert_eq!(tried(&newest, versions).0, (0, 0));
}

#[test]
fn batch_items_are_tried_singly_and_counted_as_one_request() {
    let register = register_with_versions(versions::all());
    let api = register.api(SERVED[0]);
    let foreign = api.served().other_names.trainee.refused[0].0;
    let item = |number: usize, body: Body| {
        let data = Value::from(body.with(F::last_name, format!("Number {number}")))["data"].take();
        json!({ "idempotency_key": number.to_string(), "data": data })
    };
    let mut items: Vec<Value> = (0..3).map(|number| item(number, api.example())).collect();
    items.extend((3..5).map(|number| item(number, api.example().with_key(foreign, "x"))));
    api.send("POST", "/trainees/batch", items).is(200);
    let told = readiness(&api, versions::all());
    assert_eq!(told.providers[0].requests, 1);
    assert_eq!((told.writes.checked, told.writes.valid), (3, 3), "{told:?}");
    assert_eq!(told.providers[0].names[0].name, foreign);
}

#[test]
fn version_users_are_reported_with_ending_and_newer_features() {
    let register = Register::start();
    let (older, newest) = (SERVED[0], *SERVED.last().unwrap());
    let (api, other) = (register.api(older), register.other_provider(older));
    let created = api.create(api.example());
    let action = recommendation(older);
    api.send(
        "POST",
        &format!("{}/{action}", created.path()),
        json!({ "data": {} }),
    )
    .is(422);
    let foreign = api.served().other_names.trainee.refused[0].0;
    api.send(
        "PATCH",
        &created.path(),
        Body::new(older).with_key(foreign, "x"),
    )
    .is(422);
    register.api(newest).get("/info").is(200);
    register.clock.set("2026-10-06T09:00:00Z");
    other
        .request("GET", "/info")
        .header("X-Request-Id", "the-last")
        .send()
        .is(200);

    let told = readiness(&api, versions::all());
    assert_eq!((told.version, told.newest), (older.label, newest.label));
    let [one, two] = &told.providers[..] else {
        panic!("two providers: {told:?}")
    };
    assert_eq!(
        (one.requests, two.requests, &*two.last.request_id),
        (3, 1, "the-last")
    );
    let [name] = &one.names[..] else {
        panic!("{:?}", one.names)
    };
    assert_eq!((name.name.as_str(), name.requests), (foreign, 1));
    let mut deprecated = [older, newest]
        .map(|one| one.endpoints.deprecated)
        .into_iter()
        .flatten();
    let ends = deprecated.find(|ends| ends.endpoint.path().ends_with(action));
    let mut endpoints = Endpoint::ALL.iter();
    let asked = endpoints
        .find(|asked| asked.path().ends_with(action))
        .unwrap();
    let [endpoint] = &one.endpoints[..] else {
        panic!("{:?}", one.endpoints)
    };
    let replaced_by = asked.row().replaced_by.unwrap();
    assert_eq!(endpoint.replaced_by, Some(replaced_by.to_string()));
    assert_eq!(endpoint.removed_in, ends.map(|ends| ends.removed_in));
    let newer = one
        .newer
        .iter()
        .map(|newer| (newer.version, newer.requests));
    assert_eq!(newer.collect::<Vec<_>>(), [(newest.label, 1)]);
    assert_eq!(two.newer, []);
    assert_eq!(
        &*told.last_use.as_ref().unwrap().seen.request_id,
        "the-last"
    );
    let [token] = &two.tokens[..] else {
        panic!("one token")
    };
    assert_eq!(
        (token.name.as_str(), token.requests),
        ("Student records system", 1)
    );
}

#[test]
fn endpoint_missing_from_the_newest_version_is_reported() {
    let newest = *SERVED.last().unwrap();
    let fewer: Vec<_> = newest
        .endpoints
        .available
        .iter()
        .copied()
        .filter(|kept| *kept != Endpoint::Defer)
        .collect();
    let endpoints = adapter_kit::Endpoints {
        available: fewer.leak(),
        ..newest.endpoints
    };
    let label = Label::release(newest.label.year + 1, 0);
    let list: Vec<&ApiVersion> = vec![
        newest,
        Box::leak(Box::new(ApiVersion {
            label,
            endpoints,
            ..*newest
        })),
    ];
    let versions: &'static Versions = Box::leak(Box::new(Versions::new(&list)));
    let register = register_with_versions(versions);
    let api = register.api(newest);
    let created = api.create(api.example());
    api.send(
        "POST",
        &format!("{}/defer", created.path()),
        json!({ "data": { "defer_date": "2026-10-01" } }),
    )
    .is(200);
    let told = readiness(&api, versions);
    let [endpoint] = &told.providers[0].endpoints[..] else {
        panic!("{told:?}")
    };
    assert_eq!(
        (endpoint.endpoint.as_str(), endpoint.requests),
        (newest.row(Endpoint::Defer).name().as_str(), 1)
    );
    assert_eq!(endpoint.removed_in, None);
}
