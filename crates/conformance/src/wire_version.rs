//! A version that uses every wire form that versions can have.

use adapter_kit::version::{AllInputs, ApiVersion, NestedShapes, Shapes};
use adapter_kit::{Envelope, PageMember, ProblemForm, Shape, Wire, inputs, shape};
use domain::{Degree, DegreeField, List, Placement, PlacementField, Trainee, TraineeField};

use crate::sample_version::SAMPLE_VERSION;

/// A version with words instead of codes, groups, joined texts, types and defaults of inputs, its
/// own envelope and another form of errors.
pub const WIRE_VERSION: ApiVersion = ApiVersion {
    shapes: Shapes {
        trainee: TRAINEE,
        placement: NestedShapes::from_shape(shape! { Placement, PlacementField:
            placement_id, school { urn, name, postcode }, school_id,
        }),
        degree: NestedShapes::from_shape(DEGREE),
        ..SAMPLE_VERSION.shapes
    },
    inputs: AllInputs {
        trainee: inputs! { Trainee, TraineeField:
            given_names = first_names, last_name, email, date_of_birth as Text, disability1, disability2, disability3,
            study_mode or "01", training { route = training_route, subject = course_subject_1 }, course_age_range,
            training_dates = itt_start_date + "/" + itt_end_date, trainee_start_date, schools = placements,
            awards = degrees,
        },
        placement: inputs! { Placement, PlacementField: school { urn, name, postcode } },
        degree: inputs! { Degree, DegreeField:
            uk_degree, non_uk_degree, topic = subject, institution, graduation_year as Integer,
            result { mark = grade, other = other_grade }, country,
        },
        ..SAMPLE_VERSION.inputs
    },
    wire: Wire {
        words: &[(List::DegreeGrade, GRADES), (List::StudyMode, STUDY_MODES)],
        envelope: Envelope {
            page: (
                "pagination",
                &[("page", PageMember::Number), ("next", PageMember::Next)],
            ),
            record: "record",
            request: "values",
            record_links: true,
            ..Envelope::COMMON
        },
        problems: ProblemForm::BY_POINTER,
        ..Wire::COMMON
    },
    ..SAMPLE_VERSION
};

const TRAINEE: Shape<Trainee> = shape! { Trainee, TraineeField:
    trainee_id read_only, given_names = first_names, last_name, email, date_of_birth, disability1, disability2,
    disability3 when_set, study_mode, training { route = training_route, subject = course_subject_1 }, course_age_range,
    ages = course_min_age + "-" + course_max_age, training_dates = itt_start_date + "/" + itt_end_date,
    trainee_start_date, course_education_phase, state,
    left { on = withdrawal_date, why = withdrawal_trigger, reasons = withdrawal_reasons },
    created_at, placements, degrees,
};

const DEGREE: Shape<Degree> = shape! { Degree, DegreeField:
    degree_id, uk_degree, non_uk_degree, topic = subject, institution, graduation_year,
    result { mark = grade, other = other_grade }, country,
};

const GRADES: &[(&str, &str)] = &[
    ("01", "first"),
    ("02", "upper_second"),
    ("03", "lower_second"),
    ("04", "second"),
    ("05", "third"),
    ("06", "fourth"),
    ("07", "unclassified"),
    ("08", "aegrotat"),
    ("09", "pass_without_honours"),
    ("10", "ordinary"),
    ("11", "general"),
    ("12", "distinction"),
    ("13", "merit"),
    ("14", "pass"),
    ("98", "not_applicable"),
    ("99", "unknown"),
];

const STUDY_MODES: &[(&str, &str)] = &[
    ("01", "full_time"),
    ("02", "other_full_time"),
    ("31", "part_time"),
    ("63", "dormant_full_time"),
    ("64", "dormant_part_time"),
];

#[cfg(test)]
mod tests {
    use adapter_kit::read::{NestedLists, Reader, UnknownNames};
    use adapter_kit::view::View;
    use adapter_kit::{Versions, problems, reference};
    use domain::{Change, Lists};
    use serde_json::{Value, json};

    use super::*;
    use crate::sample_version::{CHECKS, check_version};

    /// Reads an update. Returns the warnings about its keys and the changed fields.
    fn read(data: &str) -> (Vec<Option<String>>, Vec<TraineeField>) {
        static VERSION: ApiVersion = WIRE_VERSION;
        let versions = Versions::new(&[&VERSION]);
        let served = versions.iter().next().unwrap();
        let reader = Reader {
            served,
            unknown: UnknownNames::Warn,
            nested: NestedLists::Ignore,
        };
        let sent = reader
            .read::<Trainee>(format!(r#"{{"values":{data}}}"#).as_bytes())
            .unwrap();
        assert_eq!(sent.problems, []);
        let warnings = sent
            .notices
            .iter()
            .map(|notice| problems::warning(&VERSION, notice))
            .collect();
        let changed = [
            (TraineeField::training_route, &sent.changes.training_route),
            (
                TraineeField::course_subject_1,
                &sent.changes.course_subject_1,
            ),
        ];
        let changed = changed
            .into_iter()
            .filter(|(_, change)| **change != Change::Keep);
        (warnings, changed.map(|(field, _)| field).collect())
    }

    #[test]
    fn unknown_name_in_group_is_reported_with_its_path() {
        let (warnings, changed) = read(r#"{"training":{"rout":"11","subject":"100403"}}"#);
        let expected = "unknown field training.rout (did you mean training.route?)";
        assert_eq!(warnings, [Some(expected.to_owned())]);
        assert_eq!(changed, [TraineeField::course_subject_1]);
    }

    #[test]
    fn path_used_as_key_is_unknown() {
        let (warnings, changed) = read(r#"{"training.route":"11"}"#);
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0]
                .as_ref()
                .unwrap()
                .starts_with("unknown field training.route"),
            "{warnings:?}"
        );
        assert_eq!(changed, []);
    }

    fn shown(trainee: &Trainee) -> Value {
        serde_json::to_value(View::trainee(&WIRE_VERSION, trainee, Lists::embedded())).unwrap()
    }

    #[test]
    fn group_without_values_is_null() {
        let mut trainee = Trainee::default();
        assert_eq!(shown(&trainee)["left"], Value::Null);
        trainee.withdrawal_reasons = Some(vec!["unacceptable_behaviour".to_owned()]);
        let left = json!({ "on": null, "why": null, "reasons": ["unacceptable_behaviour"] });
        assert_eq!(shown(&trainee)["left"], left);
    }

    #[test]
    fn code_list_is_found_by_path() {
        for name in reference::names_in(&WIRE_VERSION) {
            assert!(
                reference::list_named(&WIRE_VERSION, name).is_some(),
                "{name}"
            );
        }
        let name = "awards[0].result.mark";
        assert_eq!(
            reference::list_named(&WIRE_VERSION, name),
            Some(List::DegreeGrade.name())
        );
    }

    #[test]
    fn version_with_all_wire_forms_passes_every_check() {
        for check in CHECKS {
            check_version(check, WIRE_VERSION).unwrap();
        }
    }
}
