//! What is counted of requests: who asked for what, and which names of other versions were sent;
//! and what is not.

use std::collections::BTreeSet;

use adapter_kit::{Endpoint, names};
use chrono::NaiveDate;
use domain::{Placement, Trainee, TraineeField as F};
use serde_json::{Value, json};
use test_support::texts;
use usage::report::{Kind, Line, Report};
use versions::SERVED;

use crate::api::support::bodies::input;
use crate::api::support::register::{BEGINNING, OTHER_UKPRN, UKPRN};
use crate::api::support::versions::recommendation;
use crate::api::support::{Api, Body, Register, Setup, every_version, record};

/// The first day of every test.
fn first_day() -> NaiveDate {
    BEGINNING[..10].parse().unwrap()
}

/// What was counted, once all of it is written.
fn lines(register: &Register) -> Vec<Line> {
    register.write_record();
    register
        .operate(|session| Report::load(session, first_day(), None, versions::all()))
        .lines
}

/// The endpoints that were asked, and how often.
fn requested(register: &Register) -> Vec<(String, i64)> {
    let whole = lines(register)
        .into_iter()
        .filter(|line| line.name.is_none());
    whole.map(|line| (line.endpoint, line.requests)).collect()
}

/// The names of other versions that were sent, and how often.
fn sent(register: &Register) -> Vec<(String, i64)> {
    lines(register)
        .into_iter()
        .filter_map(|line| Some((line.name?, line.requests)))
        .collect()
}

/// Every text in the two tables, except the keys of records and the messages beside them.
fn stored_texts(register: &Register) -> Vec<String> {
    let sql = "SELECT version || '|' || endpoint || '|' || kind || '|' || detail || '|' || first_request_id || '|' || last_request_id
                   AS text FROM request_totals
               UNION ALL SELECT version || '|' || endpoint || '|' || request_id || '|' || coalesce(names, '') || '|'
                   || coalesce(newest_problems, '') FROM requests";
    texts(register.database().url(), sql)
}

#[test]
fn authenticated_request_is_counted_by_endpoint_whatever_the_reply() {
    every_version(|api| {
        let created = api.create(api.example());
        api.read(created.id());
        api.get("/trainees/unknown").is(404);
        api.send("POST", "/trainees", json!({ "data": { "email": 7 } }))
            .is(422);
        api.send("POST", "/trainees", json!(7)).is(422);
        api.request("POST", "/trainees").bytes("{").send().is(400);
        let tried = api
            .request("PATCH", &created.path())
            .header("Prefer", "validate-only");
        tried
            .json(Body::new(api.version).with(F::middle_names, "Tried"))
            .send()
            .is(200);
        let expected = [
            (Endpoint::ShowTrainee, 2),
            (Endpoint::UpdateTrainee, 1),
            (Endpoint::CreateTrainee, 4),
        ];
        let mut expected = expected.map(|(endpoint, requests)| (endpoint.to_string(), requests));
        expected.sort();
        assert_eq!(requested(api.register), expected);
        let lines = lines(api.register);
        assert!(
            lines
                .iter()
                .all(|line| line.version == api.version.label.to_string())
        );
    });
}

#[test]
fn first_and_last_request_are_known_by_their_ids() {
    let register = Register::start();
    let api = register.api(SERVED[0]);
    for (moment, id) in [
        ("09:00:01", "first"),
        ("09:00:02", "between"),
        ("09:00:03.5", "last"),
    ] {
        register.clock.set(&format!("{}T{moment}Z", first_day()));
        api.request("GET", "/info")
            .header("X-Request-Id", id)
            .send()
            .is(200);
        if id == "first" {
            register.write_record();
        }
    }
    let [line] = &lines(&register)[..] else {
        panic!("one token asked for one thing")
    };
    assert_eq!((line.requests, line.provider.as_str()), (3, UKPRN));
    assert_eq!(
        (&*line.first.request_id, &*line.last.request_id),
        ("first", "last")
    );
    let told = serde_json::to_value(line).unwrap();
    assert_eq!(told["first_seen"], format!("{}T09:00:01.000Z", first_day()));
    assert_eq!(told["last_seen"], format!("{}T09:00:03.500Z", first_day()));
}

#[test]
fn each_provider_is_counted_by_itself() {
    let register = Register::start();
    let (one, other) = (register.api(SERVED[0]), register.other_provider(SERVED[0]));
    for api in [&one, &other, &other] {
        api.get("/info").is(200);
    }
    let told: Vec<_> = lines(&register)
        .into_iter()
        .map(|line| (line.provider, line.requests))
        .collect();
    let ukprns = [UKPRN, OTHER_UKPRN];
    assert_eq!(told, [(ukprns[0].to_owned(), 1), (ukprns[1].to_owned(), 2)]);
    let of_one = register.operate(move |session| {
        Report::load(session, first_day(), Some(ukprns[1]), versions::all())
    });
    assert_eq!((of_one.total.requests, of_one.total.providers), (2, 1));
}

#[test]
fn an_endpoint_that_ends_is_reported_as_such() {
    let mut ending = 0;
    every_version(|api| {
        let created = api.create(api.example());
        let action = recommendation(api.version);
        api.send(
            "POST",
            &format!("{}/{action}", created.path()),
            json!({ "data": {} }),
        )
        .is(422);
        let lines = lines(api.register);
        let line = lines
            .iter()
            .find(|line| line.endpoint.ends_with(action))
            .unwrap();
        let ends = api
            .version
            .endpoints
            .deprecated
            .iter()
            .any(|gone| gone.endpoint.path().ends_with(action));
        assert_eq!(
            line.kind == Kind::DeprecatedEndpoint,
            ends,
            "{}",
            api.version.label
        );
        ending += usize::from(ends);
    });
    assert!(ending > 0, "no version has an endpoint that ends");
}

