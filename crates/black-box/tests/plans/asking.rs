//! Asks every endpoint of the API for whatever it can be asked for, in the newest version that has
//! it.

use adapter_kit::wire::WireNested;
use adapter_kit::{ApiVersion, Endpoint, Method, compose};
use domain::listing::Status;
use domain::{
    Lists, Placement, PlacementField, RecordField as _, TraineeField as F, for_each_nested,
};
use fixtures::example::NestedExample;
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
        let Some(version) = SERVED.iter().rev().find(has) else {
            continue;
        };
        let other = register.api_with_token(version, other.to_owned());
        ask(&register.api(version), &other, *endpoint);
    }
}

/// A separate trainee for each endpoint, with two placements and a degree.
fn trainee(api: &Api<'_>, endpoint: Endpoint) -> Shown {
    let created = api.create(api.example().with(F::last_name, format!("{endpoint:?}")));
    let placement = record::<Placement>(api.version, &[(PlacementField::urn, "990002")]);
    api.send(
        "POST",
        &format!("{}/placements", created.path()),
        json!({ "data": placement }),
    )
    .is(201);
    created
}

/// Asks an endpoint for the nested records of a kind; false where it is for others.
fn ask_nested<R: WireNested + NestedExample>(
    api: &Api<'_>,
    trainee: &str,
    endpoint: Endpoint,
) -> bool {
    let list = R::LIST.info().name;
    let is_list = endpoint.path().ends_with(&format!("/{list}"));
    if !is_list
        && !endpoint
            .path()
            .ends_with(&format!("/{list}/{{{}}}", R::ID.info().name))
    {
        return false;
    }
    let body = |record: &R| {
        let request = compose::Request {
            version: api.version,
            record,
            lists: Lists::embedded(),
        };
        json!({ "data": serde_json::to_value(request).unwrap() })
    };
    let all = format!("{trainee}/{list}");
    let create = || api.send("POST", &all, body(&R::another())).is(201);
    let first = || {
        let name = R::shapes(api.version).alone.name_of(R::ID).unwrap();
        let records = api.get(&all).is(200);
        format!("{all}/{}", records.data()[0][name].as_str().unwrap())
    };
    match endpoint.method() {
        Method::Post => drop(create()),
        Method::Get if is_list => drop(api.get(&all).is(200)),
        Method::Get => drop(api.get(&first()).is(200)),
        Method::PutOrPatch => {
            api.send("PATCH", &first(), body(&R::change())).is(200);
            if let Some(school) = R::SCHOOL {
                let moved = json!({ "data": record::<R>(api.version, &[(school.urn, "990005")]) });
                api.send("PATCH", &first(), moved).is(200);
            }
        }
        Method::Delete => drop(api.request("DELETE", &first()).send().is(200)),
    }
    true
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "endpoints that only read are all requested alike"
)]
fn ask(api: &Api<'_>, other: &Api<'_>, endpoint: Endpoint) {
    let known = trainee(api, endpoint);
    let path = known.path();
    let act = |action: &str, body: Value, status| {
        api.send("POST", &format!("{path}/{action}"), body)
            .is(status);
    };
    if for_each_nested!(ask_nested(api, &path, endpoint)).contains(&true) {
        return;
    }
    match endpoint {
        Endpoint::ListTrainees => lists(api),
        Endpoint::CreateTrainee => {
            let body = api
                .example()
                .with(F::last_name, "Repeated")
                .with(F::employing_school_urn, "990003");
            for _ in 0..2 {
                let request = api
                    .request("POST", "/trainees")
                    .header("Idempotency-Key", "repeated");
                request.json(body.clone()).send().is(201);
            }
            api.send("POST", "/trainees", body).is(409);
        }
        Endpoint::CreateTrainees => {
            let item = |key: &str, name: &str| {
                let data = Value::from(api.example().with(F::last_name, name))["data"].take();
                json!({ "idempotency_key": key, "data": data })
            };
            let items = vec![
                item("a", "Many"),
                item("b", "Many"),
                item("c", "One"),
                json!({}),
            ];
            for _ in 0..2 {
                api.send("POST", "/trainees/batch", items.clone()).is(200);
            }
        }
        Endpoint::ShowTrainee => {
            api.read(known.id());
            api.get("/trainees/unknown").is(404);
        }
        Endpoint::UpdateTrainee => {
            let disabled = Body::new(api.version)
                .with(F::disability1, "51")
                .with(F::disability2, "57");
            api.update(known.id(), disabled);
            api.update(
                known.id(),
                Body::new(api.version)
                    .with(F::disability1, "58")
                    .with(F::first_names, "Another"),
            );
        }
        Endpoint::Defer => act(
            "defer",
            json!({ "data": { "defer_date": "2026-10-01" } }),
            200,
        ),
        Endpoint::Withdraw => drop(api.withdraw(known.id())),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            let action = endpoint.path().rsplit('/').next().unwrap();
            act(
                action,
                json!({ "data": { "qts_standards_met_date": "2026-10-01" } }),
                202,
            );
        }
        Endpoint::ResetSandbox => {
            // The trainees of the test stay: the plans of other queries depend on how many there
            // are.
            other.create(other.example());
            let reply = other.request("POST", endpoint.path()).send().is(200);
            assert_eq!(*reply.data(), json!({ "discarded": 1, "remaining": 0 }));
        }
        Endpoint::AdvanceTrainee => {
            let path = endpoint.path().replace("{trainee_id}", known.id());
            api.request("POST", &path).send().is(200);
            api.send(
                "POST",
                &format!("{}/defer", known.path()),
                json!({ "data": { "defer_date": "2026-10-01" } }),
            )
            .is(200);
            api.request("POST", &path).send().is(200);
        }
        Endpoint::ListChanges => {
            let first = api.get("/changes?limit=1").is(200);
            api.get(&format!(
                "/changes?after={}",
                first.body["meta"]["after"].as_str().unwrap()
            ))
            .is(200);
        }
        // Whatever else only reads.
        reading => {
            assert_eq!(reading.method(), Method::Get, "{reading} has no request");
            api.get(&reading.path().replace("{trainee_id}", known.id()))
                .is(200);
        }
    }
}

/// Follows a list beyond its first page, then from the page before the last to its end and to later
/// changes.
fn follow(api: &Api<'_>, list: &str, pages: i64) {
    for page in [1, pages - 1] {
        let reply = api.get(&format!("{list}&page={page}"));
        let mut link = next(&reply);
        if let Some(id) = link.as_ref().and(reply.body.pointer("/data/0/trainee_id")) {
            let change = Body::new(api.version).with(F::middle_names, format!("Followed {page}"));
            api.send(
                "PATCH",
                &format!("/trainees/{}", id.as_str().unwrap()),
                change,
            );
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
    let link = links
        .split(", ")
        .find(|link| link.ends_with("rel=\"next\""))?;
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
                    let list = format!(
                        "/trainees?status={status}&has_trn={has_trn}&since={since}&sort_order={order}"
                    );
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
