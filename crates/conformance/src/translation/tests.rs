//! Translations that fail the check.

use adapter_kit::shape::{Inputs, Shape};
use adapter_kit::version::{AllInputs, ApiVersion, Shapes};
use adapter_kit::{Label, inputs, shape};
use domain::TraineeField;

use super::*;
use crate::sample_version::{SAMPLE_VERSION, TODAY};

/// Runs the check with this translation, on a valid version and a version with another name for a
/// field.
fn check_with(translate_names: TranslateNames) -> Result<(), CheckFailure> {
    const OTHER: Shape<Trainee> = shape! { Trainee, TraineeField:
        trainee_id, forenames = first_names, last_name, email, date_of_birth, placements, degrees,
    };
    const OTHER_INPUTS: Inputs<Trainee> =
        inputs! { Trainee, TraineeField: forenames = first_names, last_name, email, date_of_birth };
    let other = ApiVersion {
        label: Label::release(2002, 0),
        shapes: Shapes {
            trainee: OTHER,
            ..SAMPLE_VERSION.shapes
        },
        inputs: AllInputs {
            trainee: OTHER_INPUTS,
            ..SAMPLE_VERSION.inputs
        },
        ..SAMPLE_VERSION
    };
    let versions = Versions::new(&[
        Box::leak(Box::new(SAMPLE_VERSION)),
        Box::leak(Box::new(other)),
    ]);
    check_translations(
        translate_names,
        &versions,
        &Sample::new(5, 80, TODAY).unwrap(),
    )
}

fn remove(translation: &mut Translation, name: &str) {
    if let Some(Value::Object(data)) = translation.data.get_mut("data") {
        data.shift_remove(name);
    }
}

#[test]
fn translate_names_passes_the_check() {
    check_with(translate_names).unwrap();
}

#[test]
fn silently_dropped_value_fails_the_check() {
    let failure = check_with(|body, from, to, body_kind| {
        let mut translation = translate_names(body, from, to, body_kind);
        remove(&mut translation, "email");
        translation
    });
    assert_eq!(failure.unwrap_err().field, "trainee");
    let failure = check_with(|body, from, to, body_kind| {
        let mut translation = translate_names(body, from, to, body_kind);
        if from.version.label > to.version.label {
            remove(&mut translation, "email");
        }
        translation
    });
    assert_eq!(failure.unwrap_err().field, "email");
}

#[test]
fn undeclared_losses_fail_the_check() {
    let failure = check_with(|body, from, to, body_kind| Translation {
        lost: Vec::new(),
        ..translate_names(body, from, to, body_kind)
    });
    assert!(failure.unwrap_err().fault.starts_with("is lost"));
}
