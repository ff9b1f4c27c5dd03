//! The history of a record: what each request changed, enough to go back to each of its states.

use adapter_kit::view::View;
use domain::{DegreeField, Lists, PlacementField, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Body, every_version, record};

/// A way through the whole life of a trainee, with all endpoints that write.
fn live(api: &Api<'_>, mut look: impl FnMut(&str)) -> String {
    let version = api.version;
    let created = api.create(api.example());
    let path = created.path();
    look(&path);
    let part = |fields: Value| json!({ "data": fields });
    let first = |parts: F, key: &str| created.value(parts)[0][key].as_str().unwrap().to_owned();
    let placement = format!("{path}/placements/{}", first(F::placements, "placement_id"));
    let degree = format!("{path}/degrees/{}", first(F::degrees, "degree_id"));
    let new_degree = [
        (DegreeField::subject, "100485"),
        (DegreeField::country, "FR"),
        (DegreeField::non_uk_degree, "083"),
        (DegreeField::graduation_year, "2019"),
    ];
    let cleared = Body::new(version)
        .with(F::middle_names, Value::Null)
        .with(F::disability1, Value::Null);
    let steps: [(&str, String, Value, u16); 11] = [
        (
            "PATCH",
            path.clone(),
            Body::new(version)
                .with(F::last_name, "Newname")
                .with(F::sex, "11")
                .into(),
            200,
        ),
        ("PATCH", path.clone(), cleared.into(), 200),
        (
            "PATCH",
            path.clone(),
            Body::new(version)
                .with(F::disability2, "51")
                .with(F::ethnicity, "")
                .into(),
            200,
        ),
        (
            "POST",
            format!("{path}/placements"),
            part(record::<domain::Placement>(
                version,
                &[(PlacementField::urn, "990003")],
            )),
            201,
        ),
        (
            "PUT",
            placement.clone(),
            part(record::<domain::Placement>(
                version,
                &[(PlacementField::name, "Oak School")],
            )),
            200,
        ),
        ("DELETE", placement, Value::Null, 200),
        (
            "POST",
            format!("{path}/degrees"),
            part(record::<domain::Degree>(version, &new_degree)),
            201,
        ),
        (
            "PATCH",
            degree.clone(),
            part(record::<domain::Degree>(
                version,
                &[(DegreeField::grade, "01")],
            )),
            200,
        ),
        ("DELETE", degree, Value::Null, 200),
        (
            "POST",
            format!("{path}/defer"),
            json!({ "data": { "defer_date": "2026-10-01", "defer_reason": "Family" } }),
            200,
        ),
        (
            "POST",
            format!("{path}/withdraw"),
            Body::withdrawal(version).into(),
            200,
        ),
    ];
    for (method, path_of_step, body, status) in steps {
        let request = api
            .request(method, &path_of_step)
            .header("X-Request-Id", "a-request");
        let reply = if body.is_null() {
            request.send()
        } else {
            request.json(body).send()
        };
        reply.is(status);
        look(&path);
    }
    created.id().to_owned()
}

#[test]
fn every_earlier_state_follows_from_history() {
    every_version(|api| {
        let mut seen = Vec::new();
        let id = live(api, |path| seen.push(api.get(path).is(200).data().clone()));
        let asked = id.clone();
        let history = api
            .register
            .operate(move |session| session.history_of(&asked))
            .unwrap();
        let states = history.states().unwrap();
        let rebuilt: Vec<Value> = states
            .iter()
            .map(|state| {
                serde_json::to_value(View::trainee(api.version, state, Lists::embedded())).unwrap()
            })
            .collect();
        assert_eq!(rebuilt.len(), seen.len());
        for (step, (rebuilt, seen)) in rebuilt.iter().zip(&seen).enumerate() {
            assert_eq!(rebuilt, seen, "after step {step}");
        }
    });
}

#[test]
fn history_entry_names_time_token_and_operation() {
    every_version(|api| {
        let id = live(api, |_| {});
        let history = api
            .register
            .operate(move |session| session.history_of(&id))
            .unwrap();
        assert_eq!(history.ukprn, crate::api::support::register::UKPRN);
        let first = &history.entries[0];
        assert_eq!(first.operation, "POST /trainees");
        let entry = &history.entries[1];
        assert_eq!(entry.operation, "PUT or PATCH /trainees/{trainee_id}");
        assert_eq!(
            entry.version.as_deref(),
            Some(&*api.version.label.to_string())
        );
        assert_eq!(entry.request_id.as_deref(), Some("a-request"));
        assert_eq!(
            entry.token.as_ref().map(|(_, name)| &**name),
            Some("Student records system")
        );
        assert!(entry.changed_at > first.changed_at);
        let changes: Vec<_> = entry
            .fields
            .iter()
            .map(|field| {
                (
                    &*field.path,
                    field.before().to_string(),
                    field.after().to_string(),
                )
            })
            .collect();
        assert_eq!(
            changes[0],
            (
                "last_name",
                "\"Example\"".to_owned(),
                "\"Newname\"".to_owned()
            )
        );
        assert_eq!(
            changes[1],
            ("sex", "\"10\"".to_owned(), "\"11\"".to_owned())
        );
        assert_eq!(changes[2].0, "updated_at");
        assert_eq!(changes.len(), 3);
    });
}

#[test]
fn what_changes_nothing_leaves_no_entry() {
    every_version(|api| {
        let created = api.create(api.example());
        api.send("PATCH", &created.path(), api.example()).is(200);
        api.send(
            "PATCH",
            &created.path(),
            Body::new(api.version).with(F::email, "unknown"),
        )
        .is(422);
        api.send("POST", "/trainees", api.example()).is(409);
        let tried = api
            .request("PATCH", &created.path())
            .header("Prefer", "validate-only");
        tried
            .json(Body::new(api.version).with(F::last_name, "Tried"))
            .send()
            .is(200);
        let id = created.id().to_owned();
        let history = api
            .register
            .operate(move |session| session.history_of(&id))
            .unwrap();
        assert_eq!(history.entries.len(), 1);
    });
}
