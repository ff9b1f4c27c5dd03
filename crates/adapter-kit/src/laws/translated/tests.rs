//! Versions, and ways of translating, that break the law.

use domain::TraineeField;

use super::super::planted::{SOUND, TODAY, try_on};
use super::*;
use crate::shape::{InputName, Inputs, Shape};
use crate::version::{AllInputs, ApiVersion, Shapes};
use crate::{Label, inputs, shape};

#[test]
fn a_name_that_is_read_as_another_field_than_it_is_written_is_found() {
    const ONE_WAY: Inputs<Trainee> = inputs! { Trainee, TraineeField: last_name, previous_last_name };
    const OTHER_WAY: &[InputName<TraineeField>] = &[
        InputName { name: "last_name", field: TraineeField::email },
        InputName { name: "previous_last_name", field: TraineeField::last_name },
    ];
    const CROSSED: Inputs<Trainee> = Inputs { entries: ONE_WAY.entries, by_name: OTHER_WAY };
    let version = ApiVersion { inputs: AllInputs { trainee: CROSSED, ..SOUND.inputs }, ..SOUND };
    let broken = try_on(translated, version).unwrap_err();
    assert_eq!((broken.law, broken.fault.as_str()), ("translated", "is not itself in its own version"));
}

#[test]
fn a_name_that_stands_for_two_fields_in_a_reply_is_found() {
    const TWICE: Shape<Trainee> = shape! { Trainee, TraineeField:
        trainee_id, given_names = first_names, last_name, given_names = email, placements, degrees,
    };
    let version = ApiVersion { shapes: Shapes { trainee: TWICE, ..SOUND.shapes }, ..SOUND };
    assert_eq!(try_on(translated, version).unwrap_err().field, "given_names");
}

/// The verdict on a way of translating, between a sound version and one that calls a field otherwise.
fn try_way(way: Respell) -> Result<(), Broken> {
    const OTHER: Shape<Trainee> = shape! { Trainee, TraineeField:
        trainee_id, forenames = first_names, last_name, email, date_of_birth, placements, degrees,
    };
    const OTHER_INPUTS: Inputs<Trainee> =
        inputs! { Trainee, TraineeField: forenames = first_names, last_name, email, date_of_birth };
    let other = ApiVersion {
        label: Label::release(2002, 0),
        shapes: Shapes { trainee: OTHER, ..SOUND.shapes },
        inputs: AllInputs { trainee: OTHER_INPUTS, ..SOUND.inputs },
        ..SOUND
    };
    let versions = Versions::new(&[Box::leak(Box::new(SOUND)), Box::leak(Box::new(other))]);
    translated_by(way, &versions, &Sample::new(5, 80, TODAY).unwrap())
}

fn without(translation: &mut Translation, name: &str) {
    if let Some(Value::Object(data)) = translation.data.get_mut("data") {
        data.shift_remove(name);
    }
}

#[test]
fn the_way_of_the_kit_keeps_the_law() {
    try_way(respell).unwrap();
}

#[test]
fn a_value_that_is_left_out_without_a_word_is_found() {
    let broken = try_way(|body, from, to, about| {
        let mut translation = respell(body, from, to, about);
        without(&mut translation, "email");
        translation
    });
    assert_eq!(broken.unwrap_err().field, "trainee");
    let broken = try_way(|body, from, to, about| {
        let mut translation = respell(body, from, to, about);
        if from.version.label > to.version.label {
            without(&mut translation, "email");
        }
        translation
    });
    assert_eq!(broken.unwrap_err().field, "email");
}

#[test]
fn a_loss_of_a_value_that_has_a_place_is_found() {
    let broken = try_way(|body, from, to, about| {
        let mut translation = respell(body, from, to, about);
        if from.version.label < to.version.label && translation.data["data"].get("email").is_some() {
            let value = translation.data["data"]["email"].clone();
            without(&mut translation, "email");
            translation.lost.push(Loss {
                path: "email".to_owned(),
                name: "email".to_owned(),
                value,
                why: crate::translate::Why::NotSet,
                same_as: None,
                message: String::new(),
            });
        }
        translation
    });
    assert_eq!(broken.unwrap_err().field, "email");
}

#[test]
fn losses_that_are_not_declared_are_found() {
    let broken = try_way(|body, from, to, about| Translation { lost: Vec::new(), ..respell(body, from, to, about) });
    assert!(broken.unwrap_err().fault.starts_with("is gone or moved"));
}

#[test]
fn keys_in_another_order_are_found() {
    let broken = try_way(|body, from, to, about| {
        let mut translation = respell(body, from, to, about);
        if let Some(Value::Object(data)) = translation.data.get_mut("data")
            && from.version.label < to.version.label
            && let Some((key, value)) = data.iter().next().map(|(key, value)| (key.clone(), value.clone()))
        {
            data.shift_remove(&key);
            data.insert(key, value);
        }
        translation
    });
    assert!(broken.unwrap_err().fault.starts_with("is gone or moved"));
}
