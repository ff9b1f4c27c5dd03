//! Names of other versions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use adapter_kit::read::{NestedLists, Reader, UnknownNames};
use adapter_kit::version::AllInputs;
use adapter_kit::{ApiVersion, Inputs, Label, Versions, inputs};
use conformance::sample_version::SAMPLE_VERSION;
use domain::{Lists, Trainee, TraineeField};

const INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField: given_names = first_names, training_partner_urn, training_route };
const LATER_INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField: given_names = first_names, accredited_partner_urn = training_partner_urn, iqts_country };

static RELEASED: ApiVersion = ApiVersion {
    inputs: AllInputs {
        trainee: INPUTS,
        ..SAMPLE_VERSION.inputs
    },
    ..SAMPLE_VERSION
};
static LATER: ApiVersion = ApiVersion {
    label: Label::release(2027, 0),
    inputs: AllInputs {
        trainee: LATER_INPUTS,
        ..SAMPLE_VERSION.inputs
    },
    refuses_names_up_to: Label::release(2027, 0),
    ..SAMPLE_VERSION
};

/// The warning about the later version's name; the request is accepted.
fn warning(versions: &[&'static ApiVersion], name: &str) -> String {
    let versions = Versions::new(versions);
    let served = versions.find(RELEASED.label).unwrap();
    let reader = Reader {
        served,
        unknown: UnknownNames::Warn,
        nested: NestedLists::Read,
    };
    let body = format!(r#"{{"data":{{"given_names":"A","{name}":"900020"}}}}"#);
    let sent = reader.read::<Trainee>(body.as_bytes()).unwrap();
    assert_eq!(sent.problems, []);
    let [notice] = sent.notices.as_slice() else {
        panic!("{:?}", sent.notices)
    };
    adapter_kit::problems::warning(&RELEASED, notice).unwrap()
}

#[test]
fn later_name_warns_before_and_after_its_version_exists() {
    for (name, hint) in [
        (
            "accredited_partner_urn",
            "v2027.0 calls training_partner_urn this",
        ),
        ("iqts_country", "v2027.0 has it"),
    ] {
        let unknown = format!("unknown field {name}");
        assert_eq!(warning(&[&RELEASED], name), unknown);
        assert_eq!(
            warning(&[&RELEASED, &LATER], name),
            format!("{unknown} ({hint})")
        );
    }
}

#[test]
fn name_of_another_versions_nested_list_names_the_input() {
    let newer = ApiVersion {
        inputs: AllInputs {
            trainee: inputs! { Trainee, TraineeField: email, sites_attributes = placements },
            ..SAMPLE_VERSION.inputs
        },
        ..LATER
    };
    let newer: &'static ApiVersion = Box::leak(Box::new(newer));
    let versions = Versions::new(&[&SAMPLE_VERSION, newer]);
    let reader = Reader {
        served: versions.find(newer.label).unwrap(),
        unknown: UnknownNames::Warn,
        nested: NestedLists::Read,
    };
    let sent = reader
        .read::<Trainee>(br#"{"data":{"schools":[]}}"#)
        .unwrap();
    let messages: Vec<_> = sent
        .problems
        .iter()
        .map(|problem| adapter_kit::problems::message(newer, Lists::embedded(), problem))
        .collect();
    assert_eq!(messages, ["is called sites_attributes in this version"]);
}
