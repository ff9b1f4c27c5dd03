//! Clients that change only what they have seen, and read only what they have not (contract,
//! section 6.5).

use domain::{DegreeField, PlacementField, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::versions::recommendation;
use crate::api::support::{Api, Body, Response, every_version, record};

/// A tag that no record has.
const OTHER: &str = "\"00000000000000000000000000000000\"";

/// The tag of the same reply when it is sent compressed.
fn compressed(tag: &str) -> String {
    format!("{}-gzip\"", tag.strip_suffix('"').unwrap())
}

fn tag_of(api: &Api<'_>, path: &str) -> String {
    api.get(path).is(200).header("etag").unwrap().to_owned()
}

fn send_if(api: &Api<'_>, tag: &str, method: &str, path: &str, body: impl Into<Value>) -> Response {
    let body = body.into();
    let request = api.request(method, path).header("If-Match", tag);
    if body.is_null() {
        request.send()
    } else {
        request.json(body).send()
    }
}

/// A trainee with the paths of the trainee, of a placement and of a degree of it.
fn created(api: &Api<'_>) -> [String; 3] {
    let created = api.create(api.example());
    let id = |parts: F, key: &str| created.value(parts)[0][key].as_str().unwrap().to_owned();
    let path = created.path();
    let placement = format!("{path}/placements/{}", id(F::placements, "placement_id"));
    let degree = format!("{path}/degrees/{}", id(F::degrees, "degree_id"));
    [path, placement, degree]
}

fn new_degree(api: &Api<'_>) -> Value {
    let fields = [
        (DegreeField::subject, "100485"),
        (DegreeField::country, "FR"),
        (DegreeField::non_uk_degree, "083"),
        (DegreeField::graduation_year, "2019"),
    ];
    json!({ "data": record::<domain::Degree>(api.version, &fields) })
}

#[test]
fn what_a_client_has_already_is_not_sent_again() {
    every_version(|api| {
        for path in created(api) {
            let first = api.get(&path).is(200);
            let tag = first.header("etag").unwrap();
            for sent in [
                tag.to_owned(),
                format!("{OTHER}, {tag}"),
                format!("W/{tag}"),
                "*".to_owned(),
            ] {
                let again = api
                    .request("GET", &path)
                    .header("If-None-Match", &sent)
                    .send()
                    .is(304);
                assert_eq!(again.header("etag"), Some(tag), "{sent}");
            }
            let gzip = compressed(tag);
            let again = api
                .request("GET", &path)
                .header("If-None-Match", &gzip)
                .send()
                .is(304);
            assert_eq!(again.header("etag"), Some(&*gzip));
            let other = api
                .request("GET", &path)
                .header("If-None-Match", OTHER)
                .send()
                .is(200);
            assert_eq!(
                (other.header("etag"), &other.body),
                (Some(tag), &first.body)
            );
            let head = api.request("HEAD", &path).send().is(200);
            assert_eq!(head.header("etag"), Some(tag));
        }
    });
}

#[test]
fn unchanged_lists_and_changes_are_not_sent_again() {
    every_version(|api| {
        let first = api.create(api.example());
        api.create(api.example().with(F::last_name, "Second"));
        let list = api.get("/trainees?per_page=1").is(200);
        let links = list.header("link").unwrap().to_owned();
        let cursor = links.split("cursor=").nth(1).unwrap();
        let after_cursor = format!(
            "/trainees?per_page=1&cursor={}",
            cursor.split('>').next().unwrap()
        );
        let paths = [
            "/trainees?per_page=1",
            "/trainees?per_page=1&page=2",
            &after_cursor,
            "/changes",
        ];
        let tags = paths.map(|path| tag_of(api, path));
        for (path, tag) in paths.iter().zip(&tags) {
            assert!(tag.starts_with("W/\""), "{tag}");
            assert_eq!(&tag_of(api, path), tag);
            for sent in [tag.clone(), compressed(tag), format!("{OTHER}, {tag}")] {
                let again = api.request("GET", path).header("If-None-Match", &sent);
                let again = again.send().is(304);
                let shown = again.header("etag").unwrap();
                assert!(shown == tag || shown == compressed(tag), "{shown}");
            }
            let other = api.request("GET", path).header("If-None-Match", OTHER);
            other.send().is(200);
        }
        // Each query and page has another tag.
        let distinct: std::collections::BTreeSet<_> = tags.iter().collect();
        assert_eq!(distinct.len(), tags.len());
        // A refused write changes no tag; a change of any record changes all.
        api.send(
            "PATCH",
            &first.path(),
            json!({ "data": { "sex": "no code" } }),
        )
        .is(422);
        assert_eq!(paths.map(|path| tag_of(api, path)), tags);
        let update = Body::new(api.version).with(F::last_name, "Newname");
        api.send("PATCH", &first.path(), update).is(200);
        for (path, tag) in paths.iter().zip(&tags) {
            let changed = api.request("GET", path).header("If-None-Match", tag);
            assert_ne!(changed.send().is(200).header("etag"), Some(tag.as_str()));
        }
    });
}

#[test]
fn write_reply_has_the_etag_of_the_shown_record() {
    every_version(|api| {
        let created = api.send("POST", "/trainees", api.example()).is(201);
        let path = api.shown(&created).path();
        assert_eq!(created.header("etag"), Some(&*tag_of(api, &path)));
        let updated = api
            .send(
                "PATCH",
                &path,
                Body::new(api.version).with(F::last_name, "Newname"),
            )
            .is(200);
        assert_ne!(updated.header("etag"), created.header("etag"));
        assert_eq!(updated.header("etag"), Some(&*tag_of(api, &path)));
        let placement = json!({ "data": record::<domain::Placement>(api.version, &[(PlacementField::urn, "990003")]) });
        let placed = api
            .send("POST", &format!("{path}/placements"), placement)
            .is(201);
        let placement = format!(
            "{path}/placements/{}",
            placed.data()["placement_id"].as_str().unwrap()
        );
        assert_eq!(placed.header("etag"), Some(&*tag_of(api, &placement)));
        // The reply is a list of one, and the degree is what can be changed next.
        let degree = api
            .send("POST", &format!("{path}/degrees"), new_degree(api))
            .is(201);
        let degree_path = format!(
            "{path}/degrees/{}",
            degree.data()[0]["degree_id"].as_str().unwrap()
        );
        assert_eq!(degree.header("etag"), Some(&*tag_of(api, &degree_path)));
        let grade =
            json!({ "data": record::<domain::Degree>(api.version, &[(DegreeField::grade, "01")]) });
        send_if(
            api,
            degree.header("etag").unwrap(),
            "PATCH",
            &degree_path,
            grade,
        )
        .is(200);
        // What is only tried out is no record yet.
        let tried = api
            .request("POST", "/trainees")
            .header("Prefer", "validate-only");
        let tried = tried
            .json(
                api.example()
                    .with(F::last_name, "Other")
                    .with(F::email, "other@example.com"),
            )
            .send();
        assert_eq!(tried.is(201).header("etag"), None);
    });
}

#[test]
fn replies_that_show_the_trainee_have_its_entity_tag() {
    every_version(|api| {
        let [trainee, placement, degree] = created(api);
        let recommend = format!("{trainee}/{}", recommendation(api.version));
        let met = json!({ "data": { "qts_standards_met_date": "2026-10-02" } });
        let defer = format!("{trainee}/defer");
        let withdraw = format!("{trainee}/withdraw");
        let cases: [(&str, &str, Value, u16); 5] = [
            ("DELETE", &placement, Value::Null, 200),
            (
                "POST",
                &defer,
                json!({ "data": { "defer_date": "2026-10-01" } }),
                200,
            ),
            ("DELETE", &degree, Value::Null, 200),
            ("POST", &withdraw, Body::withdrawal(api.version).into(), 200),
            ("POST", &recommend, met, 202),
        ];
        let mut known = tag_of(api, &trainee);
        for (method, path, body, status) in cases {
            // The last one needs a trainee who has not been withdrawn, with what the award demands.
            let (path, trainee) = if status == 202 {
                let fresh = api
                    .create(
                        api.example()
                            .with(F::email, "two@example.com")
                            .with(F::last_name, "Two"),
                    )
                    .path();
                let placement =
                    record::<domain::Placement>(api.version, &[(PlacementField::urn, "990003")]);
                api.send(
                    "POST",
                    &format!("{fresh}/placements"),
                    json!({ "data": placement }),
                )
                .is(201);
                known = tag_of(api, &fresh);
                (format!("{fresh}/{}", recommendation(api.version)), fresh)
            } else {
                (path.to_owned(), trainee.clone())
            };
            let request = |method: &str| {
                let request = api.request(method, &path);
                if body.is_null() {
                    request
                } else {
                    request.json(body.clone())
                }
            };
            let tried = request(method)
                .header("Prefer", "validate-only")
                .send()
                .is(status);
            assert_eq!(tried.header("etag"), None, "{method} {path}");
            let reply = request(method).send().is(status);
            assert_ne!(reply.header("etag"), Some(&*known), "{method} {path}");
            known = tag_of(api, &trainee);
            assert_eq!(reply.header("etag"), Some(&*known), "{method} {path}");
        }
    });
}

#[test]
fn an_unquoted_tag_is_refused_with_a_word_about_quotes() {
    every_version(|api| {
        let [trainee, ..] = created(api);
        let tag = tag_of(api, &trainee);
        let refusal = |sent: &str| {
            let body = Body::new(api.version).with(F::last_name, "Newname");
            send_if(api, sent, "PATCH", &trainee, body)
                .error(412, "PreconditionFailed")
                .to_owned()
        };
        for unquoted in [
            tag.trim_matches('"'),
            "",
            "\"",
            &format!("{OTHER}, 5d41"),
            "W/5d41",
        ] {
            assert!(refusal(unquoted).contains("in double quotes"), "{unquoted}");
        }
        assert!(refusal(&format!("W/{tag}")).contains("weak"));
        assert!(refusal(OTHER).contains("has changed"));
        // Tags that match no record, and are not ASCII.
        for sent in ["\"é\"", "\"stale\", \"é\""] {
            assert!(refusal(sent).contains("has changed"), "{sent}");
        }
    });
}

#[test]
fn change_with_another_etag_is_rejected() {
    every_version(|api| {
        let [trainee, placement, degree] = created(api);
        let version = api.version;
        let nested = |fields: Value| json!({ "data": fields });
        let name = nested(record::<domain::Placement>(
            version,
            &[(PlacementField::name, "Oak School")],
        ));
        let grade = nested(record::<domain::Degree>(
            version,
            &[(DegreeField::grade, "01")],
        ));
        let name_of_trainee = Value::from(Body::new(version).with(F::last_name, "Newname"));
        let cases: [(&str, String, Value, &str, u16); 8] = [
            (
                "PUT",
                trainee.clone(),
                name_of_trainee.clone(),
                &trainee,
                200,
            ),
            (
                "PATCH",
                trainee.clone(),
                Body::new(version).with(F::sex, "10").into(),
                &trainee,
                200,
            ),
            (
                "POST",
                format!("{trainee}/placements"),
                name.clone(),
                &trainee,
                201,
            ),
            (
                "POST",
                format!("{trainee}/degrees"),
                new_degree(api),
                &trainee,
                201,
            ),
            ("PUT", placement.clone(), name, &placement, 200),
            ("PATCH", degree.clone(), grade, &degree, 200),
            ("DELETE", degree.clone(), Value::Null, &degree, 200),
            (
                "POST",
                format!("{trainee}/defer"),
                json!({ "data": { "defer_date": "2026-10-01" } }),
                &trainee,
                200,
            ),
        ];
        for (method, path, body, of, status) in cases {
            let before = api.get(&trainee).body;
            let tag = tag_of(api, of);
            for wrong in [
                OTHER.to_owned(),
                format!("W/{tag}"),
                compressed(OTHER),
                String::new(),
            ] {
                let refused = send_if(api, &wrong, method, &path, body.clone());
                refused.error(412, "PreconditionFailed");
            }
            assert_eq!(api.get(&trainee).body, before, "{method} {path}");
            send_if(
                api,
                &format!("{OTHER}, {}", compressed(&tag)),
                method,
                &path,
                body.clone(),
            )
            .is(status);
        }
        send_if(api, "*", "DELETE", &placement, Value::Null).is(200);
    });
}

#[test]
fn etag_refusal_follows_not_found_and_precedes_content_errors() {
    every_version(|api| {
        let [trainee, placement, _] = created(api);
        send_if(
            api,
            OTHER,
            "PATCH",
            "/trainees/1111111111111111111111HH",
            json!({}),
        )
        .error(404, "NotFound");
        send_if(
            api,
            OTHER,
            "DELETE",
            &format!("{trainee}/placements/none"),
            Value::Null,
        )
        .error(404, "NotFound");
        send_if(api, OTHER, "PATCH", &trainee, json!({})).error(412, "PreconditionFailed");
        send_if(
            api,
            OTHER,
            "PATCH",
            &placement,
            json!({ "data": { "urn": "x" } }),
        )
        .error(412, "PreconditionFailed");
        send_if(
            api,
            OTHER,
            "POST",
            &format!("{trainee}/withdraw"),
            json!({}),
        )
        .error(412, "PreconditionFailed");
        let wrong = api
            .request("PATCH", &trainee)
            .header("If-Match", OTHER)
            .bytes("{");
        wrong
            .header("Content-Type", "application/json")
            .send()
            .error(400, "BadRequest");
    });
}

#[test]
fn write_with_if_none_match_changes_no_existing_record() {
    every_version(|api| {
        let [trainee, placement, degree] = created(api);
        let version = api.version;
        let nested = |fields: Value| json!({ "data": fields });
        let name = nested(record::<domain::Placement>(
            version,
            &[(PlacementField::name, "Oak School")],
        ));
        let grade = nested(record::<domain::Degree>(
            version,
            &[(DegreeField::grade, "01")],
        ));
        let name_of_trainee = Value::from(Body::new(version).with(F::last_name, "Newname"));
        let met = json!({ "data": { "qts_standards_met_date": "2026-10-02" } });
        let defer = json!({ "data": { "defer_date": "2026-10-01" } });
        let cases: [(&str, String, Value, &str); 10] = [
            ("PUT", trainee.clone(), name_of_trainee.clone(), &trainee),
            ("PATCH", trainee.clone(), name_of_trainee, &trainee),
            ("PUT", placement.clone(), name.clone(), &placement),
            ("PATCH", degree.clone(), grade, &degree),
            ("DELETE", placement.clone(), Value::Null, &placement),
            ("DELETE", degree.clone(), Value::Null, &degree),
            (
                "POST",
                format!("{trainee}/{}", recommendation(version)),
                met,
                &trainee,
            ),
            (
                "POST",
                format!("{trainee}/withdraw"),
                Body::withdrawal(version).into(),
                &trainee,
            ),
            (
                "POST",
                format!("/sandbox{trainee}/advance"),
                Value::Null,
                &trainee,
            ),
            ("POST", format!("{trainee}/defer"), defer.clone(), &trainee),
        ];
        let before = api.get(&trainee).body;
        let asking = |method: &str, path: &str, body: &Value| {
            let request = api.request(method, path);
            if body.is_null() {
                request
            } else {
                request.json(body.clone())
            }
        };
        for (method, path, body, of) in &cases {
            let tag = tag_of(api, of);
            for sent in [
                "*".to_owned(),
                tag.clone(),
                format!("{OTHER}, W/{tag}"),
                compressed(&tag),
            ] {
                for prefer in ["handling=strict", "validate-only"] {
                    let request = asking(method, path, body)
                        .header("If-None-Match", &sent)
                        .header("Prefer", prefer);
                    let message = request.send().error(412, "PreconditionFailed").to_owned();
                    assert!(message.contains("If-None-Match"), "{message}");
                }
                let both = asking(method, path, body)
                    .header("If-None-Match", &sent)
                    .header("If-Match", &tag);
                both.send().error(412, "PreconditionFailed");
            }
            assert_eq!(api.get(&trainee).body, before, "{method} {path}");
        }
        // A refused request does not use up its key, and the tag of another state is accepted.
        let (_, path, ..) = &cases[9];
        let keyed = |sent: &str| {
            let request = api
                .request("POST", path)
                .header("Idempotency-Key", "deferral")
                .header("If-None-Match", sent);
            request.json(defer.clone()).send()
        };
        keyed("*").error(412, "PreconditionFailed");
        let deferred = keyed(OTHER).is(200);
        assert_eq!(
            keyed("*").is(200).body,
            deferred.body,
            "what is answered from memory changes nothing"
        );
    });
}

#[test]
fn record_is_created_despite_if_none_match() {
    every_version(|api| {
        let adding = |path: &str, body: Value| {
            api.request("POST", path)
                .header("If-None-Match", "*")
                .json(body)
                .send()
                .is(201)
        };
        let trainee = api.shown(&adding("/trainees", api.example().into())).path();
        let placement =
            record::<domain::Placement>(api.version, &[(PlacementField::name, "Oak School")]);
        adding(
            &format!("{trainee}/placements"),
            json!({ "data": placement }),
        );
        adding(&format!("{trainee}/degrees"), new_degree(api));
        let again = api
            .request("POST", "/trainees")
            .header("If-None-Match", "*")
            .json(api.example())
            .send();
        again.is(409);
    });
}
