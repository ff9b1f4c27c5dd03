//! Names of versions that come later.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use adapter_kit::read::{NestedLists, Reader, UnknownNames};
use adapter_kit::version::AllInputs;
use adapter_kit::{ApiVersion, Inputs, Label, Versions, inputs};
use conformance::sample_version::SAMPLE_VERSION;
use domain::problem::{NameHint, NoticeKind};
use domain::{Trainee, TraineeField};

const INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField: given_names = first_names, training_partner_urn, training_route };
const LATER_INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField: given_names = first_names, accredited_partner_urn = training_partner_urn };

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

/// The hint in the warning about the later version's name; the request is accepted.
fn hint(versions: &[&'static ApiVersion]) -> NameHint {
    let versions = Versions::new(versions);
    let served = versions.find(RELEASED.label).unwrap();
    let reader = Reader {
        served,
        unknown: UnknownNames::Warn,
        nested: NestedLists::Read,
    };
    let body = br#"{"data":{"given_names":"A","accredited_partner_urn":"900020"}}"#;
    let sent = reader.read::<Trainee>(body).unwrap();
    assert_eq!(sent.problems, []);
    let [notice] = sent.notices.as_slice() else {
        panic!("{:?}", sent.notices)
    };
    let NoticeKind::UnknownName { hint } = &notice.kind else {
        panic!("{notice:?}")
    };
    hint.clone()
}

#[test]
fn later_name_warns_before_and_after_its_version_exists() {
    assert!(!matches!(hint(&[&RELEASED]), NameHint::Later { .. }));
    let field = Some(TraineeField::training_partner_urn.into());
    assert_eq!(
        hint(&[&RELEASED, &LATER]),
        NameHint::Later {
            version: "v2027.0".to_owned(),
            field
        }
    );
}