#[test]
fn names_only_in_other_versions_are_counted_once_per_request() {
    every_version(|api| {
        let created = api.create(api.example());
        let names = &api.served().other_names.trainee;
        let foreign: Vec<&str> = names.refused.iter().map(|(name, _)| *name).collect();
        let unheard: Vec<&str> = names.ignored.iter().map(|unheard| unheard.name).collect();
        assert!(!foreign.is_empty() && !unheard.is_empty());
        let body = foreign
            .iter()
            .chain(&unheard)
            .fold(Body::new(api.version), |body, name| {
                body.with_key(name, "x")
            });
        let text = Value::from(body.clone()).to_string();
        for _ in 0..2 {
            api.send("PATCH", &created.path(), body.clone()).is(422);
        }
        let twice = text.replacen(
            "{\"data\":{",
            &format!("{{\"data\":{{\"{}\":\"x\",", foreign[0]),
            1,
        );
        api.request("PATCH", &created.path())
            .bytes(twice)
            .send()
            .is(422);
        let mut expected: Vec<_> = foreign
            .iter()
            .chain(&unheard)
            .map(|name| ((*name).to_owned(), 3))
            .collect();
        expected.sort();
        assert_eq!(sent(api.register), expected);
        // Beside the right name with the same value it is ignored, but still counted.
        let mut refused = names.refused.iter();
        let subject = refused.find(|(_, field)| *field == F::course_subject_1);
        let (name, field) = *subject.unwrap_or(&names.refused[0]);
        let example = Value::from(api.example());
        let mut value = example["data"][input::<Trainee>(api.version, field)].clone();
        if value.is_null() {
            value = json!("990004");
        }
        let both = Body::new(api.version)
            .with(field, value.clone())
            .with_key(name, value);
        api.send("PATCH", &created.path(), both).is(200);
        assert!(sent(api.register).contains(&(name.to_owned(), 4)));
    });
}

/// Texts that look like names, and say something about a person.
const RUBBISH: [&str; 6] = [
    "Jane Example",
    "jane@example.com",
    "1999-04-12",
    "QQ123456C",
    "<script>",
    "first_name_of_Jane",
];

fn send_rubbish(api: &Api<'_>) {
    let with_rubbish = |body: Body| {
        RUBBISH
            .iter()
            .fold(body, |body, name| body.with_key(name, *name))
    };
    let mut placement =
        record::<Placement>(api.version, &[(domain::PlacementField::urn, "990001")]);
    placement[RUBBISH[0]] = json!(RUBBISH[1]);
    let body = with_rubbish(api.example())
        .with(F::placements, json!([placement]))
        .with(F::middle_names, RUBBISH[0]);
    let created = api.create(
        body.with(F::email, RUBBISH[1])
            .with(F::last_name, api.version.label.to_string()),
    );
    api.send(
        "PATCH",
        &created.path(),
        with_rubbish(Body::new(api.version).with(F::ni_number, RUBBISH[3])),
    )
    .is(200);
    let strict = api
        .request("PATCH", &created.path())
        .header("Prefer", "handling=strict");
    strict
        .json(with_rubbish(Body::new(api.version)))
        .send()
        .is(422);
    for path in [
        "/trainees/jane@example.com",
        "/trainees?status=Jane&QQ123456C=1999-04-12",
    ] {
        api.get(path);
    }
    api.send(
        "POST",
        "/trainees/Jane/placements/Example",
        json!({ "data": { RUBBISH[0]: 1 } }),
    );
    let withdrawal = with_rubbish(Body::withdrawal(api.version));
    api.request("POST", &format!("{}/withdraw", created.path()))
        .header("X-Request-Id", "Jane Example")
        .json(withdrawal)
        .send()
        .is(200);
}

#[test]
fn only_names_known_to_the_program_are_stored_from_clients() {
    let register = Register::with_setup(Setup {
        shadow_share: 100,
        ..Setup::default()
    });
    let names: BTreeSet<&str> = SERVED
        .iter()
        .flat_map(|version| names::all(version))
        .collect();
    for version in SERVED {
        let api = register.api(version);
        send_rubbish(&api);
        let foreign = api.served().other_names.trainee.refused[0].0;
        api.send(
            "POST",
            "/trainees",
            api.example().with_key(foreign, RUBBISH[0]),
        )
        .is(422);
    }
    let lines = lines(&register);
    assert!(lines.iter().any(|line| line.name.is_some()));
    for line in &lines {
        assert!(
            line.name.as_deref().is_none_or(|name| names.contains(name)),
            "{line:?}"
        );
        let mut versions = SERVED.iter().map(|version| version.label.to_string());
        assert!(versions.any(|label| label == line.version), "{line:?}");
        let mut endpoints = Endpoint::ALL.iter().map(ToString::to_string);
        assert!(endpoints.any(|name| name == line.endpoint), "{line:?}");
    }
    let texts = stored_texts(&register);
    assert!(texts.len() > lines.len(), "no check was stored: {texts:?}");
    let example = Value::from(register.api(SERVED[0]).example());
    let values = example["data"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_str)
        .filter(|text| text.len() > 5);
    let said: Vec<&str> = values.chain(RUBBISH).chain(["Jane", "990001"]).collect();
    assert!(said.len() > 15, "{said:?}");
    for text in texts {
        assert!(said.iter().all(|said| !text.contains(said)), "{text}");
    }
}
