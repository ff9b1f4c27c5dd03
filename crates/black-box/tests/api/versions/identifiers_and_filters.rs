//! Identifiers with a prefix in paths, and filters in another form. No served version has them, so
//! the tests serve a copy of the newest version.

use adapter_kit::form::{CodeWords, Form, MemberForm, Prefix, ThreeWords};
use adapter_kit::{
    AllInputs, ApiVersion, Entry, Envelope, Filter, NestedShapes, Shape, Shapes, Wire,
};
use domain::{DegreeField, PlacementField, Record, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::client::Response;
use crate::api::support::versions::in_place;
use crate::api::support::{Api, Body, Register, TextChecks as _, newest};

const TRAINEE_ID: Prefix = Prefix("trainee_");
const PLACEMENT_ID: Prefix = Prefix("placement_");
const DEGREE_ID: Prefix = Prefix("degree_");
const HAS_TRN: ThreeWords = ThreeWords {
    yes: "with",
    no: "without",
    unknown: "any",
};
const ORDER: CodeWords = CodeWords(&[("asc", "oldest_first"), ("desc", "newest_first")]);

/// A copy of a shape with a form of its identifiers.
fn with_form<R: Record>(shape: &Shape<R>, id: R::Field, form: &'static dyn Form) -> Shape<R> {
    let entries = shape.entries.iter().map(|entry| {
        if entry.field() != Some(id) {
            return *entry;
        }
        Entry {
            form: Some(MemberForm { form, member: 0 }),
            is_plain: false,
            ..*entry
        }
    });
    Shape {
        entries: entries.collect::<Vec<_>>().leak(),
        ..*shape
    }
}

/// Copies of both shapes of a nested record with a form of its identifiers.
fn nested_with_form<R: Record>(
    shapes: &NestedShapes<R>,
    id: R::Field,
    form: &'static dyn Form,
) -> NestedShapes<R> {
    NestedShapes {
        alone: with_form(&shapes.alone, id, form),
        in_trainee: with_form(&shapes.in_trainee, id, form),
    }
}

/// The newest version with prefixes of identifiers, links of records, and filters in words.
fn with_prefixes() -> &'static ApiVersion {
    let newest = newest();
    let shapes = newest.shapes;
    Box::leak(Box::new(ApiVersion {
        shapes: Shapes {
            trainee: with_form(&shapes.trainee, F::trainee_id, &TRAINEE_ID),
            placement: nested_with_form(
                &shapes.placement,
                PlacementField::placement_id,
                &PLACEMENT_ID,
            ),
            degree: nested_with_form(&shapes.degree, DegreeField::degree_id, &DEGREE_ID),
            ..shapes
        },
        inputs: AllInputs {
            filters: &[(Filter::HasTrn, &HAS_TRN), (Filter::SortOrder, &ORDER)],
            ..newest.inputs
        },
        wire: Wire {
            envelope: Envelope {
                record_links: true,
                ..newest.wire.envelope
            },
            ..newest.wire
        },
        ..*newest
    }))
}

/// Sends a request for exactly this path.
fn ask(api: &Api<'_>, method: &str, path: &str) -> Response {
    let request = api
        .register
        .request(method, path)
        .with_version(api.version)
        .header("Authorization", &format!("Bearer {}", api.token));
    if ["GET", "DELETE"].contains(&method) {
        request.send()
    } else {
        request.json(json!({ "data": {} })).send()
    }
}

#[test]
fn path_takes_only_identifiers_with_the_prefix() {
    let version = with_prefixes();
    let register = Register::with_versions(in_place(version));
    let api = register.api(version);
    let created = api.send("POST", "/trainees", api.example()).is(201).written;
    let [trainee, degree] = ["/data/trainee_id", "/data/degrees/0/degree_id"]
        .map(|pointer| created.pointer(pointer).and_then(Value::as_str).unwrap());
    let base = format!("/api/{}/trainees", version.label);
    assert_eq!(created["links"]["self"], format!("{base}/{trainee}"));
    let canonical = trainee.strip_prefix("trainee_").unwrap();
    let canonical_degree = degree.strip_prefix("degree_").unwrap();
    let unknown = ask(&api, "GET", &format!("{base}/trainee_x")).is(404);
    // An empty change is refused after its record is found.
    for (method, found) in [("GET", 200), ("PATCH", 422)] {
        ask(&api, method, &format!("{base}/{trainee}")).is(found);
        for id in [
            canonical,
            "trainee_",
            "degree_x",
            "trainee_%00",
            "123",
            "true",
            "%22",
        ] {
            let reply = ask(&api, method, &format!("{base}/{id}")).is(404);
            assert_eq!(reply.written, unknown.written, "{method} {id}");
        }
        let degrees = format!("{base}/{trainee}/degrees");
        ask(&api, method, &format!("{degrees}/{degree}")).is(found);
        ask(&api, method, &format!("{degrees}/{canonical_degree}")).is(404);
        ask(
            &api,
            method,
            &format!("{base}/{canonical}/degrees/{degree}"),
        )
        .is(404);
    }
    let degree_path = format!("{base}/{trainee}/degrees/{degree}");
    let shown = ask(&api, "GET", &degree_path).is(200).written;
    assert_eq!(shown["links"]["self"], degree_path);
    let changes = api.get("/changes").is(200).written;
    assert_eq!(changes["data"][0]["trainee_id"], trainee);
    assert_eq!(changes["data"][0]["trainee"]["trainee_id"], trainee);
    let removed = ask(&api, "DELETE", &degree_path).is(200);
    assert_eq!(removed.written["data"]["trainee_id"], trainee);
}

#[test]
fn entity_tag_of_record_with_prefix_is_met() {
    let version = with_prefixes();
    let register = Register::with_versions(in_place(version));
    let api = register.api(version);
    let created = api.create(api.example());
    let path = created.path();
    let tag = api.get(&path).is(200).header("etag").unwrap().to_owned();
    let update = |tag: &str| {
        api.request("PATCH", &path)
            .header("If-Match", tag)
            .json(Body::new(version).with(F::email, "new@example.com"))
            .send()
    };
    update(&tag).is(200);
    update(&tag).is(412);
}

#[test]
fn links_of_list_have_the_filters_as_the_version_writes_them() {
    let version = with_prefixes();
    let register = Register::with_versions(in_place(version));
    let api = register.api(version);
    for name in ["A", "B"] {
        api.create(api.example().with(F::last_name, name));
    }
    let first = api
        .get("/trainees?has_trn=without&sort_order=oldest_first&per_page=1")
        .is(200);
    let link = first.header("link").unwrap();
    link.shows(&["has_trn=without", "sort_order=oldest_first"]);
    let next = link
        .split(", ")
        .find_map(|link| link.strip_suffix(">; rel=\"next\"")?.strip_prefix('<'))
        .unwrap();
    ask(&api, "GET", next).is(200);
    let refused = api.get("/trainees?has_trn=true").is(422);
    assert_eq!(
        refused.body["errors"]["has_trn"],
        json!(["has_trn \"true\" is invalid: it must be with, without or any"])
    );
}
