//! Versions, and ways of translating, that fail the check.

use adapter_kit::shape::{Inputs, Shape};
use adapter_kit::version::{AllInputs, ApiVersion, Shapes};
use adapter_kit::{Label, inputs, shape};
use domain::TraineeField;

use super::*;
use crate::sample_version::{SAMPLE_VERSION, TODAY};

/// The verdict on a way of translating, between a sound version and one that calls a field
/// otherwise.
fn try_way(way: TranslateNames) -> Result<(), CheckFailure> {
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
    translated_by(way, &versions, &Sample::new(5, 80, TODAY).unwrap())
}

fn without(translation: &mut Translation, name: &str) {
    if let Some(Value::Object(data)) = translation.data.get_mut("data") {
        data.shift_remove(name);
    }
}

#[test]
fn the_way_of_the_kit_passes_the_check() {
    try_way(translate_names).unwrap();
}

#[test]
fn a_value_that_is_left_out_without_a_word_is_found() {
    let failure = try_way(|body, from, to, body_kind| {
        let mut translation = translate_names(body, from, to, body_kind);
        without(&mut translation, "email");
        translation
    });
    assert_eq!(failure.unwrap_err().field, "trainee");
    let failure = try_way(|body, from, to, body_kind| {
        let mut translation = translate_names(body, from, to, body_kind);
        if from.version.label > to.version.label {
            without(&mut translation, "email");
        }
        translation
    });
    assert_eq!(failure.unwrap_err().field, "email");
}

#[test]
fn losses_that_are_not_declared_are_found() {
    let failure = try_way(|body, from, to, body_kind| Translation {
        lost: Vec::new(),
        ..translate_names(body, from, to, body_kind)
    });
    assert!(failure.unwrap_err().fault.starts_with("is gone"));
}
