//! Lists: what they show, how they are narrowed, paged and ordered, and what is said of a wrong
//! filter.

use domain::{Kind, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{every_version, run_cases};

#[test]
fn list_is_narrowed_paged_and_ordered() {
    run_cases(include_str!("filters.txt"));
}

#[test]
fn list_hides_only_nested_records() {
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
fn page_is_cut_to_its_largest_size() {
    every_version(|api| {
        api.create(api.example());
        let max = api.version.wire.envelope.page_size.max();
        let cut = api.get(&format!("/trainees?per_page={}", max + 1)).is(200);
        assert_eq!(cut.body["meta"]["per_page"], max);
        assert_eq!(cut.warnings().len(), 1);
    });
}

#[test]
fn code_lists_are_published() {
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
fn published_funding_rules_match_accepted_funding() {
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
