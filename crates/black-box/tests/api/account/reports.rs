//! What a provider used, and how ready it is: the same as the operator's commands say of it, and
//! nothing of another.

use adapter_kit::ApiVersion;
use domain::TraineeField as F;
use serde_json::{Value, json};
use usage::readiness::VersionReadiness;
use usage::report::{Report, first_day};
use versions::SERVED;

use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Api, Body, Register, Setup};

/// Days with requests of the providers.
const DAYS: [&str; 3] = ["2026-10-05", "2026-11-20", "2026-12-15"];

/// Two providers that send different requests on several days, in all versions. The newest version
/// refuses some of them.
fn busy() -> (Register, String) {
    let register = Register::with_setup(Setup {
        shadow_share: 100,
        ..Setup::default()
    });
    let other = register.other_provider(SERVED[0]).token;
    for (number, day) in DAYS.iter().enumerate() {
        register.clock.set(&format!("{day}T09:00:00Z"));
        for version in SERVED {
            let (api, other) = (
                register.api(version),
                register.api_with_token(version, other.clone()),
            );
            let person = |body: Body, of: &str| {
                body.with(F::last_name, format!("{of} {number} {}", version.label))
            };
            let created = api.create(person(api.example(), "Ours"));
            let foreign = api.served().other_names.trainee.refused[0].0;
            api.send(
                "PATCH",
                &created.path(),
                Body::new(version).with_key(foreign, "x"),
            )
            .is(422);
            // An end that only the oldest version accepts.
            let late = person(other.example(), "Theirs").with(F::itt_end_date, "2036-07-31");
            other
                .request("POST", "/trainees")
                .header("X-Request-Id", "theirs")
                .json(late)
                .send();
            other.get("/info").is(200);
        }
        register.write_record();
    }
    (register, other)
}

/// What belongs to one provider and must not be shown to the other.
fn names(ukprn: &str) -> [&str; 2] {
    if ukprn == UKPRN {
        [UKPRN, "Ashdown"]
    } else {
        [OTHER_UKPRN, "Brackwater"]
    }
}

#[track_caller]
fn assert_own(body: &Value, ukprn: &str) {
    let foreign = if ukprn == UKPRN { OTHER_UKPRN } else { UKPRN };
    let text = body.to_string();
    assert!(
        names(foreign).iter().all(|name| !text.contains(name)),
        "{body:#}"
    );
    if ukprn == UKPRN {
        assert!(!text.contains("theirs"), "{body:#}");
    }
}

fn provider_apis<'a>(
    register: &'a Register,
    version: &'static ApiVersion,
    other: &str,
) -> [(Api<'a>, &'static str); 2] {
    [
        (register.api(version), UKPRN),
        (
            register.api_with_token(version, other.to_owned()),
            OTHER_UKPRN,
        ),
    ]
}

#[test]
fn usage_equals_report_of_command() {
    let (register, other) = busy();
    for version in SERVED {
        for (api, ukprn) in provider_apis(&register, version, &other) {
            for (query, days) in [
                ("", 30),
                ("?days=1", 1),
                ("?days=16", 16),
                ("?days=400", 400),
                ("?days=", 30),
            ] {
                let expected = register.operate(move |session| {
                    Report::load(
                        session,
                        first_day(session.today(), days),
                        Some(ukprn),
                        versions::all(),
                    )
                });
                assert!(!expected.lines.is_empty() && expected.total.providers == 1);
                let reply = api.get(&format!("/account/usage{query}")).is(200);
                assert_eq!(
                    *reply.data(),
                    serde_json::to_value(&expected).unwrap(),
                    "{query}"
                );
                assert_own(&reply.body, ukprn);
            }
        }
    }
}

#[test]
fn readiness_equals_report_of_command() {
    let (register, other) = busy();
    let mut problems = 0;
    for version in SERVED {
        for (api, ukprn) in provider_apis(&register, version, &other) {
            for (query, days) in [("", 30), ("?days=16", 16), ("?days=400", 400)] {
                let label = version.label;
                let expected = register.operate(move |session| {
                    let all = versions::all();
                    let served = [all.find(label).unwrap()];
                    let mut reports = VersionReadiness::load(session, served, days, None, all)?;
                    Ok(reports.remove(0))
                });
                let of_provider = expected
                    .providers
                    .iter()
                    .find(|one| one.provider == ukprn)
                    .unwrap();
                problems += of_provider.problems.len();
                let reply = api.get(&format!("/account/readiness{query}")).is(200);
                assert_eq!(
                    reply.data()["usage"],
                    serde_json::to_value(of_provider).unwrap(),
                    "{query}"
                );
                let expected = serde_json::to_value(&expected).unwrap();
                for name in ["version", "newest", "since", "until", "counted_since"] {
                    assert_eq!(reply.data()[name], expected[name], "{name}{query}");
                }
                assert_own(&reply.body, ukprn);
            }
        }
    }
    assert!(problems > 0, "the newest version refuses nothing");
}

#[test]
fn reports_of_unused_provider_are_empty() {
    let register = Register::start();
    let other = register.other_provider(SERVED[0]);
    other.get("/info").is(200);
    register.write_record();
    for version in SERVED {
        let api = register.api(version);
        let usage = api.get("/account/usage").is(200);
        let total =
            json!({ "requests": 0, "to_deprecated_endpoints": 0, "providers": 0, "tokens": 0 });
        assert_eq!(
            (&usage.data()["lines"], &usage.data()["total"]),
            (&json!([]), &total)
        );
        let readiness = api.get("/account/readiness").is(200);
        assert_eq!(
            (
                &readiness.data()["usage"],
                &readiness.data()["counted_since"]
            ),
            (&Value::Null, &Value::Null)
        );
    }
    // The requests for the reports count too, once they are written.
    register.write_record();
    let usage = register.api(SERVED[0]).get("/account/usage").is(200);
    assert_eq!(usage.data()["total"]["requests"], 2 * SERVED.len());
}

#[test]
fn number_of_days_not_kept_is_refused() {
    let register = Register::start();
    for version in SERVED {
        let api = register.api(version);
        for path in ["/account/usage", "/account/readiness"] {
            for days in ["0", "401", "x", "-1"] {
                let reply = api.get(&format!("{path}?days={days}")).is(422);
                let message = format!("days \"{days}\" is not a whole number from 1 to 400");
                assert_eq!(
                    reply.body,
                    json!({ "message": "1 parameter is not valid", "errors": { "days": [message] } })
                );
            }
        }
    }
}
