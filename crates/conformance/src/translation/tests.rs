//! Versions, and ways of translating, that fail the check.

use adapter_kit::shape;
use adapter_kit::shape::{InputName, Inputs, Shape};
use adapter_kit::version::{AllInputs, ApiVersion, Shapes};
use adapter_kit::{Label, inputs};
use domain::TraineeField;

use super::*;
use crate::sample_version::{SAMPLE_VERSION, TODAY, check_version};

#[test]
fn a_name_that_is_read_as_another_field_than_it_is_written_is_found() {
    const ONE_WAY: Inputs<Trainee> = inputs! { Trainee, TraineeField: last_name, previous_last_name };
    const OTHER_WAY: &[InputName<TraineeField>] = &[
        InputName { name: "last_name", field: TraineeField::email },
        InputName { name: "previous_last_name", field: TraineeField::last_name },
    ];
    const CROSSED: Inputs<Trainee> = Inputs { entries: ONE_WAY.entries, by_name: OTHER_WAY };
    let version = ApiVersion { inputs: AllInputs { trainee: CROSSED, ..SAMPLE_VERSION.inputs }, ..SAMPLE_VERSION };
    let failure = check_version(translation_matches_target_version, version).unwrap_err();
    assert_eq!(
        (failure.check, failure.fault.as_str()),
        ("translation_matches_target_version", "is not itself in its own version")
    );
}

#[test]
fn a_name_that_stands_for_two_fields_in_a_reply_is_found() {
    const TWICE: Shape<Trainee> = shape! { Trainee, TraineeField:
        trainee_id, given_names = first_names, last_name, given_names = email, placements, degrees,
    };
    let version = ApiVersion { shapes: Shapes { trainee: TWICE, ..SAMPLE_VERSION.shapes }, ..SAMPLE_VERSION };
    assert_eq!(check_version(translation_matches_target_version, version).unwrap_err().field, "given_names");
}

/// The verdict on a way of translating, between a sound version and one that calls a field otherwise.
fn try_way(way: TranslateNames) -> Result<(), CheckFailure> {
    const OTHER: Shape<Trainee> = shape! { Trainee, TraineeField:
        trainee_id, forenames = first_names, last_name, email, date_of_birth, placements, degrees,
    };
    const OTHER_INPUTS: Inputs<Trainee> =
        inputs! { Trainee, TraineeField: forenames = first_names, last_name, email, date_of_birth };
    let other = ApiVersion {
        label: Label::release(2002, 0),
        shapes: Shapes { trainee: OTHER, ..SAMPLE_VERSION.shapes },
        inputs: AllInputs { trainee: OTHER_INPUTS, ..SAMPLE_VERSION.inputs },
        ..SAMPLE_VERSION
    };
    let versions = Versions::new(&[Box::leak(Box::new(SAMPLE_VERSION)), Box::leak(Box::new(other))]);
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
fn a_loss_of_a_value_that_has_a_place_is_found() {
    let failure = try_way(|body, from, to, body_kind| {
        let mut translation = translate_names(body, from, to, body_kind);
        if from.version.label < to.version.label && translation.data["data"].get("email").is_some() {
            let value = translation.data["data"]["email"].clone();
            without(&mut translation, "email");
            translation.lost.push(Loss {
                path: "email".to_owned(),
                name: "email".to_owned(),
                value,
                why: version_tools::translate::LossReason::NotSet,
                same_as: None,
                message: String::new(),
            });
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
    assert!(failure.unwrap_err().fault.starts_with("is gone or moved"));
}

#[test]
fn keys_in_another_order_are_found() {
    let failure = try_way(|body, from, to, body_kind| {
        let mut translation = translate_names(body, from, to, body_kind);
        if let Some(Value::Object(data)) = translation.data.get_mut("data")
            && from.version.label < to.version.label
            && let Some((key, value)) = data.iter().next().map(|(key, value)| (key.clone(), value.clone()))
        {
            data.shift_remove(&key);
            data.insert(key, value);
        }
        translation
    });
    assert!(failure.unwrap_err().fault.starts_with("is gone or moved"));
}
