//! Lists: what they show, how they are narrowed, paged and ordered, and what is said of a wrong
//! filter.

use domain::{Kind, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Body, every_version};

/// Registers a trainee with its own last name, and gives the identifier.
fn add(api: &Api<'_>, name: &str, change: impl Fn(Body) -> Body) -> String {
    api.register.clock.tick();
    api.create(change(api.example().with(F::last_name, name)))
        .id()
        .to_owned()
}

/// The last names of a list.
#[track_caller]
fn names(api: &Api<'_>, query: &str) -> Vec<String> {
    let reply = api.get(&format!("/trainees{query}"));
    if reply.status == 404 {
        assert_eq!(reply.errors(), [("NotFound", "no trainees found")]);
        return Vec::new();
    }
    let reply = reply.is(200);
    let records = reply.data().as_array().unwrap();
    records
        .iter()
        .map(|record| record["last_name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn list_shows_every_key_except_nested_ones_hidden_by_version() {
    every_version(|api| {
        let created = api.create(api.example());
        let reply = api.get("/trainees").is(200);
        let nested = [F::placements, F::degrees]
            .map(|field| api.version.shapes.trainee.name_of(field).unwrap());
        let shows_nested = api.version.shapes.nested_in_lists.shows(Kind::Records);
        let expected: Vec<_> = created
            .keys()
            .into_iter()
            .filter(|key| shows_nested || !nested.contains(key))
            .collect();
        let listed: Vec<_> = reply.data()[0]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(listed, expected);
        let per_page = api.version.wire.envelope.page_size.default();
        let meta =
            json!({ "current_page": 1, "total_pages": 1, "total_count": 1, "per_page": per_page });
        assert_eq!(reply.body["meta"], meta);
    });
}

#[test]
fn an_empty_list_is_not_found() {
    every_version(|api| {
        assert_eq!(names(api, ""), Vec::<String>::new());
        api.create(api.example());
        assert_eq!(names(api, "?page=2").len(), 0);
        assert_eq!(names(api, "?academic_cycle=2024").len(), 0);
        assert_eq!(
            names(&api.register.other_provider(api.version), "").len(),
            0
        );
    });
}

#[test]
fn a_list_shows_the_cycle_of_the_start() {
    every_version(|api| {
        add(api, "Now", |body| body);
        add(api, "June", |body| {
            body.with(F::itt_start_date, "2026-07-31")
        });
        add(api, "Late", |body| {
            body.with(F::itt_start_date, "2025-09-01")
                .with(F::trainee_start_date, "2026-08-01")
        });
        assert_eq!(names(api, ""), ["Late", "Now"]);
        assert_eq!(
            names(api, "?academic_cycle=2026&sort_order=asc"),
            ["Now", "Late"]
        );
        assert_eq!(names(api, "?academic_cycle=2025"), ["June"]);
    });
}

#[test]
fn a_list_is_narrowed_by_status() {
    every_version(|api| {
        add(api, "Training", |body| body);
        add(api, "Waiting", |body| {
            body.with(F::itt_start_date, "2026-10-06")
        });
        let deferred = add(api, "Deferred", |body| body);
        let deferral = json!({ "data": { "defer_date": "2026-10-01" } });
        api.send("POST", &format!("/trainees/{deferred}/defer"), deferral)
            .is(200);
        let withdrawn = add(api, "Withdrawn", |body| body);
        api.withdraw(&withdrawn);
        for (status, expected) in [
            ("in_training", &["Training"][..]),
            ("course_not_yet_started", &["Waiting"]),
            ("deferred", &["Deferred"]),
            ("withdrawn", &["Withdrawn"]),
            ("awarded", &[]),
            ("", &["Withdrawn", "Deferred", "Waiting", "Training"]),
        ] {
            assert_eq!(
                names(api, &format!("?status={status}")),
                expected,
                "{status}"
            );
        }
    });
}

#[test]
fn list_is_filtered_by_last_change_and_trn() {
    every_version(|api| {
        let first = add(api, "First", |body| body);
        api.register.clock.set("2026-10-05T10:00:00.499Z");
        add(api, "Second", |body| body);
        assert_eq!(names(api, "?since=2026-10-05T10:00:00.500Z"), ["Second"]);
        assert_eq!(names(api, "?since=2026-10-05T10:00:00.501Z").len(), 0);
        assert_eq!(
            names(api, "?since=2026-10-05T12:00:00.500%2B02:00"),
            ["Second"]
        );
        assert_eq!(names(api, "?since=2026-10-05").len(), 2);
        // A change of a part is a change of the trainee.
        api.register.clock.set("2026-10-05T11:00:00Z");
        let placement = json!({ "data": { "urn": "990001" } });
        api.send("POST", &format!("/trainees/{first}/placements"), placement)
            .is(201);
        assert_eq!(names(api, "?since=2026-10-05T11:00:00Z"), ["First"]);
        assert_eq!(names(api, "?has_trn=false"), ["First", "Second"]);
        assert_eq!(
            names(api, "?has_trn=0&since=2026-10-05T11:00:00Z"),
            ["First"]
        );
        assert_eq!(names(api, "?has_trn=TRUE").len(), 0);
    });
}

#[test]
fn a_list_is_cut_into_pages() {
    every_version(|api| {
        for number in 0..5 {
            add(api, &format!("N{number}"), |body| body);
        }
        assert_eq!(names(api, "?per_page=2"), ["N4", "N3"]);
        assert_eq!(names(api, "?per_page=2&page=3"), ["N0"]);
        assert_eq!(
            names(api, "?per_page=2&page=2&sort_order=asc"),
            ["N2", "N3"]
        );
        let reply = api.get("/trainees?per_page=2&page=3").is(200);
        let meta = json!({ "current_page": 3, "total_pages": 3, "total_count": 5, "per_page": 2 });
        assert_eq!(reply.body["meta"], meta);
        for fallen_back in ["?page=0", "?page=-1&per_page=x", "?page=&per_page=0"] {
            assert_eq!(names(api, fallen_back).len(), 5, "{fallen_back}");
        }
        let max = api.version.wire.envelope.page_size.max();
        let cut = api.get(&format!("/trainees?per_page={}", max + 1)).is(200);
        assert_eq!(cut.body["meta"]["per_page"], max);
        assert_eq!(cut.warnings().len(), 1);
    });
}

#[test]
fn every_wrong_filter_is_named_at_once() {
    every_version(|api| {
        api.create(api.example());
        let query = "academic_cycle=26&status=gone&since=soon&has_trn=perhaps&sort_order=up";
        let reply = api.get(&format!("/trainees?{query}")).is(422);
        let errors = reply.body["errors"].as_object().unwrap();
        let mut named: Vec<_> = errors.keys().map(String::as_str).collect();
        named.sort_unstable();
        assert_eq!(
            named,
            ["academic_cycle", "has_trn", "since", "sort_order", "status"]
        );
        assert!(errors["status"][0].as_str().unwrap().contains("gone"));
        assert!(reply.body["message"].as_str().unwrap().contains('5'));
        for single in [
            "academic_cycle=2008",
            "academic_cycle=2032",
            "status=Deferred",
            "has_trn=2",
            "sort_order=DESC",
        ] {
            let reply = api.get(&format!("/trainees?{single}")).is(422);
            assert_eq!(
                reply.body["errors"].as_object().map(serde_json::Map::len),
                Some(1),
                "{single}"
            );
        }
    });
}

#[test]
fn the_code_lists_are_published_where_the_version_has_them() {
    every_version(|api| {
        let has = api
            .version
            .endpoints
            .has(adapter_kit::Endpoint::ReferenceData);
        if !has {
            api.get("/reference-data").is(404);
            return;
        }
        let all = api.get("/reference-data").is(200);
        assert_eq!(all.body.as_object().unwrap().len(), 20);
        for (name, list) in all.body.as_object().unwrap() {
            let one = api.get(&format!("/reference-data?field={name}")).is(200);
            assert_eq!(one.body, *list, "{name}");
            assert_eq!(list["metadata"]["name"], *name);
        }
        assert_eq!(
            all.body["withdrawal_reasons"]["entries"]
                .as_array()
                .map(Vec::len),
            Some(20)
        );
        assert_eq!(all.body["training_route"]["entries"][0]["code"], "02");
        let years: Value = json!({ "code": "12", "display_name": all.body["training_route"]["entries"][5]["display_name"],
            "start_year": 2022, "end_year": null });
        assert_eq!(all.body["training_route"]["entries"][5], years);
        let unknown = api.get("/reference-data?field=shoe_size").is(404);
        assert!(unknown.errors()[0].1.contains("shoe_size"));
        api.register
            .request("GET", &format!("/api/{}/reference-data", api.version.label))
            .send()
            .is(401);

        let tag = all.header("etag").unwrap().to_owned();
        assert_eq!(all.header("cache-control"), Some("private, max-age=3600"));
        let with = |tags: &str| {
            api.request("GET", "/reference-data")
                .header("If-None-Match", tags)
                .send()
        };
        for tags in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
            let reply = with(&tags).is(304);
            assert_eq!(reply.header("etag"), Some(tag.as_str()));
        }
        with("\"other\"").is(200);
    });
}

#[test]
fn the_published_funding_rules_say_which_funding_the_register_accepts() {
    every_version(|api| {
        if !api
            .version
            .endpoints
            .has(adapter_kit::Endpoint::ReferenceData)
        {
            return;
        }
        let lists = api.get("/reference-data").is(200).body;
        let entries = |list: &str| lists[list]["entries"].as_array().unwrap().clone();
        let rules = entries("funding_rules");
        let (year, route) = (2026, "11");
        let mut seen = [0, 0];
        for subject in entries("course_subject") {
            for method in entries("funding_method")
                .iter()
                .filter(|method| method["funding_type"].is_string())
            {
                let is_published = rules.iter().any(|rule| {
                    rule["start_year"] == year
                        && rule["training_route"] == route
                        && rule["funding_type"] == method["funding_type"]
                        && subject["funding_subjects"]
                            .as_array()
                            .unwrap()
                            .contains(&rule["funding_subject"])
                });
                let body = api
                    .example()
                    .with(F::training_route, route)
                    .with(F::course_subject_1, subject["code"].clone())
                    .with(F::fund_code, "7")
                    .with(F::funding_method, method["code"].clone());
                let reply = api
                    .request("POST", "/trainees")
                    .json(body)
                    .header("Prefer", "validate-only")
                    .send();
                let problems = reply.body["errors"].as_array().cloned().unwrap_or_default();
                let is_refused = problems
                    .iter()
                    .any(|problem| problem["code"] == "no_such_funding");
                assert_eq!(
                    is_refused, !is_published,
                    "{} {}: {:#}",
                    subject["code"], method["code"], reply.body
                );
                seen[usize::from(is_published)] += 1;
            }
        }
        assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
    });
}
