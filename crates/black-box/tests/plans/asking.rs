//! Asks every endpoint of the API for whatever it can be asked for, in the newest version that has it.

use adapter_kit::{ApiVersion, Endpoint, Method};
use domain::listing::Status;
use domain::{Placement, PlacementField, TraineeField as F};
use serde_json::{Value, json};
use versions::SERVED;

use crate::api::support::{Api, Body, Register, Response, Shown, record};

/// Enough trainees for lists that are narrowed to many and to few.
const TRAINEES: usize = 1_500;

/// `other` is a token of another provider.
pub(super) fn ask_everything(register: &Register, other: &str) {
    register.sow(TRAINEES);
    for endpoint in Endpoint::ALL {
        let has = |version: &&&'static ApiVersion| version.endpoints.has(*endpoint);
        // An endpoint that no version serves is not asked.
        let Some(version) = SERVED.iter().rev().find(has) else { continue };
        let other = register.api_with_token(version, other.to_owned());
        ask(&register.api(version), &other, *endpoint);
    }
}

/// A trainee of its own for each endpoint, with two placements and a degree.
fn trainee(api: &Api<'_>, endpoint: Endpoint) -> Shown {
    let created = api.create(api.example().with(F::last_name, format!("{endpoint:?}")));
    let placement = record::<Placement>(api.version, &[(PlacementField::urn, "990002")]);
    api.send("POST", &format!("{}/placements", created.path()), json!({ "data": placement })).is(201);
    created
}

#[expect(clippy::wildcard_enum_match_arm, reason = "endpoints that only read are all requested alike")]
fn ask(api: &Api<'_>, other: &Api<'_>, endpoint: Endpoint) {
    let known = trainee(api, endpoint);
    let path = known.path();
    let first = |parts: &str, identifier: &str| {
        let all = api.get(&format!("{path}/{parts}")).is(200);
        format!("{path}/{parts}/{}", all.data()[0][identifier].as_str().unwrap())
    };
    let act = |action: &str, body: Value, status| {
        api.send("POST", &format!("{path}/{action}"), body).is(status);
    };
    let degree = |year: &str| {
        json!({ "data": { "subject": "100485", "uk_degree": "083", "grade": "02",
        "institution": "0117", "graduation_year": year } })
    };
    match endpoint {
        Endpoint::ListTrainees => lists(api),
        Endpoint::CreateTrainee => {
            let body = api.example().with(F::last_name, "Repeated").with(F::employing_school_urn, "990003");
            for _ in 0..2 {
                let request = api.request("POST", "/trainees").header("Idempotency-Key", "repeated");
                request.json(body.clone()).send().is(201);
            }
            api.send("POST", "/trainees", body).is(409);
        }
        Endpoint::CreateTrainees => {
            let item = |key: &str, name: &str| {
                let data = Value::from(api.example().with(F::last_name, name))["data"].take();
                json!({ "idempotency_key": key, "data": data })
            };
            let items = vec![item("a", "Many"), item("b", "Many"), item("c", "One"), json!({})];
            for _ in 0..2 {
                api.send("POST", "/trainees/batch", items.clone()).is(200);
            }
        }
        Endpoint::ShowTrainee => {
            api.read(known.id());
            api.get("/trainees/nobody").is(404);
        }
        Endpoint::UpdateTrainee => {
            let disabled = Body::new(api.version).with(F::disability1, "51").with(F::disability2, "57");
            api.update(known.id(), disabled);
            api.update(known.id(), Body::new(api.version).with(F::disability1, "58").with(F::first_names, "Another"));
        }
        Endpoint::CreatePlacement => act("placements", json!({ "data": { "urn": "990004" } }), 201),
        Endpoint::ShowPlacement => drop(api.get(&first("placements", "placement_id")).is(200)),
        Endpoint::UpdatePlacement => {
            let changed = json!({ "data": { "urn": "990005" } });
            api.send("PATCH", &first("placements", "placement_id"), changed).is(200);
        }
        Endpoint::DeletePlacement => drop(api.request("DELETE", &first("placements", "placement_id")).send().is(200)),
        Endpoint::CreateDegree => act("degrees", degree("2019"), 201),
        Endpoint::ShowDegree => drop(api.get(&first("degrees", "degree_id")).is(200)),
        Endpoint::UpdateDegree => drop(api.send("PATCH", &first("degrees", "degree_id"), degree("2018")).is(200)),
        Endpoint::DeleteDegree => drop(api.request("DELETE", &first("degrees", "degree_id")).send().is(200)),
        Endpoint::Defer => act("defer", json!({ "data": { "defer_date": "2026-10-01" } }), 200),
        Endpoint::Withdraw => drop(api.withdraw(known.id())),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            let action = endpoint.path().rsplit('/').next().unwrap();
            act(action, json!({ "data": { "qts_standards_met_date": "2026-10-01" } }), 202);
        }
        Endpoint::ResetSandbox => {
            // The trainees of the test stay: the plans of other queries depend on how many there are.
            other.create(other.example());
            let reply = other.request("POST", endpoint.path()).send().is(200);
            assert_eq!(*reply.data(), json!({ "discarded": 1, "remaining": 0 }));
        }
        Endpoint::AdvanceTrainee => {
            let path = endpoint.path().replace("{trainee_id}", known.id());
            api.request("POST", &path).send().is(200);
            api.send("POST", &format!("{}/defer", known.path()), json!({ "data": { "defer_date": "2026-10-01" } }))
                .is(200);
            api.request("POST", &path).send().is(200);
        }
        Endpoint::ListChanges => {
            let first = api.get("/changes?limit=1").is(200);
            api.get(&format!("/changes?after={}", first.body["meta"]["after"].as_str().unwrap())).is(200);
        }
        // Whatever else only reads.
        reading => {
            assert_eq!(reading.method(), Method::Get, "{reading} has no request");
            api.get(&reading.path().replace("{trainee_id}", known.id())).is(200);
        }
    }
}

