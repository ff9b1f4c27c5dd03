//! Where the versions differ in what they accept of a course.

mod early_years;
mod funding;
mod iqts;
mod primary;
mod routes;

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Shown};

/// The example with other subjects and another age range.
fn with_subjects(api: &Api<'_>, age_range: &str, subjects: &[&str]) -> Body {
    subjects_in(api.example().with(F::course_age_range, age_range), subjects)
}

fn subjects_in(body: Body, subjects: &[&str]) -> Body {
    let fields = [
        F::course_subject_1,
        F::course_subject_2,
        F::course_subject_3,
    ];
    fields
        .into_iter()
        .zip(subjects)
        .fold(body, |body, (field, subject)| body.with(field, *subject))
}

fn subjects_of(shown: &Shown) -> [Value; 3] {
    [
        F::course_subject_1,
        F::course_subject_2,
        F::course_subject_3,
    ]
    .map(|field| shown.value(field).clone())
}

/// An early years course on a route.
fn early_years(api: &Api<'_>, route: &str) -> Body {
    with_subjects(api, "13920", &["100510"]).with(F::training_route, route)
}

/// Three subjects; the last one may be null.
fn three(one: &str, two: &str, three: Option<&str>) -> [Value; 3] {
    [json!(one), json!(two), json!(three)]
}
