//! A client that only wants to know what would be answered: the same reply without identifiers, and
//! nothing happens.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::shown::is_identifier;
use crate::api::support::{Api, Response, every_version};

/// Sends a request that is only tried out; it must say that it was.
#[track_caller]
fn try_out(api: &Api<'_>, method: &str, path: &str, body: impl Into<Value>) -> Response {
    let body = body.into();
    let request = api.request(method, path).header("Prefer", "validate-only");
    let reply = if body.is_null() {
        request.send()
    } else {
        request.json(body).send()
    };
    assert_eq!(reply.header("preference-applied"), Some("validate-only"));
    reply
}

/// Removes identifiers and times, which a validated request cannot know.
fn timeless(value: &Value) -> Value {
    let unknown = |name: &str| name.ends_with("_at") || is_identifier(name);
    if let Some(fields) = value.as_object() {
        return fields
            .iter()
            .filter(|(name, _)| !unknown(name))
            .map(|(name, value)| (name.clone(), timeless(value)))
            .collect();
    }
    value.as_array().map_or(value.clone(), |values| {
        values.iter().map(timeless).collect()
    })
}

#[test]
fn dry_run_is_answered_and_stores_nothing() {
    every_version(|api| {
        let tried = try_out(api, "POST", "/trainees", api.example()).is(201);
        let shown = api.shown(&tried);
        shown.has(&[
            (F::trainee_id, Value::Null),
            (F::state, json!("submitted_for_trn")),
        ]);
        for (parts, identifier) in [(F::placements, "placement_id"), (F::degrees, "degree_id")] {
            assert_eq!(shown.value(parts)[0][identifier], Value::Null);
        }
        api.get("/trainees").is(404);
        let created = api.create(api.example());
        assert_eq!(timeless(tried.data()), timeless(&created.data));
        let conflict = try_out(api, "POST", "/trainees", api.example()).is(409);
        assert_eq!(conflict.data()[0], created.data);
        let wrong = try_out(
            api,
            "POST",
            "/trainees",
            api.example().with(F::email, "unknown"),
        )
        .is(422);
        assert!(wrong.errors()[0].1.starts_with("email "));
    });
}