/// Follows a list beyond its first page, and to its end and what changed meanwhile from the page before the last.
fn follow(api: &Api<'_>, list: &str, pages: i64) {
    for page in [1, pages - 1] {
        let reply = api.get(&format!("{list}&page={page}"));
        let mut link = next(&reply);
        if let Some(id) = link.as_ref().and(reply.body.pointer("/data/0/trainee_id")) {
            let change = Body::new(api.version).with(F::middle_names, format!("Followed {page}"));
            api.send("PATCH", &format!("/trainees/{}", id.as_str().unwrap()), change);
        }
        for _ in 0..3 {
            let Some(target) = link else { break };
            link = next(&api.get(&target).is(200));
        }
    }
}

/// The target of the link to the next page, below the path of the version.
fn next(page: &Response) -> Option<String> {
    let links = page.header("link")?;
    let link = links.split(", ").find(|link| link.ends_with("rel=\"next\""))?;
    let target = link.trim_start_matches("</api/").split('>').next()?;
    Some(target[target.find('/')?..].to_owned())
}

/// Lists with every filter and in each order: the first page, the last one, and one behind it.
fn lists(api: &Api<'_>) {
    let statuses = Status::ALL.iter().map(|status| status.name());
    for status in [""].into_iter().chain(statuses) {
        for has_trn in ["", "true", "false"] {
            for since in ["", "2026-10-01"] {
                for order in ["asc", "desc"] {
                    let list = format!("/trainees?status={status}&has_trn={has_trn}&since={since}&sort_order={order}");
                    let reply = api.get(&list);
                    let pages = reply.body["meta"]["total_pages"].as_i64().unwrap_or(0);
                    for page in [pages, pages + 1] {
                        api.get(&format!("{list}&page={page}"));
                    }
                    follow(api, &list, pages);
                }
            }
        }
    }
}
