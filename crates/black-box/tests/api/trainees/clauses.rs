//! Every clause of every rule, once in each version: a table of single changes to a body that is
//! accepted, each with the field that is named, or with none where the version accepts it.
//!
//! The requests are only tried out, so one case does not meet the records of another.

use std::collections::BTreeSet;

use adapter_kit::ApiVersion;
use domain::TraineeField as F;
use serde_json::Value;

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, every_version, has_default};

mod course;
mod money;
mod parts;
mod person;
mod transitions;

/// The expected reply of a case, and its versions.
enum Want {
    /// Accepted in every version that accepts its route.
    Accepted,
    /// This field is named, in every version.
    Named(F),
    /// This field is named from the version with this label on; older ones accept it.
    NamedFrom(&'static str, F),
    /// This field is named before the version with this label; that one and newer ones accept it.
    NamedBefore(&'static str, F),
}

use Want::{Accepted, Named, NamedBefore, NamedFrom};

/// One clause: the fields that are changed, null for a field that is left out, and what that gets.
struct Case(&'static str, Vec<(F, Value)>, Want);

impl Case {
    /// The field that a version names.
    fn named_in(&self, version: &ApiVersion) -> Option<F> {
        let label = |text: &str| text.parse::<adapter_kit::Label>().unwrap();
        match &self.2 {
            Accepted => None,
            Named(field) => Some(*field),
            NamedFrom(first, field) => (version.label >= label(first)).then_some(*field),
            NamedBefore(first, field) => (version.label < label(first)).then_some(*field),
        }
    }
}

/// Tries a table out in every version, and says how many requests that were.
fn try_all(table: &[Case]) {
    let mut requests = 0;
    every_version(|api| {
        for case in table {
            check(api, case);
        }
    });
    requests += table.len() * versions::SERVED.len();
    eprintln!("{requests} requests");
}

#[track_caller]
fn check(api: &Api<'_>, case: &Case) {
    let Case(what, changes, _) = case;
    let knows = |field: F| api.version.inputs.trainee.name_of(field).is_some();
    // A field that this version does not have is no part of its rules.
    let changes = changes.iter().filter(|(field, _)| knows(*field));
    let body = changes.fold(api.example(), |body, (field, value)| {
        if value.is_null() {
            body.without(*field)
        } else {
            body.with(*field, value.clone())
        }
    });
    let named = tried(api, "/trainees", body);
    let is_left_out = |field: F| {
        case.1
            .iter()
            .any(|(changed, value)| *changed == field && value.is_null())
    };
    let expected = case.named_in(api.version).filter(|field| knows(*field));
    let expected =
        expected.filter(|field| !(is_left_out(*field) && has_default(api.version, *field)));
    let expected = expected.map(|field| input::<domain::Trainee>(api.version, field).to_owned());
    assert_eq!(
        named,
        expected.into_iter().collect(),
        "{}: {what}",
        api.version.label
    );
}

/// The first words of the messages that a request gets, none when it is accepted.
#[track_caller]
fn tried(api: &Api<'_>, path: &str, body: Body) -> BTreeSet<String> {
    let reply = api
        .request("POST", path)
        .header("Prefer", "validate-only")
        .json(body)
        .send();
    if reply.status < 300 {
        return BTreeSet::new();
    }
    assert_eq!(reply.status, 422, "{:#}", reply.body);
    let errors = reply.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors
        .iter()
        .map(|(_, message)| message.split(' ').next().unwrap().to_owned())
        .collect()
}
